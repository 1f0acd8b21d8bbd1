//! A plane against the convex hull of a mesh: the lowest vertex and the corners of the face it rests on.
//!
//! These are MuJoCo's contacts, four at most. Of the faces at the lowest vertex, the one most parallel to the
//! plane counts; its corners follow counter-clockwise seen from outside, as far as they are not above the
//! origin of the mesh. Of a face with more than four corners, three are taken with which the lowest vertex
//! spans a large area, by moving each of them ahead while that grows.
//!
//! Faces are not stored. A plane through the lowest vertex o, tilted by g from the horizontal, has the vertex
//! o + t − h m above it where g·t ≤ h (m is down, t is horizontal). So faces at o are the corners of a convex
//! polygon of tilts, and the sought one is the corner nearest to zero. It lies on lines g·t = h that are no
//! farther from zero, which are few.
//!
//! Limits: which of equally low vertices comes first, MuJoCo decides by the order of its search; ours is the
//! first of the hull, so a face of more than four corners that lies flat may touch at others. With one lowest
//! vertex, one choice of corners in twenty differs on such faces. MuJoCo joins triangles to a face up to an
//! angle of 9·10⁻⁴; ours are flat to 10⁻⁶ of the size. Of faces with more than 64 corners some are left out.

use pullback_math::{Real, Transform, Vec3};

use super::contact::INACTIVE;
use super::lanes::pack;

/// Hull vertices that touch a plane at once.
pub(crate) const MESH_SLOTS: usize = 4;
/// Corners of a face, and lines near zero, at most.
const CORNERS: usize = 64;
/// Distance from the plane of a face, in sizes of the mesh, up to which a vertex is its corner.
const FLATNESS: f64 = 1e-6;

/// A vertex as a limit of tilts: g·(x, y) ≤ fall.
#[derive(Clone, Copy, Default)]
struct Limit {
    x: f64,
    y: f64,
    fall: f64,
    vertex: usize,
}

impl Limit {
    fn room(&self, g: [f64; 2]) -> f64 {
        self.fall - self.x * g[0] - self.y * g[1]
    }
}

/// The tilt of the face that is most parallel to the plane: the nearest corner of the polygon that `limits`
/// leave, found along each of its lines.
fn least_tilt(limits: &[Limit]) -> Option<[f64; 2]> {
    let mut best: Option<([f64; 2], f64)> = None;
    for line in limits {
        let level = (line.x * line.x + line.y * line.y).sqrt();
        let (nx, ny, off) = (line.x / level, line.y / level, line.fall / level);
        // The stretch of the line that the others leave, from its point nearest to zero.
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        for other in limits {
            let (rate, room) = (other.y * nx - other.x * ny, other.room([off * nx, off * ny]));
            if rate.abs() > 1e-9 * (other.x.abs() + other.y.abs()) {
                let bound = room / rate;
                (low, high) = if rate > 0.0 { (low, high.min(bound)) } else { (low.max(bound), high) };
            }
        }
        let along = if low.abs() < high.abs() { low } else { high };
        let tilt = off * off + along * along;
        if low <= high + 1e-9 && best.is_none_or(|(_, least)| tilt < least) {
            best = Some(([off * nx - along * ny, off * ny + along * nx], tilt));
        }
    }
    best.filter(|(_, tilt)| tilt.is_finite()).map(|(g, _)| g)
}

/// Doubled area of the quadrilateral of four corners.
fn area(corners: [Vec3<f64>; 4]) -> f64 {
    (corners[3] - corners[1]).cross(corners[2] - corners[0]).norm()
}

/// The touching vertices of one environment, and how many; `down` is local.
fn touching(vertices: &[Vec3<f64>], hull: &[usize], down: Vec3<f64>) -> ([usize; MESH_SLOTS], usize) {
    let lowest = hull.iter().fold((hull[0], f64::NEG_INFINITY), |best, &i| {
        let depth = down.dot(vertices[i]);
        if depth > best.1 { (i, depth) } else { best }
    });
    let (low, depth) = lowest;
    let mut chosen = [low; MESH_SLOTS];
    let o = vertices[low];
    // The line nearest to zero, which holds corners: the least slope, fall over horizontal distance.
    let part = |vertex: usize| {
        let d = vertices[vertex] - o;
        let fall = depth - down.dot(vertices[vertex]);
        (d, fall, (d.norm_squared() - fall * fall).max(0.0))
    };
    let (mut first, mut least, mut level) = (low, f64::INFINITY, 1.0);
    let mut size_squared = 0.0f64;
    for &i in hull {
        let (d, fall, level_squared) = part(i);
        size_squared = size_squared.max(d.norm_squared());
        if i != low && level_squared > 0.0 && fall * fall * level < least * level_squared {
            (first, least, level) = (i, fall * fall, level_squared);
        }
    }
    if first == low {
        return (chosen, 1);
    }
    let size = size_squared.sqrt();
    // Its corner nearest to the foot of zero bounds how far the sought one is.
    let (d, fall, _) = part(first);
    let outwards = (d + down * fall).normalize();
    let along = down.cross(outwards);
    let foot = down + outwards * (least / level).sqrt();
    let mut reach = f64::INFINITY;
    for &i in hull {
        let d = vertices[i] - o;
        let (rate, room) = (along.dot(d).abs(), (-foot.dot(d)).max(0.0));
        if rate > 1e-9 * size && room < reach * rate {
            reach = room / rate;
        }
    }
    let farthest = (least / level + reach * reach) * (1.0 + 1e-6) + 1e-18;
    if !farthest.is_finite() {
        return (chosen, 1);
    }
    // The lines no farther than that.
    let (t1, t2) = (outwards, along);
    let (mut near, mut count) = ([Limit::default(); CORNERS], 0);
    for &i in hull {
        let (d, fall, level_squared) = part(i);
        if i != low && count < CORNERS && fall * fall <= farthest * level_squared {
            near[count] = Limit { x: t1.dot(d), y: t2.dot(d), fall, vertex: i };
            count += 1;
        }
    }
    let Some(g) = least_tilt(&near[..count]) else { return (chosen, 1) };
    // Corners of the face, counter-clockwise from o seen from outside.
    let normal = down + t1 * g[0] + t2 * g[1];
    let flat = FLATNESS * size * normal.norm();
    let (mut face, mut corners) = ([low; CORNERS], 1);
    for l in &near[..count] {
        if l.room(g) > flat || corners == CORNERS {
            continue;
        }
        let d = vertices[l.vertex] - o;
        let mut at = corners;
        while at > 1 && normal.dot(d.cross(vertices[face[at - 1]] - o)) > 0.0 {
            face[at] = face[at - 1];
            at -= 1;
        }
        face[at] = l.vertex;
        corners += 1;
    }
    let mut picked = [0, 1, 2, 3];
    if corners > MESH_SLOTS {
        let at = |p: [usize; 4]| area(p.map(|k| vertices[face[k]]));
        // The last ahead first: moves until no single one gains.
        loop {
            let mut moved = picked;
            for k in [3, 2, 1] {
                moved[k] += 1;
                let room = moved[k] < if k == 3 { corners } else { picked[k + 1] };
                if room && at(moved) > at(picked) {
                    break;
                }
                moved = picked;
            }
            if moved == picked {
                break;
            }
            picked = moved;
        }
    }
    let mut found = 1;
    for &k in &picked[1..corners.min(MESH_SLOTS)] {
        // Not above the origin of the mesh.
        if down.dot(vertices[face[k]]) >= 0.0 {
            chosen[found] = face[k];
            found += 1;
        }
    }
    (chosen, found)
}

/// The hull vertices that touch the plane, lane by lane, and what to add to their distances.
pub(super) fn touching_vertices<T: Real>(
    plane: Transform<T>,
    mesh: Transform<T>,
    vertices: &[Vec3<f64>],
    hull: &[usize],
) -> ([Vec3<T>; MESH_SLOTS], [T; MESH_SLOTS]) {
    let down = -mesh.inverse_direction(plane.rotation.c2);
    let mut lanes = [([0; MESH_SLOTS], 0); 16];
    if !hull.is_empty() {
        for (lane, chosen) in lanes.iter_mut().enumerate().take(T::LANES) {
            *chosen = touching(vertices, hull, down.map(|x| x.lane(lane)));
        }
    }
    let at = |lane: usize, slot: usize| {
        let (chosen, _) = &lanes[lane];
        vertices.get(chosen[slot]).copied().unwrap_or(Vec3::zero())
    };
    (
        std::array::from_fn(|slot| pack(|lane| at(lane, slot))),
        std::array::from_fn(|slot| T::from_lanes(|lane| if slot < lanes[lane].1 { 0.0 } else { INACTIVE })),
    )
}

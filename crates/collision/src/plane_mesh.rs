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

use super::contact::{INACTIVE, tangent_frame};
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
    fn level(&self) -> f64 {
        (self.x * self.x + self.y * self.y).sqrt()
    }
    fn room(&self, g: [f64; 2]) -> f64 {
        self.fall - self.x * g[0] - self.y * g[1]
    }
}

/// The tilt of the face that is most parallel to the plane: the nearest corner of the polygon that `limits`
/// leave.
fn least_tilt(limits: &[Limit], tiny: f64) -> Option<[f64; 2]> {
    let mut best: Option<([f64; 2], f64)> = None;
    for (i, a) in limits.iter().enumerate() {
        for b in &limits[..i] {
            let det = a.x * b.y - a.y * b.x;
            if det.abs() <= 1e-9 * a.level() * b.level() {
                continue;
            }
            let g = [(a.fall * b.y - b.fall * a.y) / det, (a.x * b.fall - b.x * a.fall) / det];
            let tilt = g[0] * g[0] + g[1] * g[1];
            let slack = -tiny * (1.0 + tilt.sqrt());
            if best.is_none_or(|(_, least)| tilt < least) && limits.iter().all(|l| l.room(g) >= slack) {
                best = Some((g, tilt));
            }
        }
    }
    best.map(|(g, _)| g)
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
    let (t1, t2) = tangent_frame(down);
    let limit = |vertex: usize| {
        let d = vertices[vertex] - o;
        Limit { x: t1.dot(d), y: t2.dot(d), fall: depth - down.dot(vertices[vertex]), vertex }
    };
    // The line nearest to zero holds corners; the lines that are nearer than its nearest corner are the few.
    let slope = |l: &Limit| {
        let level = l.level();
        if level > 0.0 { l.fall / level } else { f64::INFINITY }
    };
    let mut size = 0.0f64;
    let (mut first, mut least) = (Limit::default(), f64::INFINITY);
    for &i in hull {
        let l = limit(i);
        size = size.max(l.x.abs() + l.y.abs() + l.fall);
        if i != low && slope(&l) < least {
            (first, least) = (l, slope(&l));
        }
    }
    if !least.is_finite() {
        return (chosen, 1);
    }
    let tiny = FLATNESS * size;
    let level = first.level();
    let foot = [first.x * least / level, first.y * least / level];
    let along = [-first.y / level, first.x / level];
    let (mut ahead, mut behind) = (f64::INFINITY, f64::INFINITY);
    for &i in hull {
        let l = limit(i);
        let (rate, room) = (l.x * along[0] + l.y * along[1], l.room(foot).max(0.0));
        if rate.abs() > 1e-9 * l.level() {
            let reach = room / rate.abs();
            let side = if rate > 0.0 { &mut ahead } else { &mut behind };
            *side = side.min(reach);
        }
    }
    let reach = ahead.min(behind);
    if !reach.is_finite() {
        return (chosen, 1);
    }
    let farthest = least.hypot(reach) * (1.0 + 1e-6) + 1e-9;
    let (mut near, mut count) = ([Limit::default(); CORNERS], 0);
    for &i in hull {
        let l = limit(i);
        if i != low && count < CORNERS && slope(&l) <= farthest {
            near[count] = l;
            count += 1;
        }
    }
    let Some(g) = least_tilt(&near[..count], 1e-9 * size) else { return (chosen, 1) };
    // Corners of the face, counter-clockwise from o seen from outside.
    let normal = down + t1 * g[0] + t2 * g[1];
    let flat = tiny * normal.norm();
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

//! The part of one shape's face that lies over a face of another, in one environment: Sutherland and
//! Hodgman's clipping (1974) with names for the lines, so that [`manifold`](super::manifold) knows which
//! sides hold a corner. Of more than four corners, four that span a large area are kept.

use pullback_math::Vec3;

use super::face_polygon::{CORNERS, FacePoint, FacePolygon};
use super::plane_mesh::area;
use super::support::{Core, extents};

/// A line that holds a corner: a side of the face that clips, or an edge of the other shape along `Along`.
#[derive(Clone, Copy)]
pub(super) enum Line {
    Side(Side),
    Along(Vec3<f64>),
}

/// A side of the face that clips: outward normal, and a point on it in units of the extents, both local.
#[derive(Clone, Copy)]
pub(super) struct Side {
    pub normal: Vec3<f64>,
    pub unit: Vec3<f64>,
}

/// A corner of the overlap, and the lines that meet there.
#[derive(Clone, Copy)]
pub(super) struct OverlapCorner {
    pub point: FacePoint,
    pub lines: [Line; 2],
}

/// A corner of a polygon, with the numbers of the lines before and after it: those of edges, then those of
/// sides.
#[derive(Clone, Copy, Default)]
struct Vertex {
    x: Vec3<f64>,
    unit: Vec3<f64>,
    before: u16,
    after: u16,
}

/// Corners of a clipped polygon, at most.
const ROOM: usize = 2 * CORNERS;
/// Distance beyond a side, m, up to which a corner is kept.
const ON_SIDE: f64 = 1e-14;

/// A polygon under the knife.
struct Clipped {
    corners: [Vertex; ROOM],
    count: usize,
}

impl Clipped {
    fn empty() -> Self {
        Clipped { corners: [Vertex::default(); ROOM], count: 0 }
    }
    fn add(&mut self, corner: Vertex) {
        if self.count < ROOM {
            self.corners[self.count] = corner;
            self.count += 1;
        }
    }
    fn all(&self) -> &[Vertex] {
        &self.corners[..self.count]
    }
}

/// What is left of a polygon on the inner side of a line; lines keep their numbers. The second end of each
/// edge comes first.
fn clip(polygon: &Clipped, into: &mut Clipped, cut: u16, beyond: impl Fn(Vec3<f64>) -> f64) {
    into.count = 0;
    let mut here = polygon.all().first().map_or(0.0, |v| beyond(v.x));
    for i in 0..polygon.count {
        let (v, next) = (&polygon.corners[i], &polygon.corners[(i + 1) % polygon.count]);
        let there = beyond(next.x);
        if (here <= ON_SIDE) != (there <= ON_SIDE) {
            let t = (here / (here - there)).clamp(0.0, 1.0);
            let (before, after) = if here <= ON_SIDE { (v.after, cut) } else { (cut, v.after) };
            let unit = v.unit + (next.unit - v.unit) * t;
            into.add(Vertex { x: v.x + (next.x - v.x) * t, unit, before, after });
        }
        if there <= ON_SIDE {
            into.add(*next);
        }
        here = there;
    }
}

/// Four corners of a convex polygon that span a large area. The first goes around once; for each, the last
/// moves ahead while the area grows, and after each of its moves those between do.
fn four(corners: &[Vertex]) -> [usize; 4] {
    let next = |k: usize| (k + 1) % corners.len();
    let size = |c: [usize; 4]| area(c.map(|k| corners[k].x));
    let mut at = [0, 1, 2, 3];
    let (mut best, mut largest) = (at, size(at));
    for first in 0..corners.len() {
        at[0] = first;
        let mut grow = |at: &mut [usize; 4], k: usize| {
            let mut moved = *at;
            moved[k] = next(moved[k]);
            let grown = size(moved);
            let grows = grown > largest;
            if grows {
                (*at, best, largest) = (moved, moved, grown);
            }
            grows
        };
        while grow(&mut at, 3) {
            while grow(&mut at, 2) {}
            while grow(&mut at, 1) {}
        }
        // Those that the first meets give way.
        for k in 1..4 {
            if at[k] != at[k - 1] {
                break;
            }
            at[k] = next(at[k]);
        }
    }
    best
}

/// The two corners that are farthest from each other.
fn farthest(corners: &[Vertex]) -> [usize; 2] {
    let (mut best, mut largest) = ([0, 1], 0.0);
    for i in 0..corners.len() {
        for j in i + 1..corners.len() {
            let squared = (corners[j].x - corners[i].x).norm_squared();
            if squared > largest {
                (best, largest) = ([i, j], squared);
            }
        }
    }
    best
}

/// The world position of a point of a shape whose outward direction at the contact is `out`; the radius of a
/// capsule is larger by `moved`.
pub(super) fn place(core: &Core, p: &FacePoint, out: Vec3<f64>, moved: f64) -> Vec3<f64> {
    let local = core.pose.inverse_direction(out);
    let across = Vec3::new(local.x, local.y, 0.0);
    let unit = p.unit.zip(extents(core.collider.kind, core.collider.size), |u, e| u * e);
    let radius = core.collider.size.x;
    core.pose.point(unit + across.normalize() * (p.rim * radius) + across * (p.ball * (radius + moved)))
}

/// Up to four corners of the part of `incident`, whose points `place` puts in the world, over the face
/// `reference` of `fixed` with local normal `normal`, that are no farther above it than `reach`.
pub(super) fn overlap(
    fixed: &Core,
    reference: &FacePolygon,
    normal: Vec3<f64>,
    incident: &FacePolygon,
    place: impl Fn(&FacePoint) -> Vec3<f64>,
    reach: f64,
) -> ([Option<OverlapCorner>; 4], usize) {
    let (sides, edges) = (reference.count, incident.count);
    let extent = extents(fixed.collider.kind, fixed.collider.size);
    let corner = |k: usize| reference.points[k % sides].unit.zip(extent, |u, e| u * e);
    let side = |k: usize| Side {
        normal: normal.cross(corner(k + 1) - corner(k)).normalize(),
        unit: reference.points[k].unit,
    };
    let at = |i: usize| place(&incident.points[i % edges]);
    let (mut polygon, mut clipped) = (Clipped::empty(), Clipped::empty());
    for i in 0..edges {
        let (before, after) = ((i + edges - 1) % edges, i);
        polygon.add(Vertex {
            x: at(i),
            unit: incident.points[i].unit,
            before: before as u16,
            after: after as u16,
        });
    }
    for k in 0..sides {
        let (on, side) = (corner(k), side(k));
        let beyond = |x: Vec3<f64>| side.normal.dot(fixed.pose.inverse_point(x) - on);
        clip(&polygon, &mut clipped, (edges + k) as u16, beyond);
        std::mem::swap(&mut polygon, &mut clipped);
    }
    let mut count = 0;
    for i in 0..polygon.count {
        let v = polygon.corners[i];
        if normal.dot(fixed.pose.inverse_point(v.x) - corner(0)) <= reach {
            polygon.corners[count] = v;
            count += 1;
        }
    }
    polygon.count = count;
    let (chosen, count) = match count {
        3.. if edges == 2 => {
            let [i, j] = farthest(polygon.all());
            ([i, j, j, j], 2)
        }
        5.. => (four(polygon.all()), 4),
        _ => ([0, 1, 2, 3], count),
    };
    let line = |number: u16| match (number as usize).checked_sub(edges) {
        Some(k) => Line::Side(side(k)),
        None => Line::Along(at(number as usize + 1) - at(number as usize)),
    };
    let resolved = |slot: usize| {
        let v = &polygon.corners[chosen[slot]];
        let point = FacePoint { unit: v.unit, ..incident.points[0] };
        (slot < count).then(|| OverlapCorner { point, lines: [line(v.before), line(v.after)] })
    };
    (std::array::from_fn(resolved), count)
}

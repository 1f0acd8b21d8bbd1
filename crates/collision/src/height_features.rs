//! Where a shape touches terrain, in one environment: which triangles its points are over, which edges and
//! peaks poke into it. See [`heightfield`](super::heightfield) for what the slots mean.

use pullback_math::{Real, Transform, Vec3};

use super::broad_phase::bounds;
use super::collider::{Collider, Kind};
use super::contact::{Contact, INACTIVE};
use super::convex::{ConvexFeatures, convex_at, features_of_lane, packed};
use super::height_grid::{Terrain, Triangle};
use super::lanes::{lane_of, pack};
use super::plane::plane_cylinder;
use super::support::Core;

/// Slots for points of the shape, at most.
pub(super) const FACES: usize = 8;
/// Slots for edges and peaks of the terrain, at most.
pub(super) const POKES: usize = 4;

/// A triangle that a point of the shape is over, in units of the terrain's sizes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facet<T> {
    /// A corner.
    pub corner: Vec3<T>,
    /// Cross product of its edges.
    pub normal: Vec3<T>,
    /// The point, in the shape: a corner of a box in units of its size, a vertex of a mesh.
    pub point: Vec3<T>,
    /// Added to the distance.
    pub off: T,
}

/// Constants of the differentiation.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeightFeatures<T> {
    pub facets: [Facet<T>; FACES],
    pub pokes: [ConvexFeatures<T>; POKES],
    pub poke_off: [T; POKES],
}

/// Slots for points and for pokes of a kind.
pub(super) fn slots(kind: Kind) -> (usize, usize) {
    match kind {
        Kind::Plane | Kind::Heightfield | Kind::Torus => (0, 0),
        Kind::Sphere | Kind::Ellipsoid => (2, 2),
        Kind::Capsule => (4, 2),
        Kind::Cylinder => (4, 4),
        Kind::Box | Kind::Mesh => (8, 4),
    }
}

fn inactive_features() -> HeightFeatures<f64> {
    let up = Vec3::new(0.0, 0.0, 1.0);
    let facet = Facet { corner: Vec3::zero(), normal: up, point: Vec3::zero(), off: INACTIVE };
    let poke = ConvexFeatures { world: up, ..ConvexFeatures::empty() };
    HeightFeatures { facets: [facet; FACES], pokes: [poke; POKES], poke_off: [INACTIVE; POKES] }
}

fn facet(terrain: &Terrain, t: Triangle, point: Vec3<f64>) -> Facet<f64> {
    let [a, b, c] = terrain.units(t);
    Facet { corner: a, normal: (b - a).cross(c - a), point, off: 0.0 }
}

/// Keeps the few smallest, smallest first; equals keep their order.
fn insert<V: Copy, const N: usize>(kept: &mut [Option<(f64, V)>; N], limit: usize, value: f64, what: V) {
    let mut at = limit;
    while at > 0 && kept[at - 1].is_none_or(|(v, _)| value < v) {
        at -= 1;
    }
    if at < limit {
        kept[at..limit].rotate_right(1);
        kept[at] = Some((value, what));
    }
}

/// The two faces nearest to a ball around c whose lowest points in direction −n are `low(n)` from c.
fn faces_of_ball(
    terrain: &Terrain,
    c: Vec3<f64>,
    reach: Vec3<f64>,
    low: impl Fn(Vec3<f64>) -> Vec3<f64>,
) -> [Option<(f64, Triangle)>; 2] {
    let mut kept: [Option<(f64, Triangle)>; 2] = [None; 2];
    if c.z + reach.z < -terrain.grid.base {
        return kept;
    }
    let inside = terrain.clearance(c).is_some_and(|height| height < 0.0);
    terrain.for_each(c - reach, c + reach, |t| {
        let (n, corner) = (terrain.normal(t), terrain.corners(t)[0]);
        let height = n.dot(c - corner);
        let lowest = c + low(n);
        // A foot on the line between two triangles of one plane counts once.
        let known = kept.iter().flatten().any(|(_, k)| (terrain.normal(*k) - n).norm() < 1e-9);
        if (height < 0.0) == inside && !known && terrain.projects_into(t, lowest) {
            // From inside, the nearest way out; from outside, the nearest face.
            insert(&mut kept, 2, if inside { -height } else { n.dot(lowest - corner) }, t);
        }
    });
    if inside {
        kept[1] = None;
        if kept[0].is_none() {
            kept[0] = terrain.triangle_at(c).map(|t| (0.0, t));
        }
    }
    kept
}

fn faces(terrain: &Terrain, shape: &Collider<f64>, at: Transform<f64>, found: &mut HeightFeatures<f64>) {
    let s = shape.size;
    let below_base = |x: Vec3<f64>| x.z < -terrain.grid.base;
    let under = |x: Vec3<f64>| if below_base(x) { None } else { terrain.triangle_at(x) };
    let facets = &mut found.facets;
    let mut put = |slot: usize, t: Option<Triangle>, point: Vec3<f64>| {
        if let Some(t) = t {
            facets[slot] = facet(terrain, t, point);
        }
    };
    match shape.kind {
        Kind::Plane | Kind::Heightfield | Kind::Torus => {}
        Kind::Sphere | Kind::Capsule => {
            let ends: &[f64] = if shape.kind == Kind::Sphere { &[0.0] } else { &[1.0, -1.0] };
            for (end, sign) in ends.iter().enumerate() {
                let c = at.translation + at.rotation.c2 * (sign * s.y);
                let kept = faces_of_ball(terrain, c, Vec3::new(s.x, s.x, s.x), |n| n * -s.x);
                for (i, kept) in kept.iter().enumerate() {
                    put(2 * end + i, kept.map(|k| k.1), Vec3::zero());
                }
            }
        }
        Kind::Ellipsoid => {
            let low = |n: Vec3<f64>| {
                let u = at.inverse_direction(n).zip(s, |n, s| n * s).normalize();
                at.direction(u.zip(s, |u, s| -u * s))
            };
            let reach = bounds(shape, at, 0.0).max - at.translation;
            for (i, kept) in faces_of_ball(terrain, at.translation, reach, low).iter().enumerate() {
                put(i, kept.map(|k| k.1), Vec3::zero());
            }
        }
        Kind::Cylinder => {
            // Which points are lowest depends on the face, and the face on the points: two rounds.
            let mut chosen: [Option<Triangle>; 4] = [None; 4];
            for _ in 0..3 {
                for (slot, chosen) in chosen.iter_mut().enumerate() {
                    let mut plane = Transform::identity();
                    if let Some(t) = *chosen {
                        (plane.rotation.c2, plane.translation) = (terrain.normal(t), terrain.corners(t)[0]);
                    }
                    let c = plane_cylinder(plane, at, s.x, s.y)[slot];
                    *chosen = under(c.position + plane.rotation.c2 * (0.5 * c.distance));
                }
            }
            for (slot, chosen) in chosen.iter().enumerate() {
                put(slot, *chosen, Vec3::zero());
            }
        }
        Kind::Box => {
            for slot in 0..8 {
                let sign = |bit: usize| if slot & bit == 0 { 1.0 } else { -1.0 };
                let unit = Vec3::new(sign(1), sign(2), sign(4));
                put(slot, under(at.point(unit.zip(s, |u, s| u * s))), unit);
            }
        }
        Kind::Mesh => {
            let mut kept = [None; FACES];
            for &i in shape.hull {
                let x = at.point(shape.vertices[i]);
                if let (Some(t), Some(height)) = (under(x), terrain.clearance(x)) {
                    insert(&mut kept, FACES, height, (t, shape.vertices[i]));
                }
            }
            for (slot, kept) in kept.iter().enumerate() {
                if let Some((_, (t, vertex))) = *kept {
                    put(slot, Some(t), vertex);
                }
            }
        }
    }
}

/// A poke and its distance.
type Poke = (f64, (Contact<f64>, ConvexFeatures<f64>));

/// Edges and peaks that poke into the shape: the deepest, each once.
fn pokes(
    terrain: &Terrain,
    field: Transform<f64>,
    shape: &Collider<f64>,
    pose: Transform<f64>,
    found: &mut HeightFeatures<f64>,
) {
    const HULL: [usize; 6] = [0, 1, 2, 3, 4, 5];
    let at = field.inverse() * pose;
    let around = bounds(shape, at, 0.0);
    let (_, limit) = slots(shape.kind);
    let mut kept: [Option<Poke>; POKES] = [None; POKES];
    terrain.for_each(around.min, around.max, |t| {
        let prism = terrain.prism(t);
        let top = prism[0].z.max(prism[1].z).max(prism[2].z);
        if top < around.min.z || around.max.z < -terrain.grid.base || !terrain.is_convex_edge(t) {
            return;
        }
        // Around its own center, so that tolerances are those of the cell, not of the terrain.
        let center = prism.iter().fold(Vec3::zero(), |sum, v| sum + *v) * (1.0 / 6.0);
        let vertices = prism.map(|v| v - center);
        let a = Core {
            collider: Collider::points(&vertices, &HULL),
            pose: Transform::new(field.rotation, field.point(center)),
        };
        let b = Core { collider: *shape, pose };
        let mut f = features_of_lane(&a, &b);
        if f.all_apart() {
            return;
        }
        let c = convex_at(Kind::Mesh, Vec3::zero(), a.pose, shape.kind, shape.size, pose, f);
        let p = f.unit_a + center;
        if f.in_a.norm_squared() > 0.0 || !terrain.pokes(p, field.inverse_direction(c.normal)) {
            return;
        }
        let near = 1e-6 * terrain.size.x.max(terrain.size.y);
        let same = |k: &Option<Poke>| {
            k.is_some_and(|(_, (other, _))| {
                (other.position - c.position).norm() < near && (other.normal - c.normal).norm() < 1e-4
            })
        };
        if kept.iter().any(same) {
            return;
        }
        f.unit_a = p.zip(terrain.size, |x, s| x / s);
        f.edge_a = f.edge_a.zip(terrain.size, |x, s| x / s);
        insert(&mut kept, limit, c.distance, (c, f));
    });
    for (slot, kept) in kept.iter().enumerate() {
        if let Some((_, (_, features))) = *kept {
            (found.pokes[slot], found.poke_off[slot]) = (features, 0.0);
        }
    }
}

/// Chooses the features, lane by lane, on primal values.
pub(super) fn height_features<T: Real>(
    a: &Collider<T>,
    pose_a: Transform<T>,
    b: &Collider<T>,
    pose_b: Transform<T>,
) -> HeightFeatures<T> {
    let mut lanes = [inactive_features(); 16];
    for (lane, found) in lanes.iter_mut().enumerate().take(T::LANES) {
        let terrain = Terrain { grid: a.grid, size: a.size.map(|x| x.lane(lane)) };
        let (shape, field, pose) = (b.lane(lane), lane_of(pose_a, lane), lane_of(pose_b, lane));
        faces(&terrain, &shape, field.inverse() * pose, found);
        pokes(&terrain, field, &shape, pose, found);
    }
    HeightFeatures {
        facets: std::array::from_fn(|slot| Facet {
            corner: pack(|i| lanes[i].facets[slot].corner),
            normal: pack(|i| lanes[i].facets[slot].normal),
            point: pack(|i| lanes[i].facets[slot].point),
            off: T::from_lanes(|i| lanes[i].facets[slot].off),
        }),
        pokes: std::array::from_fn(|slot| packed(|i| lanes[i].pokes[slot])),
        poke_off: std::array::from_fn(|slot| T::from_lanes(|i| lanes[i].poke_off[slot])),
    }
}

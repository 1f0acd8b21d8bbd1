//! A solid with walls against the hull of a mesh: the soft vertex that is deepest in the solid.
//!
//! The hull's points are the means μ(m) of its vertices vᵢ with weights ∝ exp(m·vᵢ / ε), m any vector of its
//! frame; A(m) = ε log Σ exp(m·vᵢ / ε) has the gradient μ. With the smooth maximum W of the solid's walls and
//! a push τ t, x = μ(m) minimizes W(x) + η |x − c|² / (2 R) − τ t·x + A*(x), a convex function of x, where
//!
//! ```text
//! m + ∇W(x) + η (x − c) / R − τ t = 0
//! ```
//!
//! in the frame of the mesh. So x is the soft support point of the mesh against the pressure of the walls.
//! That pressure is the normal, and the height of x above the walls is the distance, as in
//! [`balance`](super::balance). Slots are those of two solids; the push is stronger than between walls, since
//! it has to tell vertices apart.
//!
//! One Newton step, with its matrix held constant, makes x differentiable; no vertex is visited for that.

use pullback_math::{Dual, Mat3, Real, Transform, Vec3, differentiable, f64x4};

use super::balance::{Minimum, Pair, Setup, height_above, height_above_vjp, positive, positive_vjp};
use super::balance::{attraction, attraction_vjp, pressure, pressure_vjp};
use super::cholesky::{cholesky, columns, solve_factored};
use super::solids::{push_of, push_of_vjp};
use super::solve::{CONVERGED, LONGEST, ROUND_OFF, fixed, fixed_pose, moving};
use super::walls::{walls, walls_vjp};
use crate::collider::{Collider, Kind};
use crate::contact::Contact;
use crate::dispatch::ShapeBar;
use crate::lanes::{lane_of, of_all_lanes, pack};

/// Most slots of a pair.
const SLOTS: usize = 5;
/// Softness of the first stage in sizes of the mesh, and of a stage in that of the last.
const STAGES: (f64, f64) = (0.3, 0.4);

/// Newton steps of a stage on the way, and of the last.
const STEPS: (usize, usize) = (60, 400);

/// Number of slots of a solid and a mesh.
pub(super) fn mesh_slots(solid: Kind) -> usize {
    match solid {
        Kind::Capsule => 3,
        Kind::Cylinder | Kind::Box => SLOTS,
        _ => 1,
    }
}

/// A setup with the push of meshes.
fn mesh_setup(solid: Kind, softness: f64) -> Setup {
    let push = softness / (5.0 * softness + 0.01);
    Setup { push, ..Setup::new((solid, Kind::Mesh), softness) }
}

/// The minimum on primal values, in the frame of the mesh.
#[derive(Clone, Copy, Debug)]
struct Deepest<T> {
    /// m.
    direction: Vec3<T>,
    /// x, the inverse of dm/dx + Hessian, the largest wall.
    at: Minimum<T>,
}

/// ∇W with the attraction to the center of the solid.
#[differentiable]
fn slope<T: Real>(#[constant] setup: Setup, pair: Pair<T>, x: Vec3<T>, #[constant] highest: T) -> Vec3<T> {
    pressure(setup, pair, x, highest).a + attraction(setup, setup.kinds.0, pair.size_a, pair.a, x)
}

/// The soft vertex as a differentiable point of the world.
#[differentiable]
fn deepest_point<T: Real>(
    #[constant] setup: Setup,
    pair: Pair<T>,
    push: Vec3<T>,
    #[constant] found: Deepest<T>,
) -> Vec3<T> {
    let at = found.at;
    let g = pair.b.inverse_direction(slope(setup, pair, pair.b.point(at.x), at.highest) - push);
    let g = g + found.direction;
    pair.b.point(at.x - (at.inverse[0] * g.x + at.inverse[1] * g.y + at.inverse[2] * g.z))
}

/// The normal of the pair, out of the solid.
#[differentiable]
fn mesh_normal<T: Real>(#[constant] setup: Setup, pair: Pair<T>, #[constant] found: Deepest<T>) -> Vec3<T> {
    let x = deepest_point(setup, pair, Vec3::zero(), found);
    let p = pressure(setup, pair, x, found.at.highest).a;
    p * positive(p.norm()).recip()
}

/// The contact of a slot.
#[differentiable]
fn vertex_contact<T: Real>(
    #[constant] setup: Setup,
    slot: usize,
    pair: Pair<T>,
    n: Vec3<T>,
    #[constant] found: Deepest<T>,
) -> Contact<T> {
    let push = push_of(setup, slot, pair.a, n);
    let x = deepest_point(setup, pair, push, found);
    let blind = T::lit(if slot == 0 { 0.0 } else { 2.0 * setup.push });
    let of_a = walls(setup.kinds.0, pair.size_a, pair.a, x, T::lit(setup.softness));
    let distance = height_above(setup, of_a, n, found.at.highest, blind);
    Contact { position: x - n * (distance * T::lit(0.5)), normal: n, distance }
}

/// C (1 + H C)⁻¹ as L (1 + Lᵀ H L)⁻¹ Lᵀ with C = L Lᵀ.
fn curve(spread: Mat3<f64>, hessian: Mat3<f64>) -> impl Fn(Vec3<f64>) -> Vec3<f64> {
    let l = cholesky(spread);
    let inner = cholesky(Mat3::identity() + l.transpose() * hessian * l);
    move |g| l * solve_factored(&inner, l.transpose() * g)
}

/// The hull of a mesh in one environment.
struct Hull<'m> {
    vertices: &'m [Vec3<f64>],
    hull: &'m [usize],
}

impl Hull<'_> {
    /// A(m), its gradient x and its Hessian.
    fn support(&self, m: Vec3<f64>, softness: f64) -> (f64, Vec3<f64>, Mat3<f64>) {
        let points = || self.hull.iter().map(|&i| self.vertices[i]);
        let farthest = points().map(|v| m.dot(v)).fold(f64::NEG_INFINITY, f64::max);
        let weight = |v: Vec3<f64>| ((m.dot(v) - farthest) / softness).exp();
        let total: f64 = points().map(weight).sum();
        let x = points().fold(Vec3::zero(), |sum, v| sum + v * (weight(v) / total));
        let spread = points().fold(Mat3::zero(), |sum: Mat3<f64>, v| {
            sum + Mat3::outer(v - x, v - x) * (weight(v) / (total * softness))
        });
        (farthest + softness * total.ln(), x, spread)
    }
    fn size(&self) -> f64 {
        self.hull.iter().map(|&i| self.vertices[i].norm()).fold(0.0, f64::max)
    }
}

/// One environment: the pair, and the same in forward mode.
struct Search<'m> {
    setup: Setup,
    pair: Pair<f64>,
    moving: Pair<Dual<f64x4>>,
    hull: Hull<'m>,
    /// τ t in the frame of the mesh.
    push: Vec3<f64>,
}

/// A point of the search: m, x, the largest wall, the value, and the derivative of x by m.
struct Trial {
    m: Vec3<f64>,
    x: Vec3<f64>,
    highest: f64,
    value: f64,
    spread: Mat3<f64>,
}

impl Search<'_> {
    fn trial(&self, m: Vec3<f64>, softness: f64) -> Trial {
        let (height, x, spread) = self.hull.support(m, softness);
        let world = self.pair.b.point(x);
        let of_a = walls(self.setup.kinds.0, self.pair.size_a, self.pair.a, world, softness);
        let highest = of_a.height.iter().fold(f64::NEG_INFINITY, |m, h| m.max(*h));
        let total: f64 = of_a.height.iter().map(|h| ((h - highest) / softness).exp()).sum();
        let pull = attraction(self.setup, self.setup.kinds.0, self.pair.size_a, self.pair.a, world);
        let pull = 0.5 * pull.dot(world - self.pair.a.translation);
        // W(x) + η |x − c|² / (2 R) − τ t·x + A*(x), A*(x) = m·x − A(m)
        let value = highest + softness * total.ln() + pull - self.push.dot(x) + m.dot(x) - height;
        Trial { m, x, highest, value, spread }
    }
    /// The left side of the equation for m, and its derivative by x, in the frame of the mesh.
    fn residual(&self, at: &Trial, softness: f64) -> (Vec3<f64>, Mat3<f64>) {
        let x = self.moving.b.point(moving(at.x));
        let setup = Setup { softness, ..self.setup };
        let local = self.moving.b.inverse_direction(slope(setup, self.moving, x, Real::lit(at.highest)));
        let column = |i: usize| local.map(|c| c.tangent.lane(i));
        let value = local.map(|c| c.value.lane(0));
        (at.m + value - self.push, Mat3::from_cols(column(0), column(1), column(2)))
    }
    fn descend(&self, start: Vec3<f64>, softness: f64, (steps, converged): (usize, f64)) -> Trial {
        let size = self.hull.size();
        let slack = ROUND_OFF * size;
        let mut at = self.trial(start, softness);
        for _ in 0..steps {
            let (g, hessian) = self.residual(&at, softness);
            // (1 + H C) dm = −g, dx = C dm
            let way = -curve(at.spread, hessian)(g);
            let step = -g - hessian * way;
            let fall = -g.dot(way);
            if fall.is_nan() {
                break;
            }
            let mut part = (LONGEST * size / way.norm().max(f64::MIN_POSITIVE)).min(1.0);
            at = loop {
                let next = self.trial(at.m + step * part, softness);
                if next.value <= at.value - 0.1 * part * fall + slack || part < 1e-9 {
                    break next;
                }
                part *= 0.4;
            };
            if part == 1.0 && way.norm() < converged * softness && step.norm() < converged {
                break;
            }
        }
        at
    }
    fn solve(&self, start: Vec3<f64>) -> Deepest<f64> {
        let target = self.setup.softness;
        let mut softness = (STAGES.0 * self.hull.size()).max(target);
        let mut m = start;
        while softness > target {
            m = self.descend(m, softness, (STEPS.0, CONVERGED.0)).m;
            softness = (STAGES.1 * softness).max(target);
        }
        let at = self.descend(m, target, (STEPS.1, CONVERGED.1));
        let (_, hessian) = self.residual(&at, target);
        let inverse = columns(curve(at.spread, hessian));
        Deepest { direction: at.m, at: Minimum { x: at.x, inverse, highest: at.highest } }
    }
}

/// The soft vertices of one environment, slot by slot.
fn deepest_of_lane(setup: Setup, pair: Pair<f64>, hull: Hull<'_>, slots: usize) -> [Deepest<f64>; SLOTS] {
    let moving = Pair {
        size_a: fixed(pair.size_a),
        a: fixed_pose(pair.a),
        size_b: fixed(pair.size_b),
        b: fixed_pose(pair.b),
    };
    let mut search = Search { setup, pair, moving, hull, push: Vec3::zero() };
    let center = search.solve(Vec3::zero());
    let n = mesh_normal(setup, pair, center);
    std::array::from_fn(|slot| {
        if slot == 0 || slot >= slots {
            return center;
        }
        search.push = pair.b.inverse_direction(push_of(setup, slot, pair.a, n));
        search.solve(center.direction)
    })
}

/// The soft vertices of all lanes.
fn deepest<T: Real>(setup: Setup, pair: &Pair<T>, mesh: &Collider<T>, slots: usize) -> [Deepest<T>; SLOTS] {
    let of_lane = |lane: usize| {
        let number = |v: Vec3<T>| v.map(|x| x.lane(lane));
        let pair = Pair {
            size_a: number(pair.size_a),
            a: lane_of(pair.a, lane),
            size_b: number(pair.size_b),
            b: lane_of(pair.b, lane),
        };
        let hull = Hull { vertices: mesh.vertices, hull: mesh.hull };
        deepest_of_lane(setup, pair, hull, slots)
    };
    of_all_lanes::<T, _, _>(of_lane, |lanes| {
        std::array::from_fn(|slot| Deepest {
            direction: pack(|i| lanes[i][slot].direction),
            at: Minimum {
                x: pack(|i| lanes[i][slot].at.x),
                inverse: std::array::from_fn(|column| pack(|i| lanes[i][slot].at.inverse[column])),
                highest: T::from_lanes(|i| lanes[i][slot].at.highest),
            },
        })
    })
}

/// Fills the slots of a solid and a mesh.
pub(super) fn solid_mesh<T: Real>(
    a: &Collider<T>,
    pose_a: Transform<T>,
    b: &Collider<T>,
    pose_b: Transform<T>,
    softness: f64,
    out: &mut [Contact<T>],
) {
    let setup = mesh_setup(a.kind, softness);
    let pair = Pair { size_a: a.size, a: pose_a, size_b: b.size, b: pose_b };
    let found = deepest(setup, &pair, b, out.len());
    let n = mesh_normal(setup, pair, found[0]);
    for (slot, out) in out.iter_mut().enumerate() {
        *out = vertex_contact(setup, slot, pair, n, found[slot]);
    }
}

/// Pullback of [`solid_mesh`]: adds to the cotangents of both.
#[allow(clippy::too_many_arguments)]
pub(super) fn solid_mesh_vjp<T: Real>(
    a: &Collider<T>,
    pose_a: Transform<T>,
    b: &Collider<T>,
    pose_b: Transform<T>,
    softness: f64,
    out_bar: &[Contact<T>],
    a_bar: &mut ShapeBar<T>,
    b_bar: &mut ShapeBar<T>,
) {
    let setup = mesh_setup(a.kind, softness);
    let pair = Pair { size_a: a.size, a: pose_a, size_b: b.size, b: pose_b };
    let found = deepest(setup, &pair, b, out_bar.len());
    let n = mesh_normal(setup, pair, found[0]);
    let mut add = |bar: Pair<T>| {
        a_bar.add(bar.a, bar.size_a);
        b_bar.add(bar.b, bar.size_b);
    };
    let mut n_bar = Vec3::zero();
    for (slot, bar) in out_bar.iter().enumerate() {
        let ((), (), pair_bar, slot_n_bar, ()) = vertex_contact_vjp(setup, slot, pair, n, found[slot], *bar);
        add(pair_bar);
        n_bar += slot_n_bar;
    }
    let ((), pair_bar, ()) = mesh_normal_vjp(setup, pair, found[0], n_bar);
    add(pair_bar);
}

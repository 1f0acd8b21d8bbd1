//! Any two convex shapes: GJK and EPA find the features, the contact is evaluated differentiably at them.
//!
//! With support functions h and n the normal, the signed distance is a stationary value of f(n) = n·(p_b −
//! p_a) − h_a(n) − h_b(−n). By the envelope theorem its derivative is that at fixed n and at witness points
//! fixed in their bodies (in units of the sizes), which holds for every feature. Normal and position need to
//! know how n moves:
//!
//! | feature | normal |
//! |---|---|
//! | both sides a vertex, an ellipsoid or a rim | ∇f = 0: one Newton step on the sphere, Hessian held constant (exact) |
//! | a face of a box, mesh or cap | turns with that body (exact) |
//! | a straight edge or a cylinder's side against one of the above | square to it, one Newton step (exact) |
//! | edge and edge | cross product of the two (exact) |
//! | parallel edges that overlap | held fixed in the world, square to the first |
//!
//! Witness points slide along edges and faces to stay opposite each other, so positions are exact too where
//! they are unique. Where a face meets a face or an edge they are not: the point of the second body (of the
//! first, if the face is on the second) is held. Features are found in `f64`, one lane at a time.

use pullback_math::{Mask, Real, Transform, Vec3, differentiable, select};

use super::collider::{Collider, Kind};
use super::contact::{Contact, INACTIVE, between, between_vjp, tangent_frame};
use super::gjk::witness;
use super::lanes::{lane_of, of_all_lanes, pack};
use super::support::{Core, Witness, extents};

/// Unit coordinates nearer than this to ±1 are on the boundary.
const BOUNDARY: f64 = 1e-7;

/// Error of EPA's normal of a face, at most.
const NEARLY: f64 = 1e-3;

/// The features of a pair, constants of the differentiation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConvexFeatures<T> {
    /// Witness points in units of the extents.
    pub(super) unit_a: Vec3<T>,
    pub(super) unit_b: Vec3<T>,
    /// The normal in the world, in a, in b: one of the three, the others zero.
    pub(super) world: Vec3<T>,
    pub(super) in_a: Vec3<T>,
    pub(super) in_b: Vec3<T>,
    /// Edges whose cross product is the normal, or zero.
    pub(super) edge_a: Vec3<T>,
    pub(super) edge_b: Vec3<T>,
    /// The normal moves by −(n₁ n₁ᵀ + n₂ n₂ᵀ) ∇f, the two scaled so that this is the inverse Hessian.
    pub(super) newton: [Vec3<T>; 2],
    /// Added to the distance, m: zero, or [`INACTIVE`] beyond the cutoff of the pair.
    pub(super) off: T,
}

impl<T: Real> ConvexFeatures<T> {
    /// Whether every lane is beyond the cutoff.
    pub(super) fn all_apart(&self) -> bool {
        self.off.gt(T::zero()).all()
    }
}

impl ConvexFeatures<f64> {
    pub(super) fn empty() -> Self {
        let o = Vec3::zero();
        ConvexFeatures {
            unit_a: o,
            unit_b: o,
            world: o,
            in_a: o,
            in_b: o,
            edge_a: o,
            edge_b: o,
            newton: [o; 2],
            off: 0.0,
        }
    }
    /// Of shapes beyond their cutoff.
    pub(super) fn apart() -> Self {
        ConvexFeatures { world: Vec3::new(0.0, 0.0, 1.0), off: INACTIVE, ..Self::empty() }
    }
}

/// Dimension of the feature of one shape at its witness: 0 a vertex or a curved point, 1 an edge, 2 a face.
fn dimension(core: &Core, unit: Vec3<f64>, local_normal: Vec3<f64>, distinct: usize) -> usize {
    let inner = |x: f64| usize::from(x.abs() < 1.0 - BOUNDARY);
    match core.collider.kind {
        Kind::Plane | Kind::Heightfield | Kind::Torus | Kind::Sphere | Kind::Ellipsoid => 0,
        Kind::Capsule => inner(unit.z),
        Kind::Box => inner(unit.x) + inner(unit.y) + inner(unit.z),
        Kind::Mesh => distinct.clamp(1, 3) - 1,
        Kind::Cylinder => {
            // The cap, seen by its normal or by a witness off the rim; then the side, or the rim.
            let (across, off_axis) = (local_normal.x.hypot(local_normal.y), unit.x.hypot(unit.y));
            if across < 1e-6 || (across < 1e-3 && off_axis < 0.9999) { 2 } else { inner(unit.z) }
        }
    }
}

/// ∇²h of a core on the tangents t, s at the normal n, all local.
fn curvature(core: &Core, n: Vec3<f64>, t: Vec3<f64>, s: Vec3<f64>) -> f64 {
    let size = core.collider.size;
    match core.collider.kind {
        Kind::Ellipsoid => {
            let scaled = |v: Vec3<f64>| v.zip(size, |v, s| v * s);
            let (an, at, a_s) = (scaled(n), scaled(t), scaled(s));
            let norm = an.norm().max(1e-300);
            (at.dot(a_s) - an.dot(at) * an.dot(a_s) / (norm * norm)) / norm
        }
        Kind::Cylinder => {
            let flat = |v: Vec3<f64>| Vec3::new(v.x, v.y, 0.0);
            let (n, t, s) = (flat(n), flat(t), flat(s));
            let norm = n.norm().max(1e-300);
            size.x / norm * (t.dot(s) - n.dot(t) * n.dot(s) / (norm * norm))
        }
        _ => 0.0,
    }
}

/// Newton's method for ∇f = 0 on the sphere, or on the circle square to `edge` if that is not zero: the
/// normal, and the inverse Hessian as two vectors; `None` off a maximum.
fn refine(a: &Core, b: &Core, witness: &Witness, edge: Vec3<f64>) -> Option<(Vec3<f64>, [Vec3<f64>; 2])> {
    let on_circle = edge.norm_squared() > 0.0;
    let mut n = (witness.normal - edge * edge.dot(witness.normal)).normalize();
    let at = |core: &Core, d: Vec3<f64>, fixed: Vec3<f64>| {
        let local = core.local_support(core.pose.inverse_direction(d));
        core.pose.point(match core.collider.kind {
            Kind::Ellipsoid => local,
            Kind::Cylinder => Vec3::new(local.x, local.y, fixed.z),
            _ => fixed,
        })
    };
    for step in 0..12 {
        let gradient = at(b, -n, witness.b) - at(a, n, witness.a);
        let (t, s) = if on_circle { (n.cross(edge), edge) } else { tangent_frame(n) };
        let second = |t: Vec3<f64>, s: Vec3<f64>| {
            let of = |core: &Core, sign: f64| {
                let local = |v: Vec3<f64>| core.pose.inverse_direction(v);
                curvature(core, local(n * sign), local(t), local(s))
            };
            of(a, 1.0) + of(b, -1.0)
        };
        // −Hessian on the tangent plane: curvature plus the distance.
        let distance = gradient.dot(n);
        let tt = second(t, t) + distance;
        let (ts, ss) = if on_circle { (0.0, 1.0) } else { (second(t, s), second(s, s) + distance) };
        let det = tt * ss - ts * ts;
        if !(tt > 0.0 && ss > 0.0 && det > 1e-12 * tt * ss) {
            return None;
        }
        let (g, h) = (gradient.dot(t), if on_circle { 0.0 } else { gradient.dot(s) });
        let (dt, ds) = ((ss * g - ts * h) / det, (tt * h - ts * g) / det);
        let size = dt.hypot(ds);
        if size < 1e-15 || step == 11 {
            // (−H)⁻¹ = c₁ c₁ᵀ + c₂ c₂ᵀ by Cholesky of the inverse.
            let l11 = (ss / det).sqrt();
            let c1 = t * l11 - s * (ts / det / l11);
            let c2 = if on_circle { Vec3::zero() } else { s * (1.0 / ss).sqrt() };
            return (size < 1e-6).then_some((n, [c1, c2]));
        }
        if size > 0.3 {
            return None;
        }
        n = (n + t * dt + s * ds).normalize();
    }
    None
}

/// The features of one environment.
pub(super) fn features_of_lane(a: &Core, b: &Core) -> ConvexFeatures<f64> {
    witness(a, b).map_or(ConvexFeatures::apart(), |found| features_at(a, b, found))
}

/// The features of one environment whose nearest points are known.
pub(super) fn features_at(a: &Core, b: &Core, found: Witness) -> ConvexFeatures<f64> {
    let unit = |core: &Core, x: Vec3<f64>| {
        x.zip(extents(core.collider.kind, core.collider.size), |x, e| if e > 0.0 { x / e } else { 0.0 })
    };
    let mut f =
        ConvexFeatures { unit_a: unit(a, found.a), unit_b: unit(b, found.b), ..ConvexFeatures::empty() };
    let n = found.normal;
    let (na, nb) = (a.pose.inverse_direction(n), b.pose.inverse_direction(n));
    let of_a = dimension(a, f.unit_a, na, found.distinct[0]);
    let of_b = dimension(b, f.unit_b, -nb, found.distinct[1]);
    if of_a >= 2 {
        f.in_a = face_normal(a, na, found.corners[0]);
    } else if of_b >= 2 {
        f.in_b = -face_normal(b, -nb, found.corners[1]);
    } else {
        let (ea, eb) = (edge(a, f.unit_a, of_a, found.edges[0]), edge(b, f.unit_b, of_b, found.edges[1]));
        let (wa, wb) = (a.pose.direction(ea), b.pose.direction(eb));
        let cross = wa.cross(wb);
        if cross.norm_squared() > 1e-8 && cross.normalize().dot(n).abs() > 1.0 - 1e-6 {
            (f.edge_a, f.edge_b) = (ea * cross.dot(n).signum(), eb);
        } else {
            // One edge at most, and only if the normal is square to it: degenerate shapes may touch
            // otherwise.
            let along = if of_a == 1 { wa } else { wb };
            let square = along.dot(n).abs() < 1e-3;
            if square {
                (f.edge_a, f.edge_b) = if of_a == 1 { (ea, Vec3::zero()) } else { (Vec3::zero(), eb) };
            }
            match refine(a, b, &found, along) {
                Some((n, newton)) if square => (f.world, f.newton) = (n, newton),
                _ => f.world = n,
            }
        }
    }
    f
}

/// The exact normal of a face whose approximate local normal is n, by three of its corners.
fn face_normal(core: &Core, n: Vec3<f64>, corners: [u32; 3]) -> Vec3<f64> {
    let exact = match core.collider.kind {
        Kind::Cylinder => return Vec3::new(0.0, 0.0, n.z.signum()),
        Kind::Box => n.map(f64::round),
        _ => {
            let Collider { vertices, hull, .. } = core.collider;
            let [p, q, r] = corners.map(|c| hull.get(c as usize).map_or(Vec3::zero(), |&v| vertices[v]));
            let normal = (q - p).cross(r - p).normalize();
            if normal.dot(n) < 0.0 { -normal } else { normal }
        }
    };
    if (exact - n).norm() < NEARLY { exact } else { n }
}

/// Local direction of the edge through a witness of dimension one, zero for a point.
fn edge(core: &Core, unit: Vec3<f64>, dimension: usize, between: Vec3<f64>) -> Vec3<f64> {
    match core.collider.kind {
        _ if dimension != 1 => Vec3::zero(),
        Kind::Capsule | Kind::Cylinder => Vec3::new(0.0, 0.0, 1.0),
        Kind::Box => {
            let axis = |i: usize| if unit[i].abs() < 1.0 - BOUNDARY { 1.0 } else { 0.0 };
            Vec3::new(axis(0), axis(1), axis(2))
        }
        _ => between,
    }
}

/// Chooses the features, lane by lane, on primal values.
fn convex_features<T: Real>(
    a: Collider<T>,
    pose_a: Transform<T>,
    b: Collider<T>,
    pose_b: Transform<T>,
) -> ConvexFeatures<T> {
    let of_lane = |lane: usize| {
        let a = Core { collider: a.lane(lane), pose: lane_of(pose_a, lane) };
        let b = Core { collider: b.lane(lane), pose: lane_of(pose_b, lane) };
        features_of_lane(&a, &b)
    };
    of_all_lanes::<T, _, _>(of_lane, |lanes| packed(|i| lanes[i]))
}

/// Features of all lanes.
pub(super) fn packed<T: Real>(lanes: impl Fn(usize) -> ConvexFeatures<f64>) -> ConvexFeatures<T> {
    ConvexFeatures {
        unit_a: pack(|i| lanes(i).unit_a),
        unit_b: pack(|i| lanes(i).unit_b),
        world: pack(|i| lanes(i).world),
        in_a: pack(|i| lanes(i).in_a),
        in_b: pack(|i| lanes(i).in_b),
        edge_a: pack(|i| lanes(i).edge_a),
        edge_b: pack(|i| lanes(i).edge_b),
        newton: [pack(|i| lanes(i).newton[0]), pack(|i| lanes(i).newton[1])],
        off: T::from_lanes(|i| lanes(i).off),
    }
}

/// The local witness of a core for the local normal n.
#[differentiable]
fn local_point<T: Real>(
    #[constant] kind: Kind,
    size: Vec3<T>,
    #[constant] unit: Vec3<T>,
    n: Vec3<T>,
) -> Vec3<T> {
    let zero = T::zero();
    if kind == Kind::Ellipsoid {
        let u = Vec3::new(n.x * size.x, n.y * size.y, n.z * size.z).normalize();
        Vec3::new(u.x * size.x, u.y * size.y, u.z * size.z)
    } else if kind == Kind::Cylinder {
        // On the rim and the side the point follows the normal; on the cap it stays.
        let across = Vec3::new(n.x, n.y, zero);
        let radial = select(
            across.norm_squared().gt(T::lit(1e-12)),
            across.normalize(),
            Vec3::new(unit.x, unit.y, zero),
        ) * size.x;
        radial + Vec3::new(zero, zero, unit.z * size.y)
    } else if kind == Kind::Box || kind == Kind::Heightfield {
        Vec3::new(unit.x * size.x, unit.y * size.y, unit.z * size.z)
    } else if kind == Kind::Capsule {
        Vec3::new(zero, zero, unit.z * size.y)
    } else {
        unit
    }
}

/// A direction given in units of the sizes for terrain, else as it is.
#[differentiable]
fn stretched<T: Real>(#[constant] kind: Kind, size: Vec3<T>, #[constant] unit: Vec3<T>) -> Vec3<T> {
    if kind == Kind::Heightfield {
        Vec3::new(unit.x * size.x, unit.y * size.y, unit.z * size.z).normalize()
    } else {
        unit
    }
}

/// The point of the surface that supports the world direction n, at its feature.
#[differentiable]
fn surface_point<T: Real>(
    #[constant] kind: Kind,
    size: Vec3<T>,
    pose: Transform<T>,
    #[constant] unit: Vec3<T>,
    n: Vec3<T>,
) -> Vec3<T> {
    let core = pose.point(local_point(kind, size, unit, pose.inverse_direction(n)));
    if kind == Kind::Sphere || kind == Kind::Capsule { core + n * size.x } else { core }
}

/// Convex against convex, at given features.
#[differentiable]
pub(crate) fn convex_at<T: Real>(
    #[constant] kind_a: Kind,
    size_a: Vec3<T>,
    a: Transform<T>,
    #[constant] kind_b: Kind,
    size_b: Vec3<T>,
    b: Transform<T>,
    #[constant] f: ConvexFeatures<T>,
) -> Contact<T> {
    let (edge_a, edge_b) = (a.direction(stretched(kind_a, size_a, f.edge_a)), b.direction(f.edge_b));
    let square = f.world - edge_a * edge_a.dot(f.world) - edge_b * edge_b.dot(f.world);
    let n = a.direction(f.in_a) + b.direction(f.in_b) + edge_a.cross(edge_b).normalize() + square;
    // One Newton step towards ∇f = x_b − x_a along n.
    let core_a = a.point(local_point(kind_a, size_a, f.unit_a, a.inverse_direction(n)));
    let core_b = b.point(local_point(kind_b, size_b, f.unit_b, b.inverse_direction(-n)));
    let gradient = core_b - core_a;
    let step = f.newton[0] * f.newton[0].dot(gradient) + f.newton[1] * f.newton[1].dot(gradient);
    let n = (n + step).normalize();
    let x_a = surface_point(kind_a, size_a, a, f.unit_a, n);
    let x_b = surface_point(kind_b, size_b, b, f.unit_b, -n);
    // Closest points slide along edges: s − c t = u·r, t − c s = −v·r.
    let r = x_b - x_a;
    let c = edge_a.dot(edge_b);
    let scale = (T::one() - c * c).max(T::lit(1e-4)).recip();
    let s = (edge_a.dot(r) - c * edge_b.dot(r)) * scale;
    let t = (c * edge_a.dot(r) - edge_b.dot(r)) * scale;
    let (x_a, x_b) = (x_a + edge_a * s, x_b + edge_b * t);
    // And on faces, below the point of the other shape.
    let r = x_b - x_a;
    let across = r - n * n.dot(r);
    let c = between(x_a + across * f.in_a.norm_squared(), x_b - across * f.in_b.norm_squared(), n);
    Contact { position: c.position, normal: c.normal, distance: c.distance + f.off }
}

/// Convex against convex.
pub fn convex_convex<T: Real>(
    a: Collider<T>,
    pose_a: Transform<T>,
    b: Collider<T>,
    pose_b: Transform<T>,
) -> Contact<T> {
    let features = convex_features(a, pose_a, b, pose_b);
    if features.all_apart() {
        return Contact::inactive();
    }
    convex_at(a.kind, a.size, pose_a, b.kind, b.size, pose_b, features)
}

/// Pullback of [`convex_convex`], the features held constant: cotangents of both sizes and poses, (size,
/// pose) each.
pub fn convex_convex_vjp<T: Real>(
    a: Collider<T>,
    pose_a: Transform<T>,
    b: Collider<T>,
    pose_b: Transform<T>,
    out_bar: Contact<T>,
) -> (Vec3<T>, Transform<T>, Vec3<T>, Transform<T>) {
    let features = convex_features(a, pose_a, b, pose_b);
    let ((), size_a, a_bar, (), size_b, b_bar, ()) =
        convex_at_vjp(a.kind, a.size, pose_a, b.kind, b.size, pose_b, features, out_bar);
    (size_a, a_bar, size_b, b_bar)
}

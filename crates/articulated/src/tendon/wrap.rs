//! The shortest path of a tendon around a sphere or a cylinder, MuJoCo's, and its pullback.
//!
//! The problem is one in a plane: that through both ends and the center of a sphere, or that across the axis of
//! a cylinder. Outside, the path is two tangents and the arc between them. Inside, it is two straight pieces
//! that meet the circle with equal angles, sin of which is z: asin Az + asin Bz − 2 asin z + G = 0 with A = r/|d₀|,
//! B = r/|d₁| and G the angle between the ends.
//!
//! Decisions (does it wrap, on which side) are made on values ([`decide`]) and held constant under
//! differentiation. Where a tendon leaves its surface, length and moment are continuous; their derivatives are
//! finite and those of the side the tendon is on.
//!
//! MuJoCo stops the search for z once the equation holds to 1e-6; here it goes on to round-off, so that the
//! implicit function theorem holds. Moments then differ by about as much.
//! Where the equation has no root below 1, the path turns at the direction halfway between its ends.

use pullback_math::{Cotangent, Mask, Real, Vec3, constant, differentiable, select};

/// A number below which MuJoCo takes lengths for zero.
const TINY: f64 = 1e-15;

/// What a tendon wraps around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// A sphere.
    Sphere,
    /// A cylinder without ends, along z.
    Cylinder,
}

/// A path around a surface, in the frame that the ends are given in.
#[derive(Clone, Copy, Debug, Cotangent)]
pub struct Wrapped<T> {
    /// Where it meets the surface.
    pub first: Vec3<T>,
    /// Where it leaves the surface.
    pub last: Vec3<T>,
    /// Length on the surface.
    pub arc: T,
}

/// How a tendon meets a surface.
#[derive(Clone, Copy, Debug)]
pub struct Decision<T: Real> {
    /// Whether it touches.
    pub wraps: T::Mask,
    /// Whether it runs inside.
    pub inside: T::Mask,
    /// Which pair of tangents, ±1.
    side: T,
    /// Whether an inner path turns at the direction halfway between its ends.
    halfway: T::Mask,
}

/// A point of the plane.
type Planar<T> = [T; 2];

#[differentiable]
#[inline(always)]
fn dot2<T: Real>(a: Planar<T>, b: Planar<T>) -> T {
    a[0] * b[0] + a[1] * b[1]
}

#[differentiable]
#[inline(always)]
fn cross2<T: Real>(a: Planar<T>, b: Planar<T>) -> T {
    a[0] * b[1] - a[1] * b[0]
}

#[differentiable]
#[inline(always)]
fn distance2<T: Real>(a: Planar<T>, b: Planar<T>) -> T {
    let d = [a[0] - b[0], a[1] - b[1]];
    dot2(d, d).sqrt()
}

/// a / |a|, and 0 at a = 0.
#[differentiable]
#[inline(always)]
fn unit2<T: Real>(a: Planar<T>) -> Planar<T> {
    let n = Vec3::new(a[0], a[1], T::zero()).normalize();
    [n.x, n.y]
}

/// A direction that is not along the unit vector `x`: ones, and 0 at its largest entry.
#[inline(always)]
fn off_axis<T: Real>(x: Vec3<T>) -> Vec3<T> {
    let (ax, ay, az) = (x.x.abs(), x.y.abs(), x.z.abs());
    let (along_y, along_z) = (ay.gt(ax) & ay.gt(az), az.gt(ax) & az.gt(ay));
    let one_unless = |along: T::Mask| select(along, T::zero(), T::one());
    Vec3::new(one_unless(!(along_y | along_z)), one_unless(along_y), one_unless(along_z))
}

/// The axes of the plane through the center of a sphere and both ends.
#[differentiable]
#[inline(always)]
fn plane_axes<T: Real>(p0: Vec3<T>, p1: Vec3<T>) -> (Vec3<T>, Vec3<T>) {
    let x = p0.normalize();
    let across = p0.cross(p1);
    // Ends on one ray: any plane through it.
    let any = x.cross(constant(off_axis(x)));
    let apart = across.norm().ge(T::lit(TINY));
    let normal = Vec3::new(
        select(apart, across.x, any.x),
        select(apart, across.y, any.y),
        select(apart, across.z, any.z),
    );
    let y = normal.normalize().cross(x);
    (x, y.normalize())
}

/// Where the two tangents from the ends touch the circle; `side` chooses between the two pairs.
#[differentiable]
#[inline(always)]
fn tangent_points<T: Real>(
    d0: Planar<T>,
    d1: Planar<T>,
    r: T,
    #[constant] side: T,
) -> (Planar<T>, Planar<T>) {
    // u = (r² d + s r √(|d|² − r²) d⊥) / |d|²
    let (s0, s1) = (dot2(d0, d0), dot2(d1, d1));
    let k0 = side * r * (s0 - r * r).sqrt();
    let k1 = side * r * (s1 - r * r).sqrt();
    let u = [(r * r * d0[0] + k0 * d0[1]) / s0, (r * r * d0[1] - k0 * d0[0]) / s0];
    let v = [(r * r * d1[0] - k1 * d1[1]) / s1, (r * r * d1[1] + k1 * d1[0]) / s1];
    (u, v)
}

/// Angle of the arc from `u` to `v`, in [0, 2π).
#[differentiable]
#[inline(always)]
fn arc_angle<T: Real>(u: Planar<T>, v: Planar<T>, #[constant] side: T) -> T {
    let turn = -(side * cross2(u, v));
    let angle = turn.atan2(dot2(u, v));
    select(angle.lt(T::zero()), angle + T::lit(std::f64::consts::TAU), angle)
}

/// The path in the plane outside the circle.
#[differentiable]
#[inline(always)]
fn around<T: Real>(d0: Planar<T>, d1: Planar<T>, r: T, #[constant] side: T) -> (Planar<T>, Planar<T>, T) {
    let (u, v) = tangent_points(d0, d1, r, side);
    (u, v, r * arc_angle(u, v, side))
}

/// Value and slope of asin Az + asin Bz − 2 asin z + G over z.
#[inline(always)]
fn reflection<T: Real>(a: T, b: T, angle: T, z: T) -> (T, T) {
    let root = |x: T| ((T::one() - x) * (T::one() + x)).max(T::lit(TINY * TINY)).sqrt().max(T::lit(TINY));
    let value = (a * z).asin() + (b * z).asin() - T::lit(2.0) * z.asin() + angle;
    let slope = a / root(a * z) + b / root(b * z) - T::lit(2.0) / root(z);
    (value, slope)
}

/// The root z of the equation of reflection, by Newton's method from near 1; says where there is none.
#[inline]
fn search_reflection<T: Real>(a: T, b: T, angle: T) -> (T, T::Mask) {
    let mut z = T::lit(1.0 - 1e-12);
    let (mut value, mut slope) = reflection(a, b, angle, z);
    let mut fails = value.gt(T::zero());
    let mut iterations = 0;
    loop {
        let goes_on = !fails & value.abs().gt(T::lit(1e-6));
        if !goes_on.any() {
            break;
        }
        if iterations == 20 {
            fails = fails | goes_on;
            break;
        }
        let flat = slope.gt(T::lit(-TINY));
        let next = z - value / select(flat, -T::one(), slope);
        let rises = next.gt(z);
        let (new_value, new_slope) = reflection(a, b, angle, next);
        let over = new_value.gt(T::lit(1e-6));
        fails = fails | (goes_on & (flat | rises | over));
        z = select(goes_on, next, z);
        value = select(goes_on, new_value, value);
        slope = select(goes_on, new_slope, slope);
        iterations += 1;
    }
    (z, fails)
}

/// The root z of the equation of reflection; nothing sensible where [`search_reflection`] gives up.
#[inline]
fn reflection_root<T: Real>(a: T, b: T, angle: T) -> T {
    let value_of = |x: T| T::from_parts(x.primal(), T::Primal::zero());
    let (mut z, _) = search_reflection(value_of(a), value_of(b), value_of(angle));
    for _ in 0..3 {
        z = newton_step(value_of(a), value_of(b), value_of(angle), z);
    }
    // One more step at the root, with tangents: the implicit function theorem.
    newton_step(a, b, angle, z)
}

#[inline(always)]
fn newton_step<T: Real>(a: T, b: T, angle: T, z: T) -> T {
    let (value, slope) = reflection(a, b, angle, z);
    let slope = T::from_parts(slope.primal(), T::Primal::zero());
    (z - value / slope).min(T::one())
}

/// dz = −(z dA / √(1 − A²z²) + z dB / √(1 − B²z²) + dG) / f′(z)
#[inline]
fn reflection_root_vjp<T: Real>(a: T, b: T, angle: T, z_bar: T) -> (T, T, T) {
    let z = reflection_root(a, b, angle);
    let (_, slope) = reflection(a, b, angle, z);
    let bar = -(z_bar / slope);
    let by = |x: T| z / ((T::one() - x * z) * (T::one() + x * z)).max(T::lit(TINY)).sqrt();
    (bar * by(a), bar * by(b), bar)
}

/// Turns a unit vector counter-clockwise.
#[differentiable]
#[inline(always)]
fn turned<T: Real>(x: Planar<T>, angle: T) -> Planar<T> {
    let (sin, cos) = angle.sin_cos();
    [x[0] * cos - x[1] * sin, x[0] * sin + x[1] * cos]
}

/// The point at which an inner path touches the circle.
#[differentiable]
#[inline(always)]
fn inner_point<T: Real>(d0: Planar<T>, d1: Planar<T>, r: T, #[constant] halfway: T::Mask) -> Planar<T> {
    let middle = unit2([d0[0] + d1[0], d0[1] + d1[1]]);
    let (l0, l1) = (dot2(d0, d0).sqrt(), dot2(d1, d1).sqrt());
    let cross = cross2(d0, d1);
    // Where the equation has no root, another that has one stands in.
    let (a, b) = (select(halfway, T::lit(0.5), r / l0), select(halfway, T::lit(0.5), r / l1));
    let angle = select(halfway, T::one(), cross.abs().atan2(dot2(d0, d1)));
    let z = reflection_root(a, b, angle);
    let left = cross.gt(T::zero());
    let from = unit2([select(left, d0[0], d1[0]), select(left, d0[1], d1[1])]);
    let ratio = select(left, a, b);
    let touch = turned(from, z.asin() - (ratio * z).asin());
    [r * select(halfway, middle[0], touch[0]), r * select(halfway, middle[1], touch[1])]
}

/// The path around a sphere at the origin.
#[differentiable]
#[inline]
pub fn around_sphere<T: Real>(p0: Vec3<T>, p1: Vec3<T>, r: T, #[constant] how: Decision<T>) -> Wrapped<T> {
    let (x, y) = plane_axes(p0, p1);
    let d0 = [p0.dot(x), p0.dot(y)];
    let d1 = [p1.dot(x), p1.dot(y)];
    let (u, v, arc) = around(d0, d1, r, how.side);
    Wrapped { first: x * u[0] + y * u[1], last: x * v[0] + y * v[1], arc }
}

/// The path inside a sphere at the origin.
#[differentiable]
#[inline]
pub fn inside_sphere<T: Real>(p0: Vec3<T>, p1: Vec3<T>, r: T, #[constant] how: Decision<T>) -> Wrapped<T> {
    let (x, y) = plane_axes(p0, p1);
    let d0 = [p0.dot(x), p0.dot(y)];
    let d1 = [p1.dot(x), p1.dot(y)];
    let u = inner_point(d0, d1, r, how.halfway);
    let touch = x * u[0] + y * u[1];
    Wrapped { first: touch, last: touch, arc: T::zero() }
}

/// A path in the plane across a cylinder, with the heights at which it is evenly steep.
#[differentiable]
#[inline(always)]
fn steep<T: Real>(p0: Vec3<T>, p1: Vec3<T>, u: Planar<T>, v: Planar<T>, arc: T) -> Wrapped<T> {
    let (before, after) = (distance2([p0.x, p0.y], u), distance2([p1.x, p1.y], v));
    let slope = (p1.z - p0.z) / (before + arc + after);
    let (z0, z1) = (p0.z + slope * before, p0.z + slope * (before + arc));
    let rise = z1 - z0;
    let arc = (arc * arc + rise * rise).sqrt();
    Wrapped { first: Vec3::new(u[0], u[1], z0), last: Vec3::new(v[0], v[1], z1), arc }
}

/// The path around a cylinder along z.
#[differentiable]
#[inline]
pub fn around_cylinder<T: Real>(p0: Vec3<T>, p1: Vec3<T>, r: T, #[constant] how: Decision<T>) -> Wrapped<T> {
    let (u, v, arc) = around([p0.x, p0.y], [p1.x, p1.y], r, how.side);
    steep(p0, p1, u, v, arc)
}

/// The path inside a cylinder along z.
#[differentiable]
#[inline]
pub fn inside_cylinder<T: Real>(p0: Vec3<T>, p1: Vec3<T>, r: T, #[constant] how: Decision<T>) -> Wrapped<T> {
    let u = inner_point([p0.x, p0.y], [p1.x, p1.y], r, how.halfway);
    steep(p0, p1, u, u, T::zero())
}

/// Whether two segments cross.
#[inline(always)]
fn crosses<T: Real>(p0: Planar<T>, p1: Planar<T>, q0: Planar<T>, q1: Planar<T>) -> T::Mask {
    // p0 + a (p1 − p0) = q0 + b (q1 − q0)
    let (p, q, d) =
        ([p1[0] - p0[0], p1[1] - p0[1]], [q1[0] - q0[0], q1[1] - q0[1]], [q0[0] - p0[0], q0[1] - p0[1]]);
    let det = cross2(p, q);
    let regular = det.abs().ge(T::lit(TINY));
    let safe = select(regular, det, T::one());
    let (a, b) = (cross2(d, q) / safe, cross2(d, p) / safe);
    let within = |x: T| x.ge(T::zero()) & x.le(T::one());
    regular & within(a) & within(b)
}

/// The ends, seen in the plane of the path.
#[inline(always)]
fn planar<T: Real>(surface: Surface, p0: Vec3<T>, p1: Vec3<T>) -> (Vec3<T>, Vec3<T>) {
    match surface {
        Surface::Sphere => plane_axes(p0, p1),
        Surface::Cylinder => {
            let (o, i) = (T::zero(), T::one());
            (Vec3::new(i, o, o), Vec3::new(o, i, o))
        }
    }
}

/// Whether and how a tendon between two points of a surface's frame wraps; `sidesite` is a point on the side
/// that it shall pass, and inside the surface if it shall run inside.
pub fn decide<T: Real>(
    surface: Surface,
    (p0, p1): (Vec3<T>, Vec3<T>),
    r: T,
    sidesite: Option<Vec3<T>>,
) -> Decision<T> {
    let tiny = T::lit(TINY);
    let (x, y) = planar(surface, p0, p1);
    let flat = |p: Vec3<T>| [p.dot(x), p.dot(y)];
    let (d0, d1) = (flat(p0), flat(p1));
    let between = [d1[0] - d0[0], d1[1] - d0[1]];
    let (s0, s1, gap) = (dot2(d0, d0), dot2(d1, d1), dot2(between, between));
    let inside = sidesite.map_or(T::Mask::splat(false), |s| s.norm().lt(r));
    let possible = p0.norm().ge(tiny) & p1.norm().ge(tiny) & r.ge(tiny);

    // The point of the straight path that is nearest to the center.
    let apart = gap.ge(tiny);
    let nearest = -dot2(d0, between) / select(apart, gap, T::one());
    let clamped = nearest.max(T::zero()).min(T::one());
    let t = [d0[0] + clamped * between[0], d0[1] + clamped * between[1]];
    let t_length = dot2(t, t).sqrt();

    // Outside: which pair of tangents, and whether it is any good.
    let far = s0.sqrt().ge(r) & s1.sqrt().ge(r);
    let side = sidesite.map(|s| {
        let d = unit2(flat(s));
        [d[0] * r, d[1] * r]
    });
    let free = match side {
        None => t_length.gt(r),
        Some(side) => t_length.gt(r) & dot2(side, t).ge(T::zero()),
    };
    let safe = |d: Planar<T>, ok: T::Mask| [select(ok, d[0], r + r), select(ok, d[1], r)];
    let (e0, e1) = (safe(d0, far & possible), safe(d1, far & possible));
    let judge = |sign: f64| {
        let (u, v) = tangent_points(e0, e1, r, T::lit(sign));
        let crossed = crosses(e0, u, e1, v);
        let score = match side {
            Some(side) => dot2(unit2([u[0] + v[0], u[1] + v[1]]), side),
            None => {
                let d = [u[0] - v[0], u[1] - v[1]];
                -dot2(d, d)
            }
        };
        (select(crossed, T::lit(-10000.0), score), crossed)
    };
    let ((score0, crossed0), (score1, crossed1)) = (judge(1.0), judge(-1.0));
    let first = score0.gt(score1);
    let crossed = (first & crossed0) | (!first & crossed1);
    let around = possible & far & apart & !free & !crossed;

    // Inside: the straight path must not leave the circle.
    let beyond = s0.sqrt().gt(r) & s1.sqrt().gt(r);
    let through = nearest.gt(T::zero()) & nearest.lt(T::one()) & apart & t_length.le(r);
    let (l0, l1) = (s0.sqrt().max(tiny), s1.sqrt().max(tiny));
    let cosine = (s0 + s1 - gap) / (T::lit(2.0) * l0 * l1);
    let within = possible & beyond & !through & cosine.ge(T::lit(TINY - 1.0));
    let root_exists = within & cosine.le(T::lit(1.0 - TINY));
    let half = T::lit(0.5);
    let (a, b) = (select(root_exists, r / l0, half), select(root_exists, r / l1, half));
    let angle = select(root_exists, cross2(d0, d1).abs().atan2(dot2(d0, d1)), T::one());
    let halfway =
        if (inside & within).any() { !root_exists | search_reflection(a, b, angle).1 } else { inside };

    Decision {
        wraps: (inside & within) | (!inside & around),
        inside,
        side: select(first, T::one(), -T::one()),
        halfway,
    }
}

impl<T: Real> Decision<T> {
    /// The ends where the path wraps, and others that do in lanes where it does not.
    fn safe_ends(&self, p0: Vec3<T>, p1: Vec3<T>, r: T) -> (Vec3<T>, Vec3<T>) {
        let far = r + r;
        let pick = |p: Vec3<T>, x: T| {
            let w = self.wraps;
            Vec3::new(select(w, p.x, x), select(w, p.y, far), select(w, p.z, T::zero()))
        };
        (pick(p0, far), pick(p1, -far))
    }
}

/// Of an outer and an inner path, that which is taken.
fn select_path<T: Real>(inside: T::Mask, inner: Wrapped<T>, outer: Wrapped<T>) -> Wrapped<T> {
    let pick = |a: Vec3<T>, b: Vec3<T>| a.zip(b, |a, b| select(inside, a, b));
    Wrapped {
        first: pick(inner.first, outer.first),
        last: pick(inner.last, outer.last),
        arc: select(inside, inner.arc, outer.arc),
    }
}

/// The part of a cotangent in the lanes of a mask.
fn masked<T: Real>(mask: T::Mask, bar: Wrapped<T>) -> Wrapped<T> {
    let zero = Wrapped { first: Vec3::zero(), last: Vec3::zero(), arc: T::zero() };
    select_path(mask, bar, zero)
}

/// The path between two points of a surface's frame; in lanes that do not wrap it means nothing.
pub fn wrap<T: Real>(surface: Surface, (p0, p1): (Vec3<T>, Vec3<T>), r: T, how: Decision<T>) -> Wrapped<T> {
    let (p0, p1) = how.safe_ends(p0, p1, r);
    let outer = || match surface {
        Surface::Sphere => around_sphere(p0, p1, r, how),
        Surface::Cylinder => around_cylinder(p0, p1, r, how),
    };
    let inner = || match surface {
        Surface::Sphere => inside_sphere(p0, p1, r, how),
        Surface::Cylinder => inside_cylinder(p0, p1, r, how),
    };
    if how.inside.all() {
        inner()
    } else if how.inside.any() {
        select_path(how.inside, inner(), outer())
    } else {
        outer()
    }
}

/// The pullback of [`wrap`]: cotangents of both ends and the radius.
pub fn wrap_vjp<T: Real>(
    surface: Surface,
    (p0, p1): (Vec3<T>, Vec3<T>),
    r: T,
    how: Decision<T>,
    bar: Wrapped<T>,
) -> (Vec3<T>, Vec3<T>, T) {
    let (e0, e1) = how.safe_ends(p0, p1, r);
    let (mut p0_bar, mut p1_bar, mut r_bar) = (Vec3::zero(), Vec3::zero(), T::zero());
    let mut add = |(b0, b1, br, ()): (Vec3<T>, Vec3<T>, T, ())| {
        p0_bar += b0;
        p1_bar += b1;
        r_bar += br;
    };
    let (inner, outer) = (how.wraps & how.inside, how.wraps & !how.inside);
    if outer.any() {
        let bar = masked(outer, bar);
        add(match surface {
            Surface::Sphere => around_sphere_vjp(e0, e1, r, how, bar),
            Surface::Cylinder => around_cylinder_vjp(e0, e1, r, how, bar),
        });
    }
    if inner.any() {
        let bar = masked(inner, bar);
        add(match surface {
            Surface::Sphere => inside_sphere_vjp(e0, e1, r, how, bar),
            Surface::Cylinder => inside_cylinder_vjp(e0, e1, r, how, bar),
        });
    }
    let kept = |v: Vec3<T>| v.map(|x| select(how.wraps, x, T::zero()));
    (kept(p0_bar), kept(p1_bar), select(how.wraps, r_bar, T::zero()))
}

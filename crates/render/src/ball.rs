//! Balls as pixels see them.
//!
//! The line of sight o + s u of a pixel passes the center c at distance h, where s₀ = (c − o)·u / |u|² is nearest
//! and h² = |c − o|² − s₀² |u|². The ball covers the pixel where h < r, which is its exact outline under perspective
//! too. Distance on the screen is (r − h) over the scale there: half height times depth of the center.
//!
//! The point that is seen lies at s₀ − √(r² − h²) / |u|. Near the rim the root has no bounded slope, so √(r² − h² + δ²)
//! with δ = r / 100 stands in its place, and δ alone outside.

use pullback_math::{Cotangent, Real, Vec3, differentiable};

use crate::material::SurfacePoint;
use crate::primitive::{Cover, Fragment, Primitive, Sight};

/// A ball in the camera's frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub(crate) struct Ball<P> {
    /// Center, m.
    pub center: Vec3<P>,
    /// Radius, m.
    pub radius: P,
    /// Color.
    pub color: Vec3<P>,
    /// Half the height that the camera sees.
    pub half_height: P,
}

/// Softness of the rim δ / r.
const RIM: f64 = 0.01;

/// Where the line of sight of a pixel begins, and its direction with one unit of depth.
#[differentiable]
#[inline(always)]
fn line_of_sight<P: Real>(#[constant] perspective: bool, half_height: P, x: P, y: P) -> (Vec3<P>, Vec3<P>) {
    let across = Vec3::new(x * half_height, y * half_height, P::zero());
    let ahead = Vec3::new(P::zero(), P::zero(), P::lit(-1.0));
    if perspective { (Vec3::zero(), across + ahead) } else { (across, ahead) }
}

/// Signed distance d from the outline on the screen.
#[differentiable]
#[inline(always)]
fn distance<P: Real>(#[constant] perspective: bool, ball: Ball<P>, #[constant] x: P, #[constant] y: P) -> P {
    let (start, u) = line_of_sight(perspective, ball.half_height, x, y);
    let c = ball.center - start;
    let miss = c - u * (c.dot(u) / u.norm_squared());
    let scale = if perspective { -(ball.center.z * ball.half_height) } else { ball.half_height };
    (ball.radius - miss.norm()) / scale
}

/// d |d|
#[differentiable]
#[inline(always)]
fn signed_square<P: Real>(d: P) -> P {
    d * d.abs()
}

/// The point that a pixel sees.
#[differentiable]
#[inline(always)]
fn seen<P: Real>(
    #[constant] perspective: bool,
    ball: Ball<P>,
    #[constant] x: P,
    #[constant] y: P,
) -> Fragment<P> {
    let (start, u) = line_of_sight(perspective, ball.half_height, x, y);
    let c = ball.center - start;
    let per_square = u.norm_squared().recip();
    let nearest = c.dot(u) * per_square;
    let miss = c - u * nearest;
    let soft = ball.radius * ball.radius * P::lit(RIM * RIM);
    let under = (ball.radius * ball.radius - miss.norm_squared()).max(P::zero()) + soft;
    let depth = nearest - (under * per_square).sqrt();
    let position = start + u * depth;
    Fragment { depth, point: SurfacePoint { position, normal: position - ball.center, albedo: ball.color } }
}

impl<P: Real> Primitive<P> for Ball<P> {
    type Nearest = P;

    #[inline(always)]
    fn cover(&self, sight: Sight, at: [P; 2]) -> Cover<P, P> {
        let d = distance(sight.perspective, *self, at[0], at[1]);
        Cover { signed: signed_square(d), inside: d.ge(P::zero()), nearest: d }
    }

    #[inline(always)]
    fn fragment(&self, sight: Sight, at: [P; 2], _cover: &Cover<P, P>) -> Fragment<P> {
        seen(sight.perspective, *self, at[0], at[1])
    }

    #[inline(always)]
    fn pull(
        &self,
        sight: Sight,
        at: [P; 2],
        cover: &Cover<P, P>,
        signed_bar: P,
        fragment_bar: Option<Fragment<P>>,
        bar: &mut Self,
    ) {
        let d_bar = signed_square_vjp(cover.nearest, signed_bar);
        bar.accumulate(distance_vjp(sight.perspective, *self, at[0], at[1], d_bar).1);
        if let Some(fragment_bar) = fragment_bar {
            bar.accumulate(seen_vjp(sight.perspective, *self, at[0], at[1], fragment_bar).1);
        }
    }
}

impl<P: Real> Ball<P> {
    /// Every number through `f`.
    #[inline(always)]
    pub fn map<U>(&self, f: impl Fn(P) -> U + Copy) -> Ball<U> {
        Ball {
            center: self.center.map(f),
            radius: f(self.radius),
            color: self.color.map(f),
            half_height: f(self.half_height),
        }
    }
}

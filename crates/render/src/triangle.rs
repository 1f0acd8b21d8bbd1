//! Triangles as pixels see them: depth and what corners carry, on an [`Outline`].

use pullback_math::{Cotangent, Real, Vec3};

use crate::outline::{NearestPoint, Outline};
use crate::primitive::{Cover, Fragment, Primitive, Sight, blend, blend_vjp};

/// What the corners of a triangle carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub(crate) struct Corners<P> {
    /// 1 / depth under perspective, else depth: linear on the screen.
    pub depth_key: [P; 3],
    /// Positions in the camera's frame.
    pub position: [Vec3<P>; 3],
    /// Normals in the camera's frame, of any length and side.
    pub normal: [Vec3<P>; 3],
    /// Colors, or (u, v, 0).
    pub paint: [Vec3<P>; 3],
}

impl<P: Real> Corners<P> {
    /// Every number through `f`.
    #[inline(always)]
    pub fn map<U>(&self, f: impl Fn(P) -> U + Copy) -> Corners<U> {
        Corners {
            depth_key: self.depth_key.map(f),
            position: self.position.map(|x| x.map(f)),
            normal: self.normal.map(|x| x.map(f)),
            paint: self.paint.map(|x| x.map(f)),
        }
    }
}

/// A triangle with what its corners carry.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Triangle<P> {
    pub outline: Outline<P>,
    pub corners: Corners<P>,
}

/// Depth and perspective weights of a point with barycentric coordinates u on the screen: bₖ = uₖ kₖ / Σ u k.
#[inline(always)]
fn perspective_weights<P: Real>(sight: Sight, u: [P; 3], key: [P; 3]) -> (P, [P; 3]) {
    let sum = u[0].mul_add(key[0], u[1].mul_add(key[1], u[2] * key[2]));
    if !sight.perspective {
        return (sum, u);
    }
    let depth = sum.recip();
    (depth, std::array::from_fn(|k| u[k] * key[k] * depth))
}

/// With k the keys and z = 1 / Σ u k: b̄ₖ gives (uₖ kₖ)‾ = z (b̄ₖ − Σ b̄ b) − z² z̄
#[inline(always)]
fn perspective_weights_vjp<P: Real>(
    sight: Sight,
    u: [P; 3],
    key: [P; 3],
    (depth, b): (P, [P; 3]),
    depth_bar: P,
    b_bar: [P; 3],
) -> ([P; 3], [P; 3]) {
    if !sight.perspective {
        return (std::array::from_fn(|k| b_bar[k] + depth_bar * key[k]), u.map(|u| u * depth_bar));
    }
    let mean = b_bar[0] * b[0] + b_bar[1] * b[1] + b_bar[2] * b[2] + depth_bar * depth;
    let product_bar: [P; 3] = std::array::from_fn(|k| (b_bar[k] - mean) * depth);
    (std::array::from_fn(|k| product_bar[k] * key[k]), std::array::from_fn(|k| product_bar[k] * u[k]))
}

impl<P: Real> Triangle<P> {
    /// The point with barycentric coordinates u on the screen.
    #[inline(always)]
    fn fragment_at(&self, sight: Sight, u: [P; 3]) -> Fragment<P> {
        let corners = &self.corners;
        let (depth, b) = perspective_weights(sight, u, corners.depth_key);
        let mut fragment = Fragment { depth, ..Fragment::default() };
        fragment.point.position = blend(b, corners.position);
        fragment.point.normal = blend(b, corners.normal);
        fragment.point.albedo = blend(b, corners.paint);
        fragment
    }
}

impl<P: Real> Primitive<P> for Triangle<P> {
    type Nearest = NearestPoint<P>;

    #[inline(always)]
    fn cover(&self, sight: Sight, at: [P; 2]) -> Cover<P, NearestPoint<P>> {
        self.outline.cover(sight, at)
    }

    #[inline(always)]
    fn fragment(&self, sight: Sight, _at: [P; 2], cover: &Cover<P, NearestPoint<P>>) -> Fragment<P> {
        self.fragment_at(sight, cover.nearest.coordinates(cover.inside))
    }

    #[inline(always)]
    fn hit(&self, sight: Sight, at: [P; 2]) -> (P::Mask, P) {
        let (u, inside) = self.outline.coordinates(at);
        (inside, perspective_weights(sight, u, self.corners.depth_key).0)
    }

    #[inline(always)]
    fn fragment_inside(&self, sight: Sight, at: [P; 2]) -> Fragment<P> {
        self.fragment_at(sight, self.outline.coordinates(at).0)
    }

    /// Under perspective p = Σ λ k pₖ / Σ λ k, so ∂p = Σ ∂λ k (pₖ − p) / Σ λ k.
    #[inline(always)]
    fn paint_slopes(&self, sight: Sight, fragment: &Fragment<P>) -> [Vec3<P>; 2] {
        let mut slopes = [Vec3::zero(); 2];
        for k in 0..3 {
            let scale = if sight.perspective { self.corners.depth_key[k] * fragment.depth } else { P::one() };
            let change = (self.corners.paint[k] - fragment.point.albedo) * scale;
            for (slope, along) in slopes.iter_mut().zip(self.outline.slopes(k)) {
                *slope += change * along;
            }
        }
        slopes
    }

    #[inline(always)]
    fn pull(
        &self,
        sight: Sight,
        _at: [P; 2],
        cover: &Cover<P, NearestPoint<P>>,
        signed_bar: P,
        fragment_bar: Option<Fragment<P>>,
        bar: &mut Self,
    ) {
        let corner_bar = &mut bar.outline.corners;
        self.outline.pull_distance(cover, signed_bar, corner_bar);
        let Some(fragment_bar) = fragment_bar else { return };

        let corners = &self.corners;
        let u = cover.nearest.coordinates(cover.inside);
        let weights = perspective_weights(sight, u, corners.depth_key);
        let point = fragment_bar.point;
        let position = blend_vjp(weights.1, corners.position, point.position, &mut bar.corners.position);
        let normal = blend_vjp(weights.1, corners.normal, point.normal, &mut bar.corners.normal);
        let paint = blend_vjp(weights.1, corners.paint, point.albedo, &mut bar.corners.paint);
        let b_bar = std::array::from_fn(|k| position[k] + normal[k] + paint[k]);
        let key = corners.depth_key;
        let (u_bar, key_bar) = perspective_weights_vjp(sight, u, key, weights, fragment_bar.depth, b_bar);
        for k in 0..3 {
            bar.corners.depth_key[k] += key_bar[k];
        }
        self.outline.pull_coordinates(cover, u, u_bar, corner_bar);
    }
}

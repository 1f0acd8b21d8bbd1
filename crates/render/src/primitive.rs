//! [`Primitive`]: what a pixel can see, a triangle or a ball, on lanes over pixels.

use pullback_math::{Cotangent, Real, Vec3};

use crate::material::SurfacePoint;

/// Where a primitive is seen from a pixel: its outline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cover<P: Real, N> {
    /// Squared distance from the outline on the screen, positive inside.
    pub signed: P,
    /// Whether the center of the pixel is inside.
    pub inside: P::Mask,
    /// What the rest of the work needs to know.
    pub nearest: N,
}

/// The point of a primitive that a pixel sees; outside, the nearest one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub(crate) struct Fragment<P> {
    /// Depth, m.
    pub depth: P,
    /// Position and normal in the camera's frame, and color; under a texture (u, v, 0).
    pub point: SurfacePoint<P>,
}

/// What of a camera the pixels need to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sight {
    /// Whether lines of sight meet.
    pub perspective: bool,
}

/// A triangle or a ball, with every number the same in all lanes, or their cotangents lane by lane.
pub(crate) trait Primitive<P: Real>: Copy {
    /// What [`Primitive::cover`] finds and the others need.
    type Nearest: Copy;
    /// How the pixels at `at` on the screen see the outline.
    fn cover(&self, sight: Sight, at: [P; 2]) -> Cover<P, Self::Nearest>;
    /// The point that they see.
    fn fragment(&self, sight: Sight, at: [P; 2], cover: &Cover<P, Self::Nearest>) -> Fragment<P>;
    /// Whether pixels are inside, and the depth there.
    #[inline(always)]
    fn hit(&self, sight: Sight, at: [P; 2]) -> (P::Mask, P) {
        let cover = self.cover(sight, at);
        (cover.inside, self.fragment(sight, at, &cover).depth)
    }
    /// The point that pixels inside see.
    #[inline(always)]
    fn fragment_inside(&self, sight: Sight, at: [P; 2]) -> Fragment<P> {
        self.fragment(sight, at, &self.cover(sight, at))
    }
    /// How color or place on a texture of a fragment changes along x and y of the screen; zero if it does not.
    #[inline(always)]
    fn paint_slopes(&self, _sight: Sight, _fragment: &Fragment<P>) -> [Vec3<P>; 2] {
        [Vec3::zero(); 2]
    }
    /// Pullback of both: adds to the cotangent of the primitive. Without `fragment_bar` only the outline is pulled
    /// back.
    fn pull(
        &self,
        sight: Sight,
        at: [P; 2],
        cover: &Cover<P, Self::Nearest>,
        signed_bar: P,
        fragment_bar: Option<Fragment<P>>,
        bar: &mut Self,
    );
}

/// Σ bₖ xₖ
#[inline(always)]
pub(crate) fn blend<P: Real>(b: [P; 3], x: [Vec3<P>; 3]) -> Vec3<P> {
    let entry = |x0: P, x1: P, x2: P| x0.mul_add(b[0], x1.mul_add(b[1], x2 * b[2]));
    Vec3 {
        x: entry(x[0].x, x[1].x, x[2].x),
        y: entry(x[0].y, x[1].y, x[2].y),
        z: entry(x[0].z, x[1].z, x[2].z),
    }
}

/// x̄ₖ += bₖ ō, b̄ₖ += xₖ·ō
#[inline(always)]
pub(crate) fn blend_vjp<P: Real>(
    b: [P; 3],
    x: [Vec3<P>; 3],
    out_bar: Vec3<P>,
    x_bar: &mut [Vec3<P>; 3],
) -> [P; 3] {
    std::array::from_fn(|k| {
        x_bar[k] += out_bar * b[k];
        x[k].dot(out_bar)
    })
}

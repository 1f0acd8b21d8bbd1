//! DIB-R: the nearest face in the foreground, a soft silhouette around it (Chen et al. 2019).
//!
//! A pixel inside a face shows the nearest one, interpolated, and is covered. Outside of all, α = 1 − Π (1 − Eⱼ) with
//! Eⱼ = exp(−s d²) over the faces within reach. Which face is in front is held constant.

use pullback_math::{Mask, Real, Scalar, Vec3, select};

use crate::look::{Look, LookBar, Shown};
use crate::primitive::Primitive;
use crate::settings::DibR;
use crate::workspace::{SampleBar, Seen};

/// The settings in registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dib<P> {
    sharpness: P,
    /// −d² where a face ceases to count.
    beyond: P,
    far: P,
}

impl<P: Real> Dib<P> {
    pub fn new(dib: &DibR, far: f64) -> Self {
        Dib { sharpness: P::lit(dib.sharpness), beyond: P::lit(-dib.reach * dib.reach), far: P::lit(far) }
    }

    /// Samples that have seen nothing but the background.
    pub fn begin(&self, background: Vec3<P>) -> Seen<P> {
        Seen { front: P::zero(), total: self.far, color: background, depth: self.far, normal: Vec3::zero() }
    }

    /// Lets the samples of a block see primitive number `number`, from 1.
    #[inline(always)]
    pub fn draw<T: Scalar<Pack = P>, S: Primitive<P>>(
        &self,
        primitive: &S,
        number: P,
        look: &Look<'_, T>,
        at: [P; 2],
        through: &mut P,
        seen: &mut Seen<P>,
    ) {
        let cover = primitive.cover(look.sight, at);
        let near = cover.signed.ge(self.beyond) & !cover.inside;
        if near.any() {
            let reached = (cover.signed * self.sharpness).exp();
            *through *= select(near, P::one() - reached, P::one());
        }
        if !cover.inside.any() {
            return;
        }
        let fragment = primitive.fragment(look.sight, at, &cover);
        let ahead = cover.inside & fragment.depth.lt(seen.total);
        if !ahead.any() {
            return;
        }
        let shown = look.show(&fragment, ahead);
        seen.front = select(ahead, number, seen.front);
        seen.total = select(ahead, fragment.depth, seen.total);
        seen.color = select(ahead, shown.color, seen.color);
        seen.depth = select(ahead, fragment.depth, seen.depth);
        seen.normal = select(ahead, shown.normal, seen.normal);
    }

    /// Nothing is seen through a covered sample.
    pub fn finish(&self, through: &mut P, seen: &Seen<P>) {
        *through = select(seen.front.gt(P::zero()), P::zero(), *through);
    }

    /// Share of the background in the color.
    pub fn background_share(&self, seen: &Seen<P>) -> P {
        select(seen.front.gt(P::zero()), P::zero(), P::one())
    }

    /// Pullback of [`Dib::draw`], given what the samples have seen in the end.
    #[inline(always)]
    pub fn pull<T: Scalar<Pack = P>, S: Primitive<P>>(
        &self,
        primitive: &S,
        number: P,
        look: &Look<'_, T>,
        at: [P; 2],
        (through, seen): (P, &Seen<P>),
        sample_bar: &SampleBar<P>,
        bar: &mut S,
        look_bar: &mut LookBar<'_, T>,
    ) {
        let cover = primitive.cover(look.sight, at);
        let near = cover.signed.ge(self.beyond) & !cover.inside;
        let front = cover.inside & seen.front.ge(number) & seen.front.le(number);
        if !(near.any() | front.any()) {
            return;
        }
        // dα = (Π (1 − E)) / (1 − Eⱼ) · s Eⱼ d(−d²)
        let reached = (cover.signed * self.sharpness).exp();
        let others = through / (P::one() - reached).max(P::lit(P::MIN_POSITIVE));
        let signed_bar = select(near, sample_bar.alpha * others * reached * self.sharpness, P::zero());
        let fragment_bar = front.any().then(|| {
            let fragment = primitive.fragment(look.sight, at, &cover);
            let zero = Vec3::zero();
            let shown_bar = Shown {
                color: select(front, sample_bar.color, zero),
                normal: select(front, sample_bar.normal, zero),
            };
            let mut fragment_bar = look.show_vjp(&fragment, front, shown_bar, look_bar);
            fragment_bar.depth += select(front, sample_bar.depth, P::zero());
            fragment_bar
        });
        primitive.pull(look.sight, at, &cover, signed_bar, fragment_bar, bar);
    }
}

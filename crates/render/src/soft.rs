//! SoftRas: every face near a pixel contributes (Liu et al. 2019).
//!
//! With xⱼ = ± d² / σ and qⱼ = 1 − Dⱼ = sigmoid(−xⱼ): α = 1 − Π qⱼ, wⱼ = Dⱼ exp(eⱼ), C = Σ wⱼ cⱼ / Σ wⱼ. The weights
//! are kept relative to the largest exponent so far, so that nothing overflows. Shares pⱼ = wⱼ / Σ w and what follows
//! from D′ = D q make the pullback free of divisions by small numbers:
//!
//! x̄ⱼ = ᾱ (Π q) Dⱼ + gⱼ pⱼ qⱼ,  ēⱼ = gⱼ pⱼ,  c̄ⱼ = C̄ pⱼ,  gⱼ = C̄·(cⱼ − C).

use pullback_math::{Mask, Real, Scalar, Select, Vec3, select};

use crate::look::{Look, LookBar, Shown};
use crate::primitive::{Fragment, Primitive};
use crate::settings::SoftRas;
use crate::workspace::{SampleBar, Seen};

/// Share of a pixel below which a fragment is not shaded, in units of round-off.
const NEGLIGIBLE: f64 = 1e-3;

/// The settings in registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Soft<P> {
    per_sigma: P,
    /// −d² where a face ceases to count.
    beyond: P,
    far: P,
    /// 1 / (γ (far − near))
    sharpness: P,
    /// ε / γ
    background: P,
}

/// How much of a pixel a face covers.
#[derive(Clone, Copy, Debug)]
struct Coverage<P> {
    /// D
    covered: P,
    /// 1 − D
    free: P,
}

impl<P: Real> Soft<P> {
    pub fn new(soft: &SoftRas, near: f64, far: f64) -> Self {
        Soft {
            per_sigma: P::lit(1.0 / soft.sigma),
            beyond: P::lit(-soft.reach() * soft.reach()),
            far: P::lit(far),
            sharpness: P::lit(1.0 / (soft.gamma * (far - near))),
            background: P::lit(soft.epsilon / soft.gamma),
        }
    }

    /// D = sigmoid(x) and 1 − D, with one exponential of −|x|.
    #[inline(always)]
    fn coverage(&self, signed: P) -> Coverage<P> {
        let x = signed * self.per_sigma;
        let inside = x.gt(P::zero());
        let t = select(inside, -x, x).exp();
        let larger = (P::one() + t).recip();
        let smaller = t * larger;
        Coverage { covered: select(inside, larger, smaller), free: select(inside, smaller, larger) }
    }

    /// eⱼ = zⱼ / γ
    #[inline(always)]
    fn exponent(&self, depth: P) -> P {
        (self.far - depth) * self.sharpness
    }

    /// Samples that have seen nothing but the background.
    pub fn begin(&self, background: Vec3<P>) -> Seen<P> {
        Seen {
            front: self.background,
            total: P::one(),
            color: background,
            depth: self.far,
            normal: Vec3::zero(),
        }
    }

    /// Lets the samples of a block see a primitive.
    #[inline(always)]
    pub fn draw<T: Scalar<Pack = P>, S: Primitive<P>>(
        &self,
        primitive: &S,
        look: &Look<'_, T>,
        at: [P; 2],
        through: &mut P,
        seen: Option<&mut Seen<P>>,
    ) {
        let cover = primitive.cover(look.sight, at);
        let near = cover.signed.ge(self.beyond);
        if !near.any() {
            return;
        }
        let coverage = self.coverage(cover.signed);
        *through *= select(near, coverage.free, P::one());
        let Some(seen) = seen else { return };

        let fragment = primitive.fragment(look.sight, at, &cover);
        let exponent = self.exponent(fragment.depth);
        let ahead = near & exponent.gt(seen.front);
        let difference = exponent - seen.front;
        let smaller = select(ahead, -difference, select(near, difference, P::zero())).exp();
        let (keep, weight) = (select(ahead, smaller, P::one()), select(ahead, P::one(), smaller));
        let weight = select(near, coverage.covered * weight, P::zero());
        let counts = ahead | weight.gt(seen.total * P::lit(NEGLIGIBLE * P::EPSILON));
        if !counts.any() {
            return;
        }
        let shown = look.show(&fragment, counts);
        seen.front = select(ahead, exponent, seen.front);
        seen.total = seen.total * keep + weight;
        seen.color = seen.color * keep + shown.color * weight;
        seen.depth = seen.depth * keep + fragment.depth * weight;
        seen.normal = seen.normal * keep + shown.normal * weight;
    }

    /// Means of what was seen.
    pub fn finish(&self, seen: &mut Seen<P>) {
        let share = seen.total.recip();
        seen.color = seen.color * share;
        seen.depth *= share;
        seen.normal = seen.normal * share;
    }

    /// Share of the background.
    pub fn background_share(&self, seen: &Seen<P>) -> P {
        (self.background - seen.front).exp() / seen.total
    }

    /// Pullback of [`Soft::draw`] and [`Soft::finish`], given what the samples have seen in the end.
    #[inline(always)]
    pub fn pull<T: Scalar<Pack = P>, S: Primitive<P>>(
        &self,
        primitive: &S,
        look: &Look<'_, T>,
        at: [P; 2],
        (through, seen): (P, Option<&Seen<P>>),
        sample_bar: &SampleBar<P>,
        bar: &mut S,
        look_bar: &mut LookBar<'_, T>,
    ) {
        let cover = primitive.cover(look.sight, at);
        let near = cover.signed.ge(self.beyond);
        if !near.any() {
            return;
        }
        let coverage = self.coverage(cover.signed);
        let mut x_bar = sample_bar.alpha * through * coverage.covered;
        let mut fragment_bar = None;
        if let Some(seen) = seen {
            let fragment = primitive.fragment(look.sight, at, &cover);
            let difference = select(near, self.exponent(fragment.depth) - seen.front, P::zero());
            let share = select(near, coverage.covered * difference.exp() / seen.total, P::zero());
            let counts = share.gt(P::lit(NEGLIGIBLE * P::EPSILON));
            if counts.any() {
                let shares = (share, coverage.free);
                let (bar, more) =
                    self.pull_fragment(look, &fragment, counts, shares, seen, sample_bar, look_bar);
                fragment_bar = Some(bar);
                x_bar += more;
            }
        }
        let signed_bar = select(near, x_bar * self.per_sigma, P::zero());
        primitive.pull(look.sight, at, &cover, signed_bar, fragment_bar, bar);
    }

    /// Cotangent of a fragment, and what it adds to that of x.
    #[inline(always)]
    fn pull_fragment<T: Scalar<Pack = P>>(
        &self,
        look: &Look<'_, T>,
        fragment: &Fragment<P>,
        counts: <P as Select>::Mask,
        (share, free): (P, P),
        seen: &Seen<P>,
        sample_bar: &SampleBar<P>,
        look_bar: &mut LookBar<'_, T>,
    ) -> (Fragment<P>, P) {
        let shown = look.show(fragment, counts);
        // g = C̄·(c − C), over color, depth and normal
        let gain = sample_bar.color.dot(shown.color - seen.color)
            + sample_bar.depth * (fragment.depth - seen.depth)
            + sample_bar.normal.dot(shown.normal - seen.normal);
        let exponent_bar = gain * share;
        let shown_bar = Shown { color: sample_bar.color * share, normal: sample_bar.normal * share };
        let mut fragment_bar = look.show_vjp(fragment, counts, shown_bar, look_bar);
        fragment_bar.depth += sample_bar.depth * share - exponent_bar * self.sharpness;
        (fragment_bar, exponent_bar * free)
    }
}

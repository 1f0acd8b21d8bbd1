//! The return map of Hencky strains ϵ = ln σ, shared by the materials that flow.
//!
//! With the mean m = tr ϵ / 3 and the deviator d = ϵ − m, the strain that remains is
//!
//! ```text
//! ϵ′ = m + k d,    k = min(1, r/|d|),    r = r₀ + r₁ m      along the deviator to the yield surface |d| = r
//! ϵ′ = 0           where it separates (m > 0), for materials without cohesion
//! ```
//!
//! At the tip of a cone (m = 0, d = 0) shear flows freely and pressure is elastic. Volume is kept along the
//! first. Singular values are held at a floor before the logarithm; those under it (and inverted ones) have
//! no gradient through ϵ. A strain that does not flow leaves F as it is, floor or not, as both sources do.
//!
//! Pairs: ϵ′ᵢ − ϵ′ⱼ = k (ϵᵢ − ϵⱼ) and exp ϵ′ is the remaining singular value, so the divided differences are
//! products of those of the floor, the logarithm, k and the exponential.

use pullback_math::spectral::{exp_slope, log_slope};
use pullback_math::{Linear, Mask, Real, Select, Vec3};

/// Where a material yields.
#[derive(Clone, Copy)]
pub(super) struct Yield<T> {
    /// r₀
    pub radius: T,
    /// r₁
    pub radius_of_mean: T,
    /// Whether it separates under tension.
    pub cohesionless: bool,
    /// Smallest singular value whose logarithm is taken.
    pub floor: f64,
}

/// A strain after its return, with what the derivatives need.
#[derive(Clone, Copy)]
pub(super) struct Returned<T: Real> {
    /// σ, at least the floor.
    clamped: Vec3<T>,
    /// ln of it.
    strain: Vec3<T>,
    /// d
    deviator: Vec3<T>,
    /// m
    mean: T,
    /// |d|, or 1 where it vanishes.
    length: T,
    /// k
    shrink: T,
    /// Where the deviator has been shortened.
    sheared: T::Mask,
    /// Where the particle separates.
    separated: T::Mask,
    /// ϵ′
    pub elastic: Vec3<T>,
    /// exp ϵ′
    stretch: Vec3<T>,
    /// h = exp ϵ′ − σ where it flows, 0 elsewhere.
    pub flow: Vec3<T>,
    /// The singular values that remain: exp ϵ′ where it flows, σ elsewhere.
    pub remaining: Vec3<T>,
}

impl<T: Real> Returned<T> {
    /// The return map at σ.
    #[inline(always)]
    pub fn new(sigma: Vec3<T>, criterion: Yield<T>) -> Self {
        let (zero, one) = (T::zero(), T::one());
        let clamped = sigma.map(|s| s.max(T::lit(criterion.floor)));
        let strain = clamped.map(T::ln);
        let mean = (strain.x + strain.y + strain.z) * T::lit(1.0 / 3.0);
        let deviator = strain.map(|e| e - mean);
        let radius = (criterion.radius + criterion.radius_of_mean * mean).max(zero);

        let squared = deviator.norm_squared();
        let solid = squared.gt(zero);
        let length = T::select(solid, squared, one).sqrt();
        let separated = T::Mask::splat(criterion.cohesionless) & mean.gt(zero);
        // Without a radius any shear flows, that of a vanishing deviator included.
        let sheared = ((solid & length.gt(radius)) | radius.le(zero)) & !separated;
        let shrink = T::select(sheared, radius / length, one);
        let shrink = T::select(separated, zero, shrink);

        let elastic = deviator.map(|d| d * shrink + T::select(separated, zero, mean));
        let stretch = elastic.map(T::exp);
        let flows = sheared | separated;
        let flow = Vec3::select(flows, stretch - sigma, Vec3::zero());
        let remaining = Vec3::select(flows, stretch, sigma);
        Returned {
            clamped,
            strain,
            deviator,
            mean,
            length,
            shrink,
            sheared,
            separated,
            elastic,
            stretch,
            flow,
            remaining,
        }
    }

    /// From the cotangents of ϵ′ and h: those of σ, r₀ and r₁.
    #[inline(always)]
    pub fn vjp(
        &self,
        sigma: Vec3<T>,
        criterion: Yield<T>,
        elastic_bar: Vec3<T>,
        flow_bar: Vec3<T>,
    ) -> (Vec3<T>, T, T) {
        let zero = T::zero();
        let flow_bar = Vec3::select(self.sheared | self.separated, flow_bar, Vec3::zero());
        // h = exp ϵ′ − σ
        let elastic_bar = elastic_bar + flow_bar.zip(self.stretch, |bar, g| bar * g);
        // ϵ′ = m + k d
        let sum = elastic_bar.x + elastic_bar.y + elastic_bar.z;
        let inverse = self.length.recip();
        let unit = self.deviator * inverse;
        // Where sheared ϵ′ = m + r d/|d|: r̄ = ϵ̄′·d/|d|, and only what is across d reaches d.
        let radius_bar = T::select(self.sheared, elastic_bar.inner(unit), zero);
        let deviator_bar = elastic_bar * self.shrink - unit * (radius_bar * self.shrink);
        let mean_bar = sum + radius_bar * criterion.radius_of_mean;
        let mean_bar = T::select(self.separated, zero, mean_bar);
        // d = ϵ − m, m = tr ϵ / 3
        let spread = (mean_bar - (deviator_bar.x + deviator_bar.y + deviator_bar.z)) * T::lit(1.0 / 3.0);
        let floor = T::lit(criterion.floor);
        let of_strain = deviator_bar.map(|bar| bar + spread);
        let of_log = of_strain.zip(self.clamped, |bar, s| bar / s);
        let of_log = of_log.zip(sigma, |bar, s| T::select(s.ge(floor), bar, zero));
        (of_log - flow_bar, radius_bar, radius_bar * self.mean)
    }

    /// (ϵ′ᵢ − ϵ′ⱼ)/(σᵢ − σⱼ) and (hᵢ − hⱼ)/(σᵢ − σⱼ) for each pair.
    #[inline(always)]
    pub fn slopes(&self, sigma: Vec3<T>) -> (Vec3<T>, Vec3<T>) {
        let pair = |i: usize, j: usize| {
            let (a, b) = (self.clamped[i], self.clamped[j]);
            let strain =
                floor_slope(sigma[i], sigma[j], a, b) * log_slope(a, b, self.strain[i], self.strain[j]);
            let elastic = self.shrink * strain;
            let stretch =
                exp_slope(self.elastic[i], self.elastic[j], self.stretch[i], self.stretch[j]) * elastic;
            let flows = self.sheared | self.separated;
            (elastic, T::select(flows, stretch - T::one(), T::zero()))
        };
        let (x, y, z) = (pair(1, 2), pair(0, 2), pair(0, 1));
        (Vec3::new(x.0, y.0, z.0), Vec3::new(x.1, y.1, z.1))
    }
}

/// (clamped a − clamped b)/(a − b); where a = b it is the derivative, 1 above the floor and 0 below.
#[inline(always)]
fn floor_slope<T: Real>(a: T, b: T, clamped_a: T, clamped_b: T) -> T {
    let (gap, one) = (a - b, T::one());
    let open = gap.abs().gt(T::zero());
    let closed = T::select(a.ge(clamped_a), one, T::zero());
    T::select(open, (clamped_a - clamped_b) / T::select(open, gap, one), closed)
}

/// tᵢ = 2μϵ′ᵢ + λ tr ϵ′
#[inline(always)]
pub(super) fn hencky_stress<T: Real>(elastic: Vec3<T>, (mu, lambda): (T, T)) -> Vec3<T> {
    let volumetric = lambda * (elastic.x + elastic.y + elastic.z);
    elastic.map(|e| (mu + mu) * e + volumetric)
}
/// ϵ̄′ᵢ = 2μ t̄ᵢ + λ tr t̄, μ̄ = 2 t̄·ϵ′, λ̄ = tr t̄ tr ϵ′. By hand: the sum of t̄ is formed once.
#[inline(always)]
pub(super) fn hencky_stress_vjp<T: Real>(
    elastic: Vec3<T>,
    (mu, lambda): (T, T),
    out_bar: Vec3<T>,
) -> (Vec3<T>, (T, T)) {
    let sum_bar = out_bar.x + out_bar.y + out_bar.z;
    let elastic_bar = out_bar.map(|bar| (mu + mu) * bar + lambda * sum_bar);
    let mu_bar = out_bar.dot(elastic) * T::lit(2.0);
    (elastic_bar, (mu_bar, sum_bar * (elastic.x + elastic.y + elastic.z)))
}

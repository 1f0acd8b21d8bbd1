//! Contacts from distance (Paulus et al. 2025): contacts act on the way back before shapes touch.
//!
//! The law of a contact is extended to positive distances r, up to a width w. With the impedance
//! d(r) of MuJoCo below zero, and above it a spline of its own from d₀ at touch to d_c at w,
//!
//! a_ref = −b ṙ + k d(r) s ln(1 + e^{−r/s}),
//!
//! where the softplus of sharpness 1/s takes the place of max(−r, 0). Under the penalty model the depth
//! max(−r, 0) becomes the same softplus times the spline, which is 1 at touch and 0 at w.
//!
//! *Straight through.* The motion F is that without these contacts, to the last bit. The pullback is that of the
//! motion F̃ with them, evaluated at the states of F: a surrogate, which no difference of the motion shows. Its
//! reference is forward mode, with values of F and tangents of F̃.

use pullback_core::ConfigError;
use pullback_math::{Real, differentiable, select};

use crate::constraint::softness::{rise, rise_vjp};
use crate::model::Geom;

/// How contacts act from distance.
#[derive(Clone, Debug, PartialEq)]
pub struct ContactsFromDistance {
    /// Impedance at the width and at touch, width (m), midpoint and power of the spline between, from the width
    /// on (`solimp-CFD`).
    pub solimp: [f64; 5],
    /// Length s over which the softplus bends, m.
    pub softplus: f64,
    /// Pairs of geoms that act from distance; `None` for all that may touch.
    pub pairs: Option<Vec<(usize, usize)>>,
    /// Whether distant contacts act on the way back alone; otherwise bodies hover on them.
    pub straight_through: bool,
}

impl ContactsFromDistance {
    /// All pairs, straight through, from this distance on, m; impedance 0.01 at touch, a softplus that bends over
    /// a tenth of the distance.
    pub fn new(width: f64) -> Self {
        ContactsFromDistance {
            solimp: [0.0, 0.01, width, 1.0, 2.0],
            softplus: 0.1 * width,
            pairs: None,
            straight_through: true,
        }
    }

    /// Distance from which contacts act, m.
    pub fn width(&self) -> f64 {
        self.solimp[2]
    }

    /// The distance from which the contacts of a pair act, m; 0 for pairs that were left out.
    pub(crate) fn width_of(&self, (a, b): (usize, usize)) -> f64 {
        let listed = |pairs: &Vec<(usize, usize)>| pairs.binary_search(&(a.min(b), a.max(b))).is_ok();
        if self.pairs.as_ref().is_none_or(listed) { self.width() } else { 0.0 }
    }

    /// With its pairs sorted for [`width_of`](Self::width_of). Refuses numbers that make no sense, and pairs that
    /// are not among the sorted `colliding` ones.
    pub(crate) fn prepared(
        mut self,
        geoms: &[Geom],
        colliding: &[(usize, usize)],
    ) -> Result<Self, ConfigError> {
        let [far, near, width, middle, power] = self.solimp;
        let part = |x: f64| (0.0..=1.0).contains(&x);
        if !(width > 0.0 && width.is_finite()) {
            return Err(ConfigError::new("contacts from distance: the width must be a positive length"));
        }
        if !(self.softplus > 0.0 && self.softplus.is_finite()) {
            return Err(ConfigError::new("contacts from distance: `softplus` must be a positive length"));
        }
        if !(part(far) && part(near) && part(middle) && power >= 1.0) {
            return Err(ConfigError::new(
                "contacts from distance: impedances and midpoint must be in 0..1, and the power 1 or more",
            ));
        }
        for pair in self.pairs.iter_mut().flatten() {
            *pair = (pair.0.min(pair.1), pair.0.max(pair.1));
            if pair.1 >= geoms.len() {
                return Err(ConfigError::new(
                    "contacts from distance: a pair names a geom that is not there",
                ));
            }
            if colliding.binary_search(pair).is_err() {
                let (a, b) = (&geoms[pair.0].name, &geoms[pair.1].name);
                let remedy = "give them collision bits that match, or leave the pair out";
                return Err(ConfigError::new(format!(
                    "contacts from distance: geoms `{a}` and `{b}` never collide; {remedy}"
                )));
            }
        }
        self.pairs.iter_mut().for_each(|pairs| pairs.sort_unstable());
        Ok(self)
    }

    pub(crate) fn spline<T: Real>(&self) -> DistantSpline<T> {
        DistantSpline { solimp: self.solimp.map(T::lit), softplus: T::lit(self.softplus) }
    }
}

/// The extension of one contact law.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DistantSpline<T> {
    pub solimp: [T; 5],
    pub softplus: T,
}

/// s ln(1 + e^{x/s}).
#[differentiable]
#[inline]
pub(crate) fn softplus<T: Real>(x: T, #[constant] s: T) -> T {
    let (zero, one) = (T::zero(), T::one());
    let positive = x.gt(zero);
    let lower = select(positive, -x, x) / s;
    select(positive, x, zero) + (one + lower.exp()).ln() * s
}

/// Part of the impedance at touch that a contact has at distance r: 1 up to touch, 0 from the width on.
#[differentiable]
#[inline]
pub(crate) fn nearness<T: Real>(r: T, #[constant] solimp: [T; 5]) -> T {
    let (zero, one) = (T::zero(), T::one());
    let x = ((solimp[2] - r) / solimp[2]).max(zero).min(one);
    rise(x, solimp[3], solimp[4])
}

/// Depth of a penalty contact that acts from distance.
#[differentiable]
#[inline]
pub(crate) fn distant_depth<T: Real>(distance: T, #[constant] spline: DistantSpline<T>) -> T {
    softplus(-distance, spline.softplus) * nearness(distance, spline.solimp)
}

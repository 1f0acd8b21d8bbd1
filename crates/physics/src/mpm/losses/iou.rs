//! Soft intersection over union of the masses of particles and target, and PlasticineLab's score.
//!
//! Masses are divided by their largest, a = m/max m and b = m*/max m*; then I = Σ a b, U = Σ a + Σ b,
//! IoU = I/(U − I). The soft IoU of a target with itself is below 1, because nodes at its surface have little
//! mass; the score of a state divides by it.

use pullback_math::{Mask, Scalar};

use super::mass_grid::MassGrid;
use super::target::Target;

/// Σ m, Σ m m*, and the largest m with its node.
struct Sums<T> {
    mass: T,
    product: T,
    largest: T,
    at: usize,
}

impl<T: Scalar> Sums<T> {
    fn new(entries: impl Iterator<Item = (usize, T)>, wanted: &[f64]) -> Self {
        let mut sums = Sums { mass: T::zero(), product: T::zero(), largest: T::zero(), at: 0 };
        for (i, m) in entries {
            sums.mass += m;
            sums.product += m * T::lit(wanted[i]);
            if m.gt(sums.largest).any() {
                (sums.largest, sums.at) = (m, i);
            }
        }
        sums
    }

    /// 1/max m, 1/max m*, I, U − I
    fn parts(&self, target: &Target) -> (T, T, T, T) {
        let (s, t) = (self.largest.recip(), T::lit(1.0 / target.largest()));
        let both = self.product * s * t;
        let union = self.mass * s + T::lit(target.mass()) * t;
        (s, t, both, union - both)
    }

    fn empty(&self) -> bool {
        !self.largest.gt(T::zero()).any()
    }

    fn iou(&self, target: &Target) -> T {
        if self.empty() {
            return T::zero();
        }
        let (_, _, both, rest) = self.parts(target);
        both / rest
    }
}

/// Soft IoU of the masses on a grid and those of a target with the same cells.
pub fn soft_iou<T: Scalar>(grid: &MassGrid<T>, target: &Target) -> T {
    Sums::new(grid.entries(), target.masses()).iou(target)
}

/// The pullback of [`soft_iou`]: *adds* to the cotangents of the nodes.
pub fn soft_iou_vjp<T: Scalar>(grid: &mut MassGrid<T>, target: &Target, out_bar: T) {
    let sums = Sums::new(grid.entries(), target.masses());
    if sums.empty() {
        return;
    }
    let (s, t, both, rest) = sums.parts(target);
    // d(I/(U − I)) = (U dI − I dU)/(U − I)²
    let scale = out_bar / (rest * rest);
    let (both_bar, union_bar) = (scale * (rest + both), -(scale * both));
    // I = s t Σ m m*, U = s Σ m + t Σ m*, s = 1/max m
    let s_bar = both_bar * sums.product * t + union_bar * sums.mass;
    let (product_bar, mass_bar, largest_bar) = (both_bar * s * t, union_bar * s, -(s_bar * s * s));
    let wanted = target.masses();
    grid.add_bars(|i, _| {
        let bar = product_bar * T::lit(wanted[i]) + mass_bar;
        if i == sums.at { bar + largest_bar } else { bar }
    });
}

/// Soft IoU of a target with itself: the best that particles of its mass can reach.
pub fn best_iou(target: &Target) -> f64 {
    let entries = target.masses().iter().copied().enumerate();
    Sums::new(entries, target.masses()).iou(target)
}

/// PlasticineLab's score: clamp((IoU − IoU₀)/(IoU* − IoU₀), 0, 1), with IoU₀ that of the initial state and IoU* the best one
/// ([`best_iou`]; 1 as its paper prints it). Zero where the initial state is as good as the best.
pub fn incremental_iou(iou: f64, initial: f64, best: f64) -> f64 {
    let room = best - initial;
    if room > 0.0 { ((iou - initial) / room).clamp(0.0, 1.0) } else { 0.0 }
}

//! Losses: how far smoke is from a wanted density, or its pictures from wanted ones.

use pullback_core::rollout::{Loss, Sample};
use pullback_core::{ConfigError, Described};
use pullback_math::Real;

use super::image::Image;
use super::march::{Look, MarchWorkspace, Marcher};
use super::sums::fold;
use super::system::{DENSITY, Smoke};

/// L = Σ (ρ − ρ*)² / Σ ρ*² at the end: 0 where the target is met, about 1 for no smoke at all.
#[derive(Clone, Debug)]
pub struct DensityLoss {
    first: usize,
    target: Vec<f64>,
    scale: f64,
}

impl DensityLoss {
    /// The loss towards a density, cell by cell.
    pub fn new<const D: usize>(smoke: &Smoke<D>, target: Vec<f64>) -> Result<Self, ConfigError> {
        let slice = smoke.layout().state.slice(DENSITY)?;
        let squares: f64 = target.iter().map(|x| x * x).sum();
        if target.len() != slice.len() || !(squares > 0.0 && squares.is_finite()) {
            let (given, cells) = (target.len(), slice.len());
            return Err(ConfigError::new(format!(
                "a target needs a density per cell, {cells}, and one that is not zero; got {given}"
            )));
        }
        Ok(DensityLoss { first: slice.range.start, target, scale: 1.0 / squares })
    }

    /// The target.
    pub fn target(&self) -> &[f64] {
        &self.target
    }
}

impl<T: Real> Loss<T> for DensityLoss {
    fn value(&self, at: Sample<'_, T>) -> T {
        if !at.last() {
            return T::zero();
        }
        let square = |sum: T, density: T, target: f64| {
            let off = density - T::lit(target);
            off.mul_add(off, sum)
        };
        fold(&at.state[self.first..][..self.target.len()], &self.target, square) * T::lit(self.scale)
    }
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], _control_bar: &mut [T]) {
        if at.last() {
            let entries = at.state[self.first..].iter().zip(&mut state_bar[self.first..]);
            for ((density, bar), target) in entries.zip(&self.target) {
                *bar += (*density - T::lit(*target)) * T::lit(2.0 * self.scale);
            }
        }
    }
}

/// L = mean over views and pixels of (brightness − wanted)² at the end.
#[derive(Debug)]
pub struct ViewLoss {
    first: usize,
    look: Look<f64>,
    views: Vec<(Marcher, Image<f64>)>,
    scale: f64,
}

impl ViewLoss {
    /// The loss towards pictures, each as its camera is to see it.
    pub fn new(
        smoke: &Smoke<3>,
        look: Look<f64>,
        views: Vec<(Marcher, Image<f64>)>,
    ) -> Result<Self, ConfigError> {
        let pixels: usize = views.iter().map(|(_, image)| image.pixels.len()).sum();
        let fits = |(marcher, image): &(Marcher, Image<f64>)| {
            marcher.camera().pixels == (image.width, image.height)
                && image.pixels.len() == image.width * image.height
        };
        if pixels == 0 || !views.iter().all(fits) {
            return Err(ConfigError::new("a wanted picture must have the pixels of its camera"));
        }
        let first = smoke.layout().state.slice(DENSITY)?.range.start;
        Ok(ViewLoss { first, look, views, scale: 1.0 / pixels as f64 })
    }

    fn look<T: Real>(&self) -> Look<T> {
        let Look { absorption, ambient, background } = self.look;
        Look { absorption: T::lit(absorption), ambient: T::lit(ambient), background: T::lit(background) }
    }
}

impl<T: Real> Loss<T> for ViewLoss {
    fn value(&self, at: Sample<'_, T>) -> T {
        let mut sum = T::zero();
        if at.last() {
            for (marcher, wanted) in &self.views {
                let mut image = marcher.image();
                let ws = &mut marcher.workspace();
                marcher.render(ws, &at.state[self.first..], self.look(), &mut image);
                for (pixel, wanted) in image.pixels.iter().zip(&wanted.pixels) {
                    let off = *pixel - T::lit(*wanted);
                    sum = off.mul_add(off, sum);
                }
            }
        }
        sum * T::lit(self.scale)
    }
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], _control_bar: &mut [T]) {
        if at.last() {
            for (marcher, wanted) in &self.views {
                let mut image = marcher.image();
                let ws: &mut MarchWorkspace<T> = &mut marcher.workspace();
                let density = &at.state[self.first..];
                marcher.render(ws, density, self.look(), &mut image);
                for (pixel, wanted) in image.pixels.iter_mut().zip(&wanted.pixels) {
                    *pixel = (*pixel - T::lit(*wanted)) * T::lit(2.0 * self.scale);
                }
                marcher.render_vjp(ws, density, self.look(), &image, &mut state_bar[self.first..]);
            }
        }
    }
}

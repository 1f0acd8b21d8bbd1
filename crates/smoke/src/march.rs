//! [`Marcher`]: a picture of smoke by marching rays through its density.
//!
//! Along a ray smoke of density ρ takes e^(−σ ρ ds) of the light behind it and adds its own, of brightness l:
//! L = Σ T_k (1 − e^(−τ_k)) l_k + T_end B, with τ_k = σ ρ_k ds, T_(k+1) = T_k e^(−τ_k) and background B. Smoke is
//! lit from above and shadows itself: l = a + (1 − a) e^(−σ h (ρ/2 + Σ ρ above)) with ambient light a. ρ and l
//! are interpolated linearly between centers of cells; beyond the last center they stay as they are.
//!
//! A picture is a smooth function of the densities: rays do not depend on them. The pullback keeps nothing of a
//! ray: what comes from beyond sample k is the pixel less what was summed so far, so ∂L/∂τ_k follows on a second
//! walk in the same direction.

use pullback_core::{ConfigError, Workspace};
use pullback_math::{Real, differentiable};
use rayon::prelude::*;

use super::camera::Camera;
use super::grid::Grid;
use super::image::Image;

/// What smoke looks like; every entry has a cotangent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look<T> {
    /// Absorption σ of density 1, 1/m.
    pub absorption: T,
    /// Ambient light a, 0 to 1: the brightness of smoke in full shadow.
    pub ambient: T,
    /// Brightness of the background B.
    pub background: T,
}

impl<T: Real> Look<T> {
    /// Brightness zero of all: where cotangents begin.
    pub fn zero() -> Self {
        Look { absorption: T::zero(), ambient: T::zero(), background: T::zero() }
    }
}

/// Rays of a camera through a grid.
#[derive(Clone, Debug)]
pub struct Marcher {
    grid: Grid<3>,
    camera: Camera,
    /// Samples per cell.
    density: f64,
}

/// Scratch: the brightness of every cell, and cotangents.
#[derive(Clone, Debug, Workspace)]
pub struct MarchWorkspace<T: Copy + Send> {
    light: Vec<T>,
    light_bar: Vec<T>,
}

/// Samples of a ray that are no farther apart than half a cell.
const SAMPLES_PER_CELL: f64 = 2.0;

/// Where a sample is between the centers of eight cells.
struct Sample {
    cells: [usize; 8],
    weights: [f64; 8],
}

/// τ = σ ρ ds
#[differentiable]
fn optical_depth<T: Real>(absorption: T, density: T, #[constant] length: T) -> T {
    absorption * density * length
}

impl Marcher {
    /// The rays of a camera, with two samples per cell.
    pub fn new(grid: Grid<3>, camera: Camera) -> Result<Self, ConfigError> {
        grid.check()?;
        camera.check()?;
        Ok(Marcher { grid, camera, density: SAMPLES_PER_CELL })
    }

    /// The camera.
    pub fn camera(&self) -> &Camera {
        &self.camera
    }

    /// Allocates the scratch.
    pub fn workspace<T: Real>(&self) -> MarchWorkspace<T> {
        let zeros = vec![T::zero(); self.grid.len()];
        MarchWorkspace { light: zeros.clone(), light_bar: zeros }
    }

    /// A black picture of the right size.
    pub fn image<T: Real>(&self) -> Image<T> {
        let (width, height) = self.camera.pixels;
        Image::filled(width, height, T::zero())
    }

    /// The picture of smoke whose density is given cell by cell.
    pub fn render<T: Real>(
        &self,
        ws: &mut MarchWorkspace<T>,
        density: &[T],
        look: Look<T>,
        image: &mut Image<T>,
    ) {
        self.find_light(density, look, &mut ws.light);
        for (p, pixel) in image.pixels.iter_mut().enumerate() {
            let (mut brightness, mut passed) = (T::zero(), T::one());
            self.samples(p, |sample, length| {
                let here = sample.of(density);
                let kept = (-optical_depth(look.absorption, here, T::lit(length))).exp();
                brightness += passed * (T::one() - kept) * sample.of(&ws.light);
                passed *= kept;
            });
            *pixel = brightness + passed * look.background;
        }
    }

    /// For each pixel the light of the smoke, and the part of the light behind it that passes; rows run on all threads.
    pub fn layers(&self, ws: &mut MarchWorkspace<f64>, density: &[f64], look: Look<f64>) -> Vec<(f64, f64)> {
        self.find_light(density, look, &mut ws.light);
        let light = &ws.light;
        let pixel = |p: usize| {
            let (mut brightness, mut passed) = (0.0, 1.0);
            self.samples(p, |sample, length| {
                let kept = (-optical_depth(look.absorption, sample.of(density), length)).exp();
                brightness += passed * (1.0 - kept) * sample.of(light);
                passed *= kept;
            });
            (brightness, passed)
        };
        let pixels = self.camera.pixels.0 * self.camera.pixels.1;
        (0..pixels).into_par_iter().with_min_len(self.camera.pixels.0).map(pixel).collect()
    }

    /// The pullback of [`Marcher::render`]: adds to the cotangent of the density, and returns that of the look.
    pub fn render_vjp<T: Real>(
        &self,
        ws: &mut MarchWorkspace<T>,
        density: &[T],
        look: Look<T>,
        image_bar: &Image<T>,
        density_bar: &mut [T],
    ) -> Look<T> {
        let mut image = self.image();
        self.render(ws, density, look, &mut image);
        let MarchWorkspace { light, light_bar } = ws;
        light_bar.fill(T::zero());
        let mut look_bar = Look::zero();
        for (p, (pixel, pixel_bar)) in image.pixels.iter().zip(&image_bar.pixels).enumerate() {
            let (mut brightness, mut passed) = (T::zero(), T::one());
            self.samples(p, |sample, length| {
                let (here, l) = (sample.of(density), sample.of(light));
                let kept = (-optical_depth(look.absorption, here, T::lit(length))).exp();
                brightness += passed * (T::one() - kept) * l;
                // ∂L/∂τ = T e^(−τ) l − (what comes from beyond)
                let depth_bar = *pixel_bar * (passed * kept * l - (*pixel - brightness));
                let (absorption_bar, here_bar, ()) =
                    optical_depth_vjp(look.absorption, here, T::lit(length), depth_bar);
                look_bar.absorption += absorption_bar;
                sample.of_vjp(here_bar, density_bar);
                sample.of_vjp(*pixel_bar * passed * (T::one() - kept), light_bar);
                passed *= kept;
            });
            look_bar.background += *pixel_bar * passed;
        }
        self.find_light_vjp(density, look, light_bar, density_bar, &mut look_bar);
        look_bar
    }

    /// Samples of the ray of pixel p, from near to far, and the length that each stands for.
    fn samples(&self, p: usize, mut visit: impl FnMut(&Sample, f64)) {
        let ray = self.camera.ray(p % self.camera.pixels.0, p / self.camera.pixels.0);
        let Some((near, far)) = ray.within(self.grid.extent()) else { return };
        let count = ((far - near) * self.density / self.grid.spacing).ceil().max(1.0);
        let length = (far - near) / count;
        for k in 0..count as usize {
            let at = ray.origin + ray.direction * (near + (k as f64 + 0.5) * length);
            visit(&self.sample([at.x, at.y, at.z]), length);
        }
    }

    /// The eight cells around a point, m, and their weights.
    fn sample(&self, at: [f64; 3]) -> Sample {
        let mut sample = Sample { cells: [0; 8], weights: [1.0; 8] };
        let mut stride = 1;
        for (a, at) in at.into_iter().enumerate() {
            let n = self.grid.cells[a];
            let place = (at / self.grid.spacing - 0.5).clamp(0.0, (n - 1) as f64);
            let low = (place as usize).min(n - 2);
            let fraction = place - low as f64;
            for c in 0..8 {
                let high = c >> a & 1;
                sample.cells[c] += (low + high) * stride;
                sample.weights[c] *= if high == 1 { fraction } else { 1.0 - fraction };
            }
            stride *= n;
        }
        sample
    }

    /// Cells of one height.
    fn floor(&self) -> usize {
        self.grid.cells[0] * self.grid.cells[1]
    }

    /// l = a + (1 − a) e^(−σ h (ρ/2 + Σ ρ above)) of every cell.
    fn find_light<T: Real>(&self, density: &[T], look: Look<T>, light: &mut [T]) {
        let depth = look.absorption * T::lit(self.grid.spacing);
        for column in 0..self.floor() {
            let mut above = T::zero();
            for c in (column..light.len()).step_by(self.floor()).rev() {
                let middle = above + density[c] * T::lit(0.5);
                light[c] = look.ambient + (T::one() - look.ambient) * (-(depth * middle)).exp();
                above += density[c];
            }
        }
    }

    /// The pullback of [`Marcher::find_light`]: adds to the cotangents of density and look.
    fn find_light_vjp<T: Real>(
        &self,
        density: &[T],
        look: Look<T>,
        light_bar: &[T],
        density_bar: &mut [T],
        look_bar: &mut Look<T>,
    ) {
        let depth = look.absorption * T::lit(self.grid.spacing);
        for column in 0..self.floor() {
            let total =
                (column..density.len()).step_by(self.floor()).fold(T::zero(), |sum, c| sum + density[c]);
            // From below: what is above is the whole column less what was passed.
            let (mut above, mut above_bar) = (total, T::zero());
            for c in (column..density.len()).step_by(self.floor()) {
                above -= density[c];
                let middle = above + density[c] * T::lit(0.5);
                let shadow = (-(depth * middle)).exp();
                look_bar.ambient += light_bar[c] * (T::one() - shadow);
                // d e^(−d m) = −e^(−d m) (m dd + d dm)
                let exponent_bar = -(light_bar[c] * (T::one() - look.ambient) * shadow);
                look_bar.absorption += exponent_bar * middle * T::lit(self.grid.spacing);
                let middle_bar = exponent_bar * depth;
                density_bar[c] += middle_bar * T::lit(0.5) + above_bar;
                above_bar += middle_bar;
            }
        }
    }
}

impl Sample {
    /// The field at the sample.
    #[inline(always)]
    fn of<T: Real>(&self, field: &[T]) -> T {
        let corners = self.cells.iter().zip(self.weights);
        corners.fold(T::zero(), |sum, (c, w)| field[*c].mul_add(T::lit(w), sum))
    }

    /// The pullback of [`Sample::of`]: adds to the cotangent of the field.
    #[inline(always)]
    fn of_vjp<T: Real>(&self, out_bar: T, field_bar: &mut [T]) {
        for (c, w) in self.cells.iter().zip(self.weights) {
            field_bar[*c] += out_bar * T::lit(w);
        }
    }
}

//! Vorticity confinement (Fedkiw, Stam & Jensen 2001): a force that keeps eddies turning which advection wears out.
//!
//! ω = ∇×c at cells, with c the mean of opposite faces; N = ∇|ω|/|∇|ω||; f = ε h N × ω; faces get the mean of
//! both sides. Derivatives are central differences. Magnitudes are √(x² + δ²), so that derivatives are finite
//! where nothing turns: δ = 10⁻³ 1/s for ω, δ/h for its gradient. In two dimensions ω has one component, along
//! the third axis.

use pullback_core::Workspace;
use pullback_math::{Real, Vec3, differentiable};

use super::padded::{Padded, Place};
use super::sums::total;

/// Vorticity below which nothing turns, 1/s.
const STILL: f64 = 1e-3;

/// A vector per cell, component by component, with halos.
type Vectors<T> = [Vec<T>; 3];

/// Scratch, with halos.
#[derive(Clone, Debug, Workspace)]
pub(crate) struct VorticityScratch<T: Copy + Send> {
    /// Velocity at cells c, or its cotangent.
    centered: Vectors<T>,
    /// ω and its cotangent.
    curl: Vectors<T>,
    curl_bar: Vectors<T>,
    /// |ω| and its cotangent.
    magnitude: Vec<T>,
    magnitude_bar: Vec<T>,
    /// f, or the cotangent of ∇|ω|.
    force: Vectors<T>,
}

impl<T: Real> VorticityScratch<T> {
    pub fn new(len: usize) -> Self {
        let zeros = vec![T::zero(); len];
        let vectors = || std::array::from_fn(|_| zeros.clone());
        VorticityScratch {
            centered: vectors(),
            curl: vectors(),
            curl_bar: vectors(),
            magnitude: zeros.clone(),
            magnitude_bar: zeros.clone(),
            force: vectors(),
        }
    }
}

/// f Δt = ε h Δt N × ω at a cell, with `strength` = ε h Δt.
#[differentiable]
fn confinement<T: Real>(slope: Vec3<T>, curl: Vec3<T>, strength: T, #[constant] still: T) -> Vec3<T> {
    let length = (slope.dot(slope) + still * still).sqrt();
    slope.cross(curl) * (strength / length)
}

/// |ω|
#[differentiable]
fn magnitude_of<T: Real>(curl: Vec3<T>, #[constant] still: T) -> T {
    (curl.dot(curl) + still * still).sqrt()
}

/// Adds to `out`; `velocity` with filled halos, `strength` = ε h Δt.
pub(crate) fn add_confinement<T: Real, const D: usize>(
    padded: &Padded<D>,
    spacing: f64,
    velocity: &[Vec<T>; D],
    strength: T,
    scratch: &mut VorticityScratch<T>,
    out: &mut [Vec<T>; D],
) {
    find_curl(padded, spacing, velocity, scratch);
    let VorticityScratch { curl, magnitude, force, .. } = scratch;
    padded.for_rows(force.each_mut().map(|f| padded.part(f)), |at, [x, y, z]| {
        for i in 0..x.len() {
            let slope = gradient(padded, spacing, magnitude, at.start + i);
            let f = confinement(slope, vector(curl, at.start + i), strength, T::lit(STILL / spacing));
            (x[i], y[i], z[i]) = (f.x, f.y, f.z);
        }
    });
    for (a, out) in out.iter_mut().enumerate() {
        padded.fill_halo(Place::Cell, &mut force[a]);
        let (f, stride) = (&force[a], padded.strides[a]);
        padded.for_rows(padded.part(out), |at, row| {
            for (i, u) in row.iter_mut().enumerate() {
                *u += (f[at.start + i] + f[at.start + i - stride]) * T::lit(0.5);
            }
        });
    }
}

/// The pullback of [`add_confinement`] from cotangents with filled halos: adds to those of the velocities, their
/// halos included, and returns that of `strength`. `sums` has a place per row.
pub(crate) fn add_confinement_vjp<T: Real, const D: usize>(
    padded: &Padded<D>,
    spacing: f64,
    velocity: &[Vec<T>; D],
    strength: T,
    scratch: &mut VorticityScratch<T>,
    out_bar: &[Vec<T>; D],
    velocity_bar: &mut [Vec<T>; D],
    sums: &mut [T],
) -> T {
    find_curl(padded, spacing, velocity, scratch);
    let VorticityScratch { curl, curl_bar, magnitude, force: slope_bar, .. } = scratch;
    let parts = (slope_bar.each_mut().map(|s| padded.part(s)), curl_bar.each_mut().map(|c| padded.part(c)));
    padded.for_rows((parts, padded.dense(sums, 1)), |at, ((slopes, curls), sum)| {
        sum[0] = T::zero();
        for i in 0..padded.cells[0] {
            let c = at.start + i;
            let mut f_bar = [T::zero(); 3];
            for a in 0..D {
                f_bar[a] = (out_bar[a][c] + out_bar[a][c + padded.strides[a]]) * T::lit(0.5);
            }
            let slope = gradient(padded, spacing, magnitude, c);
            let (slope_bar, curl_bar, strength_bar, ()) = confinement_vjp(
                slope,
                vector(curl, c),
                strength,
                T::lit(STILL / spacing),
                Vec3::new(f_bar[0], f_bar[1], f_bar[2]),
            );
            sum[0] += strength_bar;
            (slopes[0][i], slopes[1][i], slopes[2][i]) = (slope_bar.x, slope_bar.y, slope_bar.z);
            (curls[0][i], curls[1][i], curls[2][i]) = (curl_bar.x, curl_bar.y, curl_bar.z);
        }
    });
    let strength_bar = total(sums);
    gradient_vjp(padded, spacing, scratch);
    find_curl_vjp(padded, spacing, scratch, velocity_bar);
    strength_bar
}

/// c, ω and |ω| with halos.
fn find_curl<T: Real, const D: usize>(
    padded: &Padded<D>,
    spacing: f64,
    velocity: &[Vec<T>; D],
    scratch: &mut VorticityScratch<T>,
) {
    let VorticityScratch { centered, curl, magnitude, .. } = scratch;
    for a in 0..D {
        let (u, stride) = (&velocity[a], padded.strides[a]);
        padded.for_rows(padded.part(&mut centered[a]), |at, row| {
            for (i, c) in row.iter_mut().enumerate() {
                *c = (u[at.start + i] + u[at.start + i + stride]) * T::lit(0.5);
            }
        });
        padded.fill_halo(Place::Cell, &mut centered[a]);
    }
    let slope = T::lit(0.5 / spacing);
    let parts = (curl.each_mut().map(|c| padded.part(c)), padded.part(magnitude));
    padded.for_rows(parts, |at, ([x, y, z], magnitude)| {
        for (i, m) in magnitude.iter_mut().enumerate() {
            let c = at.start + i;
            let mut ω = [T::zero(); 3];
            for (component, a, b) in PLANES.into_iter().filter(|(_, a, b)| *a < D && *b < D) {
                // ω = ∂_a c_b − ∂_b c_a
                let (sa, sb) = (padded.strides[a], padded.strides[b]);
                let across = centered[b][c + sa] - centered[b][c - sa];
                ω[component] = (across - (centered[a][c + sb] - centered[a][c - sb])) * slope;
            }
            (x[i], y[i], z[i]) = (ω[0], ω[1], ω[2]);
            *m = magnitude_of(Vec3::new(ω[0], ω[1], ω[2]), T::lit(STILL));
        }
    });
    padded.fill_halo(Place::Cell, magnitude);
}

/// Components of ω and the axes of their planes.
const PLANES: [(usize, usize, usize); 3] = [(0, 1, 2), (1, 2, 0), (2, 0, 1)];

/// The pullback of [`find_curl`], from the cotangents of ω and |ω|: adds to those of the velocities, halos included.
fn find_curl_vjp<T: Real, const D: usize>(
    padded: &Padded<D>,
    spacing: f64,
    scratch: &mut VorticityScratch<T>,
    velocity_bar: &mut [Vec<T>; D],
) {
    let VorticityScratch { centered: centered_bar, curl, curl_bar, magnitude_bar, .. } = scratch;
    centered_bar.iter_mut().for_each(|bar| bar.fill(T::zero()));
    let slope = T::lit(0.5 / spacing);
    for_cells(padded, |c| {
        let (bar, ()) = magnitude_of_vjp(vector(curl, c), T::lit(STILL), magnitude_bar[c]);
        let bar = vector(curl_bar, c) + bar;
        let bar = [bar.x, bar.y, bar.z];
        for (component, a, b) in PLANES.into_iter().filter(|(_, a, b)| *a < D && *b < D) {
            let (sa, sb, bar) = (padded.strides[a], padded.strides[b], bar[component] * slope);
            centered_bar[b][c + sa] += bar;
            centered_bar[b][c - sa] -= bar;
            centered_bar[a][c + sb] -= bar;
            centered_bar[a][c - sb] += bar;
        }
    });
    for a in 0..D {
        padded.fill_halo_vjp(Place::Cell, &mut centered_bar[a]);
        for_cells(padded, |c| {
            let bar = centered_bar[a][c] * T::lit(0.5);
            velocity_bar[a][c] += bar;
            velocity_bar[a][c + padded.strides[a]] += bar;
        });
    }
}

/// ∇m at a cell.
#[inline(always)]
fn gradient<T: Real, const D: usize>(padded: &Padded<D>, spacing: f64, m: &[T], c: usize) -> Vec3<T> {
    let mut slope = [T::zero(); 3];
    for a in 0..D {
        slope[a] = (m[c + padded.strides[a]] - m[c - padded.strides[a]]) * T::lit(0.5 / spacing);
    }
    Vec3::new(slope[0], slope[1], slope[2])
}

/// The pullback of [`gradient`] at all cells: from the cotangent of ∇|ω| writes that of |ω|.
fn gradient_vjp<T: Real, const D: usize>(
    padded: &Padded<D>,
    spacing: f64,
    scratch: &mut VorticityScratch<T>,
) {
    let VorticityScratch { magnitude_bar, force: slope_bar, .. } = scratch;
    magnitude_bar.fill(T::zero());
    for_cells(padded, |c| {
        for a in 0..D {
            let bar = slope_bar[a][c] * T::lit(0.5 / spacing);
            magnitude_bar[c + padded.strides[a]] += bar;
            magnitude_bar[c - padded.strides[a]] -= bar;
        }
    });
    padded.fill_halo_vjp(Place::Cell, magnitude_bar);
}

/// Visits every cell, row by row.
fn for_cells<const D: usize>(padded: &Padded<D>, mut visit: impl FnMut(usize)) {
    for row in 0..padded.rows {
        padded.span(&padded.row(row)).for_each(&mut visit);
    }
}

/// The vector at a cell.
#[inline(always)]
fn vector<T: Real>(of: &Vectors<T>, c: usize) -> Vec3<T> {
    Vec3::new(of[0][c], of[1][c], of[2][c])
}

//! From samples to pixels: the mean over the samples of each pixel, and its pullback.

use std::ops::{Add, Mul};

use pullback_math::{Packing, Scalar, Vec3};
use rayon::prelude::*;

use crate::grid::Grid;
use crate::image::Image;
use crate::settings::Settings;
use crate::workspace::{SampleBar, Samples};

/// Means of samples.
pub(crate) fn resolve<T: Scalar>(
    settings: &Settings,
    grid: &Grid<T::Pack>,
    samples: &Samples<T::Pack>,
    image: &mut Image<T>,
) {
    image.reshape(settings);
    let through = &samples.through;
    plane::<T, _>(settings, grid, &mut image.alpha, |b, i| T::one() - T::unpack(&through[b], i));
    let seen = &samples.seen;
    plane::<T, _>(settings, grid, &mut image.color, |b, i| T::unpack_vector(&seen[b].color, i));
    plane::<T, _>(settings, grid, &mut image.depth, |b, i| T::unpack(&seen[b].depth, i));
    plane::<T, _>(settings, grid, &mut image.normal, |b, i| T::unpack_vector(&seen[b].normal, i));
}

/// One plane of a picture, if it has it; `sample(block, place)` is the value of a sample.
fn plane<T: Scalar, X>(
    settings: &Settings,
    grid: &Grid<T::Pack>,
    pixels: &mut [X],
    sample: impl Fn(usize, usize) -> X + Sync,
) where
    X: Copy + Send + Add<Output = X> + Mul<T, Output = X>,
{
    let n = settings.supersampling;
    let share = T::lit(1.0 / (n * n) as f64);
    pixels.par_chunks_mut(settings.width).enumerate().with_min_len(16).for_each(|(y, row)| {
        for (x, pixel) in row.iter_mut().enumerate() {
            let of = |dx: usize, dy: usize| {
                let (block, place) = grid.place(n * x + dx, n * y + dy);
                sample(block, place)
            };
            let mut sum = of(0, 0);
            for i in 1..n * n {
                sum = sum + of(i % n, i / n);
            }
            *pixel = sum * share;
        }
    });
}

/// Pullback of [`resolve`]: cotangents of all samples.
pub(crate) fn resolve_vjp<T: Scalar>(
    settings: &Settings,
    grid: &Grid<T::Pack>,
    image_bar: &Image<T>,
    bars: &mut [SampleBar<T::Pack>],
) {
    let (n, blocks) = (settings.supersampling, grid.blocks_per_tile());
    let share = T::lit(1.0 / (n * n) as f64);
    let outputs = settings.outputs;
    bars.par_chunks_mut(blocks).enumerate().with_min_len(4).for_each(|(tile, bars)| {
        for (block, bar) in bars.iter_mut().enumerate() {
            let pixel = |place: usize| {
                let [x, y] = grid.sample(tile, block, place);
                (x < grid.samples[0] && y < grid.samples[1]).then(|| y / n * settings.width + x / n)
            };
            let number =
                |plane: &[T]| <T as Packing>::pack(|i| pixel(i).map_or(T::zero(), |p| plane[p] * share));
            let vector = |plane: &[Vec3<T>]| {
                <T as Packing>::pack_vectors(|i| pixel(i).map_or(Vec3::zero(), |p| plane[p] * share))
            };
            *bar = SampleBar { alpha: number(&image_bar.alpha), ..SampleBar::default() };
            if outputs.color {
                bar.color = vector(&image_bar.color);
            }
            if outputs.depth {
                bar.depth = number(&image_bar.depth);
            }
            if outputs.normal {
                bar.normal = vector(&image_bar.normal);
            }
        }
    });
}

//! Cutting triangles at the smallest depth that is seen.
//!
//! What lies nearer is cut away. A triangle with one corner beyond keeps that corner, one with two becomes a
//! quadrilateral, two triangles. A cut lies at the fraction t = (z_in − near) / (z_in − z_out) of the way from the
//! corner that is kept to the one that is not, in depths z.

use pullback_math::{Cotangent, Real, Vec3, differentiable};

/// What a corner carries, in the camera's frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub(crate) struct Corner<T> {
    /// Position, m.
    pub position: Vec3<T>,
    /// Normal, of any length and side.
    pub normal: Vec3<T>,
    /// Color, or (u, v, 0).
    pub paint: Vec3<T>,
}

/// What is left of a triangle: for each of the triangles that it becomes, where each corner comes from: kept from
/// `.0` if `.1` is the same, else cut on the way from `.0` to `.1`.
type Parts = &'static [[(usize, usize); 3]];

/// Parts of a triangle by the corners that are kept: bit k for corner k.
const PARTS: [Parts; 8] = [
    &[],
    &[[(0, 0), (0, 1), (0, 2)]],
    &[[(1, 1), (1, 2), (1, 0)]],
    &[[(0, 0), (1, 1), (1, 2)], [(0, 0), (1, 2), (0, 2)]],
    &[[(2, 2), (2, 0), (2, 1)]],
    &[[(2, 2), (0, 0), (0, 1)], [(2, 2), (0, 1), (2, 1)]],
    &[[(1, 1), (2, 2), (2, 0)], [(1, 1), (2, 0), (1, 0)]],
    &[[(0, 0), (1, 1), (2, 2)]],
];

/// Which corners are seen: bit k for corner k.
#[inline(always)]
pub(crate) fn kept(depths: [f64; 3], near: f64) -> usize {
    (0..3).map(|k| usize::from(depths[k] >= near) << k).sum()
}

/// Number of triangles that one becomes.
#[inline(always)]
pub(crate) fn parts(kept: usize) -> usize {
    PARTS[kept].len()
}

/// Part number `part` of a triangle.
#[inline(always)]
pub(crate) fn clip<T: Real>(corners: [Corner<T>; 3], near: T, kept: usize, part: usize) -> [Corner<T>; 3] {
    PARTS[kept][part].map(|(from, to)| match from == to {
        true => corners[from],
        false => cut(near, corners[from], corners[to]),
    })
}

/// Pullback of [`clip`]: cotangents of the corners of the whole triangle.
#[inline(always)]
pub(crate) fn clip_vjp<T: Real>(
    corners: [Corner<T>; 3],
    near: T,
    kept: usize,
    part: usize,
    out_bar: [Corner<T>; 3],
) -> [Corner<T>; 3] {
    let mut bar = corners.zero_like();
    for ((from, to), out_bar) in PARTS[kept][part].into_iter().zip(out_bar) {
        if from == to {
            bar[from].accumulate(out_bar);
        } else {
            let ((), from_bar, to_bar) = cut_vjp(near, corners[from], corners[to], out_bar);
            bar[from].accumulate(from_bar);
            bar[to].accumulate(to_bar);
        }
    }
    bar
}

/// The corner on the way from `a`, which is seen, to `b`, which is not, at depth `near`.
#[differentiable]
fn cut<T: Real>(#[constant] near: T, a: Corner<T>, b: Corner<T>) -> Corner<T> {
    let t = (a.position.z + near) / (a.position.z - b.position.z);
    Corner {
        position: a.position + (b.position - a.position) * t,
        normal: a.normal + (b.normal - a.normal) * t,
        paint: a.paint + (b.paint - a.paint) * t,
    }
}

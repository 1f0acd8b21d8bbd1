//! Textures with bilinear sampling.

use pullback_math::{Real, Scalar, Vec3, differentiable};

/// What lies beyond the borders of a texture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wrap {
    /// The texels at the borders.
    #[default]
    Clamp,
    /// The texture again.
    Repeat,
}

/// A picture on a surface. Row 0 of its texels is at the top, where v = 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Texture<T> {
    /// What lies beyond its borders; constant.
    pub wrap: Wrap,
    /// Texels along u.
    pub width: usize,
    /// Texels along v.
    pub height: usize,
    /// Colors, row by row.
    pub texels: Vec<Vec3<T>>,
}

impl<T: Real> Texture<T> {
    /// A texture with the color `f(column, row)` in each texel.
    pub fn from_fn(width: usize, height: usize, f: impl Fn(usize, usize) -> Vec3<f64>) -> Self {
        let texels = (0..width * height).map(|i| f(i % width, i / width).map(T::lit)).collect();
        Texture { wrap: Wrap::Clamp, width, height, texels }
    }
    /// A checkerboard of `n` × `n` fields with `size` texels along each of their sides.
    pub fn checkerboard(n: usize, size: usize, colors: [Vec3<f64>; 2]) -> Self {
        Texture::from_fn(n * size, n * size, |x, y| colors[(x / size + y / size) % 2])
    }
    /// The same again beyond its borders.
    #[must_use]
    pub fn repeated(self) -> Self {
        Texture { wrap: Wrap::Repeat, ..self }
    }
    /// The same with every texel multiplied by a color, entry by entry.
    #[must_use]
    pub fn tinted(mut self, color: Vec3<T>) -> Self {
        self.texels.iter_mut().for_each(|texel| *texel = texel.zip(color, |a, b| a * b));
        self
    }
    /// The mean of its texels.
    pub fn mean(&self) -> Vec3<T> {
        let sum = self.texels.iter().fold(Vec3::zero(), |sum, c| sum + *c);
        sum * T::lit(1.0 / self.texels.len().max(1) as f64)
    }
    /// Every number through `f`.
    pub fn map<U: Real>(&self, f: impl Fn(T) -> U) -> Texture<U> {
        let texels = self.texels.iter().map(|x| x.map(&f)).collect();
        Texture { wrap: self.wrap, width: self.width, height: self.height, texels }
    }
}

/// The four texels around a place, and where it lies between them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Footprint<T> {
    /// Indices of the texels: at the left and right of the row above, then of the row below.
    pub texels: [usize; 4],
    /// From the left texel to the right one, 0 to 1.
    pub across: T,
    /// From the row above to the row below, 0 to 1.
    pub down: T,
}

/// The place (u, v) on a texture of this size. Texel centers are at half integers of u · width and (1 − v) · height.
pub(crate) fn footprint<T: Scalar>(wrap: Wrap, width: usize, height: usize, u: T, v: T) -> Footprint<T> {
    let x = u * T::lit(width as f64) - T::lit(0.5);
    let y = (T::one() - v) * T::lit(height as f64) - T::lit(0.5);
    let (column, row) = (x.cell(), y.cell());
    let within = |i: i32, n: usize| match wrap {
        Wrap::Clamp => i.clamp(0, n as i32 - 1) as usize,
        Wrap::Repeat => i.rem_euclid(n as i32) as usize,
    };
    let columns = [within(column, width), within(column.saturating_add(1), width)];
    let rows = [within(row, height), within(row.saturating_add(1), height)];
    let at = |r: usize, c: usize| rows[r] * width + columns[c];
    Footprint {
        texels: [at(0, 0), at(0, 1), at(1, 0), at(1, 1)],
        across: x - T::lit(f64::from(column)),
        down: y - T::lit(f64::from(row)),
    }
}

/// (1 − down) ((1 − across) c₀ + across c₁) + down ((1 − across) c₂ + across c₃)
#[differentiable]
#[inline(always)]
pub(crate) fn bilinear<T: Real>(across: T, down: T, c: [Vec3<T>; 4]) -> Vec3<T> {
    let above = c[0] + (c[1] - c[0]) * across;
    let below = c[2] + (c[3] - c[2]) * across;
    above + (below - above) * down
}

/// The color at (u, v).
pub(crate) fn sample<T: Scalar>(texture: &Texture<T>, u: T, v: T) -> Vec3<T> {
    let at = footprint(texture.wrap, texture.width, texture.height, u, v);
    bilinear(at.across, at.down, at.texels.map(|i| texture.texels[i]))
}

/// Pullback of [`sample`]: adds to the cotangents of the texels, returns those of u and v.
pub(crate) fn sample_vjp<T: Scalar>(
    texture: &Texture<T>,
    u: T,
    v: T,
    color_bar: Vec3<T>,
    texels_bar: &mut [Vec3<T>],
) -> (T, T) {
    let Texture { wrap, width, height, texels } = texture;
    let at = footprint(*wrap, *width, *height, u, v);
    let (across, down, colors) = bilinear_vjp(at.across, at.down, at.texels.map(|i| texels[i]), color_bar);
    for (i, bar) in at.texels.into_iter().zip(colors) {
        texels_bar[i] += bar;
    }
    (across * T::lit(*width as f64), -(down * T::lit(*height as f64)))
}

//! Which nodes a particle touches, and how much: quadratic B-splines over 3×3×3 nodes.
//!
//! With f the particle's place in units of the grid, counted from its lowest node: w₀ = ½ (3/2 − f)², w₁ = ¾ − (f − 1)²,
//! w₂ = ½ (f − ½)², f ∈ [½, 3/2). In two dimensions the third axis has one node, z = 0, of weight 1 and no slope.

use pullback_math::{Scalar, Vec3};

/// Nodes along one edge of a tile: a block of 4 and the reach of its particles.
pub const TILE: usize = 6;
/// Nodes of a tile.
pub const TILE_NODES: usize = TILE * TILE * TILE;

/// The nodes around a particle.
#[derive(Clone, Copy, Debug)]
pub struct Stencil<T: Scalar> {
    /// Lowest node.
    pub base: [i32; 3],
    /// Weights by axis and node.
    pub weights: [[T; 3]; 3],
    /// Their derivatives in the particle's position, 1/m.
    pub slopes: [[T; 3]; 3],
    /// From the particle to the nodes by axis, m.
    pub offsets: [[T; 3]; 3],
    /// Whether the third axis has one node.
    pub flat: bool,
}

impl<T: Scalar> Stencil<T> {
    /// The nodes around `x` on a grid of spacing `dx`; `flat` for two dimensions.
    #[inline(always)]
    pub fn new(x: Vec3<T>, dx: f64, flat: bool) -> Self {
        let (per_dx, half) = (T::lit(1.0 / dx), T::lit(0.5));
        let mut stencil = Stencil {
            base: [0; 3],
            weights: [[T::zero(); 3]; 3],
            slopes: [[T::zero(); 3]; 3],
            offsets: [[T::zero(); 3]; 3],
            flat,
        };
        for (axis, x) in [x.x, x.y, x.z].into_iter().enumerate() {
            if flat && axis == 2 {
                // All particles share the nodes z = 0, wherever their own z is.
                stencil.weights[2][0] = T::one();
                continue;
            }
            let place = x * per_dx;
            let base = (place - half).cell();
            stencil.base[axis] = base;
            let f = place - T::lit(f64::from(base));
            let (a, b, c) = (T::lit(1.5) - f, f - T::one(), f - half);
            stencil.weights[axis] = [half * a * a, T::lit(0.75) - b * b, half * c * c];
            stencil.slopes[axis] = [-a * per_dx, -(b + b) * per_dx, c * per_dx];
            for (i, offset) in stencil.offsets[axis].iter_mut().enumerate() {
                *offset = (T::lit(i as f64) - f) * T::lit(dx);
            }
        }
        stencil
    }

    /// Where the lowest node lies in its tile.
    #[inline(always)]
    pub fn corner(&self) -> usize {
        let [i, j, k] = self.base.map(|b| (b & 3) as usize);
        (i * TILE + j) * TILE + k
    }
}

/// A value at a particle and its gradient in space, both with one entry per number of a node.
#[derive(Clone, Copy, Debug)]
pub struct Affine<Q> {
    /// Value at the particle.
    pub value: Q,
    /// Derivative along each axis, 1/m.
    pub columns: [Q; 3],
}

/// tile += w (value + columns·offset), at all nodes around a particle.
#[inline(always)]
pub fn scatter<T: Scalar>(tile: &mut [T::Quad], at: &Stencil<T>, what: Affine<T::Quad>) {
    let corner = at.corner();
    let [wx, wy, wz] = at.weights;
    let along_z: [T::Quad; 3] = std::array::from_fn(|k| what.columns[2] * T::everywhere(at.offsets[2][k]));
    for i in 0..3 {
        let x = what.value + what.columns[0] * T::everywhere(at.offsets[0][i]);
        for j in 0..3 {
            let xy = x + what.columns[1] * T::everywhere(at.offsets[1][j]);
            let w = wx[i] * wy[j];
            let row = &mut tile[corner + (i * TILE + j) * TILE..][..3];
            for k in 0..3 {
                row[k] += (xy + along_z[k]) * T::everywhere(w * wz[k]);
            }
        }
    }
}

/// Σ w n and Σ w n offset over the nodes n around a particle.
#[inline(always)]
pub fn gather<T: Scalar>(tile: &[T::Quad], at: &Stencil<T>) -> Affine<T::Quad> {
    let corner = at.corner();
    let [wx, wy, wz] = at.weights;
    let zero = T::Quad::default();
    let mut sum = Affine { value: zero, columns: [zero; 3] };
    let moment_z: [T; 3] = std::array::from_fn(|k| wz[k] * at.offsets[2][k]);
    for i in 0..3 {
        let (mut plane, mut plane_y, mut plane_z) = (zero, zero, zero);
        for j in 0..3 {
            let row = &tile[corner + (i * TILE + j) * TILE..][..3];
            let (mut line, mut line_z) = (zero, zero);
            for k in 0..3 {
                line += row[k] * T::everywhere(wz[k]);
                line_z += row[k] * T::everywhere(moment_z[k]);
            }
            plane += line * T::everywhere(wy[j]);
            plane_y += line * T::everywhere(wy[j] * at.offsets[1][j]);
            plane_z += line_z * T::everywhere(wy[j]);
        }
        let w = T::everywhere(wx[i]);
        sum.value += plane * w;
        sum.columns[0] += plane * T::everywhere(wx[i] * at.offsets[0][i]);
        sum.columns[1] += plane_y * w;
        sum.columns[2] += plane_z * w;
    }
    sum
}

/// Cotangent of the particle's position when nodes n meet w (value + columns·offset): Σ ∂w n·(value + columns·offset) −
/// (Σ w n)·columns. `sum` is Σ w n.
#[inline(always)]
pub fn position_bar<T: Scalar>(
    tile: &[T::Quad],
    at: &Stencil<T>,
    what: Affine<T::Quad>,
    sum: T::Quad,
) -> Vec3<T> {
    let corner = at.corner();
    let ([wx, wy, wz], [sx, sy, sz]) = (at.weights, at.slopes);
    let zero = T::Quad::default();
    let mut bar = [zero; 3];
    let along_z: [T::Quad; 3] = std::array::from_fn(|k| what.columns[2] * T::everywhere(at.offsets[2][k]));
    for i in 0..3 {
        let x = what.value + what.columns[0] * T::everywhere(at.offsets[0][i]);
        let (mut plane, mut plane_y, mut plane_z) = (zero, zero, zero);
        for j in 0..3 {
            let xy = x + what.columns[1] * T::everywhere(at.offsets[1][j]);
            let row = &tile[corner + (i * TILE + j) * TILE..][..3];
            let (mut line, mut line_z) = (zero, zero);
            for k in 0..3 {
                let meets = row[k] * (xy + along_z[k]);
                line += meets * T::everywhere(wz[k]);
                line_z += meets * T::everywhere(sz[k]);
            }
            plane += line * T::everywhere(wy[j]);
            plane_y += line * T::everywhere(sy[j]);
            plane_z += line_z * T::everywhere(wy[j]);
        }
        bar[0] += plane * T::everywhere(sx[i]);
        bar[1] += plane_y * T::everywhere(wx[i]);
        bar[2] += plane_z * T::everywhere(wx[i]);
    }
    for (bar, column) in bar.iter_mut().zip(what.columns) {
        *bar -= sum * column;
    }
    if at.flat {
        // Neither weights nor offsets change with z.
        bar[2] = zero;
    }
    Vec3::new(T::quad_sum(bar[0]), T::quad_sum(bar[1]), T::quad_sum(bar[2]))
}

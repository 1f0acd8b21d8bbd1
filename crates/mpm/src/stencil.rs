//! Interpolation between particles and nodes: quadratic B-splines over 3×3×3 nodes.
//!
//! With u ∈ [−½, ½) the position of the particle relative to its middle node, in units of the grid: w₀ = ½ (½
//! − u)², w₁ = ¾ − u², w₂ = ½ (½ + u)². In two dimensions the third axis has one node, z = 0, of weight 1 and
//! no slope: all particles share it, wherever their own z is.
//!
//! Lines of three nodes along z are loaded with the node after them, whose weight is 0, as one
//! [`Scalar::Row`]. A stencil has nine rows. Weights along x and y are numbers that multiply whole rows: they
//! are found for a chunk of particles at once, a lane each, and broadcast from memory ([`Weights`]).

use pullback_math::{Packing, Real, Scalar};

use super::record::Record;

/// Nodes along one edge of a tile: a block of 4 and a halo of 2.
pub(crate) const TILE: usize = 6;
/// Nodes of a tile.
const TILE_NODES: usize = TILE * TILE * TILE;
/// Length of a tile in memory: the last row reads one node more.
pub(crate) const TILE_LENGTH: usize = TILE_NODES + 1;
/// Largest number of particles whose weights are found at once.
pub const CHUNK: usize = 32;

/// Of the three nodes of an axis: weights, their derivatives in the particle's position (1/m), and offsets
/// from the particle to the nodes (m).
#[derive(Clone, Copy, Debug)]
pub struct Axis<P> {
    /// w
    pub weights: [P; 3],
    /// dw/dx
    pub slopes: [P; 3],
    /// Node minus particle.
    pub offsets: [P; 3],
}

impl<P: Real> Axis<P> {
    /// The splines at u on a grid of spacing `dx`.
    #[inline(always)]
    fn new(u: P, dx: f64) -> Self {
        let (half, one) = (P::lit(0.5), P::one());
        let (low, high) = (half - u, half + u);
        let (dx, per_dx) = (P::lit(dx), P::lit(1.0 / dx));
        let middle = -(u * dx);
        Axis {
            weights: [half * low * low, P::lit(0.75) - u * u, half * high * high],
            slopes: [-(low * per_dx), -((u + u) * per_dx), high * per_dx],
            offsets: [(-one - u) * dx, middle, (one - u) * dx],
        }
    }
}

/// The splines t = α + β u, w = γ t² + δ along z, one node per quad; the last quad is zero.
#[derive(Clone, Copy, Debug)]
struct RowSplines<P> {
    alpha: P,
    beta: P,
    gamma: P,
    delta: P,
    /// dw/dx = slope t, 1/m.
    slope: P,
    /// Positions of the nodes relative to the middle one, in units of the grid.
    nodes: P,
    spacing: P,
}

/// Weights, slopes and offsets along z.
#[derive(Clone, Copy, Debug)]
struct RowAxis<P> {
    weights: P,
    slopes: P,
    offsets: P,
}

impl<P: Real> RowSplines<P> {
    fn new(dx: f64, quads: impl Fn([f64; 4]) -> P) -> Self {
        let (alpha, beta, gamma) = ([0.5, 0.0, 0.5, 0.0], [-1.0, 1.0, 1.0, 0.0], [0.5, -1.0, 0.5, 0.0]);
        RowSplines {
            alpha: quads(alpha),
            beta: quads(beta),
            gamma: quads(gamma),
            delta: quads([0.0, 0.75, 0.0, 0.0]),
            slope: quads(std::array::from_fn(|i| 2.0 * gamma[i] * beta[i] / dx)),
            nodes: quads([-1.0, 0.0, 1.0, 0.0]),
            spacing: P::lit(dx),
        }
    }

    #[inline(always)]
    fn at(&self, u: P) -> RowAxis<P> {
        let t = self.beta.mul_add(u, self.alpha);
        RowAxis {
            weights: (self.gamma * t).mul_add(t, self.delta),
            slopes: self.slope * t,
            offsets: (self.nodes - u) * self.spacing,
        }
    }
}

/// The splines of a grid.
#[derive(Clone, Copy, Debug)]
pub struct Kernel<T: Scalar> {
    dx: f64,
    per_dx: T,
    rows: RowSplines<T::Row>,
    /// The third axis in two dimensions.
    flat: Option<RowAxis<T::Row>>,
    /// 1 in the spare places of a record whose axis has slopes, 0 elsewhere.
    spare: T::Row,
}

impl<T: Scalar> Kernel<T> {
    /// The splines of a grid of spacing `dx`; `flat` for two dimensions.
    pub fn new(dx: f64, flat: bool) -> Self {
        let row = |x: [f64; 4]| T::row(&x.map(|x| T::lit(x).everywhere()));
        let zero = T::Row::zero();
        let single = RowAxis { weights: row([1.0, 0.0, 0.0, 0.0]), slopes: zero, offsets: zero };
        let mut spare = Record::default();
        spare.set_spare([T::one(), T::one(), if flat { T::zero() } else { T::one() }]);
        Kernel {
            dx,
            per_dx: T::lit(1.0 / dx),
            rows: RowSplines::new(dx, row),
            flat: flat.then_some(single),
            spare: spare.row(),
        }
    }

    /// Lowest node around a particle at `x`; that of the one layer in two dimensions.
    #[inline(always)]
    pub fn base(&self, x: [T; 3]) -> [i32; 3] {
        let [i, j, k] = x.map(|x| (x * self.per_dx - T::lit(0.5)).cell());
        [i, j, if self.flat.is_some() { 0 } else { k }]
    }

    /// u of a particle at `x` in the cell with the lowest node `base`.
    #[inline(always)]
    pub fn relative(&self, x: [T; 3], base: [i32; 3]) -> [T; 3] {
        let along = |a: usize| x[a].mul_add(self.per_dx, -T::lit(f64::from(base[a] + 1)));
        [along(0), along(1), along(2)]
    }

    /// The splines of each axis for a particle at u.
    pub fn axes(&self, u: [T; 3]) -> [Axis<T>; 3] {
        let [x, y, z] = u.map(|u| Axis::new(u, self.dx));
        let (zero, one) = (T::zero(), T::one());
        let single = Axis { weights: [one, zero, zero], slopes: [zero; 3], offsets: [zero; 3] };
        [x, y, if self.flat.is_some() { single } else { z }]
    }

    /// The nodes around particle `i` of a chunk.
    #[inline(always)]
    pub fn around<'a>(&self, weights: &'a Weights<T>, i: usize) -> Stencil<'a, T> {
        let z = self.flat.unwrap_or_else(|| self.rows.at(weights.u[2][i].along()));
        Stencil { weights, i, z }
    }
}

/// Numbers of the three nodes of an axis, for every particle of a chunk.
type Nodes<T> = [[T; CHUNK]; 3];

/// Weights along x and y of a chunk of particles.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Weights<T> {
    /// Position relative to the middle node along each axis, in units of the grid.
    pub u: [[T; CHUNK]; 3],
    weights: [Nodes<T>; 2],
    /// Weight times offset, m.
    moments: [Nodes<T>; 2],
    slopes: [Nodes<T>; 2],
    /// Offsets of the middle node, m.
    offsets: [[T; CHUNK]; 2],
}

impl<T: Scalar> Weights<T> {
    /// Of no particles.
    pub fn new() -> Self {
        let (chunk, nodes) = ([T::zero(); CHUNK], [[T::zero(); CHUNK]; 3]);
        Weights {
            u: [chunk; 3],
            weights: [nodes; 2],
            moments: [nodes; 2],
            slopes: [nodes; 2],
            offsets: [chunk; 2],
        }
    }

    /// Finds the weights of the first `count` particles from their u.
    #[inline(always)]
    pub fn find(&mut self, kernel: &Kernel<T>, count: usize) {
        const { assert!(CHUNK.is_multiple_of(T::WIDTH)) };
        for first in (0..count).step_by(T::WIDTH) {
            for a in 0..2 {
                let axis = Axis::new(load_pack::<T>(&self.u[a], first), kernel.dx);
                for n in 0..3 {
                    store_pack(&mut self.weights[a][n], first, axis.weights[n]);
                    store_pack(&mut self.moments[a][n], first, axis.weights[n] * axis.offsets[n]);
                    store_pack(&mut self.slopes[a][n], first, axis.slopes[n]);
                }
                store_pack(&mut self.offsets[a], first, axis.offsets[1]);
            }
        }
    }
}

impl<T: Scalar> Default for Weights<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[inline(always)]
fn load_pack<T: Packing>(from: &[T; CHUNK], first: usize) -> T::Pack {
    let from = &from[first..first + T::WIDTH];
    T::pack(|i| from[i])
}

#[inline(always)]
fn store_pack<T: Packing>(to: &mut [T; CHUNK], first: usize, pack: T::Pack) {
    for (i, to) in to[first..first + T::WIDTH].iter_mut().enumerate() {
        *to = T::unpack(&pack, i);
    }
}

/// The nodes around a particle.
#[derive(Clone, Copy, Debug)]
pub struct Stencil<'a, T: Scalar> {
    weights: &'a Weights<T>,
    i: usize,
    z: RowAxis<T::Row>,
}

impl<T: Scalar> Stencil<'_, T> {
    /// The numbers of the three nodes of an axis, each broadcast over a row.
    #[inline(always)]
    fn broadcast(&self, nodes: &Nodes<T>) -> [T::Row; 3] {
        // Unrolled: `map` would pass whole registers through memory.
        [nodes[0][self.i].along(), nodes[1][self.i].along(), nodes[2][self.i].along()]
    }
}

/// An affine function around a particle, with one entry per number of a node.
#[derive(Clone, Copy, Debug)]
pub struct Affine<Q> {
    /// Value at the particle.
    pub value: Q,
    /// Derivative along each axis, 1/m.
    pub columns: [Q; 3],
}

/// The quads of a row as value and columns, each repeated over a row.
#[inline(always)]
fn repeated<T: Scalar>(f: T::Row) -> Affine<T::Row> {
    let [value, x, y, z] = T::quads(f);
    Affine { value: T::repeated(value), columns: [T::repeated(x), T::repeated(y), T::repeated(z)] }
}

/// The nodes of a stencil: rows along z, by x and y.
pub type Rows<T> = [[<T as Scalar>::Row; 3]; 3];

/// First node of a row of the cell with the lowest node `corner`.
#[inline(always)]
fn row_at(corner: usize, i: usize, j: usize) -> usize {
    corner + (i * TILE + j) * TILE
}

/// The nodes of the cell whose lowest node is number `corner` of a tile.
#[inline(always)]
pub fn load<T: Scalar>(tile: &[T::Quad; TILE_LENGTH], corner: usize) -> Rows<T> {
    // Unrolled, so that rows become registers.
    let row = |i: usize, j: usize| T::row(&tile[row_at(corner, i, j)..][..4].as_chunks().0[0]);
    [[row(0, 0), row(0, 1), row(0, 2)], [row(1, 0), row(1, 1), row(1, 2)], [row(2, 0), row(2, 1), row(2, 2)]]
}

/// The inverse of [`load`].
#[inline(always)]
pub fn store<T: Scalar>(tile: &mut [T::Quad; TILE_LENGTH], corner: usize, rows: &Rows<T>) {
    for i in 0..3 {
        for j in 0..3 {
            tile[row_at(corner, i, j)..][..4].copy_from_slice(&T::quads(rows[i][j]));
        }
    }
}

/// rows += w (value + columns·offset) for the value and columns side by side in `f`.
#[inline(always)]
pub fn scatter<T: Scalar>(rows: &mut Rows<T>, at: &Stencil<'_, T>, f: T::Row) {
    let (Weights { weights: [wx, wy], moments: [mx, my], .. }, z) = (at.weights, at.z);
    let Affine { value, columns: [c0, c1, c2] } = repeated::<T>(f);
    let value = c2.mul_add(z.offsets, value) * z.weights;
    let (along_x, along_y) = (c0 * z.weights, c1 * z.weights);
    let (wx, mx, wy, my) = (at.broadcast(wx), at.broadcast(mx), at.broadcast(wy), at.broadcast(my));
    for i in 0..3 {
        let plane = along_x.mul_add(mx[i], value * wx[i]);
        let plane_y = along_y * wx[i];
        for j in 0..3 {
            rows[i][j] = plane.mul_add(wy[j], plane_y.mul_add(my[j], rows[i][j]));
        }
    }
}

/// Σ w n over the nodes n around a particle.
#[inline(always)]
pub fn gather_value<T: Scalar>(rows: &Rows<T>, at: &Stencil<'_, T>) -> T::Quad {
    let [wx, wy] = &at.weights.weights;
    let (wx, wy) = (at.broadcast(wx), at.broadcast(wy));
    let plane = |i: usize| {
        let [a, b, c] = rows[i];
        a.mul_add(wy[0], b.mul_add(wy[1], c * wy[2]))
    };
    let (a, b, c) = (plane(0), plane(1), plane(2));
    T::sum_quads(a.mul_add(wx[0], b.mul_add(wx[1], c * wx[2])) * at.z.weights)
}

/// Σ w n and Σ w n offset over the nodes n around a particle: value and columns, side by side.
#[inline(always)]
pub fn gather<T: Scalar>(rows: &Rows<T>, at: &Stencil<'_, T>) -> T::Row {
    let (Weights { weights: [wx, wy], moments: [mx, my], .. }, z) = (at.weights, at.z);
    let (wx, mx, wy, my) = (at.broadcast(wx), at.broadcast(mx), at.broadcast(wy), at.broadcast(my));
    let mut sums = [T::Row::zero(); 3];
    for i in 0..3 {
        let [a, b, c] = rows[i];
        let plane = a.mul_add(wy[0], b.mul_add(wy[1], c * wy[2]));
        let plane_y = a.mul_add(my[0], b.mul_add(my[1], c * my[2]));
        sums[0] = plane.mul_add(wx[i], sums[0]);
        sums[1] = plane.mul_add(mx[i], sums[1]);
        sums[2] = plane_y.mul_add(wx[i], sums[2]);
    }
    let sum = sums[0] * z.weights;
    T::sum_rows([sum, sums[1] * z.weights, sums[2] * z.weights, sum * z.offsets])
}

/// Derivative of Σ w n·(value + columns·offset) over the nodes n in the particle's position: Σ ∂w n·(value +
/// columns·offset) − (Σ w n)·columns, in the spare places of a record. `f` is value and columns side by side,
/// `sum` is Σ w n.
#[inline(always)]
pub fn position_bar<T: Scalar>(
    rows: &Rows<T>,
    kernel: &Kernel<T>,
    at: &Stencil<'_, T>,
    f: T::Row,
    sum: T::Quad,
) -> T::Row {
    let (Weights { weights: [wx, wy], slopes: [sx, sy], offsets, .. }, z) = (at.weights, at.z);
    let Affine { value, columns: [c0, c1, c2] } = repeated::<T>(f);
    let (wx, sx, wy, sy) = (at.broadcast(wx), at.broadcast(sx), at.broadcast(wy), at.broadcast(sy));
    // value + columns·offset at the middle line of nodes, and its change to the next along x and y.
    let middle = c2.mul_add(z.offsets, value);
    let middle = c0.mul_add(offsets[0][at.i].along(), c1.mul_add(offsets[1][at.i].along(), middle));
    let (step_x, step_y) = (c0 * kernel.rows.spacing, c1 * kernel.rows.spacing);
    let along_x = [middle - step_x, middle, middle + step_x];
    let mut bars = [T::Row::zero(); 3];
    for i in 0..3 {
        let ([a, b, c], middle) = (rows[i], along_x[i]);
        let (a, b, c) = (a * (middle - step_y), b * middle, c * (middle + step_y));
        let plane = a.mul_add(wy[0], b.mul_add(wy[1], c * wy[2]));
        let plane_y = a.mul_add(sy[0], b.mul_add(sy[1], c * sy[2]));
        bars[0] = plane.mul_add(sx[i], bars[0]);
        bars[1] = plane_y.mul_add(wx[i], bars[1]);
        bars[2] = plane.mul_add(wx[i], bars[2]);
    }
    let bars = T::sum_rows([T::Row::zero(), bars[0] * z.weights, bars[1] * z.weights, bars[2] * z.slopes]);
    T::sum_entries(bars - T::repeated(sum) * f) * kernel.spare
}

//! Interpolation between particles and nodes: quadratic B-splines over 3×3×3 nodes.
//!
//! With u ∈ [−½, ½) the position of the particle relative to its middle node, in units of the grid: w₀ = ½ (½
//! − u)², w₁ = ¾ − u², w₂ = ½ (½ + u)². In two dimensions the third axis has one node, z = 0, of weight 1 and
//! no slope: all particles share it, wherever their own z is.
//!
//! Lines of three nodes along z are loaded with the node after them, whose weight is 0, as one
//! [`Scalar::Row`]. A stencil has nine rows. Particles of one cell share them, so that they stay in
//! registers.

use pullback_math::{Real, Scalar, Vec3};

/// Nodes along one edge of a tile: a block of 4 and a halo of 2.
pub(crate) const TILE: usize = 6;
/// Nodes of a tile.
const TILE_NODES: usize = TILE * TILE * TILE;
/// Length of a tile in memory: the last row reads one node more.
pub(crate) const TILE_LENGTH: usize = TILE_NODES + 1;

/// The splines t = α + β u, w = γ t² + δ of the three nodes of an axis, one per lane; the last lane is zero.
#[derive(Clone, Copy, Debug)]
struct Splines<P> {
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

impl<P: Real> Splines<P> {
    fn new(dx: f64, lanes: impl Fn([f64; 4]) -> P) -> Self {
        let (alpha, beta, gamma) = ([0.5, 0.0, 0.5, 0.0], [-1.0, 1.0, 1.0, 0.0], [0.5, -1.0, 0.5, 0.0]);
        Splines {
            alpha: lanes(alpha),
            beta: lanes(beta),
            gamma: lanes(gamma),
            delta: lanes([0.0, 0.75, 0.0, 0.0]),
            slope: lanes(std::array::from_fn(|i| 2.0 * gamma[i] * beta[i] / dx)),
            nodes: lanes([-1.0, 0.0, 1.0, 0.0]),
            spacing: P::lit(dx),
        }
    }

    #[inline(always)]
    fn at(&self, u: P) -> Axis<P> {
        let t = self.beta.mul_add(u, self.alpha);
        Axis {
            weights: (self.gamma * t).mul_add(t, self.delta),
            slopes: self.slope * t,
            offsets: (self.nodes - u) * self.spacing,
        }
    }
}

/// Weights of one axis, their derivatives in the particle's position (1/m), and offsets from the particle to
/// the nodes (m).
#[derive(Clone, Copy, Debug)]
struct Axis<P> {
    weights: P,
    slopes: P,
    offsets: P,
}

/// The splines of a grid.
#[derive(Clone, Copy, Debug)]
pub struct Kernel<T: Scalar> {
    per_spacing: T::Quad,
    quads: Splines<T::Quad>,
    rows: Splines<T::Row>,
    /// The third axis in two dimensions.
    flat: Option<Axis<T::Row>>,
}

impl<T: Scalar> Kernel<T> {
    /// The splines of a grid of spacing `dx`; `flat` for two dimensions.
    pub fn new(dx: f64, flat: bool) -> Self {
        let row = |x: [f64; 4]| T::row(&x.map(|x| T::lit(x).everywhere()));
        let zero = T::Row::zero();
        let single = Axis { weights: row([1.0, 0.0, 0.0, 0.0]), slopes: zero, offsets: zero };
        Kernel {
            per_spacing: T::lit(1.0 / dx).everywhere(),
            quads: Splines::new(dx, |x| T::quad(x.map(T::lit))),
            rows: Splines::new(dx, row),
            flat: flat.then_some(single),
        }
    }

    /// The middle node of a cell whose lowest node is `base`.
    #[inline(always)]
    pub fn middle(base: [i32; 3]) -> T::Quad {
        let [x, y, z] = base.map(|b| T::lit(f64::from(b + 1)));
        T::quad([x, y, z, T::zero()])
    }

    /// The nodes around a particle at `x` in the cell with the middle node given.
    #[inline(always)]
    pub fn at(&self, [x, y, z]: [T; 3], middle: T::Quad) -> Stencil<T> {
        let u = T::quad([x, y, z, T::zero()]).mul_add(self.per_spacing, -middle);
        let [x, y, z, _] = T::entries(u);
        Stencil {
            x: self.quads.at(x.everywhere()),
            y: self.quads.at(y.everywhere()),
            z: self.flat.unwrap_or_else(|| self.rows.at(z.along())),
            flat: self.flat.is_some(),
        }
    }

    /// Lowest node around a particle at `x`; that of the one layer in two dimensions.
    #[inline(always)]
    pub fn base(&self, x: [T; 3]) -> [i32; 3] {
        let [per_dx, ..] = T::entries(self.per_spacing);
        let [i, j, k] = x.map(|x| (x * per_dx - T::lit(0.5)).cell());
        [i, j, if self.flat.is_some() { 0 } else { k }]
    }
}

/// The nodes around a particle.
#[derive(Clone, Copy, Debug)]
pub struct Stencil<T: Scalar> {
    x: Axis<T::Quad>,
    y: Axis<T::Quad>,
    z: Axis<T::Row>,
    flat: bool,
}

impl<T: Scalar> Stencil<T> {
    /// Weights by axis and node.
    #[inline(always)]
    pub fn weights(&self) -> [[T; 3]; 3] {
        [quad_axis::<T>(self.x.weights), quad_axis::<T>(self.y.weights), row_axis::<T>(self.z.weights)]
    }
    /// Their derivatives in the particle's position, 1/m.
    #[inline(always)]
    pub fn slopes(&self) -> [[T; 3]; 3] {
        [quad_axis::<T>(self.x.slopes), quad_axis::<T>(self.y.slopes), row_axis::<T>(self.z.slopes)]
    }
}

/// The numbers of the three nodes of an axis in a quad.
#[inline(always)]
fn quad_axis<T: Scalar>(quad: T::Quad) -> [T; 3] {
    let [a, b, c, _] = T::entries(quad);
    [a, b, c]
}

/// The numbers of the three nodes of an axis in a row, each broadcast over a quad.
#[inline(always)]
fn row_axis<T: Scalar>(row: T::Row) -> [T; 3] {
    let [a, b, c, _] = T::quads(row).map(|q| T::entries(q)[0]);
    [a, b, c]
}

/// An affine function around a particle, with one entry per number of a node.
#[derive(Clone, Copy, Debug)]
pub struct Affine<Q> {
    /// Value at the particle.
    pub value: Q,
    /// Derivative along each axis, 1/m.
    pub columns: [Q; 3],
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

/// The numbers of an axis, each broadcast over a row.
#[inline(always)]
fn broadcast<T: Scalar>(quad: T::Quad) -> [T::Row; 3] {
    // Unrolled: `map` would pass whole registers through memory.
    let [a, b, c] = quad_axis::<T>(quad);
    [a.along(), b.along(), c.along()]
}

/// Sum of the quads of a row.
#[inline(always)]
fn sum_quads<T: Scalar>(row: T::Row) -> T::Quad {
    let [a, b, c, d] = T::quads(row);
    (a + b) + (c + d)
}

/// rows += w (value + columns·offset)
#[inline(always)]
pub fn scatter<T: Scalar>(rows: &mut Rows<T>, at: &Stencil<T>, f: Affine<T::Quad>) {
    let Stencil { x, y, z, .. } = at;
    let [c0, c1, c2] = f.columns;
    let (c0, c1, c2) = (T::repeated(c0), T::repeated(c1), T::repeated(c2));
    let value = c2.mul_add(z.offsets, T::repeated(f.value)) * z.weights;
    let (along_x, along_y) = (c0 * z.weights, c1 * z.weights);
    let (wx, ox) = (broadcast::<T>(x.weights), broadcast::<T>(x.offsets));
    let (wy, wy_oy) = (broadcast::<T>(y.weights), broadcast::<T>(y.weights * y.offsets));
    for i in 0..3 {
        let plane = along_x.mul_add(ox[i], value) * wx[i];
        let plane_y = along_y * wx[i];
        for j in 0..3 {
            rows[i][j] = plane.mul_add(wy[j], plane_y.mul_add(wy_oy[j], rows[i][j]));
        }
    }
}

/// Σ w n over the nodes n around a particle.
#[inline(always)]
pub fn gather_value<T: Scalar>(rows: &Rows<T>, at: &Stencil<T>) -> T::Quad {
    let Stencil { x, y, z, .. } = at;
    let (wx, wy) = (broadcast::<T>(x.weights), broadcast::<T>(y.weights));
    let mut sum = T::Row::zero();
    for i in 0..3 {
        let [a, b, c] = rows[i];
        sum = a.mul_add(wy[0], b.mul_add(wy[1], c * wy[2])).mul_add(wx[i], sum);
    }
    sum_quads::<T>(sum * z.weights)
}

/// Σ w n and Σ w n offset over the nodes n around a particle.
#[inline(always)]
pub fn gather<T: Scalar>(rows: &Rows<T>, at: &Stencil<T>) -> Affine<T::Quad> {
    let Stencil { x, y, z, .. } = at;
    let (wx, wx_ox) = (broadcast::<T>(x.weights), broadcast::<T>(x.weights * x.offsets));
    let (wy, wy_oy) = (broadcast::<T>(y.weights), broadcast::<T>(y.weights * y.offsets));
    let mut sums = [T::Row::zero(); 3];
    for i in 0..3 {
        let [a, b, c] = rows[i];
        let plane = a.mul_add(wy[0], b.mul_add(wy[1], c * wy[2]));
        let plane_y = a.mul_add(wy_oy[0], b.mul_add(wy_oy[1], c * wy_oy[2]));
        sums[0] = plane.mul_add(wx[i], sums[0]);
        sums[1] = plane.mul_add(wx_ox[i], sums[1]);
        sums[2] = plane_y.mul_add(wx[i], sums[2]);
    }
    let (sum, sum_x, sum_y) = (sums[0] * z.weights, sums[1] * z.weights, sums[2] * z.weights);
    Affine {
        value: sum_quads::<T>(sum),
        columns: [sum_quads::<T>(sum_x), sum_quads::<T>(sum_y), sum_quads::<T>(sum * z.offsets)],
    }
}

/// Derivative of Σ w n·(value + columns·offset) over the nodes n in the particle's position: Σ ∂w n·(value +
/// columns·offset) − (Σ w n)·columns. `sum` is Σ w n.
#[inline(always)]
pub fn position_bar<T: Scalar>(rows: &Rows<T>, at: &Stencil<T>, f: Affine<T::Quad>, sum: T::Quad) -> Vec3<T> {
    let Stencil { x, y, z, .. } = at;
    let [c0, c1, c2] = f.columns;
    let (c0, c1, c2) = (T::repeated(c0), T::repeated(c1), T::repeated(c2));
    let along_z = c2.mul_add(z.offsets, T::repeated(f.value));
    let (wx, sx, ox) = (broadcast::<T>(x.weights), broadcast::<T>(x.slopes), broadcast::<T>(x.offsets));
    let (wy, sy, oy) = (broadcast::<T>(y.weights), broadcast::<T>(y.slopes), broadcast::<T>(y.offsets));
    let mut bars = [T::Row::zero(); 3];
    for i in 0..3 {
        let along_x = c0.mul_add(ox[i], along_z);
        let product = |j: usize| rows[i][j] * c1.mul_add(oy[j], along_x);
        let (a, b, c) = (product(0), product(1), product(2));
        let plane = a.mul_add(wy[0], b.mul_add(wy[1], c * wy[2]));
        let plane_y = a.mul_add(sy[0], b.mul_add(sy[1], c * sy[2]));
        bars[0] = plane.mul_add(sx[i], bars[0]);
        bars[1] = plane_y.mul_add(wx[i], bars[1]);
        bars[2] = plane.mul_add(wx[i], bars[2]);
    }
    let (x, y) = (sum_quads::<T>(bars[0] * z.weights), sum_quads::<T>(bars[1] * z.weights));
    let z = sum_quads::<T>(bars[2] * z.slopes);
    let [c0, c1, c2] = f.columns;
    // In two dimensions neither weights nor offsets change with z.
    let z = if at.flat { T::zero() } else { T::quad_sum(z - sum * c2) };
    Vec3::new(T::quad_sum(x - sum * c0), T::quad_sum(y - sum * c1), z)
}

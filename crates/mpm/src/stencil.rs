//! Which nodes a particle touches, and how much: quadratic B-splines over 3×3×3 nodes.
//!
//! With u ∈ [−½, ½) the particle's place counted from its middle node, in units of the grid: w₀ = ½ (½ − u)², w₁ = ¾ − u²,
//! w₂ = ½ (½ + u)². In two dimensions the third axis has one node, z = 0, of weight 1 and no slope: all particles share it,
//! wherever their own z is.
//!
//! Nodes lie in lines along z. A line of three is taken together with the node after it, whose weight is 0, as one
//! [`Scalar::Row`]; nine rows are all a particle touches. Particles of one cell touch the same nine, which then stay in registers.

use pullback_math::{Real, Scalar, Vec3};

/// Nodes along one edge of a tile: a block of 4 and the reach of its particles.
pub const TILE: usize = 6;
/// Nodes of a tile.
pub const TILE_NODES: usize = TILE * TILE * TILE;
/// Length of a tile in memory: the last row reads one node more.
pub const TILE_LENGTH: usize = TILE_NODES + 1;

/// The splines t = α + β u, w = γ t² + δ of the nodes of an axis, side by side; the last place is empty.
#[derive(Clone, Copy, Debug)]
struct Splines<P> {
    alpha: P,
    beta: P,
    gamma: P,
    delta: P,
    /// dw/dx = slope t, 1/m.
    slope: P,
    /// Where the nodes are, in units of the grid.
    nodes: P,
    spacing: P,
}

impl<P: Real> Splines<P> {
    fn new(dx: f64, places: impl Fn([f64; 4]) -> P) -> Self {
        let (alpha, beta, gamma) = ([0.5, 0.0, 0.5, 0.0], [-1.0, 1.0, 1.0, 0.0], [0.5, -1.0, 0.5, 0.0]);
        Splines {
            alpha: places(alpha),
            beta: places(beta),
            gamma: places(gamma),
            delta: places([0.0, 0.75, 0.0, 0.0]),
            slope: places(std::array::from_fn(|i| 2.0 * gamma[i] * beta[i] / dx)),
            nodes: places([-1.0, 0.0, 1.0, 0.0]),
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

/// Weights, their derivatives in the particle's position (1/m), and the way from the particle to the nodes (m), of one axis.
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
        let alone = Axis { weights: row([1.0, 0.0, 0.0, 0.0]), slopes: zero, offsets: zero };
        Kernel {
            per_spacing: T::lit(1.0 / dx).everywhere(),
            quads: Splines::new(dx, |x| T::quad(x.map(T::lit))),
            rows: Splines::new(dx, row),
            flat: flat.then_some(alone),
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
        [firsts::<T>(self.x.weights), firsts::<T>(self.y.weights), ends::<T>(self.z.weights)]
    }
    /// Their derivatives in the particle's position, 1/m.
    #[inline(always)]
    pub fn slopes(&self) -> [[T; 3]; 3] {
        [firsts::<T>(self.x.slopes), firsts::<T>(self.y.slopes), ends::<T>(self.z.slopes)]
    }
}

/// The numbers of the three nodes of an axis.
#[inline(always)]
fn firsts<T: Scalar>(quad: T::Quad) -> [T; 3] {
    let [a, b, c, _] = T::entries(quad);
    [a, b, c]
}

/// The same of an axis whose numbers stand all along a quad.
#[inline(always)]
fn ends<T: Scalar>(row: T::Row) -> [T; 3] {
    let [a, b, c, _] = T::quads(row).map(|q| T::entries(q)[0]);
    [a, b, c]
}

/// A value at a particle and its gradient in space, both with one entry per number of a node.
#[derive(Clone, Copy, Debug)]
pub struct Affine<Q> {
    /// Value at the particle.
    pub value: Q,
    /// Derivative along each axis, 1/m.
    pub columns: [Q; 3],
}

/// The nodes of a cell by x and y.
pub type Rows<T> = [[<T as Scalar>::Row; 3]; 3];

/// First node of a row of the cell with the lowest node `corner`.
#[inline(always)]
fn row_at(corner: usize, i: usize, j: usize) -> usize {
    corner + (i * TILE + j) * TILE
}

/// The nodes of the cell whose lowest node is number `corner` of a tile.
#[inline(always)]
pub fn load<T: Scalar>(tile: &[T::Quad; TILE_LENGTH], corner: usize) -> Rows<T> {
    // Written out, so that rows become registers.
    let row = |i: usize, j: usize| T::row(&tile[row_at(corner, i, j)..][..4].as_chunks().0[0]);
    [[row(0, 0), row(0, 1), row(0, 2)], [row(1, 0), row(1, 1), row(1, 2)], [row(2, 0), row(2, 1), row(2, 2)]]
}

/// The way back of [`load`].
#[inline(always)]
pub fn store<T: Scalar>(tile: &mut [T::Quad; TILE_LENGTH], corner: usize, rows: &Rows<T>) {
    for i in 0..3 {
        for j in 0..3 {
            tile[row_at(corner, i, j)..][..4].copy_from_slice(&T::quads(rows[i][j]));
        }
    }
}

/// The numbers of an axis, each all along a row.
#[inline(always)]
fn each<T: Scalar>(quad: T::Quad) -> [T::Row; 3] {
    // Written out: `map` would pass whole registers through memory.
    let [a, b, c] = firsts::<T>(quad);
    [a.along(), b.along(), c.along()]
}

/// Sum of the quads of a row.
#[inline(always)]
fn folded<T: Scalar>(row: T::Row) -> T::Quad {
    let [a, b, c, d] = T::quads(row);
    (a + b) + (c + d)
}

/// rows += w (value + columns·offset)
#[inline(always)]
pub fn scatter<T: Scalar>(rows: &mut Rows<T>, at: &Stencil<T>, what: Affine<T::Quad>) {
    let Stencil { x, y, z, .. } = at;
    let [c0, c1, c2] = what.columns;
    let (c0, c1, c2) = (T::repeated(c0), T::repeated(c1), T::repeated(c2));
    let value = c2.mul_add(z.offsets, T::repeated(what.value)) * z.weights;
    let (along_x, along_y) = (c0 * z.weights, c1 * z.weights);
    let (wx, ox) = (each::<T>(x.weights), each::<T>(x.offsets));
    let (wy, wy_oy) = (each::<T>(y.weights), each::<T>(y.weights * y.offsets));
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
pub fn value<T: Scalar>(rows: &Rows<T>, at: &Stencil<T>) -> T::Quad {
    let Stencil { x, y, z, .. } = at;
    let (wx, wy) = (each::<T>(x.weights), each::<T>(y.weights));
    let mut sum = T::Row::zero();
    for i in 0..3 {
        let [a, b, c] = rows[i];
        sum = a.mul_add(wy[0], b.mul_add(wy[1], c * wy[2])).mul_add(wx[i], sum);
    }
    folded::<T>(sum * z.weights)
}

/// Σ w n and Σ w n offset over the nodes n around a particle.
#[inline(always)]
pub fn gather<T: Scalar>(rows: &Rows<T>, at: &Stencil<T>) -> Affine<T::Quad> {
    let Stencil { x, y, z, .. } = at;
    let (wx, wx_ox) = (each::<T>(x.weights), each::<T>(x.weights * x.offsets));
    let (wy, wy_oy) = (each::<T>(y.weights), each::<T>(y.weights * y.offsets));
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
        value: folded::<T>(sum),
        columns: [folded::<T>(sum_x), folded::<T>(sum_y), folded::<T>(sum * z.offsets)],
    }
}

/// Cotangent of the particle's position when nodes n meet w (value + columns·offset): Σ ∂w n·(value + columns·offset) −
/// (Σ w n)·columns. `sum` is Σ w n.
#[inline(always)]
pub fn position_bar<T: Scalar>(
    rows: &Rows<T>,
    at: &Stencil<T>,
    what: Affine<T::Quad>,
    sum: T::Quad,
) -> Vec3<T> {
    let Stencil { x, y, z, .. } = at;
    let [c0, c1, c2] = what.columns;
    let (c0, c1, c2) = (T::repeated(c0), T::repeated(c1), T::repeated(c2));
    let along_z = c2.mul_add(z.offsets, T::repeated(what.value));
    let (wx, sx, ox) = (each::<T>(x.weights), each::<T>(x.slopes), each::<T>(x.offsets));
    let (wy, sy, oy) = (each::<T>(y.weights), each::<T>(y.slopes), each::<T>(y.offsets));
    let mut bars = [T::Row::zero(); 3];
    for i in 0..3 {
        let along_x = c0.mul_add(ox[i], along_z);
        let meets = |j: usize| rows[i][j] * c1.mul_add(oy[j], along_x);
        let (a, b, c) = (meets(0), meets(1), meets(2));
        let plane = a.mul_add(wy[0], b.mul_add(wy[1], c * wy[2]));
        let plane_y = a.mul_add(sy[0], b.mul_add(sy[1], c * sy[2]));
        bars[0] = plane.mul_add(sx[i], bars[0]);
        bars[1] = plane_y.mul_add(wx[i], bars[1]);
        bars[2] = plane.mul_add(wx[i], bars[2]);
    }
    let (x, y) = (folded::<T>(bars[0] * z.weights), folded::<T>(bars[1] * z.weights));
    let z = folded::<T>(bars[2] * z.slopes);
    let [c0, c1, c2] = what.columns;
    // In two dimensions neither weights nor offsets change with z.
    let z = if at.flat { T::zero() } else { T::quad_sum(z - sum * c2) };
    Vec3::new(T::quad_sum(x - sum * c0), T::quad_sum(y - sum * c1), z)
}

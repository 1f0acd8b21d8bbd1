//! Interpolation between particles and nodes: quadratic B-splines over 3×3×3 nodes.
//!
//! With u ∈ [−½, ½) the position of the particle relative to its middle node, in units of the grid: w₀ = ½ (½
//! − u)², w₁ = ¾ − u², w₂ = ½ (½ + u)². In two dimensions the third axis has one node, z = 0, of weight 1 and
//! no slope: all particles share it, wherever their own z is.
//!
//! Lines of three nodes along z are loaded with the node after them, whose weight is 0, as one
//! [`Scalar::Row`]. A stencil has nine rows. Particles of one cell share them, so that they stay in
//! registers.
//!
//! Along x and y the middle node needs no number of its own. Weights w add up to 1; moments m = w · offset
//! and slopes s add up to 0. So Σ w n = n₁ + w₀ (n₀ − n₁) + w₂ (n₂ − n₁) and Σ m n = m₀ (n₀ − n₁) + m₂ (n₂ −
//! n₁): a gather reads [`Differences`] from the middle, made once per cell, and a scatter adds to [`Totals`],
//! whose middle stands for all three nodes until the cell is done.

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
    /// Positions of the nodes relative to the middle one, m.
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
            nodes: lanes([-dx, 0.0, dx, 0.0]),
            spacing: P::lit(dx),
        }
    }

    #[inline(always)]
    fn at(&self, u: P) -> Axis<P> {
        let t = self.beta.mul_add(u, self.alpha);
        Axis {
            weights: (self.gamma * t).mul_add(t, self.delta),
            slopes: self.slope * t,
            offsets: self.nodes - self.spacing * u,
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
    /// Of x, y, x and y, quad by quad. The last lane is for z.
    sides: Splines<T::Row>,
    /// 1 where a row of weights holds weights, 0 elsewhere.
    weights: T::Row,
    /// 1 where a row of weights holds moments or u along z, 0 elsewhere.
    moments: T::Row,
    /// Of z, whose numbers are repeated over a quad.
    rows: Splines<T::Row>,
    /// The third axis in two dimensions.
    flat: Option<Axis<T::Row>>,
}

impl<T: Scalar> Kernel<T> {
    /// The splines of a grid of spacing `dx`; `flat` for two dimensions.
    pub fn new(dx: f64, flat: bool) -> Self {
        let row = |x: [f64; 4]| T::row(&x.map(|x| T::lit(x).everywhere()));
        let lanes = |x: [[f64; 4]; 2]| {
            let [first, second] = x.map(|x| T::quad(x.map(T::lit)));
            T::row(&[first, first, second, second])
        };
        let zero = T::Row::zero();
        let single = Axis { weights: row([1.0, 0.0, 0.0, 0.0]), slopes: zero, offsets: zero };
        let mut sides = Splines::new(dx, |x| T::repeated(T::quad(x.map(T::lit))));
        // The last lane: w = 1 and offset = u, so that their product is u.
        sides.delta += lanes([[0.0, 0.0, 0.0, 1.0]; 2]);
        sides.spacing = lanes([[dx, dx, dx, -1.0]; 2]);
        Kernel {
            per_spacing: T::lit(1.0 / dx).everywhere(),
            sides,
            weights: lanes([[1.0, 1.0, 1.0, 0.0], [0.0; 4]]),
            moments: lanes([[0.0, 0.0, 0.0, 1.0], [1.0; 4]]),
            rows: Splines::new(dx, row),
            flat: flat.then_some(single),
        }
    }

    /// Lowest node around a particle at `x`; that of the one layer in two dimensions.
    #[inline(always)]
    pub fn base(&self, x: [T; 3]) -> [i32; 3] {
        let [per_dx, ..] = T::entries(self.per_spacing);
        let [i, j, k] = x.map(|x| (x * per_dx - T::lit(0.5)).cell());
        [i, j, if self.flat.is_some() { 0 } else { k }]
    }

    /// u of a particle at `x` in the cell with the lowest node `base`.
    #[inline(always)]
    pub fn relative(&self, [x, y, z]: [T; 3], base: [i32; 3]) -> T::Quad {
        let [i, j, k] = base.map(|b| T::lit(f64::from(b + 1)));
        T::quad([x, y, z, T::zero()]).mul_add(self.per_spacing, -T::quad([i, j, k, T::zero()]))
    }

    /// Weights and moments along x and y of a particle at u.
    #[inline(always)]
    pub fn weights(&self, u: T::Quad) -> Weights<T> {
        let Axis { weights, offsets, .. } = self.sides.at(by_side::<T>(u));
        Weights(numbers::<T>(weights * offsets.mul_add(self.moments, self.weights)))
    }

    /// Slopes and offsets along x and y of a particle at u.
    #[inline(always)]
    pub fn slopes(&self, u: T::Quad) -> Slopes<T> {
        let Axis { slopes, offsets, .. } = self.sides.at(by_side::<T>(u));
        Slopes(numbers::<T>(slopes.mul_add(self.weights, offsets * self.moments)))
    }

    /// The nodes around a particle with the weights given.
    #[inline(always)]
    pub fn around<'a>(&self, weights: &'a Weights<T>) -> Stencil<'a, T> {
        let u = weights.0[0][3];
        Stencil { weights, z: self.flat.unwrap_or_else(|| self.rows.at(u.along())) }
    }

    /// Weights by axis and node of a particle at u, and their derivatives in its position, 1/m.
    #[inline(always)]
    pub fn by_node(&self, u: T::Quad) -> ([[T; 3]; 3], [[T; 3]; 3]) {
        let (weights, slopes) = (self.weights(u), self.slopes(u));
        let z = self.around(&weights).z;
        let three = |numbers: [[T; 4]; 4], z: T::Row| {
            let [x, y, ..] = numbers.map(|[a, b, c, _]| [a, b, c]);
            [x, y, row_axis::<T>(z)]
        };
        (three(weights.0, z.weights), three(slopes.0, z.slopes))
    }
}

/// ux, uy, ux, uy over the lanes of nodes, and uz in the last lane, quad by quad.
#[inline(always)]
fn by_side<T: Scalar>(u: T::Quad) -> T::Row {
    let [x, y, z, _] = T::entries(u);
    let (x, y) = (T::quad([x, x, x, z]), T::quad([y, y, y, z]));
    T::row(&[x, y, x, y])
}

/// The numbers of a row.
#[inline(always)]
fn numbers<T: Scalar>(row: T::Row) -> [[T; 4]; 4] {
    T::quads(row).map(T::entries)
}

/// Weights of a particle along x and y, moments along x and y (m), one per node; behind the first, u along z.
/// In one line of the cache, from which loads broadcast them.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Weights<T>([[T; 4]; 4]);

/// Slopes of the weights of a particle along x and y (1/m), offsets along x and y (m), one per node.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Slopes<T>([[T; 4]; 4]);

impl<T: Real> Default for Weights<T> {
    fn default() -> Self {
        Weights([[T::zero(); 4]; 4])
    }
}
impl<T: Real> Default for Slopes<T> {
    fn default() -> Self {
        Slopes([[T::zero(); 4]; 4])
    }
}

/// Numbers of the first and the last of three nodes, each broadcast over a row.
#[inline(always)]
fn ends<T: Scalar>(numbers: &[T; 4]) -> (T::Row, T::Row) {
    (numbers[0].along(), numbers[2].along())
}

/// The nodes around a particle.
#[derive(Clone, Copy, Debug)]
pub struct Stencil<'a, T: Scalar> {
    weights: &'a Weights<T>,
    z: Axis<T::Row>,
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

impl<Q: Copy> Affine<Q> {
    /// Value and derivatives side by side.
    #[inline(always)]
    fn row<T: Scalar<Quad = Q>>(&self) -> T::Row {
        let [x, y, z] = self.columns;
        T::row(&[self.value, x, y, z])
    }
}

/// The nodes of a stencil: rows along z, by x and y.
pub type Rows<T> = [[<T as Scalar>::Row; 3]; 3];

/// Rows of a cell with the middle one subtracted from the others, along x and along y.
#[derive(Clone, Copy, Debug)]
pub struct Differences<T: Scalar>(Rows<T>);

impl<T: Scalar> Differences<T> {
    /// The differences of rows.
    #[inline(always)]
    pub fn new(rows: &Rows<T>) -> Self {
        let along_y = |[a, b, c]: [T::Row; 3]| [a - b, b, c - b];
        let [a, b, c] = [along_y(rows[0]), along_y(rows[1]), along_y(rows[2])];
        let less = |r: [T::Row; 3]| [r[0] - b[0], r[1] - b[1], r[2] - b[2]];
        Differences([less(a), b, less(c)])
    }
}

/// Sums over the particles of a cell, in which the middle row stands for all three, along x and along y.
#[derive(Clone, Copy, Debug)]
pub struct Totals<T: Scalar>(Rows<T>);

impl<T: Scalar> Totals<T> {
    /// No particles yet.
    #[inline(always)]
    pub fn zero() -> Self {
        Totals([[T::Row::zero(); 3]; 3])
    }
    /// What each row has: the adjoint of [`Differences::new`].
    #[inline(always)]
    pub fn rows(&self) -> Rows<T> {
        let [a, b, c] = self.0;
        let b = [b[0] - (a[0] + c[0]), b[1] - (a[1] + c[1]), b[2] - (a[2] + c[2])];
        let along_y = |[a, b, c]: [T::Row; 3]| [a, b - (a + c), c];
        [along_y(a), along_y(b), along_y(c)]
    }
}

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

/// Adds rows to the nodes of a cell.
#[inline(always)]
pub fn add<T: Scalar>(tile: &mut [T::Quad; TILE_LENGTH], corner: usize, rows: &Rows<T>) {
    for i in 0..3 {
        for j in 0..3 {
            let nodes = &mut tile[row_at(corner, i, j)..][..4];
            let sum = T::row(&nodes.as_chunks().0[0]) + rows[i][j];
            nodes.copy_from_slice(&T::quads(sum));
        }
    }
}

/// totals += w (value + columns·offset)
#[inline(always)]
pub fn scatter<T: Scalar>(totals: &mut Totals<T>, at: &Stencil<'_, T>, f: Affine<T::Quad>) {
    let Stencil { weights: Weights([wx, wy, mx, my]), z } = at;
    let [c0, c1, c2] = f.columns;
    let (c0, c1, c2) = (T::repeated(c0), T::repeated(c1), T::repeated(c2));
    let value = c2.mul_add(z.offsets, T::repeated(f.value)) * z.weights;
    let (along_x, along_y) = (c0 * z.weights, c1 * z.weights);
    let ((wx0, wx2), (mx0, mx2)) = (ends::<T>(wx), ends::<T>(mx));
    let ((wy0, wy2), (my0, my2)) = (ends::<T>(wy), ends::<T>(my));
    let mut plane = |i: usize, value: T::Row, along_y: T::Row| {
        let [a, b, c] = &mut totals.0[i];
        *a = value.mul_add(wy0, along_y.mul_add(my0, *a));
        *b += value;
        *c = value.mul_add(wy2, along_y.mul_add(my2, *c));
    };
    plane(0, along_x.mul_add(mx0, value * wx0), along_y * wx0);
    plane(1, value, along_y);
    plane(2, along_x.mul_add(mx2, value * wx2), along_y * wx2);
}

/// Σ w n over the nodes n around a particle.
#[inline(always)]
pub fn gather_value<T: Scalar>(from: &Differences<T>, at: &Stencil<'_, T>) -> T::Quad {
    let Stencil { weights: Weights([wx, wy, ..]), z } = at;
    let ((wx0, wx2), (wy0, wy2)) = (ends::<T>(wx), ends::<T>(wy));
    let plane = |[a, b, c]: [T::Row; 3]| a.mul_add(wy0, c.mul_add(wy2, b));
    let [a, b, c] = from.0;
    T::sum_quads(plane(a).mul_add(wx0, plane(c).mul_add(wx2, plane(b))) * z.weights)
}

/// Σ w n and Σ w n offset over the nodes n around a particle: value and columns, side by side.
#[inline(always)]
pub fn gather<T: Scalar>(from: &Differences<T>, at: &Stencil<'_, T>) -> T::Row {
    let Stencil { weights: Weights([wx, wy, mx, my]), z } = at;
    let ((wx0, wx2), (mx0, mx2)) = (ends::<T>(wx), ends::<T>(mx));
    let ((wy0, wy2), (my0, my2)) = (ends::<T>(wy), ends::<T>(my));
    let plane = |[a, b, c]: [T::Row; 3]| a.mul_add(wy0, c.mul_add(wy2, b));
    let plane_y = |[a, _, c]: [T::Row; 3]| a.mul_add(my0, c * my2);
    let [a, b, c] = from.0;
    let (a_y, b_y, c_y) = (plane_y(a), plane_y(b), plane_y(c));
    let (a, b, c) = (plane(a), plane(b), plane(c));
    let sum = a.mul_add(wx0, c.mul_add(wx2, b)) * z.weights;
    let sum_x = a.mul_add(mx0, c * mx2) * z.weights;
    let sum_y = a_y.mul_add(wx0, c_y.mul_add(wx2, b_y)) * z.weights;
    T::sum_rows([sum, sum_x, sum_y, sum * z.offsets])
}

/// Derivative of Σ w n·(value + columns·offset) over the nodes n in the particle's position: Σ ∂w n·(value +
/// columns·offset) − (Σ w n)·columns. `sum` is Σ w n.
#[inline(always)]
pub fn position_bar<T: Scalar>(
    rows: &Rows<T>,
    kernel: &Kernel<T>,
    at: &Stencil<'_, T>,
    slopes: &Slopes<T>,
    f: Affine<T::Quad>,
    sum: T::Quad,
) -> Vec3<T> {
    let Stencil { weights: Weights([wx, wy, ..]), z } = at;
    let Slopes([sx, sy, x, y]) = slopes;
    let [c0, c1, c2] = f.columns;
    let (c0, c1, c2) = (T::repeated(c0), T::repeated(c1), T::repeated(c2));
    let ((wx0, wx2), (sx0, sx2)) = (ends::<T>(wx), ends::<T>(sx));
    let ((wy0, wy2), (sy0, sy2)) = (ends::<T>(wy), ends::<T>(sy));
    // value + columns·offset at the middle line of nodes, and its change to the next along x and y.
    let middle = c2.mul_add(z.offsets, T::repeated(f.value));
    let middle = c0.mul_add(x[1].along(), c1.mul_add(y[1].along(), middle));
    let (step_x, step_y) = (c0 * kernel.rows.spacing, c1 * kernel.rows.spacing);
    // Σ w n·f and Σ ∂w n·f along y
    let plane = |[a, b, c]: [T::Row; 3], middle: T::Row| {
        let product = b * middle;
        let (a, c) = (a * (middle - step_y) - product, c * (middle + step_y) - product);
        (a.mul_add(wy0, c.mul_add(wy2, product)), a.mul_add(sy0, c * sy2))
    };
    let (a, a_y) = plane(rows[0], middle - step_x);
    let (b, b_y) = plane(rows[1], middle);
    let (c, c_y) = plane(rows[2], middle + step_x);
    let (a, c, a_y, c_y) = (a - b, c - b, a_y - b_y, c_y - b_y);
    let bar_x = a.mul_add(sx0, c * sx2) * z.weights;
    let bar_y = a_y.mul_add(wx0, c_y.mul_add(wx2, b_y)) * z.weights;
    let bar_z = a.mul_add(wx0, c.mul_add(wx2, b)) * z.slopes;
    let bars = T::sum_rows([T::Row::zero(), bar_x, bar_y, bar_z]) - T::repeated(sum) * f.row::<T>();
    let [_, x, y, z] = T::entries(T::sum_entries(bars));
    // In two dimensions neither weights nor offsets change with z.
    Vec3::new(x, y, if kernel.flat.is_some() { T::zero() } else { z })
}

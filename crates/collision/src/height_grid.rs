//! Triangles of terrain: where they are, which is under a point, where the surface bends outwards.
//!
//! The cell between columns c, c + 1 and rows r, r + 1 is cut along the diagonal from (c, r) to (c + 1, r +
//! 1), as MuJoCo cuts it. All on `f64`, in the frame of the terrain, m.

use pullback_math::Vec3;

use super::collider::HeightGrid;

/// Parts of a cell within which a point is on the boundary of a triangle.
const ON_BOUNDARY: f64 = 1e-6;
/// Sines of angles below which directions lie in a plane.
const IN_PLANE: f64 = 1e-7;

/// Half a cell: its row, its column, and whether it is the one with larger y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Triangle {
    row: usize,
    column: usize,
    upper: bool,
}

/// A grid with its sizes.
#[derive(Clone, Copy)]
pub(super) struct Terrain<'m> {
    pub grid: HeightGrid<'m>,
    pub size: Vec3<f64>,
}

impl Terrain<'_> {
    /// A corner in units of the sizes.
    fn unit(&self, row: usize, column: usize) -> Vec3<f64> {
        let across = |i: usize, n: usize| 2.0 * i as f64 / (n - 1) as f64 - 1.0;
        let (rows, columns) = (self.grid.rows, self.grid.columns);
        Vec3::new(across(column, columns), across(row, rows), self.grid.values[row * columns + column])
    }
    fn corner(&self, row: usize, column: usize) -> Vec3<f64> {
        self.unit(row, column).zip(self.size, |u, s| u * s)
    }
    fn places(t: Triangle) -> [(usize, usize); 3] {
        let (r, c) = (t.row, t.column);
        if t.upper { [(r, c), (r + 1, c + 1), (r + 1, c)] } else { [(r, c), (r, c + 1), (r + 1, c + 1)] }
    }
    /// Corners in units of the sizes, counter-clockwise seen from above.
    pub fn units(&self, t: Triangle) -> [Vec3<f64>; 3] {
        Self::places(t).map(|(r, c)| self.unit(r, c))
    }
    /// Corners, m.
    pub fn corners(&self, t: Triangle) -> [Vec3<f64>; 3] {
        Self::places(t).map(|(r, c)| self.corner(r, c))
    }
    /// Unit normal, upwards.
    pub fn normal(&self, t: Triangle) -> Vec3<f64> {
        let [a, b, c] = self.corners(t);
        (b - a).cross(c - a).normalize()
    }
    /// Coordinates along columns and rows, in cells.
    fn cells(&self, x: Vec3<f64>) -> [f64; 2] {
        let along = |x: f64, s: f64, n: usize| 0.5 * (x / s + 1.0) * (n - 1) as f64;
        [along(x.x, self.size.x, self.grid.columns), along(x.y, self.size.y, self.grid.rows)]
    }
    /// The triangle above or below x, unless x is beside the terrain.
    pub fn triangle_at(&self, x: Vec3<f64>) -> Option<Triangle> {
        let [u, v] = self.cells(x);
        let (last_u, last_v) = ((self.grid.columns - 1) as f64, (self.grid.rows - 1) as f64);
        if !((0.0..=last_u).contains(&u) && (0.0..=last_v).contains(&v)) {
            return None;
        }
        let (column, row) = (u.floor().min(last_u - 1.0), v.floor().min(last_v - 1.0));
        let upper = v - row > u - column;
        Some(Triangle { row: row as usize, column: column as usize, upper })
    }
    /// Height of x over the surface along z, if the surface is there.
    pub fn clearance(&self, x: Vec3<f64>) -> Option<f64> {
        let t = self.triangle_at(x)?;
        let n = self.normal(t);
        Some((x - self.corners(t)[0]).dot(n) / n.z)
    }
    /// Hands every triangle within the box from `min` to `max` to `visit`, row by row; heights are not looked
    /// at.
    pub fn for_each(&self, min: Vec3<f64>, max: Vec3<f64>, mut visit: impl FnMut(Triangle)) {
        let (low, high) = (self.cells(min), self.cells(max));
        let range = |i: usize, cells: usize| {
            let (from, to) = (low[i].floor().max(0.0), high[i].floor().min(cells as f64 - 1.0));
            // Casts of negative numbers and NaN give 0, so an empty range is told apart first.
            if from <= to { from as usize..to as usize + 1 } else { 0..0 }
        };
        for row in range(1, self.grid.rows - 1) {
            for column in range(0, self.grid.columns - 1) {
                visit(Triangle { row, column, upper: false });
                visit(Triangle { row, column, upper: true });
            }
        }
    }
    /// Whether the foot of x on the plane of a triangle is in it.
    pub fn projects_into(&self, t: Triangle, x: Vec3<f64>) -> bool {
        let n = self.normal(t);
        let corners = self.corners(t);
        (0..3).all(|i| {
            let (p, q) = (corners[i], corners[(i + 1) % 3]);
            (q - p).cross(x - p).dot(n) >= 0.0
        })
    }
    /// Whether the surface bends outwards at an edge of a triangle, so that it can poke into a shape.
    pub fn is_convex_edge(&self, t: Triangle) -> bool {
        let (r, c) = (t.row as isize, t.column as isize);
        let beyond = if t.upper {
            [(r, c + 1), (r + 2, c + 1), (r, c - 1)]
        } else {
            [(r + 1, c), (r - 1, c), (r + 1, c + 2)]
        };
        let (n, from) = (self.normal(t), self.corners(t)[0]);
        beyond.into_iter().any(|(r, c)| {
            let inside =
                (0..self.grid.rows as isize).contains(&r) && (0..self.grid.columns as isize).contains(&c);
            // The border of the terrain counts as a bend.
            !inside || {
                let to = self.corner(r as usize, c as usize) - from;
                to.dot(n) < -IN_PLANE * to.norm()
            }
        })
    }
    /// Whether the surface at p is an edge or peak that n supports: all of it near p lies below the plane
    /// square to n through p, and no triangle lies in that plane.
    pub fn pokes(&self, p: Vec3<f64>, n: Vec3<f64>) -> bool {
        let scale = self.size.x.max(self.size.y);
        if self.clearance(p).is_none_or(|height| height.abs() > 1e-7 * scale) {
            return false;
        }
        let [u, v] = self.cells(p);
        let cell = self.size.zip(Vec3::new(1.0, 1.0, 0.0), |s, k| s * k * 2.0 * ON_BOUNDARY);
        let reach =
            Vec3::new(cell.x / (self.grid.columns - 1) as f64, cell.y / (self.grid.rows - 1) as f64, 0.0);
        let mut supported = true;
        self.for_each(p - reach, p + reach, |t| {
            let (x, y) = (u - t.column as f64, v - t.row as f64);
            let e = ON_BOUNDARY;
            let touches = if t.upper {
                x >= -e && y <= 1.0 + e && y >= x - e
            } else {
                x <= 1.0 + e && y >= -e && y <= x + e
            };
            if touches {
                let rises = self.corners(t).map(|w| {
                    let to = w - p;
                    to.dot(n) / to.norm().max(1e-9 * scale)
                });
                let above = rises.iter().any(|r| *r > IN_PLANE);
                let flat = rises.iter().all(|r| *r > -IN_PLANE);
                supported &= !above && !flat;
            }
        });
        supported
    }
    /// The solid under a triangle down to the base: top corners, then those below them.
    pub fn prism(&self, t: Triangle) -> [Vec3<f64>; 6] {
        let [a, b, c] = self.corners(t);
        let down = |v: Vec3<f64>| Vec3::new(v.x, v.y, -self.grid.base);
        [a, b, c, down(a), down(b), down(c)]
    }
}

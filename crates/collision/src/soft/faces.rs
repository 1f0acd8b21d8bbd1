//! The hull of a mesh as walls, one per face, around the mean of its corners c.
//!
//! With the outward normal nᵢ of a face and the height dᵢ of its corners above c, the wall is
//!
//! ```text
//! gᵢ(y) = R (nᵢ·(y − c) / dᵢ − 1)
//! ```
//!
//! in the frame of the mesh, R the root mean square of the corners' distances from c over √3. The walls are
//! linear and a mesh has no sizes, so pressure and height are functions of y alone.

use pullback_math::{Real, Transform, Vec3};

use super::balance::{NO_SLOPE, positive, positive_vjp};
use super::peak::Peak;
use crate::collider::Collider;
use crate::hull::Hull;

/// Heights of faces above the center, in R, are at least this.
const FLAT: f64 = 1e-4;

/// The faces of a mesh.
#[derive(Clone, Copy, Debug)]
pub(super) struct Faces<'m> {
    vertices: &'m [Vec3<f64>],
    hull: Option<&'m Hull>,
    /// c, m.
    pub center: Vec3<f64>,
    /// R, m.
    pub size: f64,
}

impl<'m> Faces<'m> {
    /// Those of a mesh; none if it is another shape, or only its corners are known.
    pub fn of<T>(mesh: &Collider<'m, T>) -> Self {
        let Some(hull) = mesh.faces else {
            return Faces { vertices: &[], hull: None, center: Vec3::zero(), size: 1.0 };
        };
        let vertices = mesh.vertices;
        let share = 1.0 / hull.corners.len() as f64;
        let center = hull.corners.iter().fold(Vec3::zero(), |sum, &i| sum + vertices[i] * share);
        let square: f64 = hull.corners.iter().map(|&i| (vertices[i] - center).norm_squared() * share).sum();
        Faces { vertices, hull: Some(hull), center, size: (square / 3.0).sqrt() }
    }

    /// Slopes R nᵢ / dᵢ of the walls.
    fn slopes(&self) -> impl Iterator<Item = Vec3<f64>> + Clone + '_ {
        let Faces { vertices, hull, center, size } = *self;
        hull.into_iter().flat_map(move |hull| {
            (0..hull.face_count()).map(move |face| {
                let n = hull.normal(face);
                let height = |&corner: &u32| n.dot(vertices[hull.corners[corner as usize]] - center);
                let most = hull.face(face).iter().map(height).fold(0.0, f64::max);
                n * (size / most.max(FLAT * size))
            })
        })
    }

    /// The smooth maximum of the walls at y, in one environment.
    pub fn peak(&self, y: Vec3<f64>, softness: f64) -> Peak {
        let wall = |slope: Vec3<f64>| (slope.dot(y - self.center) - self.size, slope);
        Peak::of_flat(self.slopes().map(wall), softness)
    }

    /// Heights and slopes of the walls at y, and exp((g − gₘₐₓ) / ε).
    fn weighted<T: Real>(
        &self,
        y: Vec3<T>,
        softness: f64,
    ) -> impl Iterator<Item = (T, Vec3<T>, T)> + Clone + '_ {
        let (center, size, rate) = (self.center.map(T::lit), T::lit(self.size), T::lit(1.0 / softness));
        let wall = move |slope: Vec3<f64>| {
            let slope = slope.map(T::lit);
            (slope.dot(y - center) - size, slope)
        };
        let highest = |lane: usize| {
            self.slopes().map(|slope| wall(slope).0.lane(lane)).fold(f64::NEG_INFINITY, f64::max)
        };
        let highest = T::from_lanes(highest);
        self.slopes().map(move |slope| {
            let (height, slope) = wall(slope);
            (height, slope, ((height - highest) * rate).exp())
        })
    }
}

/// The center in the world.
pub(super) fn center_of<T: Real>(faces: Faces<'_>, pose: Transform<T>) -> Vec3<T> {
    pose.point(faces.center.map(T::lit))
}

/// Pullback of [`center_of`].
pub(super) fn center_of_vjp<T: Real>(
    faces: Faces<'_>,
    pose: Transform<T>,
    bar: Vec3<T>,
) -> ((), Transform<T>) {
    ((), pose.point_vjp(faces.center.map(T::lit), bar).0)
}

/// The pressure p = Σ q ∇g at y.
pub(super) fn face_pressure<T: Real>(faces: Faces<'_>, softness: f64, y: Vec3<T>) -> Vec3<T> {
    let (mut total, mut sum) = (T::zero(), Vec3::zero());
    for (_, slope, weight) in faces.weighted(y, softness) {
        total += weight;
        sum += slope * weight;
    }
    sum * total.recip()
}

/// Pullback of [`face_pressure`]: ȳ = Σ q ∇g (∇g − p)·p̄ / ε.
pub(super) fn face_pressure_vjp<T: Real>(
    faces: Faces<'_>,
    softness: f64,
    y: Vec3<T>,
    bar: Vec3<T>,
) -> ((), (), Vec3<T>) {
    let p = face_pressure(faces, softness, y);
    let (mut total, mut sum) = (T::zero(), Vec3::zero());
    for (_, slope, weight) in faces.weighted(y, softness) {
        total += weight;
        sum += slope * (weight * bar.dot(slope - p));
    }
    ((), (), sum * (total * T::lit(softness)).recip())
}

/// φ = f / (f + c₀² |∇g|²) with f = c² + δ, and dφ/dc.
fn facing<T: Real>(c: T, slope: Vec3<T>, blind: T) -> (T, T) {
    let square = c * c + T::lit(NO_SLOPE);
    let aside = slope.norm_squared() * (blind * blind);
    let whole = (square + aside).recip();
    (square * whole, T::lit(2.0) * c * aside * whole * whole)
}

/// Height of y above the mesh along n, Σ q φ g / Σ q φ c, as `height_above` of walls; and the denominator.
fn height_and_slope<T: Real>(
    faces: Faces<'_>,
    softness: f64,
    (y, n): (Vec3<T>, Vec3<T>),
    blind: T,
) -> (T, T) {
    let (mut height, mut slope) = (T::zero(), T::zero());
    for (g, d, q) in faces.weighted(y, softness) {
        let c = d.dot(n);
        let w = q * facing(c, d, blind).0;
        height += g * w;
        slope += c * w;
    }
    (height / positive(slope), slope)
}

/// Height of y above the mesh along n.
pub(super) fn face_height<T: Real>(faces: Faces<'_>, softness: f64, y: Vec3<T>, n: Vec3<T>, blind: T) -> T {
    height_and_slope(faces, softness, (y, n), blind).0
}

/// Pullback of [`face_height`].
pub(super) fn face_height_vjp<T: Real>(
    faces: Faces<'_>,
    softness: f64,
    y: Vec3<T>,
    n: Vec3<T>,
    blind: T,
    bar: T,
) -> ((), (), Vec3<T>, Vec3<T>, ()) {
    let (h, slope) = height_and_slope(faces, softness, (y, n), blind);
    // h = N / P(D)
    let above_bar = bar / positive(slope);
    let slope_bar = positive_vjp(slope, -(above_bar * h));
    let (mut y_bar, mut n_bar) = (Vec3::zero(), Vec3::zero());
    for (g, d, q) in faces.weighted(y, softness) {
        let c = d.dot(n);
        let (seen, seen_rate) = facing(c, d, blind);
        // N = Σ q φ g, D = Σ q φ c
        let weight_bar = above_bar * g + slope_bar * c;
        let g_bar = (above_bar + weight_bar * T::lit(1.0 / softness)) * q * seen;
        let c_bar = q * (slope_bar * seen + weight_bar * seen_rate);
        y_bar += d * g_bar;
        n_bar += d * c_bar;
    }
    ((), (), y_bar, n_bar, ())
}

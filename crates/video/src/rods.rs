//! [`VisibleRods`]: pendula, a chain of rods with a ball at the end of each.

use std::f64::consts::FRAC_PI_2;

use pullback_core::{Bars, ConfigError, Described, Point};
use pullback_math::{Quat, Real, Vec3};
use pullback_physics::pendulum::{DoublePendulum, SimplePendulum};
use pullback_render::shapes::cuboid;
use pullback_render::{Material, Mesh, Paint, Scene, Sphere, Surface};

use crate::colors::color;
use crate::visible::Visible;

/// A chain of rods in the plane of x and z that hangs from the origin.
#[derive(Clone, Debug)]
pub struct VisibleRods {
    rods: Vec<Rod>,
    scene: Scene<f64>,
}

/// Where the angle of a rod from the downward vertical lies in the state, and its length in the parameters.
#[derive(Clone, Copy, Debug)]
struct Rod {
    angle: usize,
    length: usize,
}

/// Half the thickness of rods and the radius of balls, m.
const HALF: f64 = 0.03;
const RADIUS: f64 = 0.12;

impl VisibleRods {
    /// The rods of this many angles, by name of their lengths.
    fn new(system: &impl Described, lengths: &[&str]) -> Result<Self, ConfigError> {
        let (layout, mut scene, mut rods) = (system.layout(), Scene::default(), Vec::new());
        let first = layout.state.slice("angle")?.range.start;
        for (i, name) in lengths.iter().enumerate() {
            rods.push(Rod { angle: first + i, length: layout.params.index_of(name)? });
            let paint = Paint::Uniform(color(2 * i + 1));
            scene.surfaces.push(Surface::new(&unit_rod(), paint, Material::matt()));
            scene.spheres.push(Sphere { center: Vec3::zero(), radius: RADIUS, color: color(2 * i) });
        }
        Ok(VisibleRods { rods, scene })
    }

    /// A simple pendulum, or a system with the same names.
    pub fn of_pendulum(system: &impl Described) -> Result<Self, ConfigError> {
        VisibleRods::new(system, &["length"])
    }

    /// A double pendulum, or a system with the same names.
    pub fn of_double_pendulum(system: &impl Described) -> Result<Self, ConfigError> {
        VisibleRods::new(system, &["upper.length", "lower.length"])
    }
}

impl From<&SimplePendulum> for VisibleRods {
    fn from(pendulum: &SimplePendulum) -> Self {
        VisibleRods::of_pendulum(pendulum).unwrap_or_else(|_| unreachable!("the names are its own"))
    }
}
impl From<&DoublePendulum> for VisibleRods {
    fn from(pendulum: &DoublePendulum) -> Self {
        VisibleRods::of_double_pendulum(pendulum).unwrap_or_else(|_| unreachable!("the names are its own"))
    }
}

/// A bar from the origin to (0, 0, 1), turned to stand along z.
fn unit_rod() -> Mesh {
    let quarter = Quat::from_axis_angle(Vec3::new(0.0, 0.0, 1.0), FRAC_PI_2);
    cuboid(Vec3::new(2.0 * HALF, 2.0 * HALF, 1.0)).moved(|x| quarter.rotate(x) + Vec3::new(0.0, 0.0, 0.5))
}

/// Directions along and across a rod at an angle: (sin θ, 0, −cos θ) and (cos θ, 0, sin θ).
fn frame<T: Real>(angle: T) -> (Vec3<T>, Vec3<T>) {
    let (sin, cos) = angle.sin_cos();
    (Vec3::new(sin, T::zero(), -cos), Vec3::new(cos, T::zero(), sin))
}

impl<T: Real> Visible<T> for VisibleRods {
    type Workspace = ();

    fn workspace(&self) {}

    fn scene(&self) -> Scene<T> {
        self.scene.map(T::lit)
    }

    /// x = pivot + z l along + x across + y ŷ
    fn place(&self, _ws: &mut (), at: Point<'_, T>, scene: &mut Scene<T>) {
        let mut pivot = Vec3::zero();
        for (i, rod) in self.rods.iter().enumerate() {
            let (along, across) = frame(at.state[rod.angle]);
            let length = at.params[rod.length];
            let unit = &self.scene.surfaces[i].vertices;
            for (x, unit) in scene.surfaces[i].vertices.iter_mut().zip(unit) {
                let unit = unit.map(T::lit);
                *x = pivot + along * (unit.z * length) + across * unit.x;
                x.y += unit.y;
            }
            pivot += along * length;
            scene.spheres[i].center = pivot;
        }
    }

    /// d along / dθ = across, d across / dθ = −along
    fn place_vjp(&self, _ws: &mut (), at: Point<'_, T>, scene_bar: &Scene<T>, bars: Bars<'_, T>) {
        let mut pivot_bar = Vec3::zero();
        for (i, rod) in self.rods.iter().enumerate().rev() {
            let (along, across) = frame(at.state[rod.angle]);
            let length = at.params[rod.length];
            // What moves the end of the rod: its ball, and all rods below.
            let end_bar = pivot_bar + scene_bar.spheres[i].center;
            let mut angle_bar = length * end_bar.dot(across);
            let mut length_bar = end_bar.dot(along);
            pivot_bar = end_bar;
            for (x_bar, unit) in scene_bar.surfaces[i].vertices.iter().zip(&self.scene.surfaces[i].vertices) {
                let unit = unit.map(T::lit);
                angle_bar += x_bar.dot(across) * unit.z * length - x_bar.dot(along) * unit.x;
                length_bar += x_bar.dot(along) * unit.z;
                pivot_bar += *x_bar;
            }
            bars.state[rod.angle] += angle_bar;
            bars.params[rod.length] += length_bar;
        }
    }
}

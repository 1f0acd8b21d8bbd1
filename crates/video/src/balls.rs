//! [`VisibleBalls`]: particles as balls.

use std::ops::Range;

use pullback_core::{Bars, Described, Point};
use pullback_math::{Flat, Real, Vec3};
use pullback_physics::mpm::Mpm;
use pullback_render::{Light, Material, Mesh, Paint, Scene, Sphere, Surface};

use crate::colors::color;
use crate::visible::Visible;

/// Balls whose centers are three entries of the state each, beside what stands still.
#[derive(Clone, Debug, Default)]
pub struct VisibleBalls {
    /// First entry of each center.
    entries: Vec<usize>,
    scene: Scene<f64>,
}

impl VisibleBalls {
    /// No ball yet.
    pub fn new() -> Self {
        VisibleBalls::default()
    }

    /// Particles of the material point method, each group in a color of its own. Two particles along each edge of a cell
    /// leave no holes.
    pub fn of_material_points(mpm: &Mpm) -> Self {
        // What a state of its own entry numbers holds as positions says where positions are.
        let numbers: Vec<usize> = (0..mpm.layout().state.len()).collect();
        let first = mpm.split(&numbers).x.first().map_or(0, |x| x[0]);
        let radius = 0.36 * mpm.grid().spacing;
        let groups = mpm.particles().groups.iter().enumerate();
        groups.fold(VisibleBalls::new(), |all, (i, group)| {
            let range = group.range();
            all.with_balls(first + 3 * range.start..first + 3 * range.end, radius, color(i))
        })
    }

    /// Adds balls of one radius (m) and color, whose centers lie side by side in these entries of the state.
    #[must_use]
    pub fn with_balls(mut self, entries: Range<usize>, radius: f64, color: Vec3<f64>) -> Self {
        let ball = Sphere { center: Vec3::zero(), radius, color };
        self.scene.spheres.extend(entries.clone().step_by(3).map(|_| ball));
        self.entries.extend(entries.step_by(3));
        self
    }

    /// Adds something that stands still, such as a ground.
    #[must_use]
    pub fn with_still(mut self, mesh: &Mesh, paint: Paint<f64>, material: Material<f64>) -> Self {
        self.scene.surfaces.push(Surface::new(mesh, paint, material));
        self
    }

    /// Other lights and another background.
    #[must_use]
    pub fn with_light(mut self, lights: Vec<Light<f64>>, background: Vec3<f64>) -> Self {
        (self.scene.lights, self.scene.background) = (lights, background);
        self
    }
}

impl<T: Real> Visible<T> for VisibleBalls {
    type Workspace = ();

    fn workspace(&self) {}

    fn scene(&self) -> Scene<T> {
        self.scene.map(T::lit)
    }

    fn place(&self, _ws: &mut (), at: Point<'_, T>, scene: &mut Scene<T>) {
        for (ball, entry) in scene.spheres.iter_mut().zip(&self.entries) {
            ball.center = Vec3::read(&at.state[*entry..]);
        }
    }

    fn place_vjp(&self, _ws: &mut (), _at: Point<'_, T>, scene_bar: &Scene<T>, bars: Bars<'_, T>) {
        for (ball, entry) in scene_bar.spheres.iter().zip(&self.entries) {
            ball.center.add_to(&mut bars.state[*entry..]);
        }
    }
}

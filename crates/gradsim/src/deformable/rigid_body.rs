//! [`VisibleBody`]: a rigid body that moves freely, as its mesh.

use pullback_core::{Bars, Point};
use pullback_math::{Flat, Quat, Real, Vec3, differentiable};
use pullback_render::{Light, Material, Mesh, Paint, Scene, Surface};
use pullback_video::Visible;

/// Entries of the state: position and orientation of a free body.
const POSITION: usize = 0;
const ORIENTATION: usize = 3;

/// A free body whose pose comes first in the state.
#[derive(Clone, Debug)]
pub struct VisibleBody {
    scene: Scene<f64>,
    mesh: Mesh,
}

impl VisibleBody {
    /// A mesh in the frame of the body.
    pub fn new(mesh: Mesh, paint: Paint<f64>, material: Material<f64>) -> Self {
        let scene = Scene { surfaces: vec![Surface::new(&mesh, paint, material)], ..Scene::<f64>::default() };
        VisibleBody { scene, mesh }
    }

    /// Another color, material and light.
    #[must_use]
    pub fn with_look(
        mut self,
        paint: Paint<f64>,
        material: Material<f64>,
        lights: Vec<Light<f64>>,
        background: Vec3<f64>,
    ) -> Self {
        let surface = &mut self.scene.surfaces[0];
        (surface.paint, surface.material) = (paint, material);
        (self.scene.lights, self.scene.background) = (lights, background);
        self
    }
}

/// x = p + R(q) y, with q normalized.
#[differentiable]
fn placed<T: Real>(position: Vec3<T>, orientation: Quat<T>, local: Vec3<T>) -> Vec3<T> {
    position + orientation.normalize().rotate(local)
}

fn pose<T: Real>(state: &[T]) -> (Vec3<T>, Quat<T>) {
    (Vec3::read(&state[POSITION..]), Quat::read(&state[ORIENTATION..]))
}

impl<T: Real> Visible<T> for VisibleBody {
    type Workspace = ();

    fn workspace(&self) {}

    fn scene(&self) -> Scene<T> {
        self.scene.map(T::lit)
    }

    fn place(&self, _ws: &mut (), at: Point<'_, T>, scene: &mut Scene<T>) {
        let (position, orientation) = pose(at.state);
        for (vertex, local) in scene.surfaces[0].vertices.iter_mut().zip(&self.mesh.vertices) {
            *vertex = placed(position, orientation, local.map(T::lit));
        }
    }

    fn place_vjp(&self, _ws: &mut (), at: Point<'_, T>, scene_bar: &Scene<T>, bars: Bars<'_, T>) {
        let (position, orientation) = pose(at.state);
        for (vertex_bar, local) in scene_bar.surfaces[0].vertices.iter().zip(&self.mesh.vertices) {
            let (p_bar, q_bar, _) = placed_vjp(position, orientation, local.map(T::lit), *vertex_bar);
            p_bar.add_to(&mut bars.state[POSITION..]);
            q_bar.add_to(&mut bars.state[ORIENTATION..]);
        }
    }
}

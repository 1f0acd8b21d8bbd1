//! [`VisibleWorld`]: soft bodies as surfaces, moved by their particles.

use std::collections::BTreeMap;

use pullback_core::{Bars, ConfigError, Point};
use pullback_math::{Flat, Real, Vec3};
use pullback_physics::world::World;
use pullback_render::{Light, Material, Mesh, Paint, Scene, Surface};

use crate::colors::color;
use crate::visible::Visible;

/// The surfaces of soft bodies, beside what stands still. Parts without a surface, such as loose particles, and the
/// robots of the world are not shown.
#[derive(Clone, Debug)]
pub struct VisibleWorld {
    /// A surface for each of `parts`, then what stands still.
    scene: Scene<f64>,
    parts: Vec<Part>,
}

/// A part that is seen.
#[derive(Clone, Debug)]
struct Part {
    name: String,
    /// First entry in the state of the position of each vertex.
    entries: Vec<usize>,
}

impl VisibleWorld {
    /// All parts that have a surface, each matt in a color of its own.
    pub fn new(world: &World) -> Self {
        let (body, first) = (world.soft().body(), world.particle_entries().start);
        let (mut scene, mut parts) = (Scene::default(), Vec::new());
        for part in body.parts.iter().filter(|part| !part.surface.is_empty()) {
            // Particles inside have no vertex.
            let on_surface: BTreeMap<usize, u32> = part.surface.iter().flatten().map(|p| (*p, 0)).collect();
            let particles: Vec<usize> = on_surface.into_keys().collect();
            let vertex = |p: usize| particles.partition_point(|other| *other < p) as u32;
            let faces = part.surface.iter().map(|face| face.map(vertex)).collect();
            let mesh = Mesh::new(particles.iter().map(|p| body.positions[*p]).collect(), faces);
            let paint = Paint::Uniform(color(parts.len()));
            scene.surfaces.push(Surface::new(&mesh, paint, Material::matt()));
            let entries = particles.iter().map(|p| first + 3 * p).collect();
            parts.push(Part { name: part.name.clone(), entries });
        }
        VisibleWorld { scene, parts }
    }

    /// Gives a part another color and material.
    pub fn with_look(
        mut self,
        part: &str,
        paint: Paint<f64>,
        material: Material<f64>,
    ) -> Result<Self, ConfigError> {
        let Some(i) = self.parts.iter().position(|p| p.name == part) else {
            let names: Vec<&str> = self.parts.iter().map(|p| p.name.as_str()).collect();
            let names = names.join(", ");
            return Err(ConfigError::new(format!(
                "no part `{part}` has a surface; those that have: {names}"
            )));
        };
        let surface = &mut self.scene.surfaces[i];
        (surface.paint, surface.material) = (paint, material);
        Ok(self)
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

impl<T: Real> Visible<T> for VisibleWorld {
    type Workspace = ();

    fn workspace(&self) {}

    fn scene(&self) -> Scene<T> {
        self.scene.map(T::lit)
    }

    fn place(&self, _ws: &mut (), at: Point<'_, T>, scene: &mut Scene<T>) {
        for (part, surface) in self.parts.iter().zip(&mut scene.surfaces) {
            for (vertex, entry) in surface.vertices.iter_mut().zip(&part.entries) {
                *vertex = Vec3::read(&at.state[*entry..]);
            }
        }
    }

    fn place_vjp(&self, _ws: &mut (), _at: Point<'_, T>, scene_bar: &Scene<T>, bars: Bars<'_, T>) {
        for (part, surface) in self.parts.iter().zip(&scene_bar.surfaces) {
            for (vertex_bar, entry) in surface.vertices.iter().zip(&part.entries) {
                vertex_bar.add_to(&mut bars.state[*entry..]);
            }
        }
    }
}

//! What particles move: surfaces, rods between them, balls.

use std::collections::BTreeMap;

use pullback_math::{Real, Vec3};
use pullback_render::{Material, Mesh, Paint, Sphere, Surface};

use super::{Look, Skin};

/// Sides of a rod.
const SIDES: usize = 8;

/// A round bar between two particles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rod {
    /// The surface of the scene.
    pub surface: usize,
    /// The particles at its ends.
    pub ends: [usize; 2],
    /// Radius, m.
    pub radius: f64,
}

impl Rod {
    /// Sets the vertices: a ring around each end.
    pub(super) fn place<T: Real>(&self, particles: &[Vec3<f64>], vertices: &mut [Vec3<T>]) {
        let [a, b] = self.ends.map(|i| particles[i]);
        let along = b - a;
        let other = match along.x.abs() < along.z.abs() {
            true => Vec3::new(1.0, 0.0, 0.0),
            false => Vec3::new(0.0, 0.0, 1.0),
        };
        let u = other.cross(along).normalize() * self.radius;
        let v = along.normalize().cross(u);
        for (k, vertex) in vertices.iter_mut().enumerate() {
            let (sin, cos) = (std::f64::consts::TAU * (k % SIDES) as f64 / SIDES as f64).sin_cos();
            let end = if k < SIDES { a } else { b };
            *vertex = (end + u * cos + v * sin).map(T::lit);
        }
    }
}

impl Look {
    /// Adds a surface of particles. Vertices are those particles that triangles name.
    pub fn add_skin(&mut self, triangles: &[[usize; 3]], color: Vec3<f64>) {
        let on_surface: BTreeMap<usize, ()> = triangles.iter().flatten().map(|p| (*p, ())).collect();
        let particles: Vec<usize> = on_surface.into_keys().collect();
        let vertex = |p: usize| particles.partition_point(|other| *other < p) as u32;
        let faces = triangles.iter().map(|face| face.map(vertex)).collect();
        let mesh = Mesh::new(vec![Vec3::zero(); particles.len()], faces);
        let surface = self.scene.surfaces.len();
        let material = Material::shiny(0.15, 8.0).smoothed();
        self.scene.surfaces.push(Surface::new(&mesh, Paint::Uniform(color), material));
        self.skins.push(Skin { surface, particles });
    }

    /// Adds a rod between two particles.
    pub fn add_rod(&mut self, ends: [usize; 2], radius: f64, color: Vec3<f64>) {
        let at = |ring: usize, side: usize| (ring * SIDES + side % SIDES) as u32;
        let side = |k: usize| [[at(0, k), at(0, k + 1), at(1, k + 1)], [at(0, k), at(1, k + 1), at(1, k)]];
        let mesh = Mesh::new(vec![Vec3::zero(); 2 * SIDES], (0..SIDES).flat_map(side).collect());
        let surface = self.scene.surfaces.len();
        let material = Material::matt().smoothed();
        self.scene.surfaces.push(Surface::new(&mesh, Paint::Uniform(color), material));
        self.rods.push(Rod { surface, ends, radius });
    }

    /// Adds a ball at a particle.
    pub fn add_ball(&mut self, particle: usize, radius: f64, color: Vec3<f64>) {
        self.scene.spheres.push(Sphere { center: Vec3::zero(), radius, color });
        self.balls.push(particle);
    }
}

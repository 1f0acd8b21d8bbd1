//! What is seen: surfaces, spheres, lights. A cotangent of a scene is a scene of the same shape.

use std::sync::Arc;

use pullback_math::{Cotangent, Real, Vec3};

use crate::material::{Light, Material};
use crate::mesh::{Mesh, Topology};
use crate::texture::Texture;

/// Color of a surface.
#[derive(Clone, Debug, PartialEq)]
pub enum Paint<T> {
    /// One color.
    Uniform(Vec3<T>),
    /// A color per face.
    Faces(Vec<Vec3<T>>),
    /// A color per vertex, interpolated in between.
    Vertices(Vec<Vec3<T>>),
    /// A picture.
    Texture(Texture<T>),
}

/// A triangle mesh with color and material.
#[derive(Clone, Debug, PartialEq)]
pub struct Surface<T> {
    /// Faces; constant.
    pub topology: Arc<Topology>,
    /// Positions of the vertices, m.
    pub vertices: Vec<Vec3<T>>,
    /// Color.
    pub paint: Paint<T>,
    /// How it reflects light.
    pub material: Material<T>,
}

impl<T: Real> Surface<T> {
    /// A surface of a mesh.
    pub fn new(mesh: &Mesh, paint: Paint<T>, material: Material<T>) -> Self {
        let vertices = mesh.vertices.iter().map(|x| x.map(T::lit)).collect();
        Surface { topology: mesh.topology.clone(), vertices, paint, material }
    }

    /// Whether a cotangent has the shape of this surface.
    fn same_shape(&self, other: &Surface<T>) -> bool {
        let paint = match (&self.paint, &other.paint) {
            (Paint::Uniform(_), Paint::Uniform(_)) => true,
            (Paint::Faces(a), Paint::Faces(b)) | (Paint::Vertices(a), Paint::Vertices(b)) => {
                a.len() == b.len()
            }
            (Paint::Texture(a), Paint::Texture(b)) => a.texels.len() == b.texels.len(),
            _ => false,
        };
        paint && self.vertices.len() == other.vertices.len()
    }

    /// Every number through `f`.
    pub fn map<U: Real>(&self, f: impl Fn(T) -> U) -> Surface<U> {
        let all = |from: &[Vec3<T>]| from.iter().map(|x| x.map(&f)).collect();
        Surface {
            topology: self.topology.clone(),
            vertices: all(&self.vertices),
            paint: match &self.paint {
                Paint::Uniform(color) => Paint::Uniform(color.map(&f)),
                Paint::Faces(colors) => Paint::Faces(all(colors)),
                Paint::Vertices(colors) => Paint::Vertices(all(colors)),
                Paint::Texture(texture) => Paint::Texture(texture.map(&f)),
            },
            material: self.material.map(&f),
        }
    }
}

/// A ball, such as a particle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub struct Sphere<T> {
    /// Center, m.
    pub center: Vec3<T>,
    /// Radius, m.
    pub radius: T,
    /// Color.
    pub color: Vec3<T>,
}

/// Everything that is seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene<T> {
    /// Triangle meshes.
    pub surfaces: Vec<Surface<T>>,
    /// Balls.
    pub spheres: Vec<Sphere<T>>,
    /// How balls reflect light.
    pub sphere_material: Material<T>,
    /// Lights.
    pub lights: Vec<Light<T>>,
    /// Color behind everything.
    pub background: Vec3<T>,
}

impl<T: Real> Default for Scene<T> {
    /// Nothing on black, in gradSim's light: half of it from everywhere, half of it from above (z).
    fn default() -> Self {
        let half = Vec3::new(0.5, 0.5, 0.5).map(T::lit);
        let up = Vec3::new(T::zero(), T::zero(), T::one());
        Scene {
            surfaces: Vec::new(),
            spheres: Vec::new(),
            sphere_material: Material::matt(),
            lights: vec![Light::ambient(half), Light::directional(up, half)],
            background: Vec3::zero(),
        }
    }
}

impl<T: Real> Scene<T> {
    /// The same with one more surface.
    #[must_use]
    pub fn with_surface(mut self, mesh: &Mesh, paint: Paint<T>, material: Material<T>) -> Self {
        self.surfaces.push(Surface::new(mesh, paint, material));
        self
    }

    /// Every number through `f`, for example from one scalar type to another.
    pub fn map<U: Real>(&self, f: impl Fn(T) -> U) -> Scene<U> {
        let sphere =
            |s: &Sphere<T>| Sphere { center: s.center.map(&f), radius: f(s.radius), color: s.color.map(&f) };
        Scene {
            surfaces: self.surfaces.iter().map(|s| s.map(&f)).collect(),
            spheres: self.spheres.iter().map(sphere).collect(),
            sphere_material: self.sphere_material.map(&f),
            lights: self.lights.iter().map(|l| l.map(&f)).collect(),
            background: self.background.map(&f),
        }
    }

    /// A cotangent of this scene, all zero.
    pub fn zero_like(&self) -> Self {
        self.map(|_| T::zero())
    }

    /// Sets every number to zero, as a cotangent before it is added to.
    pub fn set_zero(&mut self) {
        for Surface { topology: _, vertices, paint, material } in &mut self.surfaces {
            vertices.fill(Vec3::zero());
            match paint {
                Paint::Uniform(color) => *color = Vec3::zero(),
                Paint::Faces(colors) | Paint::Vertices(colors) => colors.fill(Vec3::zero()),
                Paint::Texture(texture) => texture.texels.fill(Vec3::zero()),
            }
            *material = material.map(|_| T::zero());
        }
        self.spheres.iter_mut().for_each(|sphere| *sphere = sphere.zero_like());
        self.sphere_material = self.sphere_material.map(|_| T::zero());
        self.lights.iter_mut().for_each(|light| *light = light.map(|_| T::zero()));
        self.background = Vec3::zero();
    }

    /// Whether a cotangent has the shape of this scene.
    pub fn same_shape(&self, other: &Scene<T>) -> bool {
        let surfaces = self.surfaces.iter().zip(&other.surfaces).all(|(a, b)| a.same_shape(b));
        let counts = |s: &Scene<T>| (s.surfaces.len(), s.spheres.len(), s.lights.len());
        surfaces && counts(self) == counts(other)
    }

    /// Heap bytes of its numbers; topologies are shared.
    pub fn heap_bytes(&self) -> usize {
        let mut numbers = 0;
        self.for_each(|_, _| numbers += 1);
        numbers * size_of::<T>()
    }

    /// Hands out every number in the order of [`Scene::map`], with the name of what holds it.
    pub fn for_each(&self, mut f: impl FnMut(&dyn Fn() -> String, T)) {
        for (i, surface) in self.surfaces.iter().enumerate() {
            vectors(&|| format!("the vertices of surface {i}"), &surface.vertices, &mut f);
            let paint = || format!("the colors of surface {i}");
            match &surface.paint {
                Paint::Uniform(color) => vectors(&paint, &[*color], &mut f),
                Paint::Faces(colors) | Paint::Vertices(colors) => vectors(&paint, colors, &mut f),
                Paint::Texture(texture) => vectors(&paint, &texture.texels, &mut f),
            }
            numbers(&|| format!("the material of surface {i}"), &surface.material.numbers(), &mut f);
        }
        for (i, sphere) in self.spheres.iter().enumerate() {
            let name = || format!("sphere {i}");
            vectors(&name, &[sphere.center], &mut f);
            numbers(&name, &[sphere.radius], &mut f);
            vectors(&name, &[sphere.color], &mut f);
        }
        numbers(&|| "the material of spheres".into(), &self.sphere_material.numbers(), &mut f);
        for (i, light) in self.lights.iter().enumerate() {
            vectors(&|| format!("light {i}"), &[light.vector, light.intensity], &mut f);
        }
        vectors(&|| "the background".into(), &[self.background], &mut f);
    }
}

type Name<'a> = &'a dyn Fn() -> String;

fn vectors<T: Copy>(name: Name<'_>, values: &[Vec3<T>], f: &mut impl FnMut(Name<'_>, T)) {
    for v in values {
        f(name, v.x);
        f(name, v.y);
        f(name, v.z);
    }
}

fn numbers<T: Copy>(name: Name<'_>, values: &[T], f: &mut impl FnMut(Name<'_>, T)) {
    for x in values {
        f(name, *x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shapes::sphere;

    #[test]
    fn a_scene_set_to_zero_is_its_zero_cotangent() {
        let texture = Texture::from_fn(2, 1, |_, _| Vec3::new(1.0, 2.0, 3.0));
        let one = Vec3::new(1.0, 1.0, 1.0);
        let paints = [Paint::Uniform(one), Paint::Faces(vec![one; 20]), Paint::Texture(texture)];
        let mut scene = Scene::default();
        for paint in paints {
            scene = scene.with_surface(&sphere(0, 1.0), paint, Material::shiny(0.5, 3.0));
        }
        scene.spheres.push(Sphere { center: one, radius: 1.0, color: one });
        scene.background = one;
        let zero = scene.zero_like();
        assert_ne!(scene, zero);
        scene.set_zero();
        assert_eq!(scene, zero);
    }
}

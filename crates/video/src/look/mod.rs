//! Looks: what plain pictures show of a simulation.
//!
//! A [`Look`] is a scene, its effects, and what moves each surface and ball: a body of a robot, or particles.
//! [`Look::of_robot`] makes it of a model by what its file says: geoms, materials, textures, lights, cameras, `<visual>`.
//! [`Studio`] draws its pictures from a chosen camera.
//!
//! Colors are mixed as they are written, as MuJoCo does; they are what screens show, not amounts of light.
//!
//! | module | what |
//! |---|---|
//! | `robot` | from a model to a look |
//! | `shape`, `material`, `texture` | surfaces of geoms: triangles, colors, pixels |
//! | `light`, `camera` | lights and cameras, mounted on bodies |
//! | `soft` | what particles move: surfaces, rods, balls |
//! | `studio` | pictures, one after the other |

mod camera;
mod light;
mod material;
mod robot;
mod shape;
mod soft;
mod studio;
mod texture;

use pullback_math::{Transform, Vec3};
use pullback_render::{Effects, RenderError, Scene};
use thiserror::Error;

pub use camera::{CameraChoice, Eye, FreeView};
pub use light::LightMount;
pub use soft::Rod;
pub use studio::{Bitmap, Depict, PictureSize, Studio};
pub use texture::read_png;

/// A look that cannot be made, or a picture of it.
#[derive(Debug, Error)]
pub enum LookError {
    /// No camera has this name or number.
    #[error("there is no camera `{wanted}`{near}; there is {there}")]
    NoSuchCamera {
        /// What was asked for.
        wanted: String,
        /// The nearest name, in words, if one is near.
        near: String,
        /// Names of those that there are.
        there: String,
    },
    /// A picture cannot be drawn.
    #[error(transparent)]
    Render(#[from] RenderError),
}

/// Where everything is at one instant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moment {
    /// Pose of each body in the world.
    pub poses: Vec<Transform<f64>>,
    /// Position of each particle, m.
    pub particles: Vec<Vec3<f64>>,
}

/// A surface that a body carries.
#[derive(Clone, Debug, PartialEq)]
pub struct Mover {
    /// The surface of the scene.
    pub surface: usize,
    /// The body.
    pub body: usize,
    /// Its vertices in the frame of the body, m.
    pub vertices: Vec<Vec3<f64>>,
}

/// A surface whose vertices are particles.
#[derive(Clone, Debug, PartialEq)]
pub struct Skin {
    /// The surface of the scene.
    pub surface: usize,
    /// The particle of each vertex.
    pub particles: Vec<usize>,
}

/// What plain pictures show of a simulation.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// Everything there is to see, wherever it is; [`Look::place`] moves it.
    pub scene: Scene<f64>,
    /// Shadows, sky, and what else plain pictures have.
    pub effects: Effects,
    /// Surfaces that bodies carry.
    pub movers: Vec<Mover>,
    /// Surfaces of particles.
    pub skins: Vec<Skin>,
    /// Rods between particles.
    pub rods: Vec<Rod>,
    /// The particle of each ball of the scene, in order.
    pub balls: Vec<usize>,
    /// What moves each light of the scene, in order.
    pub lights: Vec<LightMount>,
    /// Cameras to look through.
    pub cameras: Vec<Eye>,
    /// The camera that is looked through where none is chosen.
    pub first_camera: Option<usize>,
    /// The free camera.
    pub free: FreeView,
    /// The body that the free camera follows, if any.
    pub followed: Option<usize>,
    /// Mass and center of mass of each body in its frame, and its parent: what centers of subtrees are made of.
    pub masses: Vec<(f64, Vec3<f64>, usize)>,
    /// Lowest and highest corner of what the free camera looks at, m.
    pub bounds: Option<(Vec3<f64>, Vec3<f64>)>,
    /// What the model says of looks that is not drawn, a line each.
    pub notes: Vec<String>,
}

/// The free camera stands so many extents away from points that it is to see.
const FRAMED: f64 = 1.7;

impl Look {
    /// Moves what the moment moves: sets positions of vertices and balls.
    pub fn place<T: pullback_math::Real>(&self, moment: &Moment, scene: &mut Scene<T>) {
        for Mover { surface, body, vertices } in &self.movers {
            let pose = moment.poses[*body];
            for (to, from) in scene.surfaces[*surface].vertices.iter_mut().zip(vertices) {
                *to = pose.point(*from).map(T::lit);
            }
        }
        for Skin { surface, particles } in &self.skins {
            for (to, particle) in scene.surfaces[*surface].vertices.iter_mut().zip(particles) {
                *to = moment.particles[*particle].map(T::lit);
            }
        }
        for rod in &self.rods {
            rod.place(&moment.particles, &mut scene.surfaces[rod.surface].vertices);
        }
        for (ball, particle) in scene.spheres.iter_mut().zip(&self.balls) {
            ball.center = moment.particles[*particle].map(T::lit);
        }
    }

    /// Has the free camera see these points too, beside what it looks at.
    pub fn frame(&mut self, points: &[Vec3<f64>]) {
        let (mut low, mut high) = self.bounds.unwrap_or_else(|| {
            let all = |x: f64| Vec3::new(x, x, x);
            (all(f64::INFINITY), all(f64::NEG_INFINITY))
        });
        for x in points {
            low = low.zip(*x, f64::min);
            high = high.zip(*x, f64::max);
        }
        let size = high - low;
        let extent = size.x.max(size.y).max(size.z);
        if !(extent.is_finite() && extent > 0.0) {
            return;
        }
        self.bounds = Some((low, high));
        self.free.lookat = (low + high) * 0.5;
        self.free.distance = FRAMED * extent;
        let [near, far] = self.free.depths;
        self.free.depths = [near.min(0.01 * extent), far.max(50.0 * extent)];
    }

    /// Center of mass of a body with all that hangs on it.
    pub fn subtree_center(&self, moment: &Moment, root: usize) -> Vec3<f64> {
        let hangs = |mut body: usize| loop {
            if body == root {
                return true;
            }
            match self.masses.get(body) {
                Some((_, _, parent)) if body != 0 => body = *parent,
                _ => return false,
            }
        };
        let (mut mass, mut moment_of_mass) = (0.0, Vec3::zero());
        for (body, (m, com, _)) in self.masses.iter().enumerate().filter(|(body, _)| hangs(*body)) {
            mass += m;
            moment_of_mass += moment.poses[body].point(*com) * *m;
        }
        if mass > 0.0 { moment_of_mass * (1.0 / mass) } else { moment.poses[root].translation }
    }
}

//! The differentiable renderer: pictures of triangle meshes and balls on the CPU, with pullbacks to vertices, colors,
//! textures, materials, lights and camera.
//!
//! [`render`] draws a [`Scene`] as a [`Camera`] sees it, [`render_vjp`] goes back from the cotangent of the picture.
//! Two methods make faces differentiable: [`SoftRas`], in which every face near a pixel contributes, and [`DibR`],
//! with the nearest face in the foreground and a soft silhouette around it. [`rasterize`] draws plain pictures, with shadows.
//!
//! ```
//! use pullback_math::{Cotangent, Vec3};
//! use pullback_render::{Camera, Image, Lens, Material, Paint, RenderWorkspace, Scene, Settings, View, ViewBars};
//! use pullback_render::{render, render_vjp, shapes};
//!
//! # fn main() -> Result<(), pullback_render::RenderError> {
//! let orange = Paint::Uniform(Vec3::new(0.9_f32, 0.5, 0.1));
//! let scene = Scene::default().with_surface(&shapes::sphere(2, 1.0), orange, Material::matt());
//! let camera = Camera::orbit(Lens::default(), Vec3::zero(), 4.0, 0.5, 0.3, 0.5);
//! let settings = Settings::new(64, 64);
//! let view = View { scene: &scene, camera: &camera, settings: &settings };
//! let (mut ws, mut image) = (RenderWorkspace::new(), Image::new(&settings));
//! render(view, &mut ws, &mut image)?;
//!
//! // L = Σ α: how fast does the area grow with each vertex?
//! let mut image_bar = image.zero_like();
//! image_bar.alpha.fill(1.0);
//! let (mut scene_bar, mut camera_bar) = (scene.zero_like(), camera.zero_like());
//! let bars = ViewBars { scene: &mut scene_bar, camera: &mut camera_bar };
//! render_vjp(view, &mut ws, &image_bar, bars)?;
//! // A wider view makes everything smaller.
//! assert!(camera_bar.half_height < 0.0);
//! # Ok(())
//! # }
//! ```
//!
//! | module | what |
//! |---|---|
//! | `render` | the two functions, as tables of contents |
//! | `camera`, `mesh`, `scene`, `material`, `texture`, `settings`, `image` | what they take and give |
//! | `shapes` | meshes made by formulas |
//! | `front`, `front_vjp`, `clip` | from the scene to the screen, and back |
//! | `grid`, `bins`, `stage` | samples in tiles and blocks; which primitives touch which |
//! | `primitive`, `outline`, `triangle`, `ball` | how pixels see triangles and balls |
//! | `soft`, `dib` | the two methods, on a block of samples |
//! | `look` | color of what is seen |
//! | `forward`, `backward` | walks over tiles, on threads |
//! | `resolve` | from samples to pixels |
//! | `plain` | pictures with hard edges and shadows, without pullback |
//!
//! Kernels are written once over [`Scalar`](pullback_math::Scalar): a block of samples is one register, sixteen
//! samples at `f32`, eight at `f64` and in forward mode. Every tile is drawn by one thread in one order, and
//! cotangents are summed entry by entry, so pictures and gradients have the same bits on any number of threads.

mod backward;
mod ball;
mod bins;
mod camera;
mod check;
mod clip;
mod dib;
mod error;
mod forward;
mod front;
mod front_vjp;
mod grid;
mod image;
mod look;
mod material;
mod mesh;
mod outline;
mod plain;
mod primitive;
mod render;
mod resolve;
mod scene;
mod settings;
pub mod shapes;
mod soft;
mod stage;
mod texture;
mod triangle;
mod workspace;

pub use camera::{Camera, Lens, Projection, look_rotation, look_rotation_vjp, orbit_eye, orbit_eye_vjp};
pub use error::RenderError;
pub use image::Image;
pub use material::{Light, LightKind, Material, Reflectance, Shading};
pub use mesh::{Mesh, Topology};
pub use plain::{Cone, Effects, Finish, Haze, Lamp, PlainWorkspace, Shadows, Sky, rasterize};
pub use render::{View, ViewBars, render, render_vjp};
pub use scene::{Paint, Scene, Sphere, Surface};
pub use settings::{DibR, Method, Outputs, Settings, SoftRas};
pub use texture::{Texture, Wrap};
pub use workspace::RenderWorkspace;

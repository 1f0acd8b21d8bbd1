//! Plain pictures: hard edges, shadows, no pullback. They share the way from the scene to the screen with soft ones.
//!
//! A tile keeps the nearest primitive of each sample and shades it once all are known; translucent triangles follow,
//! farthest first. Shadows are looked up in maps of depth as seen from each light. Textures are averaged over what a sample
//! covers.

mod effects;
mod pyramid;
mod shading;
mod shadow;
mod tile;

use pullback_core::Workspace;
use pullback_math::{Real, Scalar};

pub use effects::{Cone, Effects, Finish, Haze, Lamp, Shadows, Sky};

use crate::check::check;
use crate::error::RenderError;
use crate::front::{Wanted, make_balls, make_lights, make_triangles, place};
use crate::grid::Grid;
use crate::image::Image;
use crate::render::View;
use crate::resolve::resolve;
use crate::stage::Stage;
use crate::workspace::{RenderWorkspace, Seen, Triangles};
use pyramid::{Pyramid, build_pyramids};
use shading::Shader;
use shadow::{ShadowMap, draw_shadow_maps};
use tile::draw_tiles;

/// Scratch memory of [`rasterize`]. It grows to what a picture takes and is used again.
#[derive(Clone, Debug, Default)]
pub struct PlainWorkspace<T: Scalar> {
    view: RenderWorkspace<T>,
    shadows: Vec<ShadowMap<T>>,
    pyramids: Vec<Pyramid<T>>,
    /// Translucent triangles, farthest first.
    translucent: Vec<u32>,
}

impl<T: Scalar> PlainWorkspace<T> {
    /// Empty memory.
    pub fn new() -> Self {
        PlainWorkspace::default()
    }
    /// Heap bytes held.
    pub fn heap_bytes(&self) -> usize {
        Workspace::heap_bytes(self)
    }
}

impl<T: Scalar> Workspace for PlainWorkspace<T> {
    fn heap_bytes(&self) -> usize {
        self.view.heap_bytes()
            + self.shadows.iter().map(Workspace::heap_bytes).sum::<usize>()
            + self.pyramids.iter().map(Workspace::heap_bytes).sum::<usize>()
            + self.translucent.heap_bytes()
    }
}

/// Draws a plain picture on the threads of the current rayon pool. Its bits do not depend on their number. The method in
/// the settings is that of soft pictures and does not matter here.
///
/// ```
/// use pullback_math::Vec3;
/// use pullback_render::{Camera, Effects, Image, Lens, Material, Paint, PlainWorkspace, Scene, Settings, View};
/// use pullback_render::{rasterize, shapes};
///
/// # fn main() -> Result<(), pullback_render::RenderError> {
/// let orange = Paint::Uniform(Vec3::new(0.9_f32, 0.5, 0.1));
/// let scene = Scene::default().with_surface(&shapes::sphere(3, 1.0), orange, Material::matt());
/// let camera = Camera::orbit(Lens::default(), Vec3::zero(), 4.0, 0.5, 0.3, 0.5);
/// let settings = Settings::new(64, 64).with_supersampling(2);
/// let view = View { scene: &scene, camera: &camera, settings: &settings };
/// let (mut ws, mut image) = (PlainWorkspace::new(), Image::new(&settings));
/// rasterize(view, &Effects::default(), &mut ws, &mut image)?;
/// assert_eq!((image.alpha[0], image.alpha[32 * 64 + 32]), (0.0, 1.0));
/// # Ok(())
/// # }
/// ```
pub fn rasterize<T: Scalar>(
    view: View<'_, T>,
    effects: &Effects,
    ws: &mut PlainWorkspace<T>,
    image: &mut Image<T>,
) -> Result<(), RenderError> {
    let View { scene, camera, settings } = view;
    check(view)?;
    effects.check()?;
    let grid = Grid::new::<T>(settings);

    // What lights see, and textures at all sizes.
    draw_shadow_maps(scene, camera, effects, &mut ws.shadows);
    build_pyramids(scene, &mut ws.pyramids);

    // What the camera sees.
    let seen = &mut ws.view;
    place(scene, camera, true, &mut seen.placed);
    let wanted = Wanted { surface: |s| effects.finish(s).opacity > 0.0, corners: true };
    make_triangles(scene, camera, &grid, 0.0, wanted, &seen.placed, &mut seen.triangles);
    sort_translucent(effects, &seen.triangles, &mut ws.translucent);
    make_balls(scene, camera, &grid, 0.0, &mut seen.balls);
    make_lights(scene, camera, &mut seen.lights);

    // What samples see of it.
    let blocks = grid.tile_count() * grid.blocks_per_tile();
    seen.samples.through.resize(blocks, T::Pack::zero());
    seen.samples.seen.resize(blocks, Seen::default());
    let stage = Stage {
        scene,
        camera,
        settings,
        grid: &grid,
        placed: &seen.placed,
        triangles: &seen.triangles,
        balls: &seen.balls,
        lights: &seen.lights,
        reach: 0.0,
    };
    let shader = Shader::new(&stage, effects, &ws.shadows, &ws.pyramids);
    let samples = &mut seen.samples;
    draw_tiles(&shader, &ws.translucent, 0..grid.tile_count(), &mut samples.through, &mut samples.seen);

    resolve(settings, &grid, &ws.view.samples, image);
    Ok(())
}

/// Translucent triangles by the mean depth of their corners, farthest first.
fn sort_translucent<T: Scalar>(effects: &Effects, triangles: &Triangles<T>, order: &mut Vec<u32>) {
    let translucent = |i: &u32| effects.finish(triangles.origins[*i as usize].surface as usize).opacity < 1.0;
    let depth =
        |i: u32| -> f64 { triangles.corners[i as usize].position.iter().map(|x| -x.z.lane(0)).sum::<f64>() };
    order.clear();
    order.extend((0..triangles.origins.len() as u32).filter(translucent));
    order.sort_by(|a, b| depth(*b).total_cmp(&depth(*a)).then(a.cmp(b)));
}

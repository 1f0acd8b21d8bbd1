//! [`render`] and [`render_vjp`]: from a scene to a picture, and back.

use pullback_math::{Real, Scalar, Vec3};

use crate::backward::{TileBars, pull_tiles};
use crate::ball::Ball;
use crate::camera::Camera;
use crate::check::{check, check_finite};
use crate::error::RenderError;
use crate::forward::draw_tiles;
use crate::front::{Wanted, make_balls, make_lights, make_triangles, place};
use crate::front_vjp::{balls_vjp, lights_vjp, materials_vjp, texels_vjp, triangles_vjp};
use crate::grid::Grid;
use crate::image::Image;
use crate::material::Reflectance;
use crate::resolve::{resolve, resolve_vjp};
use crate::scene::Scene;
use crate::settings::{Method, Settings};
use crate::stage::Stage;
use crate::triangle::Corners;
use crate::workspace::{Drawn, RenderWorkspace, SampleBar, Seen, fits, refill};

/// What is seen, from where, and how.
#[derive(Debug)]
pub struct View<'a, T> {
    /// What is seen.
    pub scene: &'a Scene<T>,
    /// From where.
    pub camera: &'a Camera<T>,
    /// Size and method of the picture.
    pub settings: &'a Settings,
}

impl<T> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for View<'_, T> {}

/// Cotangents of a view.
#[derive(Debug)]
pub struct ViewBars<'a, T> {
    /// Of the scene: a scene of the same shape, as [`Scene::zero_like`] makes it.
    pub scene: &'a mut Scene<T>,
    /// Of the camera, by [`Cotangent::zero_like`](pullback_math::Cotangent::zero_like).
    pub camera: &'a mut Camera<T>,
}

/// Groups of tiles that have cotangents of texels of their own.
const TEXEL_GROUPS: usize = 8;

/// Draws a picture on the threads of the current rayon pool. Its bits do not depend on their number.
pub fn render<T: Scalar>(
    view: View<'_, T>,
    ws: &mut RenderWorkspace<T>,
    image: &mut Image<T>,
) -> Result<(), RenderError> {
    let View { scene, camera, settings } = view;
    ws.drawn = None;
    check(view)?;
    let grid = Grid::new::<T>(settings);
    let (reach, shaded) = (settings.method.reach(), settings.outputs.any());

    // What the camera sees.
    place(scene, camera, shaded, &mut ws.placed);
    let wanted = Wanted { surface: |_| true, corners: shaded };
    make_triangles(scene, camera, &grid, reach, wanted, &ws.placed, &mut ws.triangles);
    make_balls(scene, camera, &grid, reach, &mut ws.balls);
    make_lights(scene, camera, &mut ws.lights);

    // What samples see of it.
    let blocks = grid.tile_count() * grid.blocks_per_tile();
    let with_seen = shaded || matches!(settings.method, Method::DibR(_));
    ws.samples.through.resize(blocks, T::Pack::zero());
    ws.samples.seen.resize(if with_seen { blocks } else { 0 }, Seen::default());
    let stage = Stage {
        scene,
        camera,
        settings,
        grid: &grid,
        placed: &ws.placed,
        triangles: &ws.triangles,
        balls: &ws.balls,
        lights: &ws.lights,
        reach,
    };
    draw_tiles(&stage, 0..grid.tile_count(), &mut ws.samples.through, &mut ws.samples.seen);

    resolve(settings, &grid, &ws.samples, image);
    ws.drawn = Some(drawn(view));
    Ok(())
}

/// Pullback of [`render`], whose last call on this workspace must have had the same arguments: *adds* to the
/// cotangents of scene and camera, given that of the picture.
pub fn render_vjp<T: Scalar>(
    view: View<'_, T>,
    ws: &mut RenderWorkspace<T>,
    image_bar: &Image<T>,
    bars: ViewBars<'_, T>,
) -> Result<(), RenderError> {
    let View { scene, camera, settings } = view;
    if ws.drawn != Some(drawn(view)) {
        return Err(RenderError::NotRendered);
    }
    if !fits(image_bar, settings) {
        return Err(RenderError::WrongCotangent { what: "the image" });
    }
    if !scene.same_shape(bars.scene) {
        return Err(RenderError::WrongCotangent { what: "the scene" });
    }
    let grid = Grid::new::<T>(settings);
    let (tiles, reach) = (grid.tile_count(), settings.method.reach());

    // From pixels to samples.
    let back = &mut ws.bars;
    back.samples.resize(ws.samples.through.len(), SampleBar::default());
    resolve_vjp(settings, &grid, image_bar, &mut back.samples);

    // From samples to what the camera sees.
    let shaded = |entries: usize| if settings.outputs.any() { entries } else { 0 };
    let (triangle_entries, ball_entries) = (ws.triangles.bins.items.len(), ws.balls.bins.items.len());
    refill(&mut back.outlines, triangle_entries, [[T::zero(); 2]; 3]);
    refill(&mut back.corners, shaded(triangle_entries), Corners::default());
    refill(&mut back.reflectances, shaded(triangle_entries), Reflectance::default());
    refill(&mut back.balls, ball_entries, Ball::default());
    refill(&mut back.ball_reflectances, shaded(ball_entries), Reflectance::default());
    refill(&mut back.backgrounds, tiles, Vec3::zero());
    back.lights.clear();
    for _ in 0..tiles {
        back.lights.extend(ws.lights.iter().map(|light| light.map(|_| T::Pack::zero())));
    }
    let texels = ws.placed.first_texel.last().copied().unwrap_or(0);
    let groups = if texels > 0 { tiles.min(TEXEL_GROUPS) } else { tiles };
    refill(&mut back.texels, groups * texels, Vec3::zero());
    let stage = Stage {
        scene,
        camera,
        settings,
        grid: &grid,
        placed: &ws.placed,
        triangles: &ws.triangles,
        balls: &ws.balls,
        lights: &ws.lights,
        reach,
    };
    let tile_bars = TileBars {
        through: &ws.samples.through,
        seen: &ws.samples.seen,
        samples: &back.samples,
        outlines: &mut back.outlines,
        corners: &mut back.corners,
        reflectances: &mut back.reflectances,
        balls: &mut back.balls,
        ball_reflectances: &mut back.ball_reflectances,
        lights: &mut back.lights,
        backgrounds: &mut back.backgrounds,
    };
    pull_tiles(&stage, 0..tiles, groups, tile_bars, &mut back.texels);

    // From there to the scene.
    let ViewBars { scene: scene_bar, camera: camera_bar } = bars;
    triangles_vjp(scene, camera, &ws.placed, &ws.triangles, back, scene_bar, camera_bar);
    balls_vjp(scene, camera, &ws.balls, back, scene_bar, camera_bar);
    materials_vjp(&ws.triangles, back, scene_bar);
    lights_vjp(scene, camera, &back.lights, scene_bar, camera_bar);
    texels_vjp(back, texels, scene_bar);
    for background in &back.backgrounds {
        scene_bar.background += T::total_vector(*background);
    }
    check_finite(scene_bar, camera_bar)
}

fn drawn<T: Scalar>(view: View<'_, T>) -> Drawn {
    let View { scene, settings, .. } = view;
    Drawn {
        settings: *settings,
        vertices: scene.surfaces.iter().map(|s| s.vertices.len()).sum(),
        spheres: scene.spheres.len(),
        lights: scene.lights.len(),
    }
}

//! Shadows: maps of depth as seen from each light.
//!
//! The map of a directional light covers the sphere around all that casts shadows; that of a point light looks at this
//! sphere, or along its cone, or in six directions where it is among the casters. A point is lit where nothing is nearer to
//! the light than it, to within a bias: it is moved along its normal by a few texels, so that faces do not shadow
//! themselves. Nine texels are weighed by a quadratic B-spline, so that borders are smooth.

use pullback_core::Workspace;
use pullback_math::{Mat3, Real, Scalar, Select, Vec3, select};
use rayon::prelude::*;

use super::effects::{Cone, Effects};
use crate::camera::{Camera, Lens, Projection};
use crate::front::{Wanted, make_balls, make_triangles, place};
use crate::grid::{Grid, TILE};
use crate::material::LightKind;
use crate::primitive::{Primitive, Sight};
use crate::scene::Scene;
use crate::settings::{Outputs, Settings};
use crate::stage::Stage;
use crate::triangle::Triangle;
use crate::workspace::{Balls, Placed, Triangles};

/// Texels by which a point is moved along its normal, and toward the light.
const NORMAL_BIAS: f32 = 2.0;
const DEPTH_BIAS: f32 = 0.75;
/// Casters are seen with this margin around them.
const MARGIN: f64 = 1.02;
/// A point light so many radii away from the casters' center sees them in one direction.
const OUTSIDE: f64 = 1.2;
/// Widest cone that one map covers, rad.
const WIDEST_CONE: f64 = 1.3;

/// What a light sees.
#[derive(Clone, Debug, Default)]
pub(super) struct ShadowMap<T> {
    faces: Vec<Face>,
    placed: Placed<T>,
    triangles: Triangles<T>,
    balls: Balls<T>,
}

/// What a light sees in one direction.
#[derive(Clone, Debug, Default)]
struct Face {
    resolution: usize,
    perspective: bool,
    /// Half the height that the map covers, as that of a camera.
    half_height: f32,
    /// From the frame of the camera that draws the picture to that of the light.
    rotation: Mat3<f32>,
    translation: Vec3<f32>,
    /// Row by row; infinite where nothing is.
    depths: Vec<f32>,
}

impl<T: Real> Workspace for ShadowMap<T> {
    fn heap_bytes(&self) -> usize {
        self.faces.iter().map(|face| face.depths.capacity() * size_of::<f32>()).sum::<usize>()
            + self.placed.heap_bytes()
            + self.triangles.heap_bytes()
            + self.balls.heap_bytes()
    }
}

/// Draws the maps of all lights that cast shadows; those of the others are empty.
pub(super) fn draw_shadow_maps<T: Scalar>(
    scene: &Scene<T>,
    camera: &Camera<T>,
    effects: &Effects,
    maps: &mut Vec<ShadowMap<T>>,
) {
    maps.resize_with(scene.lights.len(), ShadowMap::default);
    let casters = effects.shadows.and_then(|shadows| Some((shadows, bounding_sphere(scene, effects)?)));
    for (i, (light, map)) in scene.lights.iter().zip(maps).enumerate() {
        let lamp = effects.lamp(i);
        let cameras = match casters {
            Some((_, casters)) if lamp.casts_shadow => {
                cameras(light.kind, light.vector.map(|x| x.lane(0)), lamp.cone, casters)
            }
            _ => Vec::new(),
        };
        map.faces.resize_with(cameras.len(), Face::default);
        for (face, light_camera) in cameras.iter().enumerate() {
            map.draw(scene, effects, camera, light_camera, face);
        }
    }
}

/// Whether a surface casts shadows.
fn casts(effects: &Effects, surface: usize) -> bool {
    let finish = effects.finish(surface);
    finish.casts_shadow && finish.opacity >= 1.0
}

/// Center and radius of a sphere around all that casts shadows.
fn bounding_sphere<T: Scalar>(scene: &Scene<T>, effects: &Effects) -> Option<(Vec3<f64>, f64)> {
    let (mut low, mut high) =
        (Vec3::new(1.0, 1.0, 1.0) * f64::INFINITY, Vec3::new(1.0, 1.0, 1.0) * f64::NEG_INFINITY);
    let mut add = |x: Vec3<T>, radius: f64| {
        let x = x.map(|x| x.lane(0));
        low = low.zip(x, |l, x| l.min(x - radius));
        high = high.zip(x, |h, x| h.max(x + radius));
    };
    for (s, surface) in scene.surfaces.iter().enumerate() {
        if casts(effects, s) {
            surface.vertices.iter().for_each(|x| add(*x, 0.0));
        }
    }
    scene.spheres.iter().for_each(|s| add(s.center, s.radius.lane(0)));
    let radius = 0.5 * (high - low).norm();
    (radius.is_finite() && radius > 0.0).then(|| ((low + high) * 0.5, radius))
}

/// What a light must see so that the casters are covered: one camera, or six around a point light among them.
fn cameras(
    kind: LightKind,
    vector: Vec3<f64>,
    cone: Option<Cone>,
    (center, radius): (Vec3<f64>, f64),
) -> Vec<Camera<f64>> {
    if kind == LightKind::Directional {
        let lens = Lens::new(Projection::Orthographic, 0.5 * radius, 4.0 * radius);
        let eye = center + vector.normalize() * (2.0 * radius);
        return vec![look_along(lens, eye, center - eye, MARGIN * radius)];
    }
    let distance = (vector - center).norm();
    let far = distance + 2.0 * radius;
    if distance > OUTSIDE * radius {
        let sine = MARGIN * radius / distance;
        let lens = Lens::new(Projection::Perspective, 0.5 * (distance - radius), far);
        return vec![look_along(lens, vector, center - vector, sine / (1.0 - sine * sine).sqrt())];
    }
    let lens = Lens::new(Projection::Perspective, 1e-3 * radius, far);
    if let Some(cone) = cone.filter(|cone| cone.cutoff < WIDEST_CONE) {
        return vec![look_along(lens, vector, cone.axis, MARGIN * cone.cutoff.tan())];
    }
    let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(|[x, y, z]| Vec3::new(x, y, z));
    axes.into_iter()
        .flat_map(|a| [look_along(lens, vector, a, MARGIN), look_along(lens, vector, -a, MARGIN)])
        .collect()
}

fn look_along(lens: Lens, eye: Vec3<f64>, direction: Vec3<f64>, half_height: f64) -> Camera<f64> {
    let steep = direction.z.abs() > 0.9 * direction.norm();
    let up = if steep { Vec3::new(1.0, 0.0, 0.0) } else { Vec3::new(0.0, 0.0, 1.0) };
    Camera::look_at(lens, eye, eye + direction, up, half_height)
}

impl<T: Scalar> ShadowMap<T> {
    /// Whether the light casts shadows.
    pub fn is_drawn(&self) -> bool {
        !self.faces.is_empty()
    }

    fn draw(
        &mut self,
        scene: &Scene<T>,
        effects: &Effects,
        viewer: &Camera<T>,
        light_camera: &Camera<f64>,
        face: usize,
    ) {
        let resolution = effects.shadows.unwrap_or_default().resolution;
        self.faces[face].aim(viewer, light_camera, resolution);
        let settings = Settings::new(resolution, resolution).with_outputs(Outputs::silhouette());
        let (grid, camera) = (Grid::new::<T>(&settings), light_camera.map(T::lit));

        place(scene, &camera, false, &mut self.placed);
        let wanted = Wanted { surface: |s| casts(effects, s), corners: true };
        make_triangles(scene, &camera, &grid, 0.0, wanted, &self.placed, &mut self.triangles);
        make_balls(scene, &camera, &grid, 0.0, &mut self.balls);
        let stage = Stage {
            scene,
            camera: &camera,
            settings: &settings,
            grid: &grid,
            placed: &self.placed,
            triangles: &self.triangles,
            balls: &self.balls,
            lights: &[],
            reach: 0.0,
        };
        let depths = &mut self.faces[face].depths;
        depths.resize(resolution * resolution, f32::INFINITY);
        depths.par_chunks_mut(resolution * TILE).enumerate().for_each(|(row, depths)| {
            depths.fill(f32::INFINITY);
            let mut tile_depths = [T::Pack::zero(); TILE * TILE];
            for column in 0..grid.tiles[0] {
                let tile = row * grid.tiles[0] + column;
                draw_tile(&stage, tile, &mut tile_depths[..grid.blocks_per_tile()], depths);
            }
        });
    }

    /// Share of the light that reaches points in the viewer's frame with these normals, in the lanes of `lit`.
    pub fn visibility(
        &self,
        position: Vec3<T::Pack>,
        normal: Vec3<T::Pack>,
        lit: <T::Pack as Select>::Mask,
    ) -> T::Pack {
        let active = select(lit, T::Pack::one(), T::Pack::zero());
        T::pack(|i| {
            if T::unpack(&active, i).lane(0) == 0.0 {
                return T::zero();
            }
            let float = |v: &Vec3<T::Pack>| T::unpack_vector(v, i).map(|x| x.lane(0) as f32);
            let (position, normal) = (float(&position), float(&normal));
            let seen = self.faces.iter().find_map(|face| face.visibility(position, normal));
            T::lit(f64::from(seen.unwrap_or(1.0)))
        })
    }
}

/// Depths of the nearest primitives of one tile, written into its row of tiles.
fn draw_tile<T: Scalar>(stage: &Stage<'_, T>, tile: usize, blocks: &mut [T::Pack], rows: &mut [f32]) {
    let (triangles, balls) = (stage.triangles.bins.of(tile), stage.balls.bins.of(tile));
    if triangles.is_empty() && balls.is_empty() {
        return;
    }
    let sight = Sight { perspective: stage.camera.lens.is_perspective() };
    let nothing = T::Pack::lit(f64::INFINITY);
    blocks.fill(nothing);
    for entry in triangles {
        let i = stage.triangles.bins.items[entry] as usize;
        let mut triangle = Triangle { outline: stage.outline(i), ..Triangle::default() };
        triangle.corners.depth_key = stage.triangles.corners[i].depth_key.map(T::fill);
        stage.for_each_triangle_block(tile, i, |block, at| {
            let (inside, depth) = triangle.hit(sight, at);
            blocks[block] = select(inside & depth.lt(blocks[block]), depth, blocks[block]);
        });
    }
    for entry in balls {
        let i = stage.balls.bins.items[entry] as usize;
        let ball = stage.ball(i);
        stage.for_each_ball_block(tile, i, |block, at| {
            let (inside, depth) = ball.hit(sight, at);
            blocks[block] = select(inside & depth.lt(blocks[block]), depth, blocks[block]);
        });
    }
    let (width, height) = (stage.grid.samples[0], rows.len() / stage.grid.samples[0]);
    for (block, depths) in blocks.iter().enumerate() {
        for place in 0..T::WIDTH {
            let [x, y] = stage.grid.sample(tile, block, place);
            if x < width && y % TILE < height {
                rows[y % TILE * width + x] = T::unpack(depths, place).lane(0) as f32;
            }
        }
    }
}

impl Face {
    fn aim<T: Scalar>(&mut self, viewer: &Camera<T>, light: &Camera<f64>, resolution: usize) {
        let viewer = viewer.map(|x| x.lane(0));
        let light_from_world = light.world_from_camera.transpose();
        self.resolution = resolution;
        self.perspective = light.lens.is_perspective();
        self.half_height = light.half_height as f32;
        self.rotation = (light_from_world * viewer.world_from_camera).map(|x| x as f32);
        self.translation = (light_from_world * (viewer.position - light.position)).map(|x| x as f32);
    }

    /// Share of the light at a point in the viewer's frame; `None` if the map does not cover it.
    #[inline(always)]
    fn visibility(&self, position: Vec3<f32>, normal: Vec3<f32>) -> Option<f32> {
        let at = self.rotation * position + self.translation;
        let scale = |z: f32| if self.perspective { self.half_height * -z } else { self.half_height };
        let texel = 2.0 * scale(at.z) / self.resolution as f32;
        let at = at + self.rotation * normal * (NORMAL_BIAS * texel);
        let (depth, scale) = (-at.z, scale(at.z));
        if self.perspective && depth <= 0.0 {
            return None;
        }
        let half = 0.5 * self.resolution as f32;
        let (x, y) = (half + half * at.x / scale, half - half * at.y / scale);
        let last = self.resolution as f32 - 2.0;
        if !(x >= 2.0 && y >= 2.0 && x < last && y < last) {
            return None;
        }
        let (column, row) = (x as usize, y as usize);
        let (wx, wy) = (spline(x - column as f32 - 0.5), spline(y - row as f32 - 0.5));
        let nearest = depth - DEPTH_BIAS * texel;
        let mut light = 0.0;
        for (j, wy) in wy.into_iter().enumerate() {
            let texels = &self.depths[(row + j - 1) * self.resolution + column - 1..][..3];
            for (depth, wx) in texels.iter().zip(wx) {
                light += if *depth >= nearest { wx * wy } else { 0.0 };
            }
        }
        Some(light)
    }
}

/// Weights of the texel before, the one at and the one after a place at distance d from a center, −½ to ½.
#[inline(always)]
fn spline(d: f32) -> [f32; 3] {
    let (before, after) = (0.5 - d, 0.5 + d);
    [0.5 * before * before, 0.75 - d * d, 0.5 * after * after]
}

//! Pictures of smoke: what a camera sees of it in three dimensions, before floor and sky; the field itself in two.

use pullback_core::Point;
use pullback_math::{Transform, Vec3};
use pullback_physics::articulated::{Geom, Model, Shape};
use pullback_physics::smoke::camera::{Camera, Lens};
use pullback_physics::smoke::march::{Look as SmokeLook, Marcher};
use pullback_physics::smoke::{Grid, Smoke};
use pullback_video::look::{Bitmap, CameraChoice, Depict, Look, LookError, Moment, PictureSize, Studio};

/// White smoke that dims itself.
const LOOK: SmokeLook<f64> = SmokeLook { absorption: 9.0, ambient: 0.35, background: 0.0 };
/// Colors of two-dimensional pictures: air, smoke, obstacles.
const AIR: [f64; 3] = [0.10, 0.14, 0.22];
const SMOKE: [f64; 3] = [0.97, 0.95, 0.92];
const OBSTACLE: [f64; 3] = [0.80, 0.48, 0.26];

/// Draws states of smoke.
pub(crate) fn depict_smoke<const D: usize>(smoke: &Smoke<D>) -> Box<dyn Depict> {
    let grid = smoke.grid().clone();
    let velocities = D * grid.len();
    if let Ok(cells) = <[usize; 3]>::try_from(&grid.cells[..]) {
        let fluid = Grid::<3>::new(cells, grid.spacing);
        return Box::new(Volume::new(fluid, velocities));
    }
    Box::new(Field {
        cells: [grid.cells[0], grid.cells[D - 1]],
        solid: (0..grid.len()).map(|i| grid.is_solid(i)).collect(),
        velocities,
    })
}

/// Smoke over a floor.
struct Volume {
    grid: Grid<3>,
    /// Floor and sky.
    studio: Studio,
    /// Numbers of a state before the densities.
    velocities: usize,
    notes: Vec<String>,
}

impl Volume {
    fn new(grid: Grid<3>, velocities: usize) -> Self {
        let [x, y, z] = grid.extent();
        let mut model = Model::new("floor");
        model.geoms.push(Geom::new("floor", 0, Shape::Plane));
        let mut look = Look::of_robot(&model, &[]);
        look.frame(&[Vec3::zero(), Vec3::new(x, y, z)]);
        look.free.elevation = -12.0;
        let notes = vec!["obstacles in smoke are not drawn".to_owned()];
        Volume { grid, studio: Studio::new(look), velocities, notes }
    }
}

impl Depict for Volume {
    fn picture(
        &mut self,
        at: Point<'_, f64>,
        camera: &CameraChoice,
        size: PictureSize,
    ) -> Result<Bitmap, LookError> {
        let moment = Moment { poses: vec![Transform::identity()], particles: Vec::new() };
        let mut bitmap = self.studio.picture(&moment, camera, size)?;
        let seen = self.studio.look().camera(camera, &moment)?;
        let forward = -seen.world_from_camera.c2;
        let eye = Camera {
            position: seen.position,
            target: seen.position + forward,
            lens: match seen.lens.is_perspective() {
                true => Lens::Perspective(2.0 * seen.half_height.atan()),
                false => Lens::Orthographic(2.0 * seen.half_height),
            },
            pixels: (size.width, size.height),
        };
        let Ok(marcher) = Marcher::new(self.grid.clone(), eye) else { return Ok(bitmap) };
        let layers = marcher.layers(&mut marcher.workspace(), &at.state[self.velocities..], LOOK);
        for (pixel, (light, passed)) in bitmap.rgb.chunks_exact_mut(3).zip(layers) {
            for byte in pixel {
                *byte = (255.0 * light + f64::from(*byte) * passed).round().clamp(0.0, 255.0) as u8;
            }
        }
        Ok(bitmap)
    }
    fn resolution(&self, camera: &CameraChoice) -> Result<Option<PictureSize>, LookError> {
        self.studio.look().eye(camera).map(|_| None)
    }
    fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// The densities of a plane.
struct Field {
    cells: [usize; 2],
    solid: Vec<bool>,
    velocities: usize,
}

impl Depict for Field {
    fn picture(
        &mut self,
        at: Point<'_, f64>,
        camera: &CameraChoice,
        size: PictureSize,
    ) -> Result<Bitmap, LookError> {
        self.resolution(camera)?;
        let [nx, ny] = self.cells;
        let density = &at.state[self.velocities..];
        // The whole plane, as large as fits.
        let scale = f64::min(size.width as f64 / nx as f64, size.height as f64 / ny as f64);
        let color = |column: usize, row: usize| -> [f64; 3] {
            let x = (column as f64 + 0.5 - 0.5 * size.width as f64) / scale + 0.5 * nx as f64 - 0.5;
            let y = (0.5 * size.height as f64 - row as f64 - 0.5) / scale + 0.5 * ny as f64 - 0.5;
            let inside = |x: f64, n: usize| (-0.5..n as f64 - 0.5).contains(&x);
            if !(inside(x, nx) && inside(y, ny)) {
                return AIR.map(|c| 0.6 * c);
            }
            if self.solid[y.round() as usize * nx + x.round() as usize] {
                return OBSTACLE;
            }
            let share = 1.0 - (-2.0 * between(density, [nx, ny], [x, y]).max(0.0)).exp();
            std::array::from_fn(|k| AIR[k] + (SMOKE[k] - AIR[k]) * share)
        };
        let pixels = (0..size.width * size.height).flat_map(|i| color(i % size.width, i / size.width));
        let rgb = pixels.map(|c| (255.0 * c).round() as u8).collect();
        Ok(Bitmap { width: size.width, height: size.height, rgb })
    }
    fn resolution(&self, camera: &CameraChoice) -> Result<Option<PictureSize>, LookError> {
        match camera {
            CameraChoice::Default => Ok(None),
            CameraChoice::Named(name) => Err(LookError::NoSuchCamera {
                wanted: name.clone(),
                near: String::new(),
                there: "none: the picture is a plane".into(),
            }),
            CameraChoice::Free { .. } => Err(LookError::NoSuchCamera {
                wanted: "free".into(),
                near: String::new(),
                there: "none: the picture is a plane".into(),
            }),
        }
    }
    fn notes(&self) -> &[String] {
        &[]
    }
}

/// Linear interpolation between centers of cells.
fn between(field: &[f64], [nx, ny]: [usize; 2], [x, y]: [f64; 2]) -> f64 {
    let (x, y) = (x.clamp(0.0, (nx - 1) as f64), y.clamp(0.0, (ny - 1) as f64));
    let (i, j) = ((x as usize).min(nx.saturating_sub(2)), (y as usize).min(ny.saturating_sub(2)));
    let (a, b) = (x - i as f64, y - j as f64);
    let at = |di: usize, dj: usize| field[(j + dj).min(ny - 1) * nx + (i + di).min(nx - 1)];
    (1.0 - b) * ((1.0 - a) * at(0, 0) + a * at(1, 0)) + b * ((1.0 - a) * at(0, 1) + a * at(1, 1))
}

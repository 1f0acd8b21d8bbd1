//! What all tiles read: primitives on the screen, and how they look.

use pullback_math::{Real, Scalar};

use crate::ball::Ball;
use crate::camera::Camera;
use crate::grid::{Bound, Grid, TILE};
use crate::look::Look;
use crate::material::{Light, Material};
use crate::outline::Outline;
use crate::primitive::Sight;
use crate::scene::{Paint, Scene};
use crate::settings::Settings;
use crate::triangle::Triangle;
use crate::workspace::{Balls, Placed, Triangles};

/// A picture while its tiles are drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stage<'a, T: Scalar> {
    pub scene: &'a Scene<T>,
    pub camera: &'a Camera<T>,
    pub settings: &'a Settings,
    pub grid: &'a Grid<T::Pack>,
    pub placed: &'a Placed<T>,
    pub triangles: &'a Triangles<T>,
    pub balls: &'a Balls<T>,
    pub lights: &'a [Light<T::Pack>],
    /// How far beyond its outline a primitive reaches on the screen.
    pub reach: f64,
}

impl<'a, T: Scalar> Stage<'a, T> {
    /// The outline of triangle `i`, the same in all lanes.
    #[inline(always)]
    pub fn outline(&self, i: usize) -> Outline<T::Pack> {
        self.triangles.outlines[i].map(T::fill)
    }
    /// Triangle `i`, the same in all lanes.
    #[inline(always)]
    pub fn triangle(&self, i: usize) -> Triangle<T::Pack> {
        let corners = self.triangles.corners.get(i).map(|c| c.map(T::fill)).unwrap_or_default();
        Triangle { outline: self.outline(i), corners }
    }
    /// Ball `i`, the same in all lanes.
    #[inline(always)]
    pub fn ball(&self, i: usize) -> Ball<T::Pack> {
        self.balls.balls[i].map(T::fill)
    }

    /// How triangle `i` looks.
    #[inline(always)]
    pub fn triangle_look(&self, i: usize) -> Look<'a, T> {
        let s = self.triangles.origins[i].surface as usize;
        let surface = &self.scene.surfaces[s];
        let texture = match &surface.paint {
            Paint::Texture(texture) => Some((texture, self.placed.first_texel[s])),
            _ => None,
        };
        Look { texture, ..self.look(&surface.material) }
    }
    /// How balls look.
    #[inline(always)]
    pub fn ball_look(&self) -> Look<'a, T> {
        self.look(&self.scene.sphere_material)
    }
    #[inline(always)]
    fn look(&self, material: &Material<T>) -> Look<'a, T> {
        Look {
            sight: Sight { perspective: self.camera.lens.is_perspective() },
            outputs: self.settings.outputs,
            lights: self.lights,
            shading: material.shading,
            reflectance: material.reflectance.map(T::fill),
            texture: None,
        }
    }

    /// Calls `f(block of the tile, places of its samples)` for the blocks of a tile that triangle `i` may touch.
    #[inline(always)]
    pub fn for_each_triangle_block(&self, tile: usize, i: usize, mut f: impl FnMut(usize, [T::Pack; 2])) {
        let bound = &self.triangles.bounds[i];
        let guard = Guard::new(&self.triangles.outlines[i], self.grid, self.reach, bound);
        self.grid.for_each_block(tile, bound, |block, [x, y]| {
            if guard.as_ref().is_none_or(|g| g.touches(self.grid.center(x, y))) {
                f(block, self.grid.centers(x, y));
            }
        });
    }
    /// The same for ball `i`.
    #[inline(always)]
    pub fn for_each_ball_block(&self, tile: usize, i: usize, mut f: impl FnMut(usize, [T::Pack; 2])) {
        self.grid
            .for_each_block(tile, &self.balls.bounds[i], |block, [x, y]| f(block, self.grid.centers(x, y)));
    }
}

/// The three lines along the edges of a triangle, moved outward by its reach and by the size of a block: what is beyond
/// one of them does not touch the triangle.
struct Guard {
    /// Inward normal and offset of each line, for the first sample of a block.
    lines: [[f64; 3]; 3],
}

/// Bounds with fewer samples are not worth a guard.
const GUARDED: u32 = 100;

impl Guard {
    fn new<T: Real, P: Real>(
        outline: &Outline<T>,
        grid: &Grid<P>,
        reach: f64,
        bound: &Bound,
    ) -> Option<Self> {
        let area = (bound.x[1] - bound.x[0]).min(TILE as u32) * (bound.y[1] - bound.y[0]).min(TILE as u32);
        let side = outline.per_area.lane(0);
        if area < GUARDED || side == 0.0 {
            return None;
        }
        // A block reaches this far to the right of its first sample and below it.
        let size = grid.block.map(|n| (n - 1) as f64 * grid.spacing);
        let lines = std::array::from_fn(|k| {
            let [ex, ey] = outline.edges[k].map(|x| x.lane(0));
            let [ax, ay] = outline.corners[k].map(|x| x.lane(0));
            let per_length = side.signum() / ex.hypot(ey).max(f64::MIN_POSITIVE);
            let (nx, ny) = (-ey * per_length, ex * per_length);
            // n·(p − a) ≥ −reach for the sample of the block that lies farthest inward
            let best = (nx * size[0]).max(0.0) + (-ny * size[1]).max(0.0);
            [nx, ny, reach * 1.001 + 1e-3 * grid.spacing + best - nx * ax - ny * ay]
        });
        Some(Guard { lines })
    }

    #[inline(always)]
    fn touches(&self, [x, y]: [f64; 2]) -> bool {
        self.lines.iter().all(|[nx, ny, offset]| nx * x + ny * y + offset >= 0.0)
    }
}

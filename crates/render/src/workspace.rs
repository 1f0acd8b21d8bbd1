//! Scratch memory of the renderer.

use pullback_core::Workspace;
use pullback_math::{Real, Scalar, Vec3};

use crate::ball::Ball;
use crate::bins::Bins;
use crate::grid::Bound;
use crate::image::Image;
use crate::material::{Light, Reflectance};
use crate::outline::Outline;
use crate::settings::Settings;
use crate::triangle::Corners;

/// Scratch memory of [`render`](crate::render) and [`render_vjp`](crate::render_vjp). It grows to what a picture
/// takes and is used again, so later pictures of the same size allocate nothing.
#[derive(Clone, Debug, Default, Workspace)]
pub struct RenderWorkspace<T: Scalar> {
    pub(crate) placed: Placed<T>,
    pub(crate) triangles: Triangles<T>,
    pub(crate) balls: Balls<T>,
    pub(crate) lights: Vec<Light<T::Pack>>,
    pub(crate) samples: Samples<T::Pack>,
    pub(crate) bars: Bars<T>,
    /// What was drawn last: settings, faces and spheres.
    #[workspace(plain)]
    pub(crate) drawn: Option<Drawn>,
}

impl<T: Scalar> RenderWorkspace<T> {
    /// Empty memory.
    pub fn new() -> Self {
        RenderWorkspace::default()
    }
    /// Heap bytes held.
    pub fn heap_bytes(&self) -> usize {
        Workspace::heap_bytes(self)
    }
}

/// What a workspace holds the picture of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Drawn {
    pub settings: Settings,
    pub vertices: usize,
    pub spheres: usize,
    pub lights: usize,
}

/// Vertices of all surfaces in the camera's frame.
#[derive(Clone, Debug, Default, Workspace)]
pub(crate) struct Placed<T> {
    /// First vertex of each surface.
    pub first: Vec<usize>,
    /// First texel of each surface, and the number of all.
    pub first_texel: Vec<usize>,
    /// Positions.
    pub positions: Vec<Vec3<T>>,
    /// Sums of the normals of the faces around each vertex, weighted by area, where normals are interpolated.
    pub normals: Vec<Vec3<T>>,
}

/// Where a triangle comes from.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin {
    pub surface: u32,
    pub face: u32,
    /// Corners that are seen, and the number of the part; see [`clip`](crate::clip).
    pub kept: u8,
    pub part: u8,
}

/// Triangles that may be seen.
#[derive(Clone, Debug, Default, Workspace)]
pub(crate) struct Triangles<T> {
    pub origins: Vec<Origin>,
    pub bounds: Vec<Bound>,
    pub outlines: Vec<Outline<T>>,
    /// What corners carry; empty if only the silhouette is wanted.
    pub corners: Vec<Corners<T>>,
    pub bins: Bins,
}

/// Balls, those that cannot be seen too, with an empty bound.
#[derive(Clone, Debug, Default, Workspace)]
pub(crate) struct Balls<T> {
    pub bounds: Vec<Bound>,
    pub balls: Vec<Ball<T>>,
    pub bins: Bins,
}

/// What the samples of a block have seen besides their silhouette.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen<P> {
    /// SoftRas: the largest exponent zⱼ / γ. DIB-R: the triangle or ball in front, by number from 1; 0 if none.
    pub front: P,
    /// SoftRas: Σ wⱼ, with the background. DIB-R: its depth.
    pub total: P,
    pub color: Vec3<P>,
    pub depth: P,
    pub normal: Vec3<P>,
}

/// State of all samples, block by block; tiles one behind the other.
#[derive(Clone, Debug, Default, Workspace)]
pub(crate) struct Samples<P> {
    /// Π (1 − Dⱼ)
    pub through: Vec<P>,
    /// Everything else; empty if only the silhouette is wanted.
    pub seen: Vec<Seen<P>>,
}

/// Cotangent of what the samples of a block show.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SampleBar<P> {
    pub alpha: P,
    pub color: Vec3<P>,
    pub depth: P,
    pub normal: Vec3<P>,
}

/// Cotangents on their way back.
#[derive(Clone, Debug, Default, Workspace)]
pub(crate) struct Bars<T: Scalar> {
    /// Of what samples have seen, block by block.
    pub samples: Vec<SampleBar<T::Pack>>,
    /// Of corners on the screen, by entry of the triangles' bins.
    pub outlines: Vec<[[T; 2]; 3]>,
    /// Of what corners carry, and of the material, by entry.
    pub corners: Vec<Corners<T>>,
    pub reflectances: Vec<Reflectance<T>>,
    /// Of balls and of their material, by entry of the balls' bins.
    pub balls: Vec<Ball<T>>,
    pub ball_reflectances: Vec<Reflectance<T>>,
    /// Of lights and background, by tile.
    pub lights: Vec<Light<T::Pack>>,
    pub backgrounds: Vec<Vec3<T::Pack>>,
    /// Of all texels of all surfaces, by group of tiles.
    pub texels: Vec<Vec3<T>>,
    /// Of vertices and normals in the camera's frame.
    pub positions: Vec<Vec3<T>>,
    pub normals: Vec<Vec3<T>>,
    /// Of triangles, summed over entries.
    pub triangle_outlines: Vec<[[T; 2]; 3]>,
    pub triangle_corners: Vec<Corners<T>>,
}

/// Sets the length, with `value` in every place.
pub(crate) fn refill<X: Copy>(list: &mut Vec<X>, length: usize, value: X) {
    list.clear();
    list.resize(length, value);
}

/// The picture whose cotangent is asked for has the planes of the settings.
pub(crate) fn fits<T: Real>(image: &Image<T>, settings: &Settings) -> bool {
    let pixels = settings.width * settings.height;
    let planes = |asked: bool| if asked { pixels } else { 0 };
    let o = settings.outputs;
    (image.width, image.height, image.alpha.len()) == (settings.width, settings.height, pixels)
        && image.color.len() == planes(o.color)
        && image.depth.len() == planes(o.depth)
        && image.normal.len() == planes(o.normal)
}

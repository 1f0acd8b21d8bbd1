//! Pictures: planes of pixels, row by row from the top left.

use pullback_math::{Real, Vec3};

use crate::settings::{Outputs, Settings};

/// A picture. Planes that were not asked for are empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Image<T> {
    /// Pixels along x.
    pub width: usize,
    /// Pixels along y.
    pub height: usize,
    /// Silhouette: how much of each pixel is covered, 0 to 1.
    pub alpha: Vec<T>,
    /// Red, green and blue, with the background behind; linear.
    pub color: Vec<Vec3<T>>,
    /// Depth, m; the largest that the camera sees where nothing is.
    pub depth: Vec<T>,
    /// Normal toward the viewer in the camera's frame (x right, y up, z toward the viewer), times coverage.
    pub normal: Vec<Vec3<T>>,
}

impl<T: Real> Image<T> {
    /// A black picture with the planes that the settings ask for.
    pub fn new(settings: &Settings) -> Self {
        let mut image = Image::default();
        image.reshape(settings);
        image
    }

    /// Takes the shape that the settings ask for; what is drawn is kept only if nothing changes.
    pub(crate) fn reshape(&mut self, settings: &Settings) {
        let Outputs { color, depth, normal } = settings.outputs;
        let pixels = settings.width * settings.height;
        let planes = |asked: bool| if asked { pixels } else { 0 };
        (self.width, self.height) = (settings.width, settings.height);
        self.alpha.resize(pixels, T::zero());
        self.color.resize(planes(color), Vec3::zero());
        self.depth.resize(planes(depth), T::zero());
        self.normal.resize(planes(normal), Vec3::zero());
    }

    /// A cotangent of this picture, all zero.
    pub fn zero_like(&self) -> Self {
        self.map(|_| T::zero())
    }

    /// Every number through `f`, for example from one scalar type to another.
    pub fn map<U>(&self, f: impl Fn(T) -> U) -> Image<U> {
        Image {
            width: self.width,
            height: self.height,
            alpha: self.alpha.iter().map(|x| f(*x)).collect(),
            color: self.color.iter().map(|x| x.map(&f)).collect(),
            depth: self.depth.iter().map(|x| f(*x)).collect(),
            normal: self.normal.iter().map(|x| x.map(&f)).collect(),
        }
    }

    /// Heap bytes of the planes.
    pub fn heap_bytes(&self) -> usize {
        let numbers = self.alpha.len() + self.depth.len() + 3 * (self.color.len() + self.normal.len());
        numbers * size_of::<T>()
    }

    /// Whether both have the same planes.
    pub fn same_shape<U>(&self, other: &Image<U>) -> bool {
        let lengths = (self.alpha.len(), self.color.len(), self.depth.len(), self.normal.len());
        let others = (other.alpha.len(), other.color.len(), other.depth.len(), other.normal.len());
        (self.width, self.height, lengths) == (other.width, other.height, others)
    }

    /// Bytes of a picture whose colors are what screens show already.
    pub fn to_bytes(&self) -> Vec<u8> {
        let byte = |x: T| (255.0 * x.lane(0).clamp(0.0, 1.0) + 0.5) as u8;
        self.color.iter().flat_map(|c| [byte(c.x), byte(c.y), byte(c.z)]).collect()
    }

    /// Bytes of an sRGB picture, red, green and blue of each pixel.
    pub fn to_srgb(&self) -> Vec<u8> {
        let encode = |x: T| {
            let x = x.lane(0).clamp(0.0, 1.0);
            let encoded = if x <= 0.003_130_8 { 12.92 * x } else { 1.055 * x.powf(1.0 / 2.4) - 0.055 };
            (255.0 * encoded + 0.5) as u8
        };
        self.color.iter().flat_map(|c| [encode(c.x), encode(c.y), encode(c.z)]).collect()
    }
}

//! What is seen but exerts no force: cameras, lights, materials and textures, with MuJoCo's meaning and
//! defaults.

use std::path::PathBuf;

use pullback_math::{Quat, Vec3};

/// How a camera or light follows bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Following {
    /// Stays in the frame of its body.
    #[default]
    Fixed,
    /// Keeps its offset from the body and its orientation in the world.
    Track,
    /// Keeps its offset from the center of mass of the body's subtree and its orientation in the world.
    TrackCom,
    /// Stays in the frame of its body and looks at a body.
    TargetBody {
        /// The body it looks at.
        target: usize,
    },
    /// Stays in the frame of its body and looks at the center of mass of a body's subtree.
    TargetBodyCom {
        /// The body it looks at.
        target: usize,
    },
}

/// What a camera sees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Projection {
    /// A pinhole with a vertical field of view, degrees.
    Perspective {
        /// The angle between the upper and the lower border, degrees.
        fovy: f64,
    },
    /// Parallel rays over a vertical extent, m.
    Orthographic {
        /// The distance between the upper and the lower border, m.
        height: f64,
    },
    /// A pinhole by its focal length, the offset of its axis and the size of its sensor, m; horizontal first.
    Intrinsic {
        /// Focal lengths.
        focal: [f64; 2],
        /// Offset of the axis from the center of the sensor.
        principal: [f64; 2],
        /// Size of the sensor.
        sensorsize: [f64; 2],
    },
}

/// A camera; it looks along −z, with x to the right and y up.
#[derive(Clone, Debug, PartialEq)]
pub struct Camera {
    /// Unique name.
    pub name: String,
    /// The body that carries it.
    pub body: usize,
    /// Position in the body frame, m.
    pub position: Vec3<f64>,
    /// Orientation in the body frame.
    pub orientation: Quat<f64>,
    /// How it follows bodies.
    pub following: Following,
    /// What it sees.
    pub projection: Projection,
    /// Width and height of its picture in pixels; `None` leaves them to the renderer.
    pub resolution: Option<[u32; 2]>,
    /// Distance between the eyes of a stereo pair, m.
    pub ipd: f64,
}

/// The kind of a light.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LightKind {
    /// A cone.
    #[default]
    Spot,
    /// Parallel rays.
    Directional,
    /// All directions.
    Point,
    /// A texture around the scene.
    Image,
}

/// A light.
#[derive(Clone, Debug, PartialEq)]
pub struct Light {
    /// Unique name.
    pub name: String,
    /// The body that carries it.
    pub body: usize,
    /// Position in the body frame, m.
    pub position: Vec3<f64>,
    /// Unit vector along its rays, in the body frame.
    pub direction: Vec3<f64>,
    /// How it follows bodies.
    pub following: Following,
    /// Its kind.
    pub kind: LightKind,
    /// The texture of a light by image.
    pub texture: Option<usize>,
    /// Whether it is on.
    pub active: bool,
    /// Whether it casts shadows.
    pub castshadow: bool,
    /// Coefficients of distance to the powers 0, 1 and 2 in the denominator of its strength.
    pub attenuation: [f32; 3],
    /// Half angle of the cone of a spot, degrees.
    pub cutoff: f32,
    /// Sharpness of the border of a spot.
    pub exponent: f32,
    /// Radius of the bulb for soft shadows, m.
    pub bulbradius: f32,
    /// Strength for physically based rendering, candela; 0 leaves it to the renderer.
    pub intensity: f32,
    /// Distance beyond which it does not reach, m.
    pub range: f32,
    /// Color that reaches all.
    pub ambient: [f32; 3],
    /// Color of matt reflection.
    pub diffuse: [f32; 3],
    /// Color of highlights.
    pub specular: [f32; 3],
}

/// How a surface looks.
#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    /// Unique name.
    pub name: String,
    /// Color and opacity.
    pub rgba: [f32; 4],
    /// Texture of the color.
    pub texture: Option<usize>,
    /// How often the texture repeats, horizontally and vertically.
    pub texrepeat: [f32; 2],
    /// Whether `texrepeat` counts per meter instead of per object.
    pub texuniform: bool,
    /// Light it emits, as a factor of its color.
    pub emission: f32,
    /// Strength of highlights.
    pub specular: f32,
    /// Sharpness of highlights, 0 to 1.
    pub shininess: f32,
    /// Strength of mirror images, 0 to 1.
    pub reflectance: f32,
    /// How much of a metal it is for physically based rendering; negative: not told.
    pub metallic: f32,
    /// Roughness for physically based rendering; negative: not told.
    pub roughness: f32,
}

/// The shape onto which a texture is put.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextureKind {
    /// A plane, by texture coordinates.
    TwoD,
    /// A cube around the object.
    #[default]
    Cube,
    /// A cube around the scene.
    Skybox,
}

/// Patterns that need no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TexturePattern {
    /// From `rgb1` in the middle to `rgb2` at the border.
    Gradient,
    /// A checkerboard of both colors.
    Checker,
    /// `rgb1`, and `rgb2` on the lowest side of a cube.
    Flat,
}

/// Marks on top of a pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextureMark {
    /// None.
    #[default]
    None,
    /// The borders of each side.
    Edge,
    /// A cross on each side.
    Cross,
    /// Random dots.
    Random,
}

/// Where the pixels of a texture come from.
#[derive(Clone, Debug, PartialEq)]
pub enum TextureSource {
    /// A pattern.
    Builtin {
        /// The pattern.
        pattern: TexturePattern,
        /// First color.
        rgb1: [f32; 3],
        /// Second color.
        rgb2: [f32; 3],
        /// Marks on top.
        mark: TextureMark,
        /// Color of the marks.
        markrgb: [f32; 3],
        /// Probability of a random dot at a pixel.
        random: f32,
        /// Width in pixels; all sides of a cube are this wide.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
    /// One picture; of a cube, a grid of its sides.
    File {
        /// The file, its folder resolved.
        path: PathBuf,
        /// Rows and columns of the grid.
        gridsize: [u32; 2],
        /// The side in each cell, row by row: R, L, U, D, F, B, or `.` where there is none.
        gridlayout: String,
    },
    /// A picture for each side of a cube: right, left, up, down, front, back. Those without are filled with a
    /// color.
    Sides {
        /// The files, their folders resolved.
        paths: [Option<PathBuf>; 6],
        /// The color of sides without a file.
        rgb1: [f32; 3],
    },
}

/// A texture; its pixels are made or read by who renders.
#[derive(Clone, Debug, PartialEq)]
pub struct Texture {
    /// Unique name.
    pub name: String,
    /// The shape onto which it is put.
    pub kind: TextureKind,
    /// Where its pixels come from.
    pub source: TextureSource,
    /// Whether pictures are flipped, horizontally and vertically.
    pub flip: [bool; 2],
    /// Whether colors are sRGB; `None` leaves it to the file.
    pub srgb: Option<bool>,
    /// Channels of a pixel.
    pub channels: u32,
}

/// A light at the camera.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Headlight {
    /// Whether it is on.
    pub active: bool,
    /// Color that reaches all.
    pub ambient: [f32; 3],
    /// Color of matt reflection.
    pub diffuse: [f32; 3],
    /// Color of highlights.
    pub specular: [f32; 3],
}

impl Default for Headlight {
    fn default() -> Self {
        Headlight { active: true, ambient: [0.1; 3], diffuse: [0.4; 3], specular: [0.5; 3] }
    }
}

/// How a model asks to be looked at, apart from its cameras, lights and materials.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Visual {
    /// The light at the camera; `None` where the model does not say.
    pub headlight: Option<Headlight>,
    /// Whether the free camera has parallel rays.
    pub orthographic: bool,
    /// Vertical field of view of the free camera, degrees, or its extent, m; 45 where the model does not say.
    pub fovy: Option<f64>,
    /// Direction of view of the free camera around z, from x, degrees.
    pub azimuth: Option<f64>,
    /// Angle of its view above the plane of x and y, degrees.
    pub elevation: Option<f64>,
    /// Index of the camera that is looked through first.
    pub camera: Option<usize>,
    /// What the free camera looks at, m.
    pub center: Option<Vec3<f64>>,
    /// Size of the model, m: distances of the free camera and of what is near and far are counted in it.
    pub extent: Option<f64>,
    /// Smallest and largest depth that cameras see, in extents.
    pub near_and_far: [Option<f64>; 2],
    /// Texels along each side of the maps that shadows are made of; 0 for no shadows.
    pub shadow_texels: Option<u32>,
    /// Color toward which endless planes fade.
    pub haze: Option<[f32; 4]>,
    /// What the file says of looks that is not kept, a line each.
    pub notes: Vec<String>,
}

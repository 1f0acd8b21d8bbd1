//! What a replay is: plain data, filled in by whoever recorded the motion.

use serde::{Deserialize, Serialize};

/// Position in m and orientation as a quaternion wxyz.
pub type Pose = ([f64; 3], [f64; 4]);

/// The axis that points up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Up {
    /// y is up.
    Y,
    /// z is up.
    #[default]
    Z,
}

/// A recorded motion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Replay {
    /// Heading of the page.
    pub title: String,
    /// Nominal frames per second; the last frame is held for `1 / fps` before the motion repeats. Between
    /// frames the clock follows [`Frame::time`].
    pub fps: f64,
    /// The axis that points up.
    #[serde(default)]
    pub up: Up,
    /// Names of the bodies.
    pub bodies: Vec<String>,
    /// Shapes, each fixed to a body.
    pub geoms: Vec<ReplayGeom>,
    /// Shapes that deform, each with its vertices in every frame.
    #[serde(default)]
    pub soft: Vec<ReplaySoft>,
    /// Frames, in order of time.
    pub frames: Vec<Frame>,
    /// Scalars to plot over time: a name (with its unit) and one value per frame.
    #[serde(default)]
    pub series: Vec<(String, Vec<f64>)>,
}

/// A shape fixed to a body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayGeom {
    /// Name.
    pub name: String,
    /// Index of its body in [`Replay::bodies`].
    pub body: usize,
    /// Shape.
    pub shape: ReplayShape,
    /// Position in the body frame, m.
    pub position: [f64; 3],
    /// Orientation in the body frame, wxyz.
    pub orientation: [f64; 4],
    /// Color (sRGB) and opacity, 0 to 1.
    pub rgba: [f32; 4],
}

/// A shape that deforms: vertices of the world that move, with triangles, lines or dots between them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplaySoft {
    /// Name.
    pub name: String,
    /// Three indices of vertices each; seen from both sides.
    pub triangles: Vec<[u32; 3]>,
    /// Two indices of vertices each.
    #[serde(default)]
    pub lines: Vec<[u32; 2]>,
    /// Vertices shown as dots.
    #[serde(default)]
    pub dots: Vec<u32>,
    /// Radius of the dots, m.
    #[serde(default)]
    pub dot_radius: f64,
    /// Color (sRGB) and opacity, 0 to 1.
    pub rgba: [f32; 4],
    /// Vertices in the world at each frame, m; the same number in each.
    pub vertices: Vec<Vec<[f64; 3]>>,
}

/// A shape in its own frame. Sizes in m.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ReplayShape {
    /// The rectangle z = 0; a half width of 0 means without end.
    Plane {
        /// Half width along x.
        half_x: f64,
        /// Half width along y.
        half_y: f64,
    },
    /// A ball.
    Sphere {
        /// Radius.
        radius: f64,
    },
    /// A segment along z, rounded.
    Capsule {
        /// Radius.
        radius: f64,
        /// Half the length of the segment.
        half_length: f64,
    },
    /// A round bar along z.
    Cylinder {
        /// Radius.
        radius: f64,
        /// Half the length.
        half_length: f64,
    },
    /// A tube around a circle about z.
    Torus {
        /// Radius of the circle.
        ring: f64,
        /// Radius of the tube.
        tube: f64,
    },
    /// An ellipsoid.
    Ellipsoid {
        /// Half axes.
        radii: [f64; 3],
    },
    /// A box.
    Box {
        /// Half widths.
        half: [f64; 3],
    },
    /// A triangle mesh; triangles run counterclockwise seen from outside.
    Mesh {
        /// Corners.
        vertices: Vec<[f64; 3]>,
        /// Three indices of corners each.
        triangles: Vec<[u32; 3]>,
    },
}

/// One instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// Time, s; larger in each frame than in the one before.
    pub time: f64,
    /// Pose of each body in the world.
    pub poses: Vec<Pose>,
    /// Contacts at this instant.
    #[serde(default)]
    pub contacts: Vec<ContactMark>,
}

/// A contact to mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ContactMark {
    /// Where, in the world, m.
    pub position: [f64; 3],
    /// Unit normal, in the world.
    pub normal: [f64; 3],
    /// Force, in the world, N.
    pub force: [f64; 3],
    /// Gap between the surfaces, m; negative when they overlap.
    pub distance: f64,
}

impl Replay {
    /// A replay without bodies, geoms and frames, z up.
    pub fn new(title: impl Into<String>, fps: f64) -> Self {
        Self { title: title.into(), fps, ..Self::default() }
    }
}

impl ReplayGeom {
    /// A gray shape at the origin of a body.
    pub fn new(name: impl Into<String>, body: usize, shape: ReplayShape) -> Self {
        let rgba = [0.7, 0.7, 0.7, 1.0];
        Self { name: name.into(), body, shape, position: [0.0; 3], orientation: [1.0, 0.0, 0.0, 0.0], rgba }
    }
}

//! Cameras: mounted on bodies as models have them, and a free one as MuJoCo's viewer has it.

use pullback_core::registry::did_you_mean;
use pullback_math::{Mat3, Transform, Vec3};
use pullback_physics::articulated::{self, Following, Model};
use pullback_render::{Camera, Lens, Projection, look_rotation};

use super::{Look, LookError, Moment};

/// Which camera is looked through.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum CameraChoice {
    /// The one that the model asks for, else the free one.
    #[default]
    Default,
    /// The free camera, with these numbers in place of the model's.
    Free {
        /// Direction of view around z, from x, degrees.
        azimuth: Option<f64>,
        /// Angle of the view above the plane of x and y, degrees.
        elevation: Option<f64>,
        /// Distance from what it looks at, m.
        distance: Option<f64>,
        /// What it looks at, m.
        lookat: Option<[f64; 3]>,
    },
    /// A camera of the model, by name or number.
    Named(String),
}

impl CameraChoice {
    /// The free camera as the model has it.
    pub fn free() -> Self {
        CameraChoice::Free { azimuth: None, elevation: None, distance: None, lookat: None }
    }
}

/// A free camera, as MuJoCo has it: it stands `distance` behind `lookat` on the line of view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FreeView {
    /// What it looks at, m.
    pub lookat: Vec3<f64>,
    /// Distance from there, m.
    pub distance: f64,
    /// Direction of view around z, from x, degrees.
    pub azimuth: f64,
    /// Angle of the view above the plane of x and y, degrees; negative from above.
    pub elevation: f64,
    /// Whether rays are parallel.
    pub orthographic: bool,
    /// Vertical field of view, degrees; height of the view, m, if rays are parallel.
    pub fovy: f64,
    /// Smallest and largest depth, m.
    pub depths: [f64; 2],
}

impl Default for FreeView {
    fn default() -> Self {
        FreeView {
            lookat: Vec3::zero(),
            distance: 3.0,
            azimuth: 125.0,
            elevation: -20.0,
            orthographic: false,
            fovy: 45.0,
            depths: [0.01, 200.0],
        }
    }
}

impl FreeView {
    /// The camera of this view.
    pub fn camera(&self) -> Camera<f64> {
        let (sa, ca) = self.azimuth.to_radians().sin_cos();
        let (se, ce) = self.elevation.to_radians().sin_cos();
        let forward = Vec3::new(ce * ca, ce * sa, se);
        let eye = self.lookat - forward * self.distance;
        // Upward on the screen is where the view goes as it rises: defined straight down too.
        let up = Vec3::new(-se * ca, -se * sa, ce);
        let (projection, half) = projection(self.orthographic, self.fovy);
        Camera::look_at(Lens::new(projection, self.depths[0], self.depths[1]), eye, self.lookat, up, half)
    }
}

/// A camera of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Eye {
    /// Its name.
    pub name: String,
    mount: Mount,
    projection: Projection,
    half_height: f64,
    depths: [f64; 2],
    /// Size of its pictures, pixels, if the model says.
    pub resolution: Option<[u32; 2]>,
}

/// Something in the frame of a body, which may keep its orientation or look at a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mount {
    body: usize,
    following: Following,
    /// In the frame of the body.
    fixed: Transform<f64>,
    /// In the world at the reference configuration: offset from what is tracked, and orientation.
    tracked: (Vec3<f64>, Mat3<f64>),
}

impl Mount {
    pub fn new(
        look: &Look,
        reference: &Moment,
        body: usize,
        following: Following,
        fixed: Transform<f64>,
    ) -> Self {
        let pose = reference.poses[body];
        let from = match following {
            Following::TrackCom => look.subtree_center(reference, body),
            _ => pose.translation,
        };
        let tracked = (pose.point(fixed.translation) - from, pose.rotation * fixed.rotation);
        Mount { body, following, fixed, tracked }
    }

    /// Where it is in the world; −z is the direction of its view.
    pub fn pose(&self, look: &Look, moment: &Moment) -> Transform<f64> {
        let pose = moment.poses[self.body];
        let (position, rotation) = (pose.point(self.fixed.translation), pose.rotation * self.fixed.rotation);
        let aimed = |target: Vec3<f64>| {
            let up = Vec3::new(0.0, 0.0, 1.0);
            let steep = up.cross(position - target).norm() < 1e-9 * (position - target).norm().max(1e-12);
            Transform::new(if steep { rotation } else { look_rotation(position, target, up) }, position)
        };
        match self.following {
            Following::Fixed => Transform::new(rotation, position),
            Following::Track => Transform::new(self.tracked.1, pose.translation + self.tracked.0),
            Following::TrackCom => {
                Transform::new(self.tracked.1, look.subtree_center(moment, self.body) + self.tracked.0)
            }
            Following::TargetBody { target } => aimed(moment.poses[target].translation),
            Following::TargetBodyCom { target } => aimed(look.subtree_center(moment, target)),
        }
    }
}

impl Eye {
    /// The cameras of a model; what they ask for and pictures do not have is added to `notes`.
    pub(super) fn of_model(
        model: &Model,
        look: &Look,
        reference: &Moment,
        depths: [f64; 2],
        notes: &mut Vec<String>,
    ) -> Vec<Eye> {
        let eye = |camera: &articulated::Camera| {
            let fixed = Transform::from_quat(camera.orientation, camera.position);
            let (projection, half_height) = match camera.projection {
                articulated::Projection::Perspective { fovy } => projection(false, fovy),
                articulated::Projection::Orthographic { height } => projection(true, height),
                articulated::Projection::Intrinsic { focal, principal, sensorsize } => {
                    if principal != [0.0; 2] {
                        notes.push(format!("camera `{}`: the offset of its axis is not drawn", camera.name));
                    }
                    if (focal[0] - focal[1]).abs() > 1e-6 * focal[1].abs() {
                        notes.push(format!("camera `{}`: pixels are drawn square", camera.name));
                    }
                    (Projection::Perspective, 0.5 * sensorsize[1] / focal[1])
                }
            };
            Eye {
                name: camera.name.clone(),
                mount: Mount::new(look, reference, camera.body, camera.following, fixed),
                projection,
                half_height,
                depths,
                resolution: camera.resolution,
            }
        };
        model.cameras.iter().map(eye).collect()
    }

    fn camera(&self, look: &Look, moment: &Moment) -> Camera<f64> {
        let pose = self.mount.pose(look, moment);
        Camera {
            lens: Lens::new(self.projection, self.depths[0], self.depths[1]),
            position: pose.translation,
            world_from_camera: pose.rotation,
            half_height: self.half_height,
        }
    }
}

fn projection(orthographic: bool, fovy: f64) -> (Projection, f64) {
    match orthographic {
        true => (Projection::Orthographic, 0.5 * fovy),
        false => (Projection::Perspective, Camera::<f64>::half_height_of_degrees(fovy)),
    }
}

impl Look {
    /// The camera of the model that a choice means; `None` for the free one.
    pub fn eye(&self, choice: &CameraChoice) -> Result<Option<usize>, LookError> {
        let wanted = match choice {
            CameraChoice::Default => return Ok(self.first_camera),
            CameraChoice::Free { .. } => return Ok(None),
            CameraChoice::Named(wanted) => wanted,
        };
        let named = self.cameras.iter().position(|eye| eye.name == *wanted);
        let numbered = || wanted.parse().ok().filter(|i: &usize| *i < self.cameras.len());
        named.or_else(numbered).map(Some).ok_or_else(|| {
            let names = self.cameras.iter().enumerate().map(|(i, eye)| format!("{i} `{}`", eye.name));
            let there: Vec<String> = names.chain(["`free`".into()]).collect();
            let near = did_you_mean(wanted, self.cameras.iter().map(|eye| eye.name.as_str()));
            LookError::NoSuchCamera { wanted: wanted.clone(), near, there: there.join(", ") }
        })
    }

    /// The camera of a choice at a moment.
    pub fn camera(&self, choice: &CameraChoice, moment: &Moment) -> Result<Camera<f64>, LookError> {
        if let Some(eye) = self.eye(choice)? {
            return Ok(self.cameras[eye].camera(self, moment));
        }
        let mut view = self.free;
        let mut still = false;
        if let CameraChoice::Free { azimuth, elevation, distance, lookat } = choice {
            view.azimuth = azimuth.unwrap_or(view.azimuth);
            view.elevation = elevation.unwrap_or(view.elevation);
            view.distance = distance.unwrap_or(view.distance);
            if let Some([x, y, z]) = *lookat {
                (view.lookat, still) = (Vec3::new(x, y, z), true);
            }
        }
        if let (Some(body), false) = (self.followed, still) {
            // Along the ground alone: what jumps moves in the picture.
            let center = self.subtree_center(moment, body);
            (view.lookat.x, view.lookat.y) = (center.x, center.y);
        }
        Ok(view.camera())
    }
}

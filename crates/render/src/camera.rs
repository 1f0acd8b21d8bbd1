//! Cameras: where they are, how they look, and how points are seen by them.
//!
//! The camera's frame has x to the right, y up and z toward the viewer; it looks along −z. The depth of a
//! point is −z. On the screen y goes from −1 to 1 over the height of the image and x is in the same unit, so
//! that distances on the screen have no direction.

use pullback_math::{Cotangent, Mat3, Real, Vec3, differentiable};

/// How space is projected to the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Projection {
    /// Lines of sight meet in the position of the camera.
    Perspective,
    /// Lines of sight are parallel.
    Orthographic,
}

/// What of a camera is constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lens {
    /// How space is projected.
    pub projection: Projection,
    /// Smallest depth that is seen, m. Faces are cut there.
    pub near: f64,
    /// Largest depth that is seen, m; the depth of the background. Faces wholly beyond are not drawn.
    pub far: f64,
}

impl Lens {
    /// A projection that sees depths from `near` to `far`, m.
    pub fn new(projection: Projection, near: f64, far: f64) -> Self {
        Lens { projection, near, far }
    }
    /// Whether lines of sight meet in the position of the camera.
    pub fn is_perspective(self) -> bool {
        self.projection == Projection::Perspective
    }
}

impl Default for Lens {
    /// Perspective, depths from 1 m to 100 m: gradSim's.
    fn default() -> Self {
        Lens::new(Projection::Perspective, 1.0, 100.0)
    }
}

/// A camera.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera<T> {
    /// Projection and range of depths; constant.
    pub lens: Lens,
    /// Position, m.
    pub position: Vec3<T>,
    /// Axes of the camera's frame, as columns: right, up, toward the viewer.
    pub world_from_camera: Mat3<T>,
    /// Half the height of what is seen: in m for orthographic cameras, in m per m of depth (the tangent of
    /// half the vertical field of view) for perspective ones.
    pub half_height: T,
}

impl<T: Real> Camera<T> {
    /// A camera at `eye` (m) that looks at `target` (m), with `up` upward on the screen.
    pub fn look_at(lens: Lens, eye: Vec3<T>, target: Vec3<T>, up: Vec3<T>, half_height: T) -> Self {
        Camera { lens, position: eye, world_from_camera: look_rotation(eye, target, up), half_height }
    }
    /// Pullback of [`Camera::look_at`]: cotangents of eye, target, up and half the height.
    pub fn look_at_vjp(
        _lens: Lens,
        eye: Vec3<T>,
        target: Vec3<T>,
        up: Vec3<T>,
        _half_height: T,
        camera_bar: &Camera<T>,
    ) -> ((), Vec3<T>, Vec3<T>, Vec3<T>, T) {
        let (eye_bar, target_bar, up_bar) = look_rotation_vjp(eye, target, up, camera_bar.world_from_camera);
        ((), eye_bar + camera_bar.position, target_bar, up_bar, camera_bar.half_height)
    }

    /// A camera at `distance` (m) from `target`, at `azimuth` (rad) around z, from x, and at `elevation` (rad) above
    /// the plane of x and y; z is upward on the screen.
    pub fn orbit(lens: Lens, target: Vec3<T>, distance: T, azimuth: T, elevation: T, half_height: T) -> Self {
        let up = Vec3::new(T::zero(), T::zero(), T::one());
        Camera::look_at(lens, orbit_eye(target, distance, azimuth, elevation), target, up, half_height)
    }

    /// Half the height of a vertical field of view of `degrees`.
    pub fn half_height_of_degrees(degrees: f64) -> f64 {
        (0.5 * degrees.to_radians()).tan()
    }

    /// Every number through `f`, for example from one scalar type to another.
    pub fn map<U: Real>(&self, f: impl Fn(T) -> U) -> Camera<U> {
        Camera {
            lens: self.lens,
            position: self.position.map(&f),
            world_from_camera: self.world_from_camera.map(&f),
            half_height: f(self.half_height),
        }
    }

    /// Where the camera sees a point of the world: in the camera's frame.
    #[inline(always)]
    pub fn camera_from_world(&self, x: Vec3<T>) -> Vec3<T> {
        camera_frame(self.position, self.world_from_camera, x)
    }
    /// Pullback of [`Camera::camera_from_world`]: adds to the cotangent of the camera, returns that of x.
    #[inline(always)]
    pub fn camera_from_world_vjp(&self, x: Vec3<T>, out_bar: Vec3<T>, bar: &mut Camera<T>) -> Vec3<T> {
        let (position, axes, x_bar) = camera_frame_vjp(self.position, self.world_from_camera, x, out_bar);
        bar.position += position;
        bar.world_from_camera += axes;
        x_bar
    }
}

impl<T: Real> Cotangent for Camera<T> {
    fn zero_like(&self) -> Self {
        self.map(|_| T::zero())
    }
    fn accumulate(&mut self, other: Self) {
        self.position += other.position;
        self.world_from_camera += other.world_from_camera;
        self.half_height += other.half_height;
    }
}

/// Axes of a camera at `eye` that looks at `target`: right, up, toward the viewer.
#[differentiable]
pub fn look_rotation<T: Real>(eye: Vec3<T>, target: Vec3<T>, up: Vec3<T>) -> Mat3<T> {
    let back = (eye - target).normalize();
    let right = up.cross(back).normalize();
    Mat3::from_cols(right, back.cross(right), back)
}

/// x = target + distance (cos el cos az, cos el sin az, sin el)
#[differentiable]
pub fn orbit_eye<T: Real>(target: Vec3<T>, distance: T, azimuth: T, elevation: T) -> Vec3<T> {
    let (sin_az, cos_az) = azimuth.sin_cos();
    let (sin_el, cos_el) = elevation.sin_cos();
    target + Vec3::new(cos_el * cos_az, cos_el * sin_az, sin_el) * distance
}

/// Rᵀ (x − position)
#[differentiable]
#[inline(always)]
fn camera_frame<T: Real>(position: Vec3<T>, axes: Mat3<T>, x: Vec3<T>) -> Vec3<T> {
    axes.transpose_mul(x - position)
}

/// Place on the screen of a point in the camera's frame, whose depth is positive under perspective.
#[differentiable]
#[inline(always)]
pub fn screen<T: Real>(#[constant] perspective: bool, half_height: T, x: Vec3<T>) -> (T, T) {
    let scale = if perspective { (-(x.z * half_height)).recip() } else { half_height.recip() };
    (x.x * scale, x.y * scale)
}

//! `cartpole-pixels`: the task of [`super::cartpole`], with pictures in place of its state.
//!
//! Start, actions, reward and length of episodes are those of `cartpole`. The camera rides beside the cart, so that cart
//! and pole are never out of sight. Where the cart is on its track is seen from a strip below the track that begins
//! at x = 0 and goes on to the right: its end is in the picture for |x| < 2.6 m, and beyond that the strip is all
//! or nothing and tells the side.

use pullback_core::{ConfigError, Described};
use pullback_math::Vec3;
use pullback_render::{
    Camera, Lens, Material, Method, Outputs, Paint, Projection, Settings, SoftRas, shapes,
};
use pullback_video::{Shot, VisibleRobot};

use super::cartpole::Cartpole;
use super::pixels::Eye;

/// Pixels of a picture.
const SIZE: [usize; 2] = [32, 16];
/// Lowest and highest point of the picture, m. The pole reaches from −1 to 1.
const RANGE: [f64; 2] = [-1.5, 1.15];
/// Lowest and highest point of the strip, and how far it goes on, m.
const STRIP: [f64; 2] = [-1.5, -1.2];
const STRIP_LENGTH: f64 = 100.0;
/// Distance of the camera from the plane of motion, m.
const DISTANCE: f64 = 5.0;
/// Distance from an outline at which coverage falls to 1 / (1 + e), pixels.
const BLUR: f64 = 0.5;

/// The camera beside the cart.
pub fn eye(task: &Cartpole) -> Result<Eye, ConfigError> {
    let [low, high] = STRIP;
    let strip = shapes::rectangle(1, 1, STRIP_LENGTH, high - low);
    let strip = strip.moved(|x| Vec3::new(x.x + 0.5 * STRIP_LENGTH, 0.0, x.y + 0.5 * (low + high)));
    let white = Paint::Uniform(Vec3::new(1.0, 1.0, 1.0));
    let robot = task.robot();
    let visible = VisibleRobot::new(robot.field()).with_still(&strip, white, Material::matt());

    let [low, high] = RANGE;
    let (middle, half_height) = (0.5 * (low + high), 0.5 * (high - low));
    let [eye, target] = [-DISTANCE, 0.0].map(|y| Vec3::new(0.0, y, middle));
    let lens = Lens::new(Projection::Orthographic, 0.1, 2.0 * DISTANCE);
    let camera = Camera::look_at(lens, eye, target, Vec3::new(0.0, 0.0, 1.0), half_height);
    // σ is in squared half heights of the picture.
    let blur = BLUR * 2.0 / SIZE[1] as f64;
    let soft = SoftRas { sigma: blur * blur, ..SoftRas::default() };
    let settings = Settings::new(SIZE[0], SIZE[1]).with_method(Method::SoftRas(soft));
    let shot = Shot { camera, settings: settings.with_outputs(Outputs::silhouette()) };
    Ok(Eye { visible, shot, follows: robot.layout().state.index_of("slider.q")? })
}

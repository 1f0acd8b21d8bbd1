//! [`Shot`]: from where a scene is seen and how; [`film`]: the frames of a rollout.

use pullback_core::rollout::{Inputs, Rollout};
use pullback_core::{Point, System};
use pullback_math::Scalar;
use pullback_render::{Camera, Image, RenderError, RenderWorkspace, Settings, View, render};

use crate::error::VideoError;
use crate::visible::Visible;

/// From where a scene is seen, and how its pictures are made.
#[derive(Clone, Copy, Debug)]
pub struct Shot {
    /// From where.
    pub camera: Camera<f64>,
    /// Size and method.
    pub settings: Settings,
}

/// A picture of one step of a rollout.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// The step; 0 is the start.
    pub step: usize,
    /// The picture.
    pub image: Image<f64>,
}

/// Frames of a rollout at these steps, in ascending order.
pub fn film<S: System<f64>, V: Visible<f64>>(
    rollout: &Rollout<S>,
    inputs: &Inputs<f64>,
    visible: &V,
    shot: &Shot,
    steps: &[usize],
) -> Result<Vec<Frame>, VideoError> {
    let mut ws = rollout.workspace::<f64>();
    let mut stage = Stage::new(visible, shot);
    let (mut frames, mut failed) = (Vec::with_capacity(steps.len()), None);
    let last = inputs.controls.len() / rollout.steps.max(1) * rollout.steps.saturating_sub(1);
    rollout.simulate(&mut ws, inputs, |at| {
        if steps.binary_search(&at.step).is_err() || failed.is_some() {
            return;
        }
        let control = if at.last() { &inputs.controls[last..] } else { at.control };
        let point = Point { params: &inputs.params, state: at.state, control };
        match stage.draw(visible, point) {
            Ok(()) => frames.push(Frame { step: at.step, image: stage.image.clone() }),
            Err(error) => failed = Some(VideoError::Render { step: at.step, error }),
        }
    })?;
    failed.map_or(Ok(frames), Err)
}

/// Everything that drawing needs, allocated once.
pub(crate) struct Stage<T: Scalar, W> {
    pub visible: W,
    pub scene: pullback_render::Scene<T>,
    pub camera: Camera<T>,
    pub settings: Settings,
    pub render: RenderWorkspace<T>,
    pub image: Image<T>,
}

impl<T: Scalar, W> Stage<T, W> {
    pub fn new<V: Visible<T, Workspace = W>>(visible: &V, shot: &Shot) -> Self {
        Stage {
            visible: visible.workspace(),
            scene: visible.scene(),
            camera: shot.camera.map(T::lit),
            settings: shot.settings,
            render: RenderWorkspace::new(),
            image: Image::new(&shot.settings),
        }
    }

    /// The picture of a point, left in `image`.
    pub fn draw<V: Visible<T, Workspace = W>>(
        &mut self,
        visible: &V,
        at: Point<'_, T>,
    ) -> Result<(), RenderError> {
        visible.place(&mut self.visible, at, &mut self.scene);
        let view = View { scene: &self.scene, camera: &self.camera, settings: &self.settings };
        render(view, &mut self.render, &mut self.image)
    }
}

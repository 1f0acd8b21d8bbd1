//! [`Shot`]: from where a scene is seen and how; [`film`]: the frames of a rollout; [`Stage`]: pictures of single states
//! and their pullback.

use pullback_core::rollout::{Inputs, Rollout};
use pullback_core::{Bars, Point, System, Workspace};
use pullback_math::{Cotangent, Scalar};
use pullback_render::{
    Camera, Image, RenderError, RenderWorkspace, Scene, Settings, View, ViewBars, render, render_vjp,
};

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
    let last = inputs.controls.len() / rollout.steps().max(1) * rollout.steps().saturating_sub(1);
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

/// Everything that drawing pictures of states and pulling them back needs, allocated once.
#[derive(Debug)]
pub struct Stage<T: Scalar, W> {
    /// From where; that of the shot unless changed.
    pub camera: Camera<T>,
    /// The last picture.
    pub image: Image<T>,
    /// The cotangent of the camera, of the last pullback.
    pub camera_bar: Camera<T>,
    pub(crate) visible: W,
    scene: Scene<T>,
    scene_bar: Scene<T>,
    settings: Settings,
    render: RenderWorkspace<T>,
}

impl<T: Scalar, W: Workspace> Stage<T, W> {
    /// Memory for pictures of what is visible.
    pub fn new<V: Visible<T, Workspace = W>>(visible: &V, shot: &Shot) -> Self {
        let (scene, camera) = (visible.scene(), shot.camera.map(T::lit));
        Stage {
            image: Image::new(&shot.settings),
            camera_bar: camera.zero_like(),
            camera,
            visible: visible.workspace(),
            scene_bar: scene.zero_like(),
            scene,
            settings: shot.settings,
            render: RenderWorkspace::new(),
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

    /// The pullback of [`Stage::draw`], last called at the same point: *adds* to `bars`, and leaves the cotangent of
    /// the camera in `camera_bar`.
    pub fn draw_vjp<V: Visible<T, Workspace = W>>(
        &mut self,
        visible: &V,
        at: Point<'_, T>,
        image_bar: &Image<T>,
        bars: Bars<'_, T>,
    ) -> Result<(), RenderError> {
        self.pull(image_bar)?;
        visible.place_vjp(&mut self.visible, at, &self.scene_bar, bars);
        Ok(())
    }

    /// Cotangents of scene and camera of the last picture.
    pub(crate) fn pull(&mut self, image_bar: &Image<T>) -> Result<(), RenderError> {
        self.scene_bar.set_zero();
        self.camera_bar = self.camera.zero_like();
        let view = View { scene: &self.scene, camera: &self.camera, settings: &self.settings };
        let bars = ViewBars { scene: &mut self.scene_bar, camera: &mut self.camera_bar };
        render_vjp(view, &mut self.render, image_bar, bars)
    }

    /// Heap bytes held. Memory of the renderer grows with the number of faces that tiles see.
    pub fn heap_bytes(&self) -> usize {
        let scenes = self.scene.heap_bytes() + self.scene_bar.heap_bytes();
        self.visible.heap_bytes() + self.render.heap_bytes() + self.image.heap_bytes() + scenes
    }
}

//! [`Footage`]: recorded videos, compared with what a camera sees of simulated motions.
//!
//! The residual of a frame is r = C (I − I*), with the simulated and the recorded picture as rows of numbers, and C one of
//! [`Channels`] and [`Difference`]. The mean of r² over all frames is the pixel loss of gradSim.

use pullback_core::{Bars, Point, Workspace};
use pullback_math::{Real, Scalar};
use pullback_optim::least_squares::Compare;
use pullback_render::Image;

use crate::error::VideoError;
use crate::shot::{Frame, Shot, Stage};
use crate::visible::Visible;

/// Which numbers of a pixel are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Channels {
    /// Red, green, blue and coverage.
    #[default]
    Rgba,
    /// Red, green and blue.
    Color,
    /// Coverage alone.
    Silhouette,
}

impl Channels {
    fn colored(self) -> bool {
        self != Channels::Silhouette
    }
    fn covered(self) -> bool {
        self != Channels::Color
    }
    fn count(self) -> usize {
        3 * usize::from(self.colored()) + usize::from(self.covered())
    }
}

/// What is compared of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Difference {
    /// The numbers themselves.
    #[default]
    Values,
    /// Differences between neighbors along rows and columns: edges, whatever the brightness.
    Gradients,
}

/// How pixels become residuals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pixels {
    /// Which numbers of a pixel.
    pub channels: Channels,
    /// What of them.
    pub difference: Difference,
    /// Standard deviation of the noise of a residual, which it is divided by (1).
    pub noise: f64,
}

impl Default for Pixels {
    fn default() -> Self {
        Pixels { channels: Channels::default(), difference: Difference::default(), noise: 1.0 }
    }
}

/// Videos of motions, one for each part of a least squares problem, seen in one shot.
#[derive(Clone, Debug)]
pub struct Footage<V> {
    visible: V,
    shot: Shot,
    pixels: Pixels,
    videos: Vec<Vec<Frame>>,
}

impl<V: Visible<f64>> Footage<V> {
    /// Videos, one per part, whose frames are in ascending order of their steps and have the planes of the shot's
    /// pictures.
    pub fn new(visible: V, shot: Shot, pixels: Pixels, videos: Vec<Vec<Frame>>) -> Result<Self, VideoError> {
        if pixels.channels.colored() && !shot.settings.outputs.color {
            return Err(VideoError::NoColor);
        }
        let shape = Image::<f64>::new(&shot.settings);
        for (video, frames) in videos.iter().enumerate() {
            if let Some(frame) = frames.iter().position(|frame| !frame.image.same_shape(&shape)) {
                return Err(VideoError::Shape { video, frame });
            }
            if let Some(frame) = frames.windows(2).position(|pair| pair[0].step >= pair[1].step) {
                return Err(VideoError::Order { video, frame: frame + 1 });
            }
        }
        Ok(Footage { visible, shot, pixels, videos })
    }

    /// The recorded frames of each part.
    pub fn videos(&self) -> &[Vec<Frame>] {
        &self.videos
    }
}

impl<V> Footage<V> {
    /// Number of residuals of a part.
    pub fn residual_count(&self, part: usize) -> usize {
        self.videos[part].len() * self.frame_residuals()
    }

    /// Number of residuals of a frame.
    fn frame_residuals(&self) -> usize {
        let (w, h) = (self.shot.settings.width, self.shot.settings.height);
        let along = match self.pixels.difference {
            Difference::Values => w * h,
            Difference::Gradients => (w - 1) * h + w * (h - 1),
        };
        along * self.pixels.channels.count()
    }

    /// The number of a step's frame, if it has one.
    fn frame(&self, (part, step): (usize, usize)) -> Option<usize> {
        self.videos[part].binary_search_by_key(&step, |frame| frame.step).ok()
    }
}

/// Scratch memory of [`Footage`].
pub struct FootageWorkspace<T: Scalar, W> {
    stage: Stage<T, W>,
    image_bar: Image<T>,
    /// One channel of the difference of two pictures, and its cotangent.
    plane: Vec<T>,
}

impl<T: Scalar, W: Workspace> FootageWorkspace<T, W> {
    /// Heap bytes held. Memory of the renderer grows with the number of faces that tiles see.
    pub fn heap_bytes(&self) -> usize {
        let FootageWorkspace { stage, image_bar, plane } = self;
        stage.heap_bytes() + image_bar.heap_bytes() + plane.heap_bytes()
    }
}

impl<T, V> Compare<T> for Footage<V>
where
    T: Scalar,
    V: Visible<T>,
    V: Visible<f64>,
{
    type Workspace = FootageWorkspace<T, <V as Visible<T>>::Workspace>;

    fn workspace(&self) -> Self::Workspace {
        let stage = Stage::new::<V>(&self.visible, &self.shot);
        FootageWorkspace {
            image_bar: stage.image.zero_like(),
            plane: vec![T::zero(); self.shot.settings.width * self.shot.settings.height],
            stage,
        }
    }

    fn compare(&self, ws: &mut Self::Workspace, step: (usize, usize), at: Point<'_, T>, residuals: &mut [T]) {
        let Some(frame) = self.frame(step) else { return };
        let count = self.frame_residuals();
        let residuals = &mut residuals[frame * count..][..count];
        let FootageWorkspace { stage, plane, .. } = ws;
        if stage.draw::<V>(&self.visible, at).is_err() {
            // A picture that cannot be drawn has no residuals; searches see that the loss is not finite.
            return residuals.fill(T::lit(f64::NAN));
        }
        let recorded = &self.videos[step.0][frame].image;
        let per_noise = T::lit(self.pixels.noise.recip());
        let mut rest = residuals;
        for channel in self.pixels.channels.all() {
            for (i, x) in plane.iter_mut().enumerate() {
                *x = (channel.of(&stage.image, i) - T::lit(channel.of(recorded, i))) * per_noise;
            }
            let (own, others) = rest.split_at_mut(count / self.pixels.channels.count());
            self.spread(plane, own);
            rest = others;
        }
    }

    fn compare_vjp(
        &self,
        ws: &mut Self::Workspace,
        step: (usize, usize),
        at: Point<'_, T>,
        residuals_bar: &[T],
        bars: Bars<'_, T>,
    ) {
        let Some(frame) = self.frame(step) else { return };
        let count = self.frame_residuals();
        let per_noise = T::lit(self.pixels.noise.recip());
        let mut rest = &residuals_bar[frame * count..][..count];
        let FootageWorkspace { stage, image_bar, plane } = ws;
        let drawn = stage.draw::<V>(&self.visible, at);
        for channel in self.pixels.channels.all() {
            let (own, others) = rest.split_at(count / self.pixels.channels.count());
            plane.fill(T::zero());
            self.spread_vjp(own, plane);
            plane.iter().enumerate().for_each(|(i, bar)| channel.set(image_bar, i, *bar * per_noise));
            rest = others;
        }
        let Bars { params, state, control } = bars;
        let own = Bars { params, state: &mut *state, control };
        let pulled = drawn.and_then(|()| stage.draw_vjp::<V>(&self.visible, at, image_bar, own));
        if pulled.is_err() {
            // The rollout names the entry and the step of a gradient that is not finite.
            state.fill(T::lit(f64::NAN));
        }
    }

    /// That of a picture at this point and of its pullback.
    fn predict_bytes(&self, at: Point<'_, T>) -> usize {
        let mut ws = Compare::<T>::workspace(self);
        let FootageWorkspace { stage, image_bar, .. } = &mut ws;
        if stage.draw::<V>(&self.visible, at).is_ok() {
            // The cotangent is zero: nothing can fail to be finite.
            let _ = stage.pull(image_bar);
        }
        ws.heap_bytes()
    }
}

impl<V> Footage<V> {
    /// C d of one channel: adds to the residuals.
    fn spread<T: Real>(&self, plane: &[T], residuals: &mut [T]) {
        self.pairs(|residual, minus, plus| {
            residuals[residual] += match minus {
                Some(minus) => plane[plus] - plane[minus],
                None => plane[plus],
            };
        });
    }
    /// The pullback of [`Footage::spread`]: adds to the cotangent of the plane.
    fn spread_vjp<T: Real>(&self, residuals_bar: &[T], plane_bar: &mut [T]) {
        self.pairs(|residual, minus, plus| {
            plane_bar[plus] += residuals_bar[residual];
            if let Some(minus) = minus {
                plane_bar[minus] -= residuals_bar[residual];
            }
        });
    }
    /// Every residual of a channel with the pixels that it subtracts and adds.
    fn pairs(&self, mut f: impl FnMut(usize, Option<usize>, usize)) {
        let (w, h) = (self.shot.settings.width, self.shot.settings.height);
        if self.pixels.difference == Difference::Values {
            return (0..w * h).for_each(|i| f(i, None, i));
        }
        let along_rows = (0..w * h).filter(|i| i % w + 1 < w).map(|i| (i, i + 1));
        let along_columns = (0..w * (h - 1)).map(|i| (i, i + w));
        for (residual, (minus, plus)) in along_rows.chain(along_columns).enumerate() {
            f(residual, Some(minus), plus);
        }
    }
}

/// One number of a pixel.
#[derive(Clone, Copy, Debug)]
enum Channel {
    Red,
    Green,
    Blue,
    Alpha,
}

impl Channels {
    fn all(self) -> impl Iterator<Item = Channel> {
        let color = [Channel::Red, Channel::Green, Channel::Blue].into_iter().filter(move |_| self.colored());
        color.chain([Channel::Alpha].into_iter().filter(move |_| self.covered()))
    }
}

impl Channel {
    fn of<T: Copy>(self, image: &Image<T>, i: usize) -> T {
        match self {
            Channel::Red => image.color[i].x,
            Channel::Green => image.color[i].y,
            Channel::Blue => image.color[i].z,
            Channel::Alpha => image.alpha[i],
        }
    }
    fn set<T>(self, image: &mut Image<T>, i: usize, x: T) {
        match self {
            Channel::Red => image.color[i].x = x,
            Channel::Green => image.color[i].y = x,
            Channel::Blue => image.color[i].z = x,
            Channel::Alpha => image.alpha[i] = x,
        }
    }
}

//! [`Recorded`]: measured channels at any times, compared with outputs of a simulation.
//!
//! Outputs y = h(x, u, θ) are known at steps. Between steps they are interpolated by the cubic through four of them, which
//! leaves an error of the fourth order in the step where the motion is smooth. So a residual is Σ w y − measured over the
//! steps around its time, divided by the noise of its channel. Orientations are compared by the rotation vector from the
//! measured to the simulated one, which is 2 sin(angle/2) along the axis.

use pullback_core::{Bars, Point};
use pullback_math::{Flat, Quat, Real};

use super::rollout::Compare;

/// Outputs of a system: what sensors see.
pub trait Outputs<T: Real>: Sync {
    /// Scratch memory.
    type Workspace: Send;
    /// Allocates it.
    fn workspace(&self) -> Self::Workspace;
    /// Number of outputs.
    fn output_count(&self) -> usize;
    /// y = h(x, u, θ).
    fn outputs(&self, ws: &mut Self::Workspace, at: Point<'_, T>, out: &mut [T]);
    /// The pullback of [`Outputs::outputs`]: *adds* to `bars`.
    fn outputs_vjp(&self, ws: &mut Self::Workspace, at: Point<'_, T>, out_bar: &[T], bars: Bars<'_, T>);
}

/// The state itself.
#[derive(Clone, Copy, Debug)]
pub struct StateOutputs {
    /// Entries of the state.
    pub len: usize,
}

impl<T: Real> Outputs<T> for StateOutputs {
    type Workspace = ();
    fn workspace(&self) {}
    fn output_count(&self) -> usize {
        self.len
    }
    fn outputs(&self, _ws: &mut (), at: Point<'_, T>, out: &mut [T]) {
        out.copy_from_slice(at.state);
    }
    fn outputs_vjp(&self, _ws: &mut (), _at: Point<'_, T>, out_bar: &[T], bars: Bars<'_, T>) {
        bars.state.iter_mut().zip(out_bar).for_each(|(x, bar)| *x += *bar);
    }
}

/// What one channel measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// An output.
    Output(usize),
    /// The orientation in four outputs from this one on.
    Rotation(usize),
}

impl Channel {
    /// Residuals of a sample.
    pub fn residuals(self) -> usize {
        match self {
            Channel::Output(_) => 1,
            Channel::Rotation(_) => 3,
        }
    }
}

/// The steps around a time, with the weights of their outputs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// The first step.
    pub first: usize,
    /// How many steps.
    pub count: usize,
    /// A weight for each.
    pub weights: [f64; 4],
}

/// Times nearer than this part of a step to a step are at it.
const AT_STEP: f64 = 1e-6;

/// The steps around a time, in units of the step, of a rollout of so many steps.
pub fn moment(time: f64, steps: usize) -> Moment {
    let nearest = time.round();
    if (time - nearest).abs() <= AT_STEP || steps == 0 {
        return Moment {
            first: (nearest.max(0.0) as usize).min(steps),
            count: 1,
            weights: [1.0, 0.0, 0.0, 0.0],
        };
    }
    // The cubic through four steps, or the line where there are not so many.
    let below = (time.floor().max(0.0) as usize).min(steps - 1);
    let (first, count) = if steps >= 3 { (below.saturating_sub(1).min(steps - 3), 4) } else { (below, 2) };
    let mut weights = [0.0; 4];
    for i in 0..count {
        let others = (0..count).filter(|j| *j != i);
        let factor = |j: usize| (time - (first + j) as f64) / (i as f64 - j as f64);
        weights[i] = others.map(factor).product();
    }
    Moment { first, count, weights }
}

/// A measured value of a channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The channel.
    pub channel: usize,
    /// When.
    pub moment: Moment,
    /// The value; a quaternion (w, x, y, z) of a rotation.
    pub value: [f64; 4],
}

/// Part of a sample that a step contributes.
#[derive(Clone, Copy, Debug)]
struct Share {
    sample: usize,
    weight: f64,
    /// Whether the measured value is subtracted here.
    first: bool,
}

/// Samples of one part.
#[derive(Clone, Debug)]
struct Samples {
    samples: Vec<Sample>,
    /// First residual of each.
    rows: Vec<usize>,
    count: usize,
    /// What each step contributes.
    by_step: Vec<Vec<Share>>,
}

/// Measured channels of several parts.
#[derive(Clone, Debug)]
pub struct Recorded<O> {
    outputs: O,
    channels: Vec<Channel>,
    noise: Vec<f64>,
    parts: Vec<Samples>,
}

impl<O> Recorded<O> {
    /// Samples of parts with so many steps each; `noise` is the standard deviation of each channel.
    pub fn new(
        outputs: O,
        channels: Vec<Channel>,
        noise: Vec<f64>,
        parts: Vec<(usize, Vec<Sample>)>,
    ) -> Self {
        let part = |(steps, samples): (usize, Vec<Sample>)| {
            let (mut rows, mut count) = (Vec::new(), 0);
            let mut by_step = vec![Vec::new(); steps + 1];
            for (i, sample) in samples.iter().enumerate() {
                rows.push(count);
                count += channels[sample.channel].residuals();
                for k in 0..sample.moment.count {
                    let share = Share { sample: i, weight: sample.moment.weights[k], first: k == 0 };
                    by_step[sample.moment.first + k].push(share);
                }
            }
            Samples { samples, rows, count, by_step }
        };
        let parts = parts.into_iter().map(part).collect();
        Recorded { outputs, channels, noise, parts }
    }

    /// Residuals of a part.
    pub fn residual_count(&self, part: usize) -> usize {
        self.parts[part].count
    }

    /// Samples of a part, each with its first residual.
    pub fn samples(&self, part: usize) -> impl Iterator<Item = (usize, &Sample)> {
        let Samples { samples, rows, .. } = &self.parts[part];
        rows.iter().copied().zip(samples)
    }

    /// What the channels measure.
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// Standard deviation of each channel.
    pub fn noise(&self) -> &[f64] {
        &self.noise
    }

    /// The same with other standard deviations.
    pub fn set_noise(&mut self, noise: Vec<f64>) {
        self.noise = noise;
    }
}

/// Memory of [`Recorded`].
pub struct RecordedWorkspace<T, W> {
    outputs: W,
    y: Vec<T>,
    y_bar: Vec<T>,
}

/// Rows of p ↦ vector part of q* p, for the measured q.
fn from_measured(q: [f64; 4]) -> [[f64; 4]; 3] {
    let [w, x, y, z] = q;
    [[-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]]
}

impl<O> Recorded<O> {
    /// The sign that makes the angle from the measured to the simulated orientation less than half a turn.
    fn side<T: Real>(measured: &[f64; 4], simulated: Quat<T>) -> T {
        let p = [simulated.w, simulated.x, simulated.y, simulated.z];
        let mut along = T::zero();
        p.iter().zip(measured).for_each(|(p, q)| along += *p * T::lit(*q));
        T::select(along.lt(T::zero()), T::lit(-2.0), T::lit(2.0))
    }
}

impl<T: Real, O: Outputs<T>> Compare<T> for Recorded<O> {
    type Workspace = RecordedWorkspace<T, O::Workspace>;

    fn workspace(&self) -> Self::Workspace {
        let zeros = vec![T::zero(); self.outputs.output_count()];
        RecordedWorkspace { outputs: self.outputs.workspace(), y: zeros.clone(), y_bar: zeros }
    }

    fn compare(
        &self,
        ws: &mut Self::Workspace,
        (part, step): (usize, usize),
        at: Point<'_, T>,
        out: &mut [T],
    ) {
        let Samples { samples, rows, by_step, .. } = &self.parts[part];
        if by_step[step].is_empty() {
            return;
        }
        let y = &mut ws.y;
        self.outputs.outputs(&mut ws.outputs, at, y);
        for share in &by_step[step] {
            let (sample, row) = (&samples[share.sample], rows[share.sample]);
            // w y / σ, less the measured value / σ once
            let scale = 1.0 / self.noise[sample.channel];
            match self.channels[sample.channel] {
                Channel::Output(i) => {
                    out[row] += y[i] * T::lit(share.weight * scale);
                    if share.first {
                        out[row] += T::lit(-sample.value[0] * scale);
                    }
                }
                Channel::Rotation(first) => {
                    let q = Quat::read(&y[first..]).normalize();
                    let side = Self::side(&sample.value, q) * T::lit(share.weight * scale);
                    for (i, by) in from_measured(sample.value).iter().enumerate() {
                        let turn = q.w * T::lit(by[0])
                            + q.x * T::lit(by[1])
                            + q.y * T::lit(by[2])
                            + q.z * T::lit(by[3]);
                        out[row + i] += side * turn;
                    }
                }
            }
        }
    }

    fn compare_vjp(
        &self,
        ws: &mut Self::Workspace,
        (part, step): (usize, usize),
        at: Point<'_, T>,
        residuals_bar: &[T],
        bars: Bars<'_, T>,
    ) {
        let Samples { samples, rows, by_step, .. } = &self.parts[part];
        if by_step[step].is_empty() {
            return;
        }
        let RecordedWorkspace { outputs, y, y_bar } = ws;
        self.outputs.outputs(outputs, at, y);
        y_bar.fill(T::zero());
        for share in &by_step[step] {
            let (sample, row) = (&samples[share.sample], rows[share.sample]);
            let scale = T::lit(share.weight / self.noise[sample.channel]);
            match self.channels[sample.channel] {
                Channel::Output(i) => y_bar[i] += residuals_bar[row] * scale,
                Channel::Rotation(first) => {
                    let q = Quat::read(&y[first..]);
                    let unit = q.normalize();
                    let side = Self::side(&sample.value, unit) * scale;
                    let mut bar = [T::zero(); 4];
                    for (i, by) in from_measured(sample.value).iter().enumerate() {
                        let r_bar = side * residuals_bar[row + i];
                        bar.iter_mut().zip(by).for_each(|(b, m)| *b += r_bar * T::lit(*m));
                    }
                    let [w, x, y, z] = bar;
                    q.normalize_vjp(Quat::new(w, x, y, z)).add_to(&mut y_bar[first..]);
                }
            }
        }
        self.outputs.outputs_vjp(outputs, at, y_bar, bars);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cubics_are_interpolated_exactly() {
        let cubic = |t: f64| 1.0 - 2.0 * t + 0.5 * t * t - 0.1 * t.powi(3);
        for steps in [3, 4, 10] {
            for time in [0.0, 0.3, 1.5, 2.0, 2.999] {
                let Moment { first, count, weights } = moment(time, steps);
                assert!(first + count <= steps + 1);
                let value: f64 = (0..count).map(|i| weights[i] * cubic((first + i) as f64)).sum();
                assert!((value - cubic(time)).abs() < 1e-12, "{steps} steps, at {time}");
            }
        }
        let Moment { first, count, weights } = moment(0.25, 1);
        assert_eq!((first, count, weights), (0, 2, [0.75, 0.25, 0.0, 0.0]));
    }
}

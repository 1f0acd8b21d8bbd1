//! [`Knots`]: controls that go from one value to the next in straight lines, in segments of equal time. All
//! lanes share one time.

use pullback_math::Real;

use super::Drive;
use crate::layout::Slice;

/// The value at the end of each segment is a parameter, `schedule`, segment after segment; the start is
/// given, the last value is held.
#[derive(Clone, Debug)]
pub struct Knots {
    start: Vec<f64>,
    segment: f64,
    values: Vec<f64>,
}

impl Knots {
    /// From `start` to each of `values` in turn, `segment` seconds each.
    pub fn new<const N: usize>(start: [f64; N], segment: f64, values: &[[f64; N]]) -> Self {
        Knots { start: start.to_vec(), segment, values: values.concat() }
    }

    /// The segment at a time, how far it has come (0 to 1), and whether it still moves.
    fn place<T: Real>(&self, time: T) -> (usize, T, bool) {
        let position = time * T::lit(1.0 / self.segment);
        let segments = self.values.len() / self.start.len();
        let at = position.lane(0).max(0.0);
        let segment = (at as usize).min(segments - 1);
        let fraction = position - T::lit(segment as f64);
        if at < segments as f64 { (segment, fraction, true) } else { (segment, T::one(), false) }
    }

    /// Values at both ends of a segment.
    fn ends<T: Real>(&self, params: &[T], segment: usize, i: usize) -> (T, T) {
        let n = self.start.len();
        let before = if segment == 0 { T::lit(self.start[i]) } else { params[(segment - 1) * n + i] };
        (before, params[segment * n + i])
    }
}

impl Drive for Knots {
    fn outputs(&self) -> usize {
        self.start.len()
    }
    fn slice(&self) -> Slice {
        Slice::new("schedule", self.values.len(), "1").default(&self.values)
    }

    fn eval<T: Real>(&self, params: &[T], time: T, out: &mut [T]) {
        let (segment, fraction, _) = self.place(time);
        for (i, u) in out.iter_mut().enumerate() {
            let (before, after) = self.ends(params, segment, i);
            *u = before + (after - before) * fraction;
        }
    }

    fn eval_vjp<T: Real>(&self, params: &[T], time: T, out_bar: &[T], params_bar: &mut [T]) -> T {
        let (segment, fraction, moves) = self.place(time);
        let n = self.start.len();
        let mut time_bar = T::zero();
        for (i, bar) in out_bar.iter().enumerate() {
            let (before, after) = self.ends(params, segment, i);
            params_bar[segment * n + i] += *bar * fraction;
            if segment > 0 {
                params_bar[(segment - 1) * n + i] += *bar * (T::one() - fraction);
            }
            if moves {
                time_bar += *bar * (after - before) * T::lit(1.0 / self.segment);
            }
        }
        time_bar
    }
}

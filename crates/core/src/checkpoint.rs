//! Reversing a long chain x₍ᵢ₊₁₎ = Fᵢ(xᵢ) with little memory.
//!
//! The pullback of step i needs xᵢ. All schedules are one two-level scheme: the chain is cut into frames of
//! `frame` steps; the states at frame starts are kept in at most `slots` places, chosen by Griewank and
//! Walther's binomial rule (*revolve*, ACM TOMS 26, 2000), which needs the fewest recomputed steps possible
//! for that many slots; inside a frame all states are recomputed once and kept. Storing everything is
//! `frame = 1, slots = steps`.
//!
//! Recomputed states are the same to the last bit, so the schedule never changes a gradient.

use serde::Serialize;

use crate::Workspace;
use crate::error::{ConfigError, StepError};

/// How the states of a rollout are kept for the way back.
///
/// ```
/// # use pullback_core::doc_example::falling;
/// use pullback_core::{Rollout, Schedule};
/// let bytes = |schedule| Rollout::new(falling(0.01), 1000, schedule).unwrap().predict_bytes::<f64>();
/// assert!(10 * bytes(Schedule::Revolve { slots: 20 }) < bytes(Schedule::StoreAll));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// Every state; nothing is recomputed.
    StoreAll,
    /// Every k-th state; each stretch of k is recomputed once.
    Every(usize),
    /// A fixed number of states, placed optimally; memory does not grow with the horizon.
    Revolve {
        /// States kept at a time.
        slots: usize,
    },
    /// Frames of many substeps: frame starts by revolve, the substeps of one frame at a time recomputed and
    /// kept.
    TwoLevel {
        /// Substeps per frame.
        frame: usize,
        /// Frame starts kept at a time.
        slots: usize,
    },
}

/// A chain of steps to reverse.
pub trait Chain<T> {
    /// next = Fᵢ(x).
    fn forward(&mut self, i: usize, x: &[T], next: &mut [T]) -> Result<(), StepError>;
    /// Pulls the cotangent that the chain holds back through Fᵢ at x.
    fn backward(&mut self, i: usize, x: &[T]) -> Result<(), StepError>;
}

/// The sizes that follow from a schedule and a number of steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Steps of the chain.
    pub steps: usize,
    /// Steps per frame.
    pub frame: usize,
    /// Frame starts kept.
    pub slots: usize,
}

impl Plan {
    /// Sizes of `schedule` over `steps` steps.
    pub fn new(schedule: Schedule, steps: usize) -> Result<Plan, ConfigError> {
        let (frame, slots) = match schedule {
            Schedule::StoreAll => (1, steps),
            Schedule::Every(k) => (k, steps.div_ceil(k.max(1))),
            Schedule::Revolve { slots } => (1, slots),
            Schedule::TwoLevel { frame, slots } => (frame, slots),
        };
        if frame == 0 || (slots == 0 && steps > 0) {
            return Err(ConfigError::new(format!(
                "schedule {schedule:?} needs at least one slot and one step per frame"
            )));
        }
        let frame = frame.min(steps.max(1));
        Ok(Plan { steps, frame, slots: slots.min(steps.div_ceil(frame)).max(1) })
    }

    /// Number of frames.
    pub fn frames(&self) -> usize {
        self.steps.div_ceil(self.frame)
    }

    /// States held at the peak: the slots, the inside of one frame, and two for stepping.
    pub fn states(&self) -> usize {
        self.slots + (self.frame - 1) + 2
    }

    /// Heap bytes of a [`Reversal`] by this plan.
    pub fn heap_bytes<T>(&self, state_len: usize) -> usize {
        self.states() * state_len * size_of::<T>() + self.slots * size_of::<usize>()
    }

    /// Forward steps for value and gradient together, first sweep included; over `steps`, the recompute
    /// factor. Exact when the frames are equally long.
    pub fn forward_steps(&self) -> usize {
        let frames = self.frames();
        if frames == 0 {
            return 0;
        }
        // t(l, c) = r l − β(c + 1, r − 1), with r the smallest number of sweeps for which l ≤ β(c, r).
        let sweeps = sweeps(frames, self.slots);
        let advances = match sweeps {
            0 => 0,
            r => r as u128 * frames as u128 - binomial(self.slots + 1, r - 1),
        };
        let first_way_back = if self.frame == 1 { 0 } else { self.last_stretch() - 1 };
        (advances as usize + 1 + first_way_back) * self.frame + frames * (self.frame - 1)
    }

    /// Frames between the last checkpoint of the forward sweep and the end.
    fn last_stretch(&self) -> usize {
        let (mut length, mut slots) = (self.frames(), self.slots);
        while slots > 1 && length > 1 {
            length -= split(length, slots);
            slots -= 1;
        }
        length
    }
}

/// β(c, r) = (c + r)! / (c! r!): the longest chain that c slots reverse in r sweeps.
fn binomial(c: usize, r: usize) -> u128 {
    let mut product: u128 = 1;
    for k in 1..=r as u128 {
        product = product.saturating_mul(c as u128 + k) / k;
    }
    product
}

/// Smallest r with `length` ≤ β(slots, r).
fn sweeps(length: usize, slots: usize) -> usize {
    let mut r = 0;
    while binomial(slots, r) < length as u128 {
        r += 1;
    }
    r
}

/// Where to put the next checkpoint in a stretch of `length` frames with `slots` slots, its start included.
fn split(length: usize, slots: usize) -> usize {
    let r = sweeps(length, slots);
    let left = binomial(slots, r - 1).min(length as u128 - binomial(slots - 1, r - 1));
    left as usize
}

/// The memory of one reversal, allocated once and used for many.
#[derive(Debug, Workspace)]
pub struct Reversal<T> {
    #[workspace(plain)]
    plan: Plan,
    state_len: usize,
    /// Frame starts, `slots` states.
    kept: Vec<T>,
    /// Which frame each kept state starts: a stack, growing with the index.
    starts: Vec<usize>,
    /// States inside the frame being reversed, without its first.
    inside: Vec<T>,
    /// The state being advanced.
    current: Vec<T>,
    /// The state after it.
    next: Vec<T>,
    /// Forward steps taken since the last [`Reversal::forward`] began.
    pub forward_steps: usize,
}

impl<T: Copy> Reversal<T> {
    /// Allocates for `plan` over states of `state_len` entries; `zero` fills the memory.
    pub fn new(plan: Plan, state_len: usize, zero: T) -> Self {
        Reversal {
            plan,
            state_len,
            kept: vec![zero; plan.slots * state_len],
            starts: Vec::with_capacity(plan.slots),
            inside: vec![zero; (plan.frame - 1) * state_len],
            current: vec![zero; state_len],
            next: vec![zero; state_len],
            forward_steps: 0,
        }
    }

    /// The state after the last step of the forward sweep.
    pub fn final_state(&self) -> &[T] {
        &self.current
    }

    /// Runs the whole chain from `start`, leaving the first checkpoints.
    pub fn forward(&mut self, chain: &mut impl Chain<T>, start: &[T]) -> Result<(), StepError> {
        self.forward_steps = 0;
        self.starts.clear();
        self.current.copy_from_slice(start);
        let frames = self.plan.frames();
        if frames == 0 {
            return Ok(());
        }
        self.keep(0);
        let mut next_kept = self.next_checkpoint(frames);
        for frame in 0..frames {
            if next_kept == Some(frame) {
                self.keep(frame);
                next_kept = self.next_checkpoint(frames);
            }
            self.advance_frame(chain, frame)?;
        }
        Ok(())
    }

    /// Pulls back through all steps, last first; [`Reversal::forward`] must have run.
    pub fn backward(&mut self, chain: &mut impl Chain<T>) -> Result<(), StepError> {
        let mut end = self.plan.frames();
        if self.plan.frame == 1 && end > 0 {
            // The forward sweep has left the state before its last step.
            end -= 1;
            chain.backward(end, &self.next)?;
            self.starts.pop_if(|start| *start == end);
        }
        while let Some(&start) = self.starts.last() {
            if end - start == 1 {
                // The kept state starts the last open frame: reverse it and free the slot.
                self.restore();
                self.reverse_frame(chain, start)?;
                self.starts.pop();
                end = start;
            } else if self.starts.len() == self.plan.slots {
                // No slot left: run up to the last open frame.
                self.restore();
                for frame in start..end - 1 {
                    self.advance_frame(chain, frame)?;
                }
                self.reverse_frame(chain, end - 1)?;
                end -= 1;
            } else {
                // Run to the next checkpoint and keep it.
                let middle = self.next_checkpoint(end).unwrap_or(start + 1);
                self.restore();
                for frame in start..middle {
                    self.advance_frame(chain, frame)?;
                }
                self.keep(middle);
            }
        }
        Ok(())
    }

    /// The frame to keep next between the last kept one and `end`, if a slot is free.
    fn next_checkpoint(&self, end: usize) -> Option<usize> {
        let start = *self.starts.last()?;
        let free = self.plan.slots - self.starts.len();
        (free > 0 && end - start > 1).then(|| start + split(end - start, free + 1))
    }

    fn keep(&mut self, frame: usize) {
        let at = self.starts.len() * self.state_len;
        self.kept[at..at + self.state_len].copy_from_slice(&self.current);
        self.starts.push(frame);
    }

    fn restore(&mut self) {
        let at = (self.starts.len() - 1) * self.state_len;
        self.current.copy_from_slice(&self.kept[at..at + self.state_len]);
    }

    fn steps_of(&self, frame: usize) -> std::ops::Range<usize> {
        frame * self.plan.frame..((frame + 1) * self.plan.frame).min(self.plan.steps)
    }

    fn advance_frame(&mut self, chain: &mut impl Chain<T>, frame: usize) -> Result<(), StepError> {
        for i in self.steps_of(frame) {
            self.advance(chain, i)?;
        }
        Ok(())
    }

    fn advance(&mut self, chain: &mut impl Chain<T>, i: usize) -> Result<(), StepError> {
        chain.forward(i, &self.current, &mut self.next)?;
        std::mem::swap(&mut self.current, &mut self.next);
        self.forward_steps += 1;
        Ok(())
    }

    /// Reverses the frame whose first state is `current`.
    fn reverse_frame(&mut self, chain: &mut impl Chain<T>, frame: usize) -> Result<(), StepError> {
        let steps = self.steps_of(frame);
        let n = self.state_len;
        if steps.len() == 1 {
            return chain.backward(steps.start, &self.current);
        }
        // inside[j] is the state after j + 1 steps of this frame.
        self.next.copy_from_slice(&self.current);
        for (j, i) in (steps.start..steps.end - 1).enumerate() {
            let (done, todo) = self.inside.split_at_mut(j * n);
            let from = if j == 0 { &self.current[..] } else { &done[(j - 1) * n..] };
            chain.forward(i, from, &mut todo[..n])?;
            self.forward_steps += 1;
        }
        for (j, i) in steps.enumerate().rev() {
            let at = if j == 0 { &self.current[..] } else { &self.inside[(j - 1) * n..j * n] };
            chain.backward(i, at)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// x₍ᵢ₊₁₎ = xᵢ + i: each state tells which step it belongs to.
    struct Recorder {
        reversed: Vec<usize>,
    }

    impl Chain<u64> for Recorder {
        fn forward(&mut self, i: usize, x: &[u64], next: &mut [u64]) -> Result<(), StepError> {
            assert_eq!(x[0], (i * i.saturating_sub(1) / 2) as u64, "step {i} got another step's state");
            next[0] = x[0] + i as u64;
            Ok(())
        }
        fn backward(&mut self, i: usize, x: &[u64]) -> Result<(), StepError> {
            assert_eq!(
                x[0],
                (i * i.saturating_sub(1) / 2) as u64,
                "step {i} pulled back at another step's state"
            );
            self.reversed.push(i);
            Ok(())
        }
    }

    fn reverse(schedule: Schedule, steps: usize) -> (Plan, usize) {
        let plan = Plan::new(schedule, steps).unwrap();
        let mut memory = Reversal::new(plan, 1, 0u64);
        assert_eq!(memory.heap_bytes(), plan.heap_bytes::<u64>(1));
        let mut chain = Recorder { reversed: Vec::new() };
        memory.forward(&mut chain, &[0]).unwrap();
        memory.backward(&mut chain).unwrap();
        assert!(chain.reversed.iter().rev().copied().eq(0..steps), "{schedule:?} over {steps} steps");
        assert_eq!(memory.heap_bytes(), plan.heap_bytes::<u64>(1), "memory grew");
        (plan, memory.forward_steps)
    }

    #[test]
    fn every_schedule_reverses_every_step_once() {
        for steps in [0, 1, 2, 3, 7, 10, 64, 100, 257] {
            reverse(Schedule::StoreAll, steps);
            for k in [1, 2, 3, 10, 1000] {
                reverse(Schedule::Every(k), steps);
                reverse(Schedule::Revolve { slots: k }, steps);
                reverse(Schedule::TwoLevel { frame: k, slots: 3 }, steps);
            }
        }
    }

    #[test]
    fn revolve_takes_the_optimal_number_of_steps() {
        // Griewank and Walther: 10 steps with 3 snapshots need t(10, 3) = 2·10 − β(4, 1) = 15 advances.
        let (plan, taken) = reverse(Schedule::Revolve { slots: 3 }, 10);
        assert_eq!((plan.forward_steps(), taken), (16, 16));
        for (steps, slots) in [(100, 1), (100, 5), (1000, 10), (5000, 64), (17, 17), (300, 2)] {
            let (plan, taken) = reverse(Schedule::Revolve { slots }, steps);
            assert_eq!(plan.forward_steps(), taken, "{steps} steps, {slots} slots");
        }
        let (plan, taken) = reverse(Schedule::TwoLevel { frame: 10, slots: 4 }, 200);
        assert_eq!(plan.forward_steps(), taken);
    }

    #[test]
    fn storing_all_recomputes_nothing() {
        assert_eq!(reverse(Schedule::StoreAll, 1000).1, 1000);
    }

    #[test]
    fn no_slot_is_an_error() {
        assert!(Plan::new(Schedule::Revolve { slots: 0 }, 10).is_err());
        assert!(Plan::new(Schedule::Every(0), 10).is_err());
    }
}

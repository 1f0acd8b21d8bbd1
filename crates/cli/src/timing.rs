//! Timing of short functions: minimum and median over many interleaved repetitions.
//!
//! The minimum is the figure least disturbed by whatever else the machine does; interleaving lets a slow
//! moment hit all contenders alike.

use std::time::Instant;

/// A function under test and the best time seen, in nanoseconds per call.
pub struct Contender<'a> {
    /// What it is.
    pub name: String,
    /// Runs the function `n` times.
    run: Box<dyn FnMut(usize) + 'a>,
    /// Calls per repetition.
    calls: usize,
    /// Units per call.
    units: usize,
    /// Best nanoseconds per unit, which is a call when nothing else is said.
    pub best: f64,
    /// Nanoseconds per unit of every repetition.
    times: Vec<f64>,
}

impl<'a> Contender<'a> {
    /// `run(n)` must run the function n times.
    pub fn new(name: impl Into<String>, run: impl FnMut(usize) + 'a) -> Self {
        let (name, run) = (name.into(), Box::new(run));
        Contender { name, run, calls: 1, units: 1, best: f64::INFINITY, times: Vec::new() }
    }

    /// Counts each call as `n` units, so that the best is nanoseconds per unit.
    pub fn per_call(mut self, n: usize) -> Self {
        self.units = n;
        self
    }

    /// Median of the nanoseconds per unit, over all races.
    pub fn median(&self) -> f64 {
        median(&self.times)
    }

    fn measure(&mut self) -> f64 {
        let start = Instant::now();
        (self.run)(self.calls);
        start.elapsed().as_secs_f64()
    }
}

/// The median; not a number if there is none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |i: usize| sorted.get(i).copied().unwrap_or(f64::NAN);
    (at(sorted.len() / 2) + at(sorted.len().saturating_sub(1) / 2)) / 2.0
}

/// Times all contenders in `rounds` interleaved repetitions of about a millisecond each; `tick` after each
/// round.
pub fn race(contenders: &mut [Contender<'_>], rounds: usize, mut tick: impl FnMut()) {
    for contender in contenders.iter_mut() {
        while contender.measure() < 1e-3 && contender.calls < 1 << 24 {
            contender.calls *= 2;
        }
    }
    for _ in 0..rounds {
        for contender in contenders.iter_mut() {
            let units = (contender.calls * contender.units) as f64;
            let time = contender.measure() / units * 1e9;
            contender.best = contender.best.min(time);
            contender.times.push(time);
        }
        tick();
    }
}

//! Timing of short functions: the minimum over many interleaved repetitions.
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
}

impl<'a> Contender<'a> {
    /// `run(n)` must run the function n times.
    pub fn new(name: impl Into<String>, run: impl FnMut(usize) + 'a) -> Self {
        Contender { name: name.into(), run: Box::new(run), calls: 1, units: 1, best: f64::INFINITY }
    }

    /// Counts each call as `n` units, so that the best is nanoseconds per unit.
    pub fn per_call(mut self, n: usize) -> Self {
        self.units = n;
        self
    }

    fn measure(&mut self) -> f64 {
        let start = Instant::now();
        (self.run)(self.calls);
        start.elapsed().as_secs_f64()
    }
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
            contender.best = contender.best.min(contender.measure() / units * 1e9);
        }
        tick();
    }
}

//! Loops over particles on the threads of the pool they are called from.
//!
//! What a task writes is its own part of each output ([`Split`]), and no result depends on how particles are
//! divided. So results have the same bits for any number of threads.

use std::ops::Range;

use super::view::ViewMut;

/// Particles of a task are a multiple of this number: of whole packs at any precision.
const PART_UNIT: usize = 64;
/// Fewer particles than this are one task.
const MIN_PART: usize = 512;

/// Outputs of which every particle has its own part.
pub(crate) trait Split: Send + Sized {
    /// Those of the first `particles`, and those of the others.
    fn split(self, particles: usize) -> (Self, Self);
}

impl<X: Send> Split for &mut [X] {
    fn split(self, particles: usize) -> (Self, Self) {
        self.split_at_mut(particles)
    }
}

impl<A: Split, B: Split> Split for (A, B) {
    fn split(self, particles: usize) -> (Self, Self) {
        let ((a, c), (b, d)) = (self.0.split(particles), self.1.split(particles));
        ((a, b), (c, d))
    }
}

impl<T: Send> Split for ViewMut<'_, T> {
    /// The coordinates of the colliders go to the first.
    fn split(self, particles: usize) -> (Self, Self) {
        let ((xa, xb), (va, vb)) = (self.x.split(particles), self.v.split(particles));
        let ((ca, cb), (fa, fb)) = (self.c.split(particles), self.f.split(particles));
        let first = ViewMut { q: self.q, u: self.u, x: xa, v: va, c: ca, f: fa };
        (first, ViewMut { q: &mut [], u: &mut [], x: xb, v: vb, c: cb, f: fb })
    }
}

/// Calls `run` with parts of `particles` and of the outputs, on several threads if `threads` says so.
pub(crate) fn in_parts<O: Split>(
    threads: bool,
    particles: Range<usize>,
    out: O,
    run: &(impl Fn(Range<usize>, O) + Sync),
) {
    if !threads || particles.len() < 2 * MIN_PART {
        return run(particles, out);
    }
    let half = (particles.len() / 2).next_multiple_of(PART_UNIT);
    let (first, second) = out.split(half);
    let middle = particles.start + half;
    rayon::join(
        || in_parts(threads, particles.start..middle, first, run),
        || in_parts(threads, middle..particles.end, second, run),
    );
}

/// Calls both, at the same time if `threads` says so.
pub(crate) fn both(threads: bool, first: impl FnOnce() + Send, second: impl FnOnce() + Send) {
    if threads {
        rayon::join(first, second);
    } else {
        first();
        second();
    }
}

//! Measured heap memory: an allocator that counts, so that predictions of peak memory can be checked against
//! the truth.
//!
//! `unsafe` here and nowhere else in the program: implementing [`GlobalAlloc`] requires it. Every call is
//! passed on to the system allocator unchanged; only two counters are kept.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The system allocator with counters.
pub struct Counting;

fn grow(bytes: usize) {
    let live = LIVE.fetch_add(bytes, Relaxed) + bytes;
    PEAK.fetch_max(live, Relaxed);
}

// SAFETY: every method forwards its arguments to `System`, which upholds the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LIVE.fetch_sub(layout.size(), Relaxed);
        grow(size);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Runs `work` and returns its result with the peak of heap bytes above those held when it began.
pub fn peak_of<R>(work: impl FnOnce() -> R) -> (R, usize) {
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = work();
    (result, PEAK.load(Relaxed).saturating_sub(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Set where the test runs alone.
    const ALONE: &str = "PULLBACK_TEST_ALONE";

    #[test]
    fn the_peak_is_that_of_what_was_held_at_once() {
        // The counters are the whole program's: a program of its own, in which no other test allocates or
        // frees.
        if std::env::var_os(ALONE).is_none() {
            let name = "memory::tests::the_peak_is_that_of_what_was_held_at_once";
            let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
            let output = alone.args(["--exact", name, "--test-threads=1"]).env(ALONE, "1").output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && said.contains("1 passed"), "{said}");
            return;
        }
        let ((), peak) = peak_of(|| {
            drop(std::hint::black_box(vec![0u8; 3_000_000]));
            drop(std::hint::black_box(vec![0u8; 5_000_000]));
        });
        assert!((5_000_000..5_100_000).contains(&peak), "{peak}");
    }
}

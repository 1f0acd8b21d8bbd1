//! Heap memory as measured: an allocator that counts, so that predictions of peak memory can be checked against the truth,
//! and that refuses what is beyond a bound where one is set.
//!
//! A program that wants to measure makes it its global allocator:
//!
//! ```
//! use pullback_core::memory::{Counting, peak_of};
//! #[global_allocator]
//! static ALLOCATOR: Counting = Counting;
//!
//! let (sum, peak) = peak_of(|| vec![1u8; 1 << 20].iter().map(|x| u64::from(*x)).sum::<u64>());
//! assert_eq!(sum, 1 << 20);
//! assert!(peak >= 1 << 20);
//! ```
//!
//! `unsafe` here and nowhere else but in tests: implementing [`GlobalAlloc`] requires it. Every call is passed on to the
//! system allocator unchanged or refused; only counters are kept.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(usize::MAX);

/// The system allocator with counters.
#[derive(Debug)]
pub struct Counting;

/// Whether so many bytes more are allowed; they count from now on.
fn grow(bytes: usize) -> bool {
    let live = LIVE.fetch_add(bytes, Relaxed).saturating_add(bytes);
    if live > MOST.load(Relaxed) {
        LIVE.fetch_sub(bytes, Relaxed);
        return false;
    }
    PEAK.fetch_max(live, Relaxed);
    true
}

/// Takes bytes that were counted off again where the system had none.
fn counted(pointer: *mut u8, bytes: usize) -> *mut u8 {
    if pointer.is_null() {
        LIVE.fetch_sub(bytes, Relaxed);
    }
    pointer
}

// SAFETY: every method forwards its arguments to `System`, which upholds the contract, or returns null, which the contract
// allows: the caller's memory is then unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !grow(layout.size()) {
            return null_mut();
        }
        counted(unsafe { System.alloc(layout) }, layout.size())
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !grow(layout.size()) {
            return null_mut();
        }
        counted(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LIVE.fetch_sub(layout.size(), Relaxed);
        if !grow(size) {
            LIVE.fetch_add(layout.size(), Relaxed);
            return null_mut();
        }
        let moved = counted(unsafe { System.realloc(pointer, layout, size) }, size);
        if moved.is_null() {
            LIVE.fetch_add(layout.size(), Relaxed);
        }
        moved
    }
}

/// Runs `work` and returns its result with the peak of heap bytes above those held when it began.
pub fn peak_of<R>(work: impl FnOnce() -> R) -> (R, usize) {
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = work();
    (result, PEAK.load(Relaxed).saturating_sub(before))
}

/// Refuses allocations that would take all live ones beyond `bytes`. Most programs end there, with a message of the standard
/// library.
pub fn refuse_beyond(bytes: usize) {
    MOST.store(bytes, Relaxed);
}

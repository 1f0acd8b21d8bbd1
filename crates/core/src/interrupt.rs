//! A request to stop: long work ends at its next safe point, with what it has written down.
//!
//! The program asks when it gets Ctrl-C; a host such as Python may ask too. Searches, fits, plans and training look
//! after everything that they have logged, and end with an error that says so. The request holds for the process.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Asks all work of this process to stop.
pub fn ask() {
    ASKED.store(true, Ordering::Relaxed);
}

/// Whether work was asked to stop.
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// The request itself, for those who wait for it.
pub fn flag() -> &'static AtomicBool {
    &ASKED
}

/// Takes the request back, so that new work may begin.
pub fn clear() {
    ASKED.store(false, Ordering::Relaxed);
}

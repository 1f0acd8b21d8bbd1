//! [`Pool`]: scratch for functions that take `&self` and run on many threads.
//!
//! A call takes a free scratch of its type or makes one, and returns it in the end. After as many calls as
//! run at once, nothing allocates. One pool serves all scalar types, for plain and dual numbers alike.

use std::any::Any;
use std::sync::{Mutex, PoisonError};

/// Scratch that is not in use.
#[derive(Debug, Default)]
pub struct Pool {
    free: Mutex<Vec<Box<dyn Any + Send>>>,
}

impl Pool {
    /// Runs `work` with a scratch of type `S`; `make` makes one where none is free.
    pub fn with<S: Send + 'static, R>(&self, make: impl FnOnce() -> S, work: impl FnOnce(&mut S) -> R) -> R {
        let free = {
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            free.iter().position(|s| s.is::<S>()).map(|i| free.swap_remove(i))
        };
        let mut scratch: Box<S> = match free.map(|s| s.downcast::<S>()) {
            Some(Ok(scratch)) => scratch,
            _ => Box::new(make()),
        };
        let result = work(&mut scratch);
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        result
    }
}

/// A clone has scratch of its own.
impl Clone for Pool {
    fn clone(&self) -> Self {
        Pool::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn scratch_is_made_once_per_type_and_call_at_once() {
        let (pool, made) = (Pool::default(), Cell::new(0));
        let make = || {
            made.set(made.get() + 1);
            vec![0u8; 4]
        };
        for _ in 0..3 {
            pool.with(make, |a| a[0] += 1);
        }
        assert_eq!(made.get(), 1);
        assert_eq!(pool.with(make, |a| a[0]), 3);
        pool.with(make, |_| pool.with(make, |_| ()));
        assert_eq!(made.get(), 2);
        assert_eq!(pool.with(|| 7u32, |x| *x), 7);
    }
}

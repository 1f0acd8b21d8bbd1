//! Readers that break on purpose: by a panic, an endless loop, too much memory, a stack that overflows.

use std::time::Duration;

use pullback_core::registry::Entry;

use crate::mutate::Structure::Binary;
use crate::target::{Scratch, Target};

pub const TABLE: &[Entry<Target>] = &[
    Entry::new("broken-panics", "panics at an input that is damaged", Target::new(Binary, panics).made(seed)),
    Entry::new("broken-hangs", "never ends", Target::new(Binary, hangs).made(seed)),
    Entry::new("broken-hoards", "allocates four gigabytes", Target::new(Binary, hoards).made(seed)),
    Entry::new("broken-overflows", "recurses without end", Target::new(Binary, overflows).made(seed)),
];

fn seed() -> Vec<Vec<u8>> {
    vec![b"sound".to_vec()]
}

fn panics(input: &[u8], _: &mut Scratch) -> String {
    assert_eq!(input, b"sound", "this input is damaged");
    "read".into()
}

fn hangs(_: &[u8], _: &mut Scratch) -> String {
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn hoards(_: &[u8], _: &mut Scratch) -> String {
    format!("{}", std::hint::black_box(vec![1u8; 4 << 30]).len())
}

fn overflows(input: &[u8], _: &mut Scratch) -> String {
    deeper(input)
}

fn deeper(input: &[u8]) -> String {
    match std::hint::black_box(input.len()) {
        usize::MAX => String::new(),
        _ => deeper(input) + ".",
    }
}

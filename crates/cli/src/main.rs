//! The pullback program.
fn main() {}

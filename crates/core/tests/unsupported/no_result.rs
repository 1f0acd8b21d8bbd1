use pullback_math::{Real, differentiable};

#[differentiable]
fn f<T: Real>(x: T) {
    let _ = x * x;
}

fn main() {}

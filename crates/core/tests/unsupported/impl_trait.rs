use pullback_math::{Real, differentiable};

#[differentiable]
fn f(x: impl Real) -> f64 {
    x.lane(0)
}

fn main() {}

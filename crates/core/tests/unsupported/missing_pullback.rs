use pullback_math::differentiable;

#[differentiable]
fn f(x: f64) -> f64 {
    helper(x) * 2.0
}

fn helper(x: f64) -> f64 {
    x
}

fn main() {}

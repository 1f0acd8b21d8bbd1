use pullback_math::differentiable;

#[differentiable]
fn f(x: f64) -> f64 {
    helper(x);
    x * x
}

fn main() {}

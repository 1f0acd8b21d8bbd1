use pullback_math::differentiable;

#[differentiable]
fn f(x: f64) -> Option<f64> {
    Some(x * x)
}

fn main() {}

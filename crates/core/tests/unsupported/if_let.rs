use pullback_math::differentiable;

#[differentiable]
fn f(x: f64, k: Option<f64>) -> f64 {
    if let Some(k) = k { x * k } else { x }
}

fn main() {}

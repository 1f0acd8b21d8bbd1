use pullback_math::differentiable;

#[differentiable]
fn f(x: f64, k: Option<f64>) -> f64 {
    let Some(k) = k else { panic!() };
    x * k
}

fn main() {}

use pullback_math::differentiable;

#[differentiable]
fn f(x: (f64, f64)) -> f64 {
    let (ref a, b) = x;
    *a * b
}

fn main() {}

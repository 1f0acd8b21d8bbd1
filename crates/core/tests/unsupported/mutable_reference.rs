use pullback_math::differentiable;

#[differentiable]
fn f(x: f64, y: &mut f64) -> f64 {
    x * *y
}

fn main() {}

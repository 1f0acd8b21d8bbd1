use pullback_math::differentiable;

#[differentiable]
fn f(x: f64) -> f64 {
    let y = x * x;
    helper(&y)
}

fn main() {}

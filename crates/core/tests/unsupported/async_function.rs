use pullback_math::differentiable;

#[differentiable]
async fn f(x: f64) -> f64 {
    x * x
}

fn main() {}

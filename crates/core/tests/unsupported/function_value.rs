use pullback_math::differentiable;

#[differentiable]
fn f(x: f64, #[constant] g: fn(f64) -> f64) -> f64 {
    g(x)
}

fn main() {}

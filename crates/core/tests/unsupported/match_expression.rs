use pullback_math::differentiable;

#[differentiable]
fn f(x: f64, k: usize) -> f64 {
    match k {
        0 => x,
        _ => x * x,
    }
}

fn main() {}

use pullback_math::differentiable;

#[differentiable]
fn f(x: [f64; 3], n: usize) -> f64 {
    total(x[0..n])
}

fn main() {}

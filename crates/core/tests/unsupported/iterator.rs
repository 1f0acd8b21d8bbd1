use pullback_math::differentiable;

#[differentiable]
fn f(x: [f64; 3]) -> f64 {
    let mut sum = 0.0;
    for y in x {
        sum += y;
    }
    sum
}

fn main() {}

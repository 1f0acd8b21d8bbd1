use pullback_math::differentiable;

#[differentiable]
fn f(x: f64) -> f64 {
    let y;
    if x < 1.0 {
        y = x;
    } else {
        y = 1.0;
    }
    y
}

fn main() {}

use pullback_math::differentiable;

#[differentiable]
fn f(x: f64) -> f64 {
    let mut y = x;
    for i in 0..3 {
        if i == 2 {
            break;
        }
        y = y * y;
    }
    y
}

fn main() {}

use pullback_math::differentiable;

#[differentiable]
fn f(x: f64) -> f64 {
    loop {
        break x;
    }
}

fn main() {}

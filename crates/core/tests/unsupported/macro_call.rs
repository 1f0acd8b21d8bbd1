use pullback_math::differentiable;

#[differentiable]
fn f(x: f64) -> f64 {
    let y = dbg!(x);
    y * y
}

fn main() {}

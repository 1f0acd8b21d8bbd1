use pullback_math::differentiable;

#[differentiable]
fn f(x: f64) -> Option<f64> {
    let y = Some(1.0)?;
    Some(x * y)
}

fn main() {}

use pullback_math::differentiable;

#[differentiable]
fn f(x: f64) -> f64 {
    if { let y = x * x; y < 1.0 } { x } else { 1.0 }
}

fn main() {}

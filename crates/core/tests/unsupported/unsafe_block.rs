use pullback_math::differentiable;

#[differentiable]
fn f(x: f64) -> f64 {
    unsafe { scaled(x) }
}

unsafe fn scaled(x: f64) -> f64 {
    x * x
}

fn main() {}

use pullback_math::differentiable;

#[differentiable]
struct State {
    x: f64,
}

fn main() {}

use pullback_math::Cotangent;

#[derive(Clone, Copy, Cotangent)]
enum Shape {
    Sphere(f64),
    Plane,
}

fn main() {}

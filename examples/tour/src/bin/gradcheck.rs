//! A function of one's own with a pullback that is written by the compiler, and a check of it.
//!
//! `cargo run --release -p tour --bin gradcheck`

use pullback::prelude::*;

/// F = ½ ρ c A |v| v: drag.
#[differentiable]
fn drag<T: Real>(velocity: Vec3<T>, density: T, area: T) -> Vec3<T> {
    velocity * (velocity.norm() * density * area * T::lit(-0.5 * 1.05))
}

fn main() {
    let (velocity, bar) = (Vec3::new(3.0, 0.0, 4.0), Vec3::new(1.0, 0.0, 0.0));
    let (velocity_bar, density_bar, area_bar) = drag_vjp(velocity, 1.2, 0.1, bar);
    println!("d F_x / d v = {velocity_bar:?}, by density {density_bar}, by area {area_bar}");

    // Forward mode: the same number from dual numbers.
    let density = Dual::new(1.2, 1.0);
    let along = drag(velocity.map(Dual::lit), density, Dual::lit(0.1)).x.tangent;
    assert!((along - density_bar).abs() < 1e-12);
}

#[test]
fn it_runs() {
    main();
}

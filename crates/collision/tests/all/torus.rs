//! A torus as a collider: distances against its sampled surface, finite derivatives where they are a choice.

use pullback_collision::{Collider, Contact, ShapeBar, collide, collide_vjp};
use pullback_core::random::Random;
use pullback_math::{Mat3, Quat, Transform, Vec3};

const RING: f64 = 0.5;
const TUBE: f64 = 0.2;

fn pose() -> Transform<f64> {
    Transform::from_quat(Quat::new(0.6, -0.3, 0.5, 0.2).normalize(), Vec3::new(0.3, -0.2, 0.1))
}

/// The contact of a torus with the point x of its frame; the torus comes first.
fn touch(x: Vec3<f64>) -> Contact<f64> {
    let mut out = [Contact::inactive(); 12];
    let (torus, at) = (Collider::torus(RING, TUBE), Transform::new(Mat3::identity(), pose().point(x)));
    assert_eq!(collide(&torus, pose(), &Collider::sphere(0.0), at, &mut out), 1);
    out[0]
}

/// The point of the surface at the angles (around the axis, around the tube).
fn surface(around: f64, within: f64) -> Vec3<f64> {
    let rho = RING + TUBE * within.cos();
    Vec3::new(rho * around.cos(), rho * around.sin(), TUBE * within.sin())
}

#[test]
fn distances_are_those_to_the_surface() {
    let mut random = Random::new(4);
    const N: usize = 400;
    let angle = |i: usize| std::f64::consts::TAU * i as f64 / N as f64;
    let (mut inside, mut outside) = (0, 0);
    for _ in 0..80 {
        let x = Vec3::new(random.uniform(-0.9, 0.9), random.uniform(-0.9, 0.9), random.uniform(-0.3, 0.3));
        let nearest = (0..N * N)
            .map(|k| (surface(angle(k / N), angle(k % N)) - x).norm())
            .fold(f64::INFINITY, f64::min);
        let contact = touch(x);
        let within = (x.x.hypot(x.y) - RING).hypot(x.z) < TUBE;
        if within {
            inside += 1
        } else {
            outside += 1
        }
        assert_eq!(contact.distance < 0.0, within);
        // The nearest sample is at most half a cell's diagonal off.
        assert!((contact.distance.abs() - nearest).abs() < 6e-3, "{x:?} {contact:?} {nearest}");
        // Moving along the normal grows the distance one to one, and reaches the surface.
        assert!((contact.normal.norm() - 1.0).abs() < 1e-12);
        let n = pose().inverse_direction(contact.normal);
        assert!((touch(x + n * 1e-4).distance - contact.distance - 1e-4).abs() < 1e-12);
        assert!(touch(x - n * contact.distance).distance.abs() < 1e-12);
    }
    assert!(inside > 5 && outside > 5);
}

#[test]
fn the_axis_and_the_circle_have_finite_derivatives() {
    let mut derivatives = Vec::new();
    for x in [Vec3::zero(), Vec3::new(0.0, 0.0, 0.3), Vec3::new(0.0, RING, 0.0)] {
        let contact = touch(x);
        let expected = if x.y == 0.0 { RING.hypot(x.z) - TUBE } else { -TUBE };
        assert!((contact.distance - expected).abs() < 1e-12, "{contact:?}");
        assert!((contact.normal.norm() - 1.0).abs() < 1e-12);
        let one = Vec3::new(1.0, 1.0, 1.0);
        let bar = [Contact { position: one, normal: one, distance: 1.0 }];
        let zero = ShapeBar { pose: Transform::identity() - Transform::identity(), size: Vec3::zero() };
        let (mut torus_bar, mut point_bar) = (zero, zero);
        let (torus, at) = (Collider::torus(RING, TUBE), Transform::new(Mat3::identity(), pose().point(x)));
        collide_vjp(&torus, pose(), &Collider::sphere(0.0), at, &bar, &mut torus_bar, &mut point_bar);
        let all =
            torus_bar.size.norm() + torus_bar.pose.translation.norm() + point_bar.pose.translation.norm();
        assert!(all.is_finite() && all < 100.0, "{torus_bar:?} {point_bar:?}");
        derivatives.push(torus_bar.size);
    }
    // Halfway between surface and point: thicker tubes push the contact out and shorten the distance.
    assert!(derivatives.iter().all(|d| d.y != 0.0));
}

//! Convex hulls: closed, convex, around all points, made of corners only, on any input.

use std::collections::HashSet;
use std::time::Instant;

use proptest::prelude::*;
use pullback_math::Vec3;
use pullback_scene::mesh::{Hull, convex_hull};

/// A small generator of uniform numbers in [-1, 1), the same in every run (xorshift64*).
struct Uniform(u64);

impl Uniform {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
    fn point(&mut self) -> Vec3<f64> {
        Vec3::new(self.next(), self.next(), self.next())
    }
}

/// All laws of a hull.
fn check(points: &[Vec3<f64>], hull: &Hull) {
    // A closed surface: each edge once in each direction; a sphere: V − E + F = 2.
    let mut edges = HashSet::new();
    for t in &hull.triangles {
        for k in 0..3 {
            assert!(edges.insert((t[k], t[(k + 1) % 3])), "edge passed twice in one direction");
        }
    }
    assert!(edges.iter().all(|(a, b)| edges.contains(&(*b, *a))), "open edge");
    let used: HashSet<usize> = hull.triangles.iter().flatten().copied().collect();
    assert_eq!(used, hull.vertices.iter().copied().collect());
    assert_eq!(hull.vertices.len() + hull.triangles.len(), edges.len() / 2 + 2);
    // No point above a face.
    let extent = points.iter().map(|p| (*p - points[0]).norm()).fold(0.0, f64::max);
    for t in &hull.triangles {
        let [a, b, c] = t.map(|i| points[i]);
        let normal = (b - a).cross(c - a);
        for p in points {
            let above = normal.dot(*p - a);
            assert!(above <= 1e-10 * extent * normal.norm() + 1e-14 * extent.powi(3), "{above} above a face");
        }
    }
    // The hull of the corners is the hull.
    let corners: Vec<_> = hull.vertices.iter().map(|i| points[*i]).collect();
    let again = convex_hull(&corners).unwrap();
    assert_eq!(again.vertices, (0..corners.len()).collect::<Vec<_>>());
}

#[test]
fn a_sphere_keeps_all_its_points() {
    let mut uniform = Uniform(7);
    let points: Vec<_> = (0..500).map(|_| uniform.point().normalize()).collect();
    let hull = convex_hull(&points).unwrap();
    assert_eq!(hull.vertices.len(), 500);
    check(&points, &hull);
}

#[test]
fn a_grid_on_a_box_has_eight_corners() {
    let mut points = Vec::new();
    for x in 0..7 {
        for y in 0..7 {
            for z in 0..7 {
                points.push(Vec3::new(f64::from(x) * 0.1, f64::from(y) * 0.3, f64::from(z) * 0.7));
            }
        }
    }
    let hull = convex_hull(&points).unwrap();
    assert_eq!((hull.vertices.len(), hull.triangles.len()), (8, 12));
    check(&points, &hull);
}

#[test]
fn a_turned_box_with_duplicates_far_away_has_eight_corners() {
    let turn = pullback_math::Quat::from_axis_angle(Vec3::new(1.0, 2.0, -0.5).normalize(), 0.7);
    let mut uniform = Uniform(3);
    let mut points = Vec::new();
    for sign in 0..8u32 {
        let side = |bit: u32| if sign >> bit & 1 == 0 { -1.0 } else { 1.0 };
        let corner =
            turn.rotate(Vec3::new(side(0), 2.0 * side(1), 0.1 * side(2))) + Vec3::new(30.0, -50.0, 20.0);
        points.extend([corner; 3]);
    }
    points.extend((0..100).map(|_| turn.rotate(uniform.point() * 0.09) + Vec3::new(30.0, -50.0, 20.0)));
    let hull = convex_hull(&points).unwrap();
    assert_eq!(hull.vertices, (0..8).map(|i| 3 * i).collect::<Vec<_>>());
}

#[test]
fn flat_points_are_refused_by_name() {
    let message = |points: &[Vec3<f64>]| convex_hull(points).unwrap_err().to_string();
    let p = |x: f64, y: f64, z: f64| Vec3::new(x, y, z);
    assert!(message(&[]).contains("coincide"));
    assert!(message(&[p(1.0, 2.0, 3.0); 9]).contains("coincide"));
    let line: Vec<_> = (0..9).map(|i| p(0.1, 0.2, 0.3) * f64::from(i)).collect();
    assert!(message(&line).contains("on a line"));
    let mut uniform = Uniform(1);
    let plane: Vec<_> =
        (0..99).map(|_| p(1.0, 2.0, 0.5) * uniform.next() + p(0.0, 1.0, -3.0) * uniform.next()).collect();
    assert!(message(&plane).contains("in a plane"));
    assert!(message(&[p(f64::NAN, 0.0, 0.0); 5]).contains("not finite"));
}

#[test]
fn sizes_from_atoms_to_galaxies_have_the_same_hull() {
    let mut uniform = Uniform(11);
    let points: Vec<_> = (0..200).map(|_| uniform.point()).collect();
    let hull = convex_hull(&points).unwrap();
    for scale in [1e-200, 1e-9, 1e21, 1e300] {
        let scaled: Vec<_> = points.iter().map(|p| *p * scale).collect();
        assert_eq!(convex_hull(&scaled).unwrap().vertices, hull.vertices, "scale {scale}");
    }
}

#[test]
fn ten_thousand_points_take_well_under_a_second() {
    let mut uniform = Uniform(5);
    let ball: Vec<_> = (0..10_000).map(|_| uniform.point()).collect();
    let sphere: Vec<_> = ball.iter().map(|p| p.normalize()).collect();
    let grid: Vec<_> =
        (0..10_648).map(|i| Vec3::new((i % 22) as f64, (i / 22 % 22) as f64, (i / 484) as f64)).collect();
    for (name, points) in [("ball", ball), ("sphere", sphere), ("grid", grid)] {
        let start = Instant::now();
        let hull = convex_hull(&points).unwrap();
        let seconds = start.elapsed().as_secs_f64();
        println!("{name}: {} corners in {seconds:.3} s", hull.vertices.len());
        assert!(seconds < 5.0, "{name}: {seconds} s");
    }
}

proptest! {
    #[test]
    fn random_clouds(points in prop::collection::vec(prop::array::uniform3(-1.0f64..1.0), 4..60)) {
        let points: Vec<_> = points.into_iter().map(|[x, y, z]| Vec3::new(x, y, z)).collect();
        if let Ok(hull) = convex_hull(&points) {
            check(&points, &hull);
        }
    }

    #[test]
    fn small_integers_with_many_coplanar_points(
        points in prop::collection::vec(prop::array::uniform3(-2i32..3), 4..60)
    ) {
        let points: Vec<_> = points.into_iter().map(|p| { let [x, y, z] = p.map(f64::from); Vec3::new(x, y, z) }).collect();
        if let Ok(hull) = convex_hull(&points) {
            check(&points, &hull);
        }
    }

    #[test]
    fn nearly_flat_clouds(
        points in prop::collection::vec(prop::array::uniform3(-1.0f64..1.0), 4..60), power in -14i32..0
    ) {
        let thin = 10f64.powi(power);
        let points: Vec<_> = points.into_iter().map(|[x, y, z]| Vec3::new(x, y, x * 0.3 - y + thin * z)).collect();
        if let Ok(hull) = convex_hull(&points) {
            prop_assert!(hull.triangles.len() == 2 * hull.vertices.len() - 4);
        }
    }

    #[test]
    fn any_numbers_never_panic(points in prop::collection::vec(prop::array::uniform3(any::<f64>()), 0..20)) {
        let points: Vec<_> = points.into_iter().map(|[x, y, z]| Vec3::new(x, y, z)).collect();
        let _ = convex_hull(&points);
    }
}

#[test]
fn noisy_flat_sides_keep_the_surface_closed_and_convex() {
    // Fine grids on the sides of turned boxes and cylinders, rounded to f32 as mesh files do.
    for seed in 1..40u64 {
        let mut uniform = Uniform(seed);
        let turn = pullback_math::Quat::from_axis_angle(uniform.point().normalize(), uniform.next());
        let mut points = Vec::new();
        for i in 0..12 {
            for k in 0..12 {
                let (u, w) = (f64::from(i) / 5.5 - 1.0, f64::from(k) / 5.5 - 1.0);
                let (sin, cos) = (u * std::f64::consts::PI).sin_cos();
                let shapes = [
                    vec![
                        Vec3::new(u, w, 1.0),
                        Vec3::new(u, w, -1.0),
                        Vec3::new(1.0, u, w),
                        Vec3::new(-1.0, u, w),
                    ],
                    vec![Vec3::new(cos, sin, w), Vec3::new(w * cos, w * sin, 1.0)],
                ];
                points.extend(shapes[(seed % 2) as usize].iter().map(|p| {
                    let p = turn.rotate(*p) + Vec3::new(3.0, 0.0, 0.0);
                    p.map(|c| f64::from(c as f32))
                }));
            }
        }
        let hull = convex_hull(&points).unwrap();
        let mut edges = HashSet::new();
        for t in &hull.triangles {
            (0..3).for_each(|k| assert!(edges.insert((t[k], t[(k + 1) % 3]))));
        }
        assert!(edges.iter().all(|(a, b)| edges.contains(&(*b, *a))));
        assert_eq!(hull.vertices.len() + hull.triangles.len(), edges.len() / 2 + 2);
        // Slivers have vague normals; six times the volume above a face does not.
        for t in &hull.triangles {
            let [a, b, c] = t.map(|i| points[i]);
            let normal = (b - a).cross(c - a);
            assert!(points.iter().all(|p| normal.dot(*p - a) < 1e-9 * normal.norm() + 1e-15));
        }
    }
}

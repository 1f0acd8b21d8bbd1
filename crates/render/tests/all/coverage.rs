//! Which pixels a triangle covers, against exact arithmetic.

use pullback_core::random::Random;
use pullback_math::{Mat3, Scalar, Vec3};
use pullback_render::{
    Camera, DibR, Effects, Lens, Material, Mesh, Method, Outputs, Paint, Projection, Scene, Settings, SoftRas,
};

use crate::support::Picture;

/// Pixels along each side, and units of the corners' lattice per half height: screen places are multiples of 1/1024, so
/// that nothing rounds off, in `f32` either.
const SIZE: usize = 32;
const UNITS: i64 = 1024;

fn straight() -> Camera<f64> {
    Camera {
        lens: Lens::new(Projection::Orthographic, 0.5, 8.0),
        position: Vec3::new(0.0, 0.0, 4.0),
        world_from_camera: Mat3::identity(),
        half_height: 1.0,
    }
}

fn triangle(corners: [[i64; 2]; 3]) -> Scene<f64> {
    let place = |c: i64| c as f64 / UNITS as f64;
    let vertices = corners.map(|[x, y]| Vec3::new(place(x), place(y), 0.0));
    let mesh = Mesh::new(vertices.to_vec(), vec![[0, 1, 2]]);
    Scene::default().with_surface(&mesh, Paint::Uniform(Vec3::new(1.0, 1.0, 1.0)), Material::unlit())
}

/// (b − a) × (p − a)
fn side(a: [i64; 2], b: [i64; 2], p: [i128; 2]) -> i128 {
    let ([ax, ay], [bx, by]) = (a.map(i128::from), b.map(i128::from));
    (bx - ax) * (p[1] - ay) - (by - ay) * (p[0] - ax)
}

/// Twice the area, with its sign.
fn area([a, b, c]: [[i64; 2]; 3]) -> i128 {
    side(a, b, c.map(i128::from))
}

/// Whether the center of a pixel lies in the triangle or on its border, in integers.
fn covers(corners: [[i64; 2]; 3], x: usize, y: usize) -> bool {
    let step = i128::from(UNITS) / SIZE as i128;
    let p = [(2 * x as i128 + 1 - SIZE as i128) * step, (SIZE as i128 - 2 * y as i128 - 1) * step];
    let area = area(corners).signum();
    (0..3).all(|k| side(corners[k], corners[(k + 1) % 3], p) * area >= 0)
}

fn compare<T: Scalar>(seed: u64) {
    let mut random = Random::new(seed);
    let settings = Settings::new(SIZE, SIZE)
        .with_method(Method::DibR(DibR::default()))
        .with_outputs(Outputs::silhouette());
    let mut covered = 0;
    for trial in 0..60 {
        // Large and small ones, some that leave the picture, some with corners and edges on centers of pixels.
        let reach = [1400, 300, 60][trial % 3];
        let snap = if trial % 4 == 0 { UNITS / SIZE as i64 } else { 1 };
        let (cx, cy) = (random.uniform(-900.0, 900.0), random.uniform(-900.0, 900.0));
        let mut corner =
            || [cx, cy].map(|c| (c + random.uniform(-1.0, 1.0) * reach as f64) as i64 / snap * snap);
        let mut corners = [corner(), corner(), corner()];
        while area(corners) == 0 {
            corners[0] = corner();
        }
        let picture = Picture { scene: triangle(corners), camera: straight(), settings };
        let (image, plain) = (picture.draw::<T>(), picture.plain::<T>(&Effects::default()));
        for y in 0..SIZE {
            for x in 0..SIZE {
                let inside = covers(corners, x, y);
                covered += usize::from(inside);
                // Outside, exp(−s d²) < 1.
                let drawn = image.alpha[y * SIZE + x].lane(0) == 1.0;
                assert_eq!(drawn, inside, "triangle {trial} {corners:?}, pixel {x}, {y}");
                let drawn = plain.alpha[y * SIZE + x].lane(0) == 1.0;
                assert_eq!(drawn, inside, "plain triangle {trial} {corners:?}, pixel {x}, {y}");
            }
        }
    }
    assert!(covered > 1000);
}

#[test]
fn coverage_is_exact() {
    compare::<f64>(1);
    compare::<f32>(2);
}

#[test]
fn soft_silhouettes_round_to_exact_coverage() {
    // D ≥ 1/2 inside and on the border, below it outside.
    let mut random = Random::new(4);
    let settings = Settings::new(SIZE, SIZE)
        .with_method(Method::SoftRas(SoftRas { sigma: 1e-4, ..SoftRas::default() }))
        .with_outputs(Outputs::silhouette());
    for _ in 0..20 {
        let corners = std::array::from_fn(|_| [(); 2].map(|()| random.uniform(-1100.0, 1100.0) as i64));
        let image = Picture { scene: triangle(corners), camera: straight(), settings }.draw::<f64>();
        for (i, alpha) in image.alpha.iter().enumerate() {
            assert_eq!(
                *alpha >= 0.5,
                covers(corners, i % SIZE, i / SIZE),
                "pixel {i} of {corners:?}: {alpha}"
            );
        }
    }
}

//! Soft pictures in the limit, against hard ones; spheres against their meshes.

use pullback_math::Vec3;
use pullback_render::{
    Camera, DibR, Image, Lens, Material, Method, Outputs, Paint, Projection, Scene, Settings, SoftRas,
    Sphere, shapes,
};

use crate::support::Picture;

fn camera() -> Camera<f64> {
    let lens = Lens::new(Projection::Perspective, 1.0, 10.0);
    Camera::orbit(lens, Vec3::zero(), 3.0, 0.4, 0.5, 0.5)
}

fn picture(scene: &Scene<f64>, method: Method) -> Image<f64> {
    let settings = Settings::new(48, 48).with_outputs(Outputs::all()).with_method(method);
    Picture { scene: scene.clone(), camera: camera(), settings }.draw()
}

fn soft(sharpness: f64) -> Method {
    Method::SoftRas(SoftRas { sigma: 1e-4 / sharpness, gamma: 1e-4 / sharpness, ..SoftRas::default() })
}

/// Mean over pixels of what two pictures differ by.
fn apart(a: &Image<f64>, b: &Image<f64>) -> [f64; 3] {
    let n = a.alpha.len() as f64;
    let alpha: f64 = a.alpha.iter().zip(&b.alpha).map(|(a, b)| (a - b).abs()).sum();
    let color: f64 = a.color.iter().zip(&b.color).map(|(a, b)| (*a - *b).norm()).sum();
    let depth: f64 = a.depth.iter().zip(&b.depth).map(|(a, b)| (a - b).abs()).sum();
    [alpha / n, color / n, depth / n]
}

#[test]
fn soft_pictures_become_hard_ones() {
    let torus = shapes::torus(20, 12, 0.75, 0.25);
    let colors = (0..torus.vertices.len()).map(|i| Vec3::new(0.2, (i % 7) as f64 / 7.0, 0.9)).collect();
    let mut scene = Scene::default().with_surface(&torus, Paint::Vertices(colors), Material::matt());
    scene.spheres.push(Sphere { center: Vec3::zero(), radius: 0.4, color: Vec3::new(0.9, 0.2, 0.1) });
    let hard = picture(&scene, Method::DibR(DibR { sharpness: 1e9, reach: 1e-4 }));
    assert!(hard.alpha.iter().filter(|a| **a == 1.0).count() > 400);
    let distances: Vec<[f64; 3]> =
        [1.0, 1e2, 1e5].iter().map(|s| apart(&picture(&scene, soft(*s)), &hard)).collect();
    for k in 0..3 {
        let [a, b, c] = [distances[0][k], distances[1][k], distances[2][k]];
        assert!(a > 2.0 * b && b > 2.0 * c && c < [5e-3, 5e-3, 5e-2][k], "plane {k}: {a} {b} {c}");
    }
}

#[test]
fn spheres_look_as_their_meshes_do() {
    let white = Vec3::new(0.8, 0.8, 0.8);
    let hard = Method::DibR(DibR { sharpness: 1e9, reach: 1e-4 });
    let place = Vec3::new(0.3, -0.2, 0.25);
    let mesh = shapes::sphere(5, 0.7).moved(|x| x + place);
    let meshed = Scene::default().with_surface(&mesh, Paint::Uniform(white), Material::matt().smoothed());
    let mut exact = Scene::default();
    exact.spheres.push(Sphere { center: place, radius: 0.7, color: white });
    let (a, b) = (picture(&meshed, hard), picture(&exact, hard));
    let differ = a.alpha.iter().zip(&b.alpha).filter(|(a, b)| a != b).count();
    assert!(differ <= 8, "{differ} pixels differ");
    // Inside: light and depth agree.
    for i in (0..a.alpha.len()).filter(|i| a.alpha[*i] == 1.0 && b.alpha[*i] == 1.0) {
        assert!((a.depth[i] - b.depth[i]).abs() < 0.03, "depth {} {}", a.depth[i], b.depth[i]);
        assert!((a.color[i] - b.color[i]).norm() < 0.08, "color {:?} {:?}", a.color[i], b.color[i]);
    }
}

#[test]
fn faces_behind_the_camera_are_cut() {
    // A floor that runs on under the camera covers everything below the horizon.
    let floor = shapes::rectangle(1, 1, 200.0, 200.0).moved(|x| x - Vec3::new(0.0, 0.0, 1.0));
    let scene =
        Scene::default().with_surface(&floor, Paint::Uniform(Vec3::new(0.4, 0.5, 0.6)), Material::unlit());
    let lens = Lens::new(Projection::Perspective, 0.1, 1000.0);
    let up = Vec3::new(0.0, 0.0, 1.0);
    let camera = Camera::look_at(lens, Vec3::new(0.0, -5.0, 0.0), Vec3::zero(), up, 0.5);
    let settings = Settings::new(32, 32).with_method(Method::DibR(DibR { sharpness: 1e9, reach: 1e-4 }));
    let image = Picture { scene, camera, settings }.draw::<f64>();
    for (i, alpha) in image.alpha.iter().enumerate() {
        assert_eq!(*alpha == 1.0, i / 32 >= 16, "pixel {i}: {alpha}");
    }
}

//! Plain pictures beside soft ones, and shadows where geometry says.

use pullback_core::random::Random;
use pullback_math::{Mat3, Vec3};
use pullback_render::{
    Camera, Cone, Effects, Finish, Lamp, Lens, Light, Material, Method, Outputs, Paint, Projection, Scene,
    Settings, Shadows, SoftRas, Texture, shapes,
};

use crate::support::{Picture, camera, random_sphere, random_surface};

/// Mean absolute difference of two lists.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f64>() / a.len() as f64
}

#[test]
fn soft_pictures_become_plain_ones_as_they_sharpen() {
    let mut random = Random::new(3);
    for (trial, projection) in [Projection::Perspective, Projection::Orthographic].into_iter().enumerate() {
        let mut scene = random_surface(&mut random, trial + 2, Material::shiny(0.4, 8.0));
        scene.spheres.push(random_sphere(&mut random));
        let settings = Settings::new(40, 32).with_outputs(Outputs::all());
        let mut picture = Picture { scene, camera: camera(projection), settings };
        let plain = picture.plain::<f64>(&Effects::default());
        let mut errors = Vec::new();
        for sharpness in [1e-3_f64, 1e-6, 1e-9, 1e-12] {
            let gamma = 1e-3 * sharpness.sqrt();
            let soft = SoftRas { sigma: sharpness, gamma, epsilon: 1e-12, ..SoftRas::default() };
            picture.settings = settings.with_method(Method::SoftRas(soft));
            let image = picture.draw::<f64>();
            let color = |i: &pullback_render::Image<f64>| -> Vec<f64> {
                i.color.iter().chain(&i.normal).flat_map(|c| [c.x, c.y, c.z]).chain(i.depth.clone()).collect()
            };
            errors.push((distance(&image.alpha, &plain.alpha), distance(&color(&image), &color(&plain))));
        }
        let ((first, first_color), (last, last_color)) = (errors[0], errors[3]);
        assert!(first > 1e-2 && last < 1e-4, "{projection:?}, silhouettes: {errors:?}");
        assert!(first_color > 1e-2 && last_color < 1e-3, "{projection:?}, colors: {errors:?}");
    }
}

/// A square of 2 m half a meter above a floor of 8 m, seen from above by parallel rays, 8 m wide.
fn square_over_floor(light: Light<f64>, lamp: Lamp) -> (Picture, Effects) {
    let white = || Paint::Uniform(Vec3::new(1.0, 1.0, 1.0));
    let floor = shapes::rectangle(1, 1, 8.0, 8.0);
    let square = shapes::rectangle(1, 1, 2.0, 2.0).moved(|x| x + Vec3::new(0.0, 0.0, 0.5));
    let mut scene = Scene { lights: vec![light], ..Scene::default() }
        .with_surface(&floor, white(), Material::matt())
        .with_surface(&square, white(), Material::matt());
    scene.background = Vec3::new(0.5, 0.0, 0.0);
    let camera = Camera {
        lens: Lens::new(Projection::Orthographic, 0.5, 20.0),
        position: Vec3::new(0.0, 0.0, 10.0),
        world_from_camera: Mat3::identity(),
        half_height: 4.0,
    };
    let floor = Finish { casts_shadow: false, ..Finish::default() };
    let shadows = Some(Shadows { resolution: 1024 });
    let effects = Effects { finishes: vec![floor], lamps: vec![lamp], shadows, ..Effects::default() };
    (Picture { scene, camera, settings: Settings::new(64, 64) }, effects)
}

/// Compares pixels with `shadowed(x, y)` of places on the floor, m, but those within 0.15 m of a border.
fn check_shadow(picture: &Picture, effects: &Effects, shadowed: impl Fn(f64, f64) -> bool) {
    let image = picture.plain::<f64>(effects);
    let mut counts = [0; 2];
    for (i, color) in image.color.iter().enumerate() {
        let place = |k: usize| (k as f64 + 0.5) / 8.0 - 4.0;
        let (x, y) = (place(i % 64), -place(i / 64));
        let here = shadowed(x, y);
        let near = [(0.15, 0.0), (-0.15, 0.0), (0.0, 0.15), (0.0, -0.15)];
        // The square hides what is under it, and is lit.
        if x.abs().max(y.abs()) < 1.15 || near.into_iter().any(|(dx, dy)| shadowed(x + dx, y + dy) != here) {
            continue;
        }
        counts[usize::from(here)] += 1;
        assert_eq!(color.x < 1e-9, here, "at ({x}, {y}): {color:?}");
    }
    assert!(counts[0] > 100 && counts[1] > 100, "{counts:?}");
}

const CASTS: Lamp = Lamp { casts_shadow: true, cone: None, attenuation: None, highlight: None };

#[test]
fn shadows_fall_where_geometry_says() {
    let white = Vec3::new(1.0, 1.0, 1.0);
    // Parallel light moves the shadow by height × (x, y) / z.
    let light = Light::directional(Vec3::new(-2.0, 1.0, 0.5), white);
    let (picture, effects) = square_over_floor(light, CASTS);
    check_shadow(&picture, &effects, |x, y| (x - 2.0).abs() < 1.0 && (y + 1.0).abs() < 1.0);
    // A point at height 1 doubles the square.
    let at = |x, z| Vec3::new(x, 0.0, z);
    let (picture, effects) = square_over_floor(Light::point(at(-1.0, 1.0), white), CASTS);
    check_shadow(&picture, &effects, |x, y| (x - 1.0).abs() < 2.0 && y.abs() < 2.0);
    // One far away sees all casters in one direction: from height 4.5, 9/8 as large.
    let (picture, effects) = square_over_floor(Light::point(at(-9.0, 4.5), white), CASTS);
    check_shadow(&picture, &effects, |x, y| (x - 1.125).abs() < 1.125 && y.abs() < 1.125);
}

#[test]
fn nothing_is_shadowed_that_should_not_be() {
    // Without casters before it a ball has the same picture with shadows and without.
    let ball = shapes::sphere(3, 1.0);
    let light = Light::directional(Vec3::new(1.0, -2.0, 1.5), Vec3::new(1.0, 1.0, 1.0));
    let scene = Scene { lights: vec![light], ..Scene::default() };
    let gray = Paint::Uniform(Vec3::new(0.5, 0.5, 0.5));
    let scene = scene.with_surface(&ball, gray, Material::matt().smoothed());
    let picture = Picture { scene, camera: camera(Projection::Perspective), settings: Settings::new(64, 64) };
    let image =
        |shadows| picture.plain::<f64>(&Effects { lamps: vec![CASTS], shadows, ..Effects::default() }).color;
    let (with, without) = (image(Some(Shadows::default())), image(None));
    let differing = with.iter().zip(&without).filter(|(a, b)| (a.x - b.x).abs() > 0.03).count();
    assert!(differing <= 20, "{differing} of {} pixels", with.len());
}

#[test]
fn spots_shine_in_their_cones() {
    let cone = Some(Cone { axis: Vec3::new(0.0, 0.0, -1.0), cutoff: 0.5, exponent: 0.0 });
    let light = Light::point(Vec3::new(0.0, 0.0, 5.0), Vec3::new(1.0, 1.0, 1.0));
    let (picture, effects) = square_over_floor(light, Lamp { cone, ..Lamp::default() });
    let image = picture.plain::<f64>(&effects);
    // 5 m below the lamp the cone has a radius of 5 tan 0.5 = 2.73 m.
    let lit = |x: f64| image.color[32 * 64 + ((x + 4.0) * 8.0) as usize].x > 0.0;
    assert_eq!([lit(-2.9), lit(-2.5), lit(2.5), lit(2.9)], [false, true, true, false]);
}

#[test]
fn translucent_faces_mix_with_what_is_behind() {
    let light = Light::ambient(Vec3::new(1.0, 1.0, 1.0));
    let (mut picture, mut effects) = square_over_floor(light, Lamp::default());
    picture.scene.surfaces[0].paint = Paint::Uniform(Vec3::new(0.0, 1.0, 0.0));
    effects.finishes.push(Finish { opacity: 0.25, ..Finish::default() });
    let image = picture.plain::<f64>(&effects);
    let middle = image.color[32 * 64 + 32];
    assert!((middle - Vec3::new(0.25, 1.0, 0.25)).norm() < 1e-12, "{middle:?}");
}

#[test]
fn distant_checkers_are_gray() {
    // A pixel sees many fields of a repeated texture: their mean.
    let texture = Texture::checkerboard(2, 8, [Vec3::zero(), Vec3::new(1.0, 1.0, 1.0)]).repeated();
    let mut floor = shapes::rectangle(1, 1, 8.0, 8.0);
    let uv = floor.topology.uv.iter().map(|face| face.map(|corner| corner.map(|x| x * 100.0))).collect();
    floor = pullback_render::Mesh::with_uv(floor.vertices, floor.topology.faces.clone(), uv);
    let (mut picture, effects) = square_over_floor(Light::ambient(Vec3::new(1.0, 1.0, 1.0)), Lamp::default());
    picture.scene.surfaces.clear();
    picture.scene = picture.scene.with_surface(&floor, Paint::Texture(texture), Material::unlit());
    let image = picture.plain::<f32>(&effects);
    assert!(image.color.iter().all(|c| (c.x - 0.5).abs() < 0.1), "{:?}", &image.color[..8]);
}

//! The same bits on any number of threads, and from a workspace that was used before.

use pullback_core::random::Random;
use pullback_math::{Cotangent, Vec3};
use pullback_render::{
    Camera, DibR, Effects, Finish, Image, Lamp, Lens, Material, Method, Outputs, Paint, PlainWorkspace,
    RenderWorkspace, Scene, Settings, Shadows, SoftRas, Texture, View, ViewBars, rasterize, render,
    render_vjp, shapes,
};

use crate::support::random_sphere;

fn scene() -> Scene<f32> {
    let fields = [Vec3::new(0.9, 0.9, 0.9), Vec3::new(0.2, 0.3, 0.8)];
    let texture = Texture::checkerboard(4, 4, fields);
    let mut scene = Scene::default()
        .with_surface(
            &shapes::cuboid(Vec3::new(1.0, 1.0, 1.0)),
            Paint::Texture(texture),
            Material::shiny(0.3, 8.0),
        )
        .with_surface(
            &shapes::knot(40, 6, 0.3, 0.14),
            Paint::Uniform(Vec3::new(0.9, 0.3, 0.2)),
            Material::matt().smoothed(),
        );
    let mut random = Random::new(1);
    scene.spheres = (0..20)
        .map(|_| random_sphere(&mut random))
        .map(|s| pullback_render::Sphere {
            center: s.center.map(|x| x as f32),
            radius: s.radius as f32 * 0.3,
            color: s.color.map(|x| x as f32),
        })
        .collect();
    scene
}

type Made = (Image<f32>, Scene<f32>, Camera<f32>);

fn make(settings: &Settings, ws: &mut RenderWorkspace<f32>) -> Made {
    let scene = scene();
    let camera = Camera::orbit(Lens::default(), Vec3::zero(), 3.5, 0.3, 0.4, 0.5);
    let view = View { scene: &scene, camera: &camera, settings };
    let mut image = Image::new(settings);
    render(view, ws, &mut image).unwrap();
    let image_bar = image.map(|x| x - 0.3);
    let (mut scene_bar, mut camera_bar) = (scene.zero_like(), camera.zero_like());
    render_vjp(view, ws, &image_bar, ViewBars { scene: &mut scene_bar, camera: &mut camera_bar }).unwrap();
    (image, scene_bar, camera_bar)
}

#[test]
fn threads_and_used_workspaces_change_no_bit() {
    for method in [Method::SoftRas(SoftRas::default()), Method::DibR(DibR::default())] {
        let settings =
            Settings::new(70, 50).with_supersampling(2).with_outputs(Outputs::all()).with_method(method);
        let mut ws = RenderWorkspace::new();
        let on = |threads: usize, ws: &mut RenderWorkspace<f32>| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| make(&settings, ws))
        };
        let one = on(1, &mut ws);
        assert!(one.1 != scene().zero_like());
        let bytes = ws.heap_bytes();
        make(&Settings::new(20, 20), &mut ws);
        assert!(one == on(3, &mut ws));
        assert!(one == on(2, &mut RenderWorkspace::new()));
        assert_eq!(ws.heap_bytes(), bytes, "a workspace grows only once");
    }
}

#[test]
fn plain_pictures_do_not_depend_on_threads() {
    let settings = Settings::new(70, 50).with_supersampling(2).with_outputs(Outputs::all());
    let camera = Camera::orbit(Lens::default(), Vec3::zero(), 3.5, 0.3, 0.4, 0.5);
    let scene = scene();
    let lamps = vec![Lamp { casts_shadow: true, ..Lamp::default() }; scene.lights.len()];
    let finishes = vec![Finish::default(), Finish { opacity: 0.5, ..Finish::default() }];
    let shadows = Some(Shadows { resolution: 256 });
    let effects = Effects { finishes, lamps, shadows, ..Effects::default() };
    let mut used = PlainWorkspace::new();
    let mut on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut image = Image::new(&settings);
        let view = View { scene: &scene, camera: &camera, settings: &settings };
        pool.install(|| rasterize(view, &effects, &mut used, &mut image)).unwrap();
        (image, used.heap_bytes())
    };
    let (one, bytes) = on(1);
    assert!(one.color.iter().any(|c| c.x > 0.1));
    assert!((one, bytes) == on(3));
}

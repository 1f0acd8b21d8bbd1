//! Pullbacks against dual numbers and against differences.

use pullback_core::gradcheck::{Options, gradcheck};
use pullback_core::random::Random;
use pullback_math::Vec3;
use pullback_render::{
    DibR, Material, Mesh, Method, Outputs, Paint, Projection, Scene, Settings, SoftRas, Surface,
};

use crate::support::{Picture, camera, random_color, random_sphere, random_surface};

/// Soft enough that a picture of few pixels shows everything, and without a cutoff that differences could see.
const BLURRED: SoftRas = SoftRas { sigma: 3e-3, gamma: 2e-2, epsilon: 1e-1, cutoff: 1e-12 };
const DIB: DibR = DibR { sharpness: 60.0, reach: 1.0 };

fn settings(method: Method) -> Settings {
    Settings::new(6, 5).with_outputs(Outputs::all()).with_method(method)
}

fn check(picture: &Picture) {
    let options = Options { difference_tolerance: 1e-5, ..Options::default() };
    gradcheck(picture, &picture.inputs(), &options).assert_passed();
}

#[test]
fn soft_pictures_of_every_paint_and_material() {
    let mut random = Random::new(3);
    let phong = Material::shiny(0.4, 3.0);
    let materials = [Material::unlit(), Material::matt(), phong, phong.smoothed()];
    for (kind, material) in materials.into_iter().enumerate() {
        for projection in [Projection::Perspective, Projection::Orthographic] {
            let scene = random_surface(&mut random, (kind + 2) % 4, material);
            check(&Picture {
                scene,
                camera: camera(projection),
                settings: settings(Method::SoftRas(BLURRED)),
            });
        }
    }
}

#[test]
fn foreground_and_silhouettes_of_dib_r() {
    let mut random = Random::new(5);
    for (kind, projection) in [(2, Projection::Perspective), (3, Projection::Orthographic)] {
        let mut scene = random_surface(&mut random, kind, Material::shiny(0.4, 3.0));
        scene.spheres.push(random_sphere(&mut random));
        check(&Picture { scene, camera: camera(projection), settings: settings(Method::DibR(DIB)) });
    }
}

#[test]
fn spheres() {
    let mut random = Random::new(7);
    for projection in [Projection::Perspective, Projection::Orthographic] {
        let spheres = (0..3).map(|_| random_sphere(&mut random)).collect();
        let material = Material::shiny(0.3, 4.0);
        let scene = Scene {
            spheres,
            sphere_material: material,
            background: random_color(&mut random),
            ..Scene::default()
        };
        check(&Picture { scene, camera: camera(projection), settings: settings(Method::SoftRas(BLURRED)) });
    }
}

#[test]
fn silhouettes_with_supersampling() {
    let mut random = Random::new(11);
    let scene = random_surface(&mut random, 0, Material::unlit());
    let settings = Settings::new(5, 4).with_supersampling(2).with_outputs(Outputs::silhouette());
    let settings = settings.with_method(Method::SoftRas(BLURRED));
    check(&Picture { scene, camera: camera(Projection::Perspective), settings });
}

/// A triangle with these corners in front of the camera of [`camera`], seen by an orthographic one.
fn one_face(vertices: [[f64; 3]; 3], more: &[[f64; 3]]) -> Scene<f64> {
    let vertices: Vec<Vec3<f64>> =
        vertices.iter().chain(more).map(|[x, y, z]| Vec3::new(*x, *y, *z)).collect();
    let mut faces = vec![[0, 1, 2]];
    if more.len() == 3 {
        faces.push([3, 4, 5]);
    }
    let colors = (0..vertices.len()).map(|i| Vec3::new(0.2, 0.5, 0.1 * i as f64)).collect();
    Scene::default().with_surface(&Mesh::new(vertices, faces), Paint::Vertices(colors), Material::matt())
}

#[test]
fn difficult_faces() {
    let cases = [
        // In front of each other, nearly parallel.
        (
            "hidden",
            one_face(
                [[-0.8, 0.0, -0.7], [0.9, 0.1, -0.6], [0.1, 0.0, 0.8]],
                &[[-0.7, 0.3, -0.6], [0.8, 0.3, -0.5], [0.0, 0.35, 0.7]],
            ),
        ),
        // Partly and wholly behind the camera.
        ("cut once", one_face([[-0.8, 0.0, -0.7], [0.9, 0.1, -0.6], [0.3, -4.0, 0.4]], &[])),
        ("cut twice", one_face([[-0.8, -4.0, -0.7], [0.9, -3.5, -0.6], [0.1, 0.2, 0.5]], &[])),
        (
            "beside one behind",
            one_face(
                [[-0.8, 0.0, -0.7], [0.9, 0.1, -0.6], [0.1, 0.0, 0.8]],
                &[[0.0, -4.0, 0.0], [1.0, -4.0, 0.0], [0.0, -4.0, 1.0]],
            ),
        ),
        // Smaller than a pixel.
        ("tiny", one_face([[0.1, 0.0, 0.1], [0.101, 0.0, 0.1], [0.1, 0.001, 0.102]], &[])),
        // Thin.
        ("thin", one_face([[-0.9, 0.0, -0.4], [0.9, 0.0, 0.41], [0.0, 0.1, 0.012]], &[])),
    ];
    for (name, scene) in cases {
        println!("{name}");
        for method in [Method::SoftRas(BLURRED), Method::DibR(DIB)] {
            let picture = Picture {
                scene: scene.clone(),
                camera: camera(Projection::Perspective),
                settings: settings(method),
            };
            let mut options = Options { difference_tolerance: 1e-4, ..Options::default() };
            options.forward_tolerance = 1e-8;
            gradcheck(&picture, &picture.inputs(), &options).assert_passed();
        }
    }
}

#[test]
fn degenerate_faces_have_finite_gradients() {
    let faces = [
        one_face([[0.3, 0.0, 0.2]; 3], &[]),
        one_face([[-0.5, 0.0, -0.5], [0.0, 0.0, 0.0], [0.5, 0.0, 0.5]], &[]),
        one_face([[-0.5, 0.0, 0.0], [0.5, 0.0, 0.0], [0.5, 0.0, 0.0]], &[]),
        // Seen from its edge.
        one_face([[0.2, -1.0, 0.3], [0.2, 1.0, 0.3], [0.2, 2.0, 0.3]], &[]),
    ];
    for scene in faces {
        for method in [Method::SoftRas(BLURRED), Method::SoftRas(SoftRas::default()), Method::DibR(DIB)] {
            for projection in [Projection::Perspective, Projection::Orthographic] {
                let settings = Settings::new(20, 18).with_outputs(Outputs::all()).with_method(method);
                let picture = Picture { scene: scene.clone(), camera: camera(projection), settings };
                let outputs = 20 * 18 * 8;
                let gradient = picture.pulled(&vec![1.0; outputs]).unwrap();
                assert!(gradient.iter().all(|g| g.is_finite()));
            }
        }
    }
}

#[test]
fn corners_and_edges_on_centers_of_pixels_have_exact_gradients() {
    // 8 × 8 pixels over 2 m: centers at odd multiples of 1/8. Corners lie on centers, edges run through others.
    let mut camera = camera(Projection::Orthographic);
    camera.world_from_camera = pullback_math::Mat3::identity();
    camera.position = Vec3::new(0.0, 0.0, 3.0);
    camera.half_height = 1.0;
    let scene = one_face([[-0.625, -0.625, 0.0], [0.625, -0.625, 0.0], [-0.625, 0.625, 0.25]], &[]);
    let settings = Settings::new(8, 8).with_outputs(Outputs::all()).with_method(Method::SoftRas(BLURRED));
    let picture = Picture { scene, camera, settings };
    let report = gradcheck(&picture, &picture.inputs(), &Options::default());
    // On edges the nearest points change; differences may see a kink there, forward mode may not.
    assert!(report.void.is_none() && report.worst_forward() < 1e-10, "{report}");
}

#[test]
fn gradients_in_f32_are_those_in_f64() {
    let mut random = Random::new(13);
    let mut scene = random_surface(&mut random, 2, Material::matt());
    scene.spheres.push(random_sphere(&mut random));
    let settings = Settings::new(24, 20).with_outputs(Outputs::all());
    let settings =
        settings.with_method(Method::SoftRas(SoftRas { sigma: 1e-3, gamma: 1e-2, ..SoftRas::default() }));
    let picture = Picture { scene, camera: camera(Projection::Perspective), settings };
    let (fine, coarse) = (picture.draw::<f64>(), picture.draw::<f32>());
    let off = |a: f64, b: f64| (a - b).abs();
    for (a, b) in fine.alpha.iter().zip(&coarse.alpha) {
        assert!(off(*a, f64::from(*b)) < 1e-4);
    }
    for (a, b) in fine.color.iter().zip(&coarse.color) {
        assert!((*a - b.map(f64::from)).norm() < 1e-3);
    }
}

#[test]
fn a_cotangent_of_another_shape_is_refused() {
    let mut random = Random::new(17);
    let scene = random_surface(&mut random, 0, Material::matt());
    let settings = settings(Method::SoftRas(BLURRED));
    let picture = Picture { scene, camera: camera(Projection::Perspective), settings };
    let (scene, camera) = (&picture.scene, &picture.camera);
    let view = pullback_render::View { scene, camera, settings: &settings };
    let mut ws = pullback_render::RenderWorkspace::new();
    let mut image = pullback_render::Image::new(&settings);
    let mut camera_bar = *camera;
    let mut wrong = Scene { surfaces: Vec::<Surface<f64>>::new(), ..scene.clone() };
    let bars = pullback_render::ViewBars { scene: &mut wrong, camera: &mut camera_bar };
    assert_eq!(
        pullback_render::render_vjp(view, &mut ws, &image, bars),
        Err(pullback_render::RenderError::NotRendered)
    );
    pullback_render::render(view, &mut ws, &mut image).unwrap();
    let bars = pullback_render::ViewBars { scene: &mut wrong, camera: &mut camera_bar };
    let said = pullback_render::render_vjp(view, &mut ws, &image, bars).unwrap_err().to_string();
    assert_eq!(said, "the cotangent of the scene has another shape than its primal: make it by zero_like");
}

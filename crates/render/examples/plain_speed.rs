//! Time of a plain picture of 640 × 480 pixels: 24 capsules over a checkered floor, with shadows, on one thread.
//!
//! `cargo run --release -p pullback-render --example plain_speed`

use std::time::Instant;

use pullback_math::Vec3;
use pullback_render::{
    Camera, Effects, Finish, Image, Lamp, Lens, Material, Paint, PlainWorkspace, Projection, Scene, Settings,
    Shadows, Sky, Texture, View, rasterize, shapes,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let fields = [Vec3::new(0.5, 0.56, 0.64), Vec3::new(0.58, 0.64, 0.72)];
    let floor = shapes::rectangle(32, 32, 60.0, 60.0);
    let uv = floor.topology.uv.iter().map(|face| face.map(|c| c.map(|x| 30.0 * x))).collect();
    let floor = pullback_render::Mesh::with_uv(floor.vertices, floor.topology.faces.clone(), uv);
    let texture = Texture::checkerboard(2, 8, fields).repeated();
    let mut scene = Scene::<f32>::default().with_surface(&floor, Paint::Texture(texture), Material::matt());
    for i in 0..24 {
        let place = Vec3::new(0.25 * f64::from(i % 6) - 0.6, 0.3 * f64::from(i / 6) - 0.5, 0.5);
        let limb = shapes::capsule(32, 8, 0.08, 0.4).moved(|x| x + place);
        let orange = Paint::Uniform(Vec3::new(0.86, 0.52, 0.26));
        scene = scene.with_surface(&limb, orange, Material::shiny(0.5, 16.0).smoothed());
    }
    let lens = Lens::new(Projection::Perspective, 0.02, 100.0);
    let camera = Camera::orbit(lens, Vec3::new(0.0, 0.0, 0.5), 3.0, 0.7, 0.3, 0.414);
    let lamps = vec![Lamp::default(), Lamp { casts_shadow: true, ..Lamp::default() }];
    let sky = Some(Sky { above: Vec3::new(0.3, 0.5, 0.7), below: Vec3::new(0.9, 0.95, 1.0) });
    let finishes = vec![Finish { casts_shadow: false, ..Finish::default() }];
    let faces: usize = scene.surfaces.iter().map(|s| s.topology.faces.len()).sum();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    for (samples, shadows) in [(1, None), (1, Some(Shadows::default())), (2, Some(Shadows::default()))] {
        let settings = Settings::new(640, 480).with_supersampling(samples);
        let effects = Effects { finishes: finishes.clone(), lamps: lamps.clone(), sky, shadows, haze: None };
        let (mut ws, mut image) = (PlainWorkspace::new(), Image::new(&settings));
        let view = View { scene: &scene, camera: &camera, settings: &settings };
        let mut best = f64::INFINITY;
        for _ in 0..12 {
            let start = Instant::now();
            pool.install(|| rasterize(view, &effects, &mut ws, &mut image))?;
            best = best.min(start.elapsed().as_secs_f64());
        }
        let shadowed = if shadows.is_some() { "with" } else { "without" };
        println!("{faces} faces, {samples} x {samples} samples, {shadowed} shadows: {:.1} ms", 1e3 * best);
    }
    Ok(())
}

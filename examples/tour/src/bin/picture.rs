//! A differentiable picture: how large is a ball that covers so many pixels?
//!
//! `cargo run --release -p tour --bin picture`

use std::error::Error;

use pullback::prelude::*;
use pullback::render::{
    Camera, Image, Lens, Material, Paint, RenderWorkspace, Scene, Settings, SoftRas, View, ViewBars, render,
    render_vjp, shapes,
};

fn main() -> Result<(), Box<dyn Error>> {
    let paint = Paint::Uniform(Vec3::new(0.9, 0.5, 0.1));
    let camera = Camera::orbit(Lens::default(), Vec3::zero(), 6.0, 0.5, 0.3, 0.5);
    // Outlines two pixels soft: sharper ones make the number of pixels a staircase.
    let soft = pullback::render::Method::SoftRas(SoftRas { sigma: 4e-3, ..SoftRas::default() });
    let settings = Settings::new(64, 64).with_method(soft);
    let (mut ws, mut image) = (RenderWorkspace::new(), Image::new(&settings));
    let wanted = 400.0;
    let mut radius = 0.5;
    for _ in 0..20 {
        let scene =
            Scene::default().with_surface(&shapes::sphere(2, radius), paint.clone(), Material::matt());
        let view = View { scene: &scene, camera: &camera, settings: &settings };
        render(view, &mut ws, &mut image)?;
        let covered: f64 = image.alpha.iter().sum();
        // d(covered)/d(radius): each vertex moves along itself.
        let mut image_bar = image.zero_like();
        image_bar.alpha.fill(1.0);
        let (mut scene_bar, mut camera_bar) = (scene.zero_like(), camera.zero_like());
        render_vjp(view, &mut ws, &image_bar, ViewBars { scene: &mut scene_bar, camera: &mut camera_bar })?;
        let vertices = scene.surfaces[0].vertices.iter().zip(&scene_bar.surfaces[0].vertices);
        let slope: f64 = vertices.map(|(x, bar)| x.dot(*bar) / radius).sum();
        radius -= (covered - wanted) / slope;
        println!("radius {radius:.6}: {covered:.2} pixels");
        if (covered - wanted).abs() < 1e-6 {
            return Ok(());
        }
    }
    Err("no radius was found".into())
}

#[test]
fn it_runs() {
    main().unwrap();
}

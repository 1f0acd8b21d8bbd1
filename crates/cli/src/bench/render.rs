//! Soft silhouettes of meshes, forward and backward, beside a dense PyTorch rasterizer and Mitsuba 3 in the same run; and
//! what colors cost.

use pullback_core::ConfigError;
use pullback_math::{Cotangent, Vec3};
use pullback_render::{
    Camera, Image, Lens, Light, Material, Mesh, Method, Outputs, Paint, Projection, RenderError,
    RenderWorkspace, Scene, Settings, SoftRas, View, ViewBars, render, render_vjp, shapes,
};
use pullback_tasks::{Goal, Results};
use serde_json::{Value, json};

use super::{count, peer};
use crate::output::{CliError, Output};
use crate::progress;
use crate::timing::{Contender, race};

/// Interleaved repetitions of ours.
const ROUNDS: usize = 25;
/// Distance of the camera from the origin, m, and the tangent of half its field of view, 60 degrees.
const DISTANCE: f64 = 2.7;
const HALF_HEIGHT: f64 = 0.577_350_269;
const SIGMA: f64 = 1e-4;
/// Pairs of pixels and faces that the dense program is asked for.
const MOST_PAIRS: usize = 100_000_000;
/// How much faster than each peer ours should be.
const FASTER: f64 = 20.0;

/// One picture.
struct Case {
    name: String,
    mesh: Mesh,
    size: usize,
    scene: Scene<f32>,
    settings: Settings,
    /// The silhouette of a ball beside the mesh.
    target: Vec<f32>,
}

impl Case {
    fn new(mesh: &Mesh, size: usize) -> Self {
        let method = Method::SoftRas(SoftRas { sigma: SIGMA, ..SoftRas::default() });
        let faces = mesh.topology.faces.len();
        let gray = Paint::Uniform(Vec3::new(0.6, 0.6, 0.6));
        Case {
            name: format!("{size}x{size}, {faces} faces"),
            mesh: mesh.clone(),
            size,
            scene: Scene::default().with_surface(mesh, gray, Material::matt()),
            settings: Settings::new(size, size).with_method(method).with_outputs(Outputs::silhouette()),
            target: target(size),
        }
    }

    /// The same picture in color, with a highlight on interpolated normals.
    fn colored(&self) -> Self {
        let gray = Paint::Uniform(Vec3::new(0.6, 0.6, 0.6));
        let material = Material::shiny(0.3, 20.0).smoothed();
        let mut scene = Scene::default().with_surface(&self.mesh, gray, material);
        scene.lights.push(Light::point(Vec3::new(3.0, 2.0, 4.0), Vec3::new(0.3, 0.3, 0.3)));
        let name = format!("{}, Phong", self.name);
        let settings = self.settings.with_outputs(Outputs::color());
        Case { name, scene, settings, mesh: self.mesh.clone(), target: self.target.clone(), ..*self }
    }

    fn pairs(&self) -> usize {
        self.size * self.size * self.mesh.topology.faces.len()
    }

    fn json(&self) -> Value {
        let vertices: Vec<[f64; 3]> = self.mesh.vertices.iter().map(|x| [x.x, x.y, x.z]).collect();
        let mesh = json!({ "vertices": vertices, "faces": self.mesh.topology.faces });
        let dense = self.pairs() <= MOST_PAIRS;
        json!({ "name": self.name, "size": self.size, "sigma": SIGMA, "mesh": mesh, "target": self.target, "dense": dense })
    }
}

/// 1 in a disk off the center, 0 elsewhere.
fn target(size: usize) -> Vec<f32> {
    let place = |i: usize| (2 * i + 1) as f64 / size as f64 - 1.0;
    let inside = |i: usize| (place(i % size) - 0.13).hypot(-place(i / size) - 0.06) < 0.7;
    (0..size * size).map(|i| if inside(i) { 1.0 } else { 0.0 }).collect()
}

/// Down the axis of z, as the peers look.
fn camera() -> Camera<f32> {
    let (eye, up) = (Vec3::new(0.0, 0.0, DISTANCE as f32), Vec3::new(0.0, 1.0, 0.0));
    let lens = Lens::new(Projection::Perspective, 1.0, 100.0);
    Camera::look_at(lens, eye, Vec3::zero(), up, HALF_HEIGHT as f32)
}

/// Everything that a picture and its gradient need, allocated once.
struct Bench<'a> {
    case: &'a Case,
    camera: Camera<f32>,
    ws: RenderWorkspace<f32>,
    image: Image<f32>,
    image_bar: Image<f32>,
    scene_bar: Scene<f32>,
}

impl<'a> Bench<'a> {
    fn new(case: &'a Case) -> Result<Self, RenderError> {
        let image = Image::new(&case.settings);
        let (scene_bar, ws) = (case.scene.zero_like(), RenderWorkspace::new());
        let mut bench = Bench { case, camera: camera(), ws, image_bar: image.zero_like(), image, scene_bar };
        bench.gradient()?;
        Ok(bench)
    }

    fn forward(&mut self) -> Result<(), RenderError> {
        let view = View { scene: &self.case.scene, camera: &self.camera, settings: &self.case.settings };
        render(view, &mut self.ws, &mut self.image)
    }

    /// L = mean (α − target)², and the sum of the colors' mean where there are colors.
    fn gradient(&mut self) -> Result<(), RenderError> {
        self.forward()?;
        let share = 2.0 / self.image.alpha.len() as f32;
        for ((bar, alpha), target) in
            self.image_bar.alpha.iter_mut().zip(&self.image.alpha).zip(&self.case.target)
        {
            *bar = share * (alpha - target);
        }
        self.image_bar.color.fill(Vec3::new(share, share, share));
        let bars = &mut self.scene_bar.surfaces[0].vertices;
        bars.fill(Vec3::zero());
        let mut camera_bar = self.camera.zero_like();
        let view = View { scene: &self.case.scene, camera: &self.camera, settings: &self.case.settings };
        let bars = ViewBars { scene: &mut self.scene_bar, camera: &mut camera_bar };
        render_vjp(view, &mut self.ws, &self.image_bar, bars)
    }
}

/// Best seconds of a picture, and of its pullback alone.
#[derive(Clone, Copy, Debug)]
struct Best {
    forward: f64,
    backward: f64,
}

pub fn run(output: &Output) -> Result<Results, CliError> {
    let cases = cases();
    let mut results = Results::new("render");
    let bar = progress::bar(2 * ROUNDS, "render");
    let one = measure(&cases, 1, || bar.inc(1))?;
    let two = measure(&cases, 2, || bar.inc(1))?;
    bar.finish_and_clear();

    for (threads, bests) in [(1, &one), (2, &two)] {
        for (case, best) in cases.iter().zip(bests) {
            let row = format!("{}, {}", case.name, count(threads));
            results.row(&row, "forward", 1e3 * best.forward, "ms");
            results.row(&row, "backward", 1e3 * best.backward, "ms");
        }
    }
    let silhouettes: Vec<&Case> = cases.iter().filter(|c| !c.settings.outputs.any()).collect();
    let given = json!({
        "camera": { "distance": DISTANCE, "half_height": HALF_HEIGHT },
        "cases": silhouettes.iter().map(|c| c.json()).collect::<Vec<_>>(),
    });
    let mut fastest = vec![Best { forward: f64::INFINITY, backward: f64::INFINITY }; cases.len()];
    for name in ["torch_softras", "mitsuba"] {
        match peer::run(output, ("bench-render", name), ("cases.json", &given.to_string()), &[]) {
            Ok(found) => beside(&mut results, &cases, &one, &found, &mut fastest)?,
            Err(why) => results.notes.push(format!("{name} was not measured: {why}")),
        }
    }
    for ((case, own), peer) in cases.iter().zip(&one).zip(&fastest) {
        let counts = case.mesh.topology.faces.len() == 1280 && (case.size == 64 || case.size == 256);
        if counts && !case.settings.outputs.any() {
            for (what, ratio) in
                [("forward", peer.forward / own.forward), ("backward", peer.backward / own.backward)]
            {
                let name = format!("{}: {what} over the fastest peer's time", case.name);
                results.goals.push(Goal::at_least(name, ratio, FASTER));
            }
        }
    }
    results.notes.push(format!(
        "f32, sigma {SIGMA:e}, ratios on 1 thread; ours: best of {ROUNDS} interleaved repetitions; backward: the pullback without \
         the forward pass; PyTorch: every pixel with every face; Mitsuba: 16 rays per pixel with gradients of visibility, another \
         estimate of another picture; the peers' seconds are those of their processor, without the turns of other programs, ours are \
         those of the wall"
    ));
    Ok(results)
}

/// A ring of 100 and one of 10,000 faces, and a geodesic sphere of 1280.
fn cases() -> Vec<Case> {
    let meshes =
        [shapes::torus(10, 5, 0.75, 0.25), shapes::sphere(3, 1.0), shapes::torus(100, 50, 0.75, 0.25)];
    let mut cases: Vec<Case> =
        [64, 128, 256].iter().flat_map(|size| meshes.iter().map(|mesh| Case::new(mesh, *size))).collect();
    let colored: Vec<Case> =
        cases.iter().filter(|c| c.mesh.topology.faces.len() == 1280).map(Case::colored).collect();
    cases.extend(colored);
    cases
}

fn measure(cases: &[Case], threads: usize, tick: impl FnMut() + Send) -> Result<Vec<Best>, CliError> {
    let config = |e: &dyn std::fmt::Display| ConfigError::new(e.to_string());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|e| config(&e))?;
    let mut contenders = Vec::new();
    for case in cases {
        let mut bench = Bench::new(case).map_err(|e| config(&e))?;
        contenders.push(Contender::new(format!("{}, forward", case.name), {
            let pool = &pool;
            move |calls| {
                pool.install(|| {
                    for _ in 0..calls {
                        let _ = bench.forward();
                    }
                });
            }
        }));
        let mut bench = Bench::new(case).map_err(|e| config(&e))?;
        contenders.push(Contender::new(format!("{}, both", case.name), {
            let pool = &pool;
            move |calls| {
                pool.install(|| {
                    for _ in 0..calls {
                        let _ = bench.gradient();
                    }
                });
            }
        }));
    }
    race(&mut contenders, ROUNDS, tick);
    let best = |pair: &[Contender<'_>]| {
        let [forward, both] = [0, 1].map(|i| 1e-9 * pair[i].best);
        Best { forward, backward: both - forward }
    };
    Ok(contenders.chunks(2).map(best).collect())
}

/// Rows of a peer, and the fastest times so far.
fn beside(
    results: &mut Results,
    cases: &[Case],
    own: &[Best],
    found: &Value,
    fastest: &mut [Best],
) -> Result<(), CliError> {
    let version = found["version"].as_str().unwrap_or("the peer");
    for one in found["cases"].as_array().into_iter().flatten() {
        let Some(i) = cases.iter().position(|c| Some(c.name.as_str()) == one["name"].as_str()) else {
            continue;
        };
        let seconds = |what: &str| one[what].as_f64().unwrap_or(f64::NAN);
        let row = format!("{}, {version}, 1 thread", cases[i].name);
        for (what, ours, best) in [
            ("forward", own[i].forward, &mut fastest[i].forward),
            ("backward", own[i].backward, &mut fastest[i].backward),
        ] {
            results.row(&row, what, 1e3 * seconds(what), "ms");
            results.row(&row, &format!("{what} over ours"), seconds(what) / ours, "1");
            *best = best.min(seconds(what));
        }
        if let (Some(alpha), Some(gradient)) = (one["alpha"].as_array(), one["gradient"].as_array()) {
            let [of_alpha, of_gradient] = differences(&cases[i], alpha, gradient)?;
            results.row(&row, "largest difference of silhouettes", of_alpha, "1");
            results.row(&row, "largest difference of gradients, over the largest entry", of_gradient, "1");
            results.goals.push(Goal::at_most(
                format!("{}: silhouettes differ", cases[i].name),
                of_alpha,
                1e-2,
            ));
            results.goals.push(Goal::at_most(
                format!("{}: gradients differ", cases[i].name),
                of_gradient,
                2e-2,
            ));
        }
    }
    Ok(())
}

/// How far our silhouette and our gradient are from a peer's.
fn differences(case: &Case, alpha: &[Value], gradient: &[Value]) -> Result<[f64; 2], CliError> {
    let bench = Bench::new(case).map_err(|e| ConfigError::new(e.to_string()))?;
    let bars = bench.scene_bar.surfaces[0].vertices.iter().flat_map(|x| [x.x, x.y, x.z]);
    let number = |x: &Value| x.as_f64().unwrap_or(f64::NAN);
    let largest = |pairs: &mut dyn Iterator<Item = (f64, f64)>| {
        pairs.fold([0.0_f64; 2], |[off, size], (a, b)| {
            // What is no number is infinitely far.
            let apart = (a - b).abs();
            [off.max(if apart.is_nan() { f64::INFINITY } else { apart }), size.max(b.abs())]
        })
    };
    let [of_alpha, _] =
        largest(&mut bench.image.alpha.iter().map(|x| f64::from(*x)).zip(alpha.iter().map(number)));
    let [of_gradient, size] = largest(&mut bars.map(f64::from).zip(gradient.iter().map(number)));
    Ok([of_alpha, of_gradient / size])
}

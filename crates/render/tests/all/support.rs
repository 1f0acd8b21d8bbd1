//! A view as a map of flat vectors, and random scenes.

use std::cell::{Cell, RefCell};

use pullback_core::gradcheck::Differentiable;
use pullback_core::random::Random;
use pullback_math::{Cotangent, Dual, Scalar, Vec3};
use pullback_render::{
    Camera, Effects, Image, Lens, Light, Material, Mesh, Paint, PlainWorkspace, Projection, RenderWorkspace,
    Scene, Settings, Sphere, Texture, View, ViewBars, rasterize, render, render_vjp,
};

/// A picture of a scene as a function of every number of scene and camera.
pub struct Picture {
    pub scene: Scene<f64>,
    pub camera: Camera<f64>,
    pub settings: Settings,
}

impl Picture {
    pub fn inputs(&self) -> Vec<f64> {
        let all = RefCell::new(Vec::new());
        let push = |x: f64| {
            all.borrow_mut().push(x);
            x
        };
        self.scene.map(push);
        self.camera.map(push);
        all.into_inner()
    }

    fn rebuilt<T: Scalar>(
        &self,
        x: &[f64],
        x_dot: impl Fn(usize) -> f64,
        make: fn(f64, f64) -> T,
    ) -> (Scene<T>, Camera<T>) {
        let at = Cell::new(0);
        let next = |_: f64| {
            let i = at.replace(at.get() + 1);
            make(x[i], x_dot(i))
        };
        (self.scene.map(next), self.camera.map(next))
    }

    fn render<T: Scalar>(&self, scene: &Scene<T>, camera: &Camera<T>) -> Result<Image<T>, String> {
        let mut image = Image::new(&self.settings);
        let view = View { scene, camera, settings: &self.settings };
        render(view, &mut RenderWorkspace::new(), &mut image).map_err(|e| e.to_string())?;
        Ok(image)
    }

    pub fn draw<T: Scalar>(&self) -> Image<T> {
        let (scene, camera) = (self.scene.map(T::lit), self.camera.map(T::lit));
        self.render(&scene, &camera).unwrap()
    }

    /// The plain picture.
    pub fn plain<T: Scalar>(&self, effects: &Effects) -> Image<T> {
        let (scene, camera) = (self.scene.map(T::lit), self.camera.map(T::lit));
        let mut image = Image::new(&self.settings);
        let view = View { scene: &scene, camera: &camera, settings: &self.settings };
        rasterize(view, effects, &mut PlainWorkspace::new(), &mut image).unwrap();
        image
    }

    /// Cotangents of scene and camera as one vector, for one of the image.
    pub fn pulled(&self, y_bar: &[f64]) -> Result<Vec<f64>, String> {
        let mut x_bar = vec![0.0; self.inputs().len()];
        self.vjp(&self.inputs(), y_bar, &mut x_bar)?;
        Ok(x_bar)
    }
}

/// Every number of a picture in one order.
pub fn flat<T: Copy>(image: &Image<T>) -> Vec<T> {
    let vectors = image.color.iter().chain(&image.normal).flat_map(|c| [c.x, c.y, c.z]);
    image.alpha.iter().copied().chain(vectors).chain(image.depth.iter().copied()).collect()
}

fn unflat(image: &mut Image<f64>, y: &[f64]) {
    let mut from = y.iter().copied();
    let mut next = || from.next().unwrap();
    image.alpha.iter_mut().for_each(|x| *x = next());
    for v in image.color.iter_mut().chain(&mut image.normal) {
        *v = Vec3::new(next(), next(), next());
    }
    image.depth.iter_mut().for_each(|x| *x = next());
}

impl Differentiable for Picture {
    fn input_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        self.scene.for_each(|name, _| names.push(format!("{}[{}]", name(), names.len())));
        names.extend((0..3).map(|i| format!("camera position[{i}]")));
        names.extend((0..9).map(|i| format!("camera axes[{i}]")));
        names.push("half height".into());
        names
    }
    fn outputs(&self) -> usize {
        let (o, pixels) = (self.settings.outputs, self.settings.width * self.settings.height);
        pixels * (1 + 3 * usize::from(o.color) + usize::from(o.depth) + 3 * usize::from(o.normal))
    }
    fn eval(&self, x: &[f64], y: &mut [f64]) -> Result<(), String> {
        let (scene, camera) = self.rebuilt(x, |_| 0.0, |x, _| x);
        y.copy_from_slice(&flat(&self.render(&scene, &camera)?));
        Ok(())
    }
    fn jvp(&self, x: &[f64], x_dot: &[f64], y: &mut [f64], y_dot: &mut [f64]) -> Result<(), String> {
        let (scene, camera) = self.rebuilt(x, |i| x_dot[i], Dual::new);
        for (i, dual) in flat(&self.render(&scene, &camera)?).into_iter().enumerate() {
            (y[i], y_dot[i]) = (dual.value, dual.tangent);
        }
        Ok(())
    }
    fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) -> Result<(), String> {
        let (scene, camera) = self.rebuilt(x, |_| 0.0, |x, _| x);
        let (mut ws, mut image) = (RenderWorkspace::new(), Image::new(&self.settings));
        let view = View { scene: &scene, camera: &camera, settings: &self.settings };
        render(view, &mut ws, &mut image).map_err(|e| e.to_string())?;
        unflat(&mut image, y_bar);
        let (mut scene_bar, mut camera_bar) = (scene.zero_like(), camera.zero_like());
        let bars = ViewBars { scene: &mut scene_bar, camera: &mut camera_bar };
        render_vjp(view, &mut ws, &image, bars).map_err(|e| e.to_string())?;
        let bars = Picture { scene: scene_bar, camera: camera_bar, settings: self.settings }.inputs();
        x_bar.iter_mut().zip(bars).for_each(|(to, from)| *to += from);
        Ok(())
    }
}

pub fn random_vector(random: &mut Random, size: f64) -> Vec3<f64> {
    Vec3::new(random.uniform(-size, size), random.uniform(-size, size), random.uniform(-size, size))
}

pub fn random_color(random: &mut Random) -> Vec3<f64> {
    random_vector(random, 0.4) + Vec3::new(0.5, 0.5, 0.5)
}

/// A camera on the axis of y that looks at the origin from 3 m, a little askew.
pub fn camera(projection: Projection) -> Camera<f64> {
    let half_height = if projection == Projection::Perspective { 0.45 } else { 1.3 };
    let up = Vec3::new(0.05, 0.1, 1.0);
    let eye = Vec3::new(0.2, -3.0, 0.3);
    Camera::look_at(Lens::new(projection, 0.5, 8.0), eye, Vec3::new(0.02, 0.01, 0.03), up, half_height)
}

/// Two crossing triangles and one more, with the paint given by `kind`.
pub fn random_surface(random: &mut Random, kind: usize, material: Material<f64>) -> Scene<f64> {
    let vertices = (0..5).map(|_| random_vector(random, 0.9)).collect();
    let faces = vec![[0, 1, 2], [1, 3, 2], [0, 4, 3]];
    let uv = (0..3).map(|_| std::array::from_fn(|_| [random.uniform(0.1, 0.9), random.uniform(0.1, 0.9)]));
    let mesh = Mesh::with_uv(vertices, faces, uv.collect());
    let mut colors = |n: usize| (0..n).map(|_| random_color(random)).collect::<Vec<_>>();
    let paint = match kind {
        0 => Paint::Uniform(colors(1)[0]),
        1 => Paint::Faces(colors(3)),
        2 => Paint::Vertices(colors(5)),
        _ => Paint::Texture(Texture { width: 3, height: 2, texels: colors(6), ..Texture::default() }),
    };
    let mut scene = Scene { background: random_color(random), ..Scene::default() };
    scene.lights.push(Light::point(Vec3::new(1.0, -2.0, 1.5), Vec3::new(0.5, 0.4, 0.3)));
    scene.with_surface(&mesh, paint, material)
}

pub fn random_sphere(random: &mut Random) -> Sphere<f64> {
    Sphere {
        center: random_vector(random, 0.6),
        radius: random.uniform(0.15, 0.5),
        color: random_color(random),
    }
}

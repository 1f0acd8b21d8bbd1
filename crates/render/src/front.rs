//! From the scene to the screen: vertices, triangles, balls and lights as the camera sees them.

use pullback_math::{Real, Scalar, Vec3};

use crate::ball::Ball;
use crate::camera::{Camera, screen};
use crate::clip::{Corner, clip, kept, parts};
use crate::grid::{Bound, Grid};
use crate::material::{Light, LightKind};
use crate::outline::Outline;
use crate::scene::{Paint, Scene, Surface};
use crate::triangle::Corners;
use crate::workspace::{Balls, Origin, Placed, Triangles, refill};

/// Vertices of all surfaces, and normals where they are interpolated.
pub(crate) fn place<T: Real>(scene: &Scene<T>, camera: &Camera<T>, shaded: bool, placed: &mut Placed<T>) {
    placed.first.clear();
    placed.first_texel.clear();
    placed.positions.clear();
    let mut texels = 0;
    for surface in &scene.surfaces {
        placed.first.push(placed.positions.len());
        placed.first_texel.push(texels);
        if let Paint::Texture(texture) = &surface.paint {
            texels += texture.texels.len();
        }
        placed.positions.extend(surface.vertices.iter().map(|x| camera.camera_from_world(*x)));
    }
    placed.first_texel.push(texels);
    refill(&mut placed.normals, if shaded { placed.positions.len() } else { 0 }, Vec3::zero());
    if shaded {
        for (surface, first) in scene.surfaces.iter().zip(&placed.first) {
            if surface.material.smooth {
                add_normals(surface, &placed.positions[*first..], &mut placed.normals[*first..]);
            }
        }
    }
}

/// N_v = Σ (b − a) × (c − a) over the faces around v
fn add_normals<T: Real>(surface: &Surface<T>, positions: &[Vec3<T>], normals: &mut [Vec3<T>]) {
    for face in &surface.topology.faces {
        let normal = face_normal(face.map(|v| positions[v as usize]));
        for v in face {
            normals[*v as usize] += normal;
        }
    }
}

/// (b − a) × (c − a), twice the area long
#[inline(always)]
pub(crate) fn face_normal<T: Real>([a, b, c]: [Vec3<T>; 3]) -> Vec3<T> {
    (b - a).cross(c - a)
}

/// Pullback of [`face_normal`].
#[inline(always)]
pub(crate) fn face_normal_vjp<T: Real>([a, b, c]: [Vec3<T>; 3], out_bar: Vec3<T>) -> [Vec3<T>; 3] {
    let (b_bar, c_bar) = (b - a).cross_vjp(c - a, out_bar);
    [-(b_bar + c_bar), b_bar, c_bar]
}

/// The corners of a face in the camera's frame. Without shading they carry positions alone.
#[inline(always)]
pub(crate) fn corners<T: Real>(
    surface: &Surface<T>,
    face: usize,
    positions: &[Vec3<T>],
    normals: Option<&[Vec3<T>]>,
) -> [Corner<T>; 3] {
    let vertices = surface.topology.faces[face].map(|v| v as usize);
    let mut corners = vertices.map(|v| Corner { position: positions[v], ..Corner::default() });
    let Some(normals) = normals else { return corners };
    let flat = face_normal(vertices.map(|v| positions[v]));
    for (k, v) in vertices.into_iter().enumerate() {
        corners[k].normal = if surface.material.smooth { normals[v].normalize() } else { flat };
        corners[k].paint = match &surface.paint {
            Paint::Uniform(color) => *color,
            Paint::Faces(colors) => colors[face],
            Paint::Vertices(colors) => colors[v],
            Paint::Texture(_) => {
                let [u, v] = surface.topology.uv[face][k];
                Vec3::new(T::lit(u), T::lit(v), T::zero())
            }
        };
    }
    corners
}

/// 1 / depth under perspective, else depth.
#[inline(always)]
fn depth_key<T: Real>(perspective: bool, position: Vec3<T>) -> T {
    if perspective { -position.z.recip() } else { -position.z }
}

/// Which triangles are made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<F> {
    /// Whether a surface is wanted.
    pub surface: F,
    /// Whether what corners carry is kept.
    pub corners: bool,
}

/// Triangles that may be seen, cut at the smallest depth.
pub(crate) fn make_triangles<T: Scalar>(
    scene: &Scene<T>,
    camera: &Camera<T>,
    grid: &Grid<T::Pack>,
    reach: f64,
    wanted: Wanted<impl Fn(usize) -> bool>,
    placed: &Placed<T>,
    triangles: &mut Triangles<T>,
) {
    let shaded = !placed.normals.is_empty();
    triangles.origins.clear();
    triangles.bounds.clear();
    triangles.outlines.clear();
    triangles.corners.clear();
    for (s, (surface, first)) in scene.surfaces.iter().zip(&placed.first).enumerate() {
        if !(wanted.surface)(s) {
            continue;
        }
        let positions = &placed.positions[*first..];
        let normals = shaded.then(|| &placed.normals[*first..]);
        for face in 0..surface.topology.faces.len() {
            let whole = corners(surface, face, positions, normals);
            let depths = whole.map(|c| -c.position.z.lane(0));
            let kept = kept(depths, camera.lens.near);
            if depths.iter().all(|z| *z > camera.lens.far) {
                continue;
            }
            for part in 0..parts(kept) {
                let origin =
                    Origin { surface: s as u32, face: face as u32, kept: kept as u8, part: part as u8 };
                let cut = clip(whole, T::lit(camera.lens.near), kept, part);
                add_triangle(camera, grid, reach, origin, cut, wanted.corners, triangles);
            }
        }
    }
    triangles.bins.fill(grid.tiles, &triangles.bounds);
}

/// Keeps a triangle if it may touch the screen.
#[inline(always)]
fn add_triangle<T: Scalar>(
    camera: &Camera<T>,
    grid: &Grid<T::Pack>,
    reach: f64,
    origin: Origin,
    cut: [Corner<T>; 3],
    with_corners: bool,
    triangles: &mut Triangles<T>,
) {
    let perspective = camera.lens.is_perspective();
    let at = cut.map(|c| screen(perspective, camera.half_height, c.position)).map(|(x, y)| [x, y]);
    let of = |i: usize| at.map(|p| p[i].lane(0));
    let low = |i: usize| of(i).into_iter().fold(f64::INFINITY, f64::min) - reach;
    let high = |i: usize| of(i).into_iter().fold(f64::NEG_INFINITY, f64::max) + reach;
    let bound = grid.bound([low(0), low(1)], [high(0), high(1)]);
    if bound.is_empty() {
        return;
    }
    triangles.origins.push(origin);
    triangles.bounds.push(bound);
    triangles.outlines.push(Outline::new(at));
    if with_corners {
        triangles.corners.push(Corners {
            depth_key: cut.map(|c| depth_key(perspective, c.position)),
            position: cut.map(|c| c.position),
            normal: cut.map(|c| c.normal),
            paint: cut.map(|c| c.paint),
        });
    }
}

/// Balls, and which samples they may touch: none if their centers are nearer than the camera sees.
pub(crate) fn make_balls<T: Scalar>(
    scene: &Scene<T>,
    camera: &Camera<T>,
    grid: &Grid<T::Pack>,
    reach: f64,
    balls: &mut Balls<T>,
) {
    balls.balls.clear();
    balls.bounds.clear();
    for sphere in &scene.spheres {
        let center = camera.camera_from_world(sphere.center);
        let (radius, half_height) = (sphere.radius, camera.half_height);
        let ball = Ball { center, radius, color: sphere.color, half_height };
        balls.bounds.push(ball_bound(camera, grid, reach, &ball.map(|x| x.lane(0))));
        balls.balls.push(ball);
    }
    balls.bins.fill(grid.tiles, &balls.bounds);
}

/// The box around what a ball reaches on the screen. Under perspective, x = X / Z on a ball of radius R around (X, Z)
/// lies between tan(θ ± φ) with tan θ = X / Z and sin φ = R / |(X, Z)|.
fn ball_bound<T: Real, P: Real>(camera: &Camera<T>, grid: &Grid<P>, reach: f64, ball: &Ball<f64>) -> Bound {
    let depth = -ball.center.z;
    if !(depth >= camera.lens.near && depth <= camera.lens.far) {
        return Bound::default();
    }
    let perspective = camera.lens.is_perspective();
    let scale = ball.half_height * if perspective { depth } else { 1.0 };
    let radius = ball.radius + reach * scale;
    let range = |x: f64| {
        if !perspective {
            return [(x - radius) / scale, (x + radius) / scale];
        }
        let sine = radius / x.hypot(depth);
        let (angle, half) = (x.atan2(depth), sine.min(1.0).asin());
        let quarter = std::f64::consts::FRAC_PI_2;
        let edge =
            |a: f64| if a.abs() < quarter { a.tan() / ball.half_height } else { a.signum() * f64::MAX };
        [edge(angle - half), edge(angle + half)]
    };
    let (x, y) = (range(ball.center.x), range(ball.center.y));
    grid.bound([x[0], y[0]], [x[1], y[1]])
}

/// Lights in the camera's frame, the same in all lanes.
pub(crate) fn make_lights<T: Scalar>(scene: &Scene<T>, camera: &Camera<T>, lights: &mut Vec<Light<T::Pack>>) {
    lights.clear();
    lights.extend(scene.lights.iter().map(|light| {
        let vector = match light.kind {
            LightKind::Ambient => light.vector,
            LightKind::Directional => camera.world_from_camera.transpose_mul(light.vector),
            LightKind::Point => camera.camera_from_world(light.vector),
        };
        Light { kind: light.kind, vector: vector.map(T::fill), intensity: light.intensity.map(T::fill) }
    }));
}

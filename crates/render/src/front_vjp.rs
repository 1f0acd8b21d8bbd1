//! Pullback of [`front`](crate::front): from triangles, balls and lights on the screen to scene and camera.

use pullback_math::{Cotangent, Scalar, Vec3};

use crate::ball::Ball;
use crate::camera::{Camera, screen_vjp};
use crate::clip::{Corner, clip, clip_vjp};
use crate::front::{corners, face_normal_vjp};
use crate::material::{Light, LightKind};
use crate::scene::{Paint, Scene, Surface};
use crate::triangle::Corners;
use crate::workspace::{Balls, Bars, Placed, Triangles, refill};

/// Cotangents of triangles to those of vertices, paints and camera.
pub(crate) fn triangles_vjp<T: Scalar>(
    scene: &Scene<T>,
    camera: &Camera<T>,
    placed: &Placed<T>,
    triangles: &Triangles<T>,
    bars: &mut Bars<T>,
    scene_bar: &mut Scene<T>,
    camera_bar: &mut Camera<T>,
) {
    let shaded = !placed.normals.is_empty();
    sum_entries(triangles, shaded, bars);
    refill(&mut bars.positions, placed.positions.len(), Vec3::zero());
    refill(&mut bars.normals, placed.normals.len(), Vec3::zero());
    for (i, origin) in triangles.origins.iter().enumerate() {
        let s = origin.surface as usize;
        let (surface, first) = (&scene.surfaces[s], placed.first[s]);
        let positions = &placed.positions[first..];
        let normals = shaded.then(|| &placed.normals[first..]);
        let near = T::lit(camera.lens.near);
        let (kept, part) = (usize::from(origin.kept), usize::from(origin.part));
        let whole = corners(surface, origin.face as usize, positions, normals);
        let cut = clip(whole, near, kept, part);
        let carried = shaded.then(|| &bars.triangle_corners[i]);
        let cut_bar = cut_vjp(camera, cut, bars.triangle_outlines[i], carried, camera_bar);
        let whole_bar = clip_vjp(whole, near, kept, part, cut_bar);
        let into = &mut Whole {
            positions: &mut bars.positions[first..],
            normals: &mut bars.normals[if shaded { first } else { 0 }..],
            paint: &mut scene_bar.surfaces[s].paint,
        };
        corners_vjp(surface, origin.face as usize, positions, normals, whole_bar, into);
    }
    vertices_vjp(scene, camera, placed, bars, scene_bar, camera_bar);
}

/// Sums over the entries of each triangle, tile by tile.
fn sum_entries<T: Scalar>(triangles: &Triangles<T>, shaded: bool, bars: &mut Bars<T>) {
    let count = triangles.origins.len();
    refill(&mut bars.triangle_outlines, count, [[T::zero(); 2]; 3]);
    refill(&mut bars.triangle_corners, if shaded { count } else { 0 }, Corners::default());
    for (entry, item) in triangles.bins.items.iter().enumerate() {
        bars.triangle_outlines[*item as usize].accumulate(bars.outlines[entry]);
        if shaded {
            bars.triangle_corners[*item as usize].accumulate(bars.corners[entry]);
        }
    }
}

/// Cotangents of the corners of one triangle on the screen.
#[inline(always)]
fn cut_vjp<T: Scalar>(
    camera: &Camera<T>,
    cut: [Corner<T>; 3],
    outline_bar: [[T; 2]; 3],
    carried_bar: Option<&Corners<T>>,
    camera_bar: &mut Camera<T>,
) -> [Corner<T>; 3] {
    let perspective = camera.lens.is_perspective();
    std::array::from_fn(|k| {
        let [x_bar, y_bar] = outline_bar[k];
        let position = cut[k].position;
        let ((), half_height_bar, position_bar) =
            screen_vjp(perspective, camera.half_height, position, (x_bar, y_bar));
        camera_bar.half_height += half_height_bar;
        let mut bar = Corner { position: position_bar, ..Corner::default() };
        if let Some(carried) = carried_bar {
            bar.position += carried.position[k];
            bar.normal = carried.normal[k];
            bar.paint = carried.paint[k];
            // d(−1 / z) = dz / z² under perspective, else d(−z)
            let per_depth = position.z.recip();
            let key_bar = carried.depth_key[k];
            bar.position.z += if perspective { key_bar * per_depth * per_depth } else { -key_bar };
        }
        bar
    })
}

/// Where cotangents of the corners of faces go.
struct Whole<'a, T> {
    positions: &'a mut [Vec3<T>],
    normals: &'a mut [Vec3<T>],
    paint: &'a mut Paint<T>,
}

/// Pullback of [`corners`].
#[inline(always)]
fn corners_vjp<T: Scalar>(
    surface: &Surface<T>,
    face: usize,
    positions: &[Vec3<T>],
    normals: Option<&[Vec3<T>]>,
    bar: [Corner<T>; 3],
    into: &mut Whole<'_, T>,
) {
    let vertices = surface.topology.faces[face].map(|v| v as usize);
    for (v, bar) in vertices.into_iter().zip(&bar) {
        into.positions[v] += bar.position;
    }
    let Some(normals) = normals else { return };
    if surface.material.smooth {
        for (v, bar) in vertices.into_iter().zip(&bar) {
            into.normals[v] += normals[v].normalize_vjp(bar.normal);
        }
    } else {
        let sum = bar[0].normal + bar[1].normal + bar[2].normal;
        for (v, bar) in vertices.into_iter().zip(face_normal_vjp(vertices.map(|v| positions[v]), sum)) {
            into.positions[v] += bar;
        }
    }
    for (v, bar) in vertices.into_iter().zip(&bar) {
        match into.paint {
            Paint::Uniform(color) => *color += bar.paint,
            Paint::Faces(colors) => colors[face] += bar.paint,
            Paint::Vertices(colors) => colors[v] += bar.paint,
            Paint::Texture(_) => {}
        }
    }
}

/// Pullback of [`place`](crate::front::place).
fn vertices_vjp<T: Scalar>(
    scene: &Scene<T>,
    camera: &Camera<T>,
    placed: &Placed<T>,
    bars: &mut Bars<T>,
    scene_bar: &mut Scene<T>,
    camera_bar: &mut Camera<T>,
) {
    for (s, (surface, first)) in scene.surfaces.iter().zip(&placed.first).enumerate() {
        if surface.material.smooth && !bars.normals.is_empty() {
            for face in &surface.topology.faces {
                let vertices = face.map(|v| first + v as usize);
                let sum = vertices.iter().fold(Vec3::zero(), |sum, v| sum + bars.normals[*v]);
                let all = face_normal_vjp(vertices.map(|v| placed.positions[v]), sum);
                for (v, bar) in vertices.into_iter().zip(all) {
                    bars.positions[v] += bar;
                }
            }
        }
        let surface_bar = &mut scene_bar.surfaces[s];
        for ((x, bar), x_bar) in
            surface.vertices.iter().zip(&bars.positions[*first..]).zip(&mut surface_bar.vertices)
        {
            *x_bar += camera.camera_from_world_vjp(*x, *bar, camera_bar);
        }
    }
}

/// Cotangents of the entries of balls to those of spheres and camera.
pub(crate) fn balls_vjp<T: Scalar>(
    scene: &Scene<T>,
    camera: &Camera<T>,
    balls: &Balls<T>,
    bars: &Bars<T>,
    scene_bar: &mut Scene<T>,
    camera_bar: &mut Camera<T>,
) {
    for (item, bar) in balls.bins.items.iter().zip(&bars.balls) {
        let (sphere, sphere_bar) = (&scene.spheres[*item as usize], &mut scene_bar.spheres[*item as usize]);
        let Ball { center, radius, color, half_height } = *bar;
        sphere_bar.center += camera.camera_from_world_vjp(sphere.center, center, camera_bar);
        sphere_bar.radius += radius;
        sphere_bar.color += color;
        camera_bar.half_height += half_height;
    }
}

/// Cotangents of materials, by entry, to those of surfaces and spheres.
pub(crate) fn materials_vjp<T: Scalar>(triangles: &Triangles<T>, bars: &Bars<T>, scene_bar: &mut Scene<T>) {
    for (item, bar) in triangles.bins.items.iter().zip(&bars.reflectances) {
        let surface = triangles.origins[*item as usize].surface as usize;
        scene_bar.surfaces[surface].material.reflectance.accumulate(*bar);
    }
    for bar in &bars.ball_reflectances {
        scene_bar.sphere_material.reflectance.accumulate(*bar);
    }
}

/// Cotangents of lights, by tile, to those of lights and camera.
pub(crate) fn lights_vjp<T: Scalar>(
    scene: &Scene<T>,
    camera: &Camera<T>,
    lights_bar: &[Light<T::Pack>],
    scene_bar: &mut Scene<T>,
    camera_bar: &mut Camera<T>,
) {
    for (i, light) in scene.lights.iter().enumerate() {
        let (mut vector_bar, light_bar) = (Vec3::zero(), &mut scene_bar.lights[i]);
        for of_tile in lights_bar.iter().skip(i).step_by(scene.lights.len()) {
            vector_bar += T::total_vector(of_tile.vector);
            light_bar.intensity += T::total_vector(of_tile.intensity);
        }
        match light.kind {
            LightKind::Ambient => {}
            LightKind::Directional => {
                let (axes, vector) = camera.world_from_camera.transpose_mul_vjp(light.vector, vector_bar);
                camera_bar.world_from_camera += axes;
                light_bar.vector += vector;
            }
            LightKind::Point => {
                light_bar.vector += camera.camera_from_world_vjp(light.vector, vector_bar, camera_bar);
            }
        }
    }
}

/// Cotangents of texels, summed over groups of tiles.
pub(crate) fn texels_vjp<T: Scalar>(bars: &Bars<T>, texels: usize, scene_bar: &mut Scene<T>) {
    for group in bars.texels.chunks_exact(texels.max(1)) {
        let mut from = group.iter();
        for surface in &mut scene_bar.surfaces {
            if let Paint::Texture(texture) = &mut surface.paint {
                for (to, from) in texture.texels.iter_mut().zip(&mut from) {
                    *to += *from;
                }
            }
        }
    }
}

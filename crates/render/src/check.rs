//! What a picture needs: numbers that are finite, lists that fit.

use pullback_math::{Mask, Scalar, Vec3};

use crate::camera::Camera;
use crate::error::RenderError;
use crate::render::View;
use crate::scene::{Paint, Scene, Surface};

/// Checks everything that [`render`](crate::render) relies on.
pub(crate) fn check<T: Scalar>(view: View<'_, T>) -> Result<(), RenderError> {
    let View { scene, camera, settings } = view;
    settings.check()?;
    let (near, far) = (camera.lens.near, camera.lens.far);
    if !(near > 0.0 && near < far && far.is_finite()) {
        return Err(RenderError::Depths { near, far });
    }
    let half_height = camera.half_height.lane(0);
    if !(half_height > 0.0 && half_height.is_finite()) {
        return Err(RenderError::NotPositive { name: "half_height", value: half_height });
    }
    let axes = camera.world_from_camera;
    let finite = [camera.position, axes.c0, axes.c1, axes.c2].into_iter().all(is_finite);
    if !finite {
        return Err(RenderError::NotFinite { what: "the camera".into() });
    }
    for (i, surface) in scene.surfaces.iter().enumerate() {
        check_surface(i, surface)?;
    }
    let bad = |s: &crate::scene::Sphere<T>| !is_finite(s.center) || !s.radius.is_finite().all();
    if let Some(i) = scene.spheres.iter().position(bad) {
        return Err(RenderError::NotFinite { what: format!("sphere {i}") });
    }
    Ok(())
}

fn check_surface<T: Scalar>(i: usize, surface: &Surface<T>) -> Result<(), RenderError> {
    let (vertices, faces) = (surface.vertices.len(), &surface.topology.faces);
    for (f, face) in faces.iter().enumerate() {
        if let Some(vertex) = face.iter().find(|v| **v as usize >= vertices) {
            return Err(RenderError::NoSuchVertex { surface: i, face: f, vertex: *vertex, vertices });
        }
    }
    let length = |what: &'static str, expected: usize, found: usize| match expected == found {
        true => Ok(()),
        false => Err(RenderError::WrongLength { surface: i, what, expected, found }),
    };
    match &surface.paint {
        Paint::Uniform(_) => {}
        Paint::Faces(colors) => length("colors of faces", faces.len(), colors.len())?,
        Paint::Vertices(colors) => length("colors of vertices", vertices, colors.len())?,
        Paint::Texture(texture) => {
            length("places of faces on its texture", faces.len(), surface.topology.uv.len())?;
            length("texels", (texture.width * texture.height).max(1), texture.texels.len())?;
        }
    }
    match surface.vertices.iter().position(|x| !is_finite(*x)) {
        Some(v) => Err(RenderError::NotFinite { what: format!("vertex {v} of surface {i}") }),
        None => Ok(()),
    }
}

fn is_finite<T: Scalar>(x: Vec3<T>) -> bool {
    (x.x.is_finite() & x.y.is_finite() & x.z.is_finite()).all()
}

/// Refuses cotangents that left the finite numbers.
pub(crate) fn check_finite<T: Scalar>(
    scene_bar: &Scene<T>,
    camera_bar: &Camera<T>,
) -> Result<(), RenderError> {
    let mut worst = None;
    scene_bar.for_each(|name, x| {
        if worst.is_none() && !x.is_finite().all() {
            worst = Some(name());
        }
    });
    let Camera { position, world_from_camera: axes, half_height, .. } = *camera_bar;
    let camera = [position, axes.c0, axes.c1, axes.c2].into_iter().all(is_finite);
    if !(camera && half_height.is_finite().all()) {
        worst.get_or_insert("the camera".into());
    }
    match worst {
        Some(what) => Err(RenderError::GradientNotFinite { what }),
        None => Ok(()),
    }
}

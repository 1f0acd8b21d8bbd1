//! Meshes for the MJCF reader.
//!
//! The order is MuJoCo's: the reference frame is taken off, then the scale is applied, then the mesh is
//! weighed. The mesh stays in this frame, with its center and inertia beside it; MuJoCo moves it to its
//! inertial frame and the geom the other way, which is the same motion.

use pullback_articulated::{Hull, Mesh};
use pullback_math::Vec3;

use super::frame::stored_axes;
use super::{MeshError, MeshInertia, TriangleMesh, mass_properties, principal_axes, read};
use crate::mjcf::{LoadedMesh, MeshLoader, MeshSource, SolidProperties};

/// Reads mesh assets from STL, OBJ, Collada and MSH files and from corners in the model.
///
/// ```
/// use std::sync::Arc;
/// use pullback_scene::mesh::MeshFiles;
/// use pullback_scene::mjcf::{ImportOptions, parse_mjcf};
/// let text = "<mujoco><asset><mesh name='m' vertex='0 0 0  6 0 0  0 1 0  0 0 1'/></asset>
///   <worldbody><body><freejoint/><geom type='mesh' mesh='m' density='5'/></body></worldbody></mujoco>";
/// let options = ImportOptions { mesh_loader: Some(Arc::new(MeshFiles)), ..ImportOptions::default() };
/// let model = parse_mjcf(text, None, &options)?;
/// assert!((model.bodies[1].mass - 5.0).abs() < 1e-12);
/// # Ok::<(), pullback_scene::ImportError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct MeshFiles;

impl MeshLoader for MeshFiles {
    fn load(&self, source: &MeshSource) -> Result<LoadedMesh, String> {
        load(source).map_err(|e| e.to_string())
    }
}

fn load(source: &MeshSource) -> Result<LoadedMesh, MeshError> {
    let kind = match source.inertia.as_str() {
        "legacy" => MeshInertia::Legacy,
        "exact" => MeshInertia::Exact,
        "convex" => MeshInertia::Convex,
        "shell" => MeshInertia::Shell,
        other => return Err(MeshError::geometry(format!("`{other}` is no way to weigh a mesh"))),
    };
    let Vec3 { x, y, z } = source.scale;
    if x == 0.0 || y == 0.0 || z == 0.0 {
        return Err(MeshError::geometry("the scale must not be zero"));
    }
    let written = match &source.file {
        Some(file) => read(file)?,
        None => TriangleMesh { vertices: source.vertices.clone(), triangles: source.triangles.clone() },
    };
    // MuJoCo keeps coordinates in single precision, whatever the file holds.
    let single = |v: Vec3<f64>| v.map(|x| f64::from(x as f32));
    let written = TriangleMesh { vertices: written.vertices.into_iter().map(single).collect(), ..written };
    let mesh = written.in_frame(source.reference_position, source.reference_orientation).scaled(source.scale);
    // An open mesh still serves as a shape; only a body that must be weighed by it minds.
    let solid = mass_properties(&mesh, kind)
        .map(|w| SolidProperties { volume: w.volume, center: w.com, inertia: w.inertia })
        .map_err(|e| e.to_string());
    let (mut mesh, flat) = match mesh.clone().into_model_mesh(source.name.clone()) {
        Ok(mesh) => (mesh, None),
        // A flat mesh is seen but has no inside to collide with.
        Err(why) if !mesh.triangles.is_empty() => {
            let TriangleMesh { vertices, triangles } = mesh;
            let hull = Hull::default();
            (Mesh { name: source.name.clone(), vertices, triangles, hull }, Some(why.to_string()))
        }
        Err(why) => return Err(why),
    };
    let bounds = solid.as_ref().map_or([Vec3::zero(); 2], |solid| bounds(&mesh.vertices, solid));
    if let (Ok(solid), None) = (&solid, &flat) {
        mesh.hull = mesh.hull.with_center(solid.center);
        // Contacts see the vertices as MuJoCo stores them: in single precision, in the inertial frame.
        let axes = stored_axes(solid.inertia);
        for v in &mut mesh.vertices {
            *v = axes.rotate(single(axes.inverse_rotate(*v - solid.center))) + solid.center;
        }
    }
    Ok(LoadedMesh { mesh, solid, flat, bounds })
}

/// Smallest and largest coordinates along the principal axes, from the center of mass.
fn bounds(vertices: &[Vec3<f64>], solid: &SolidProperties) -> [Vec3<f64>; 2] {
    let (_, axes) = principal_axes(solid.inertia);
    let [mut low, mut high] = [Vec3::<f64>::zero(); 2];
    for v in vertices {
        let v = axes.inverse_rotate(*v - solid.center);
        for i in 0..3 {
            (low[i], high[i]) = (low[i].min(v[i]), high[i].max(v[i]));
        }
    }
    [low, high]
}

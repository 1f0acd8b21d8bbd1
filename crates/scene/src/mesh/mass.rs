//! Volume, center of mass and inertia of a triangle mesh.
//!
//! A closed mesh is the signed sum of the tetrahedra between its triangles and any point; for each with edges
//! a, b, c from that point, volume V = a·(b×c)/6, first moment V (a+b+c)/4, and second moment ∫ x xᵀ = V/20
//! (aaᵀ + bbᵀ + ccᵀ + ssᵀ), s = a+b+c. All is exact for polyhedra. A shell of triangles of area A has moments
//! A (a+b+c)/3 and A/12 (aaᵀ + bbᵀ + ccᵀ + ssᵀ).
//!
//! The kinds are MuJoCo's, found by measuring MuJoCo 3.17 (`reference/mesh_inertia.py`): `legacy`, its
//! default, takes the absolute volume of each tetrahedron, first seen from the area-weighted center of the
//! triangles to find the center of mass, then from there for mass and inertia. It is exact for meshes that
//! are star-shaped around both points, too heavy otherwise (13 % for an L), and accepts meshes with holes or
//! turned triangles.

use std::collections::HashMap;

use pullback_math::{SymMat3, Vec3};

use super::{MeshError, TriangleMesh, convex_hull};

/// How a mesh is weighed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MeshInertia {
    /// Absolute volumes of tetrahedra; MuJoCo's default. Exact for convex meshes.
    #[default]
    Legacy,
    /// Signed volumes; the mesh must be closed and face outward.
    Exact,
    /// The convex hull.
    Convex,
    /// The surface; the "volume" is the area and the density is per area.
    Shell,
}

/// Volume and its moments; multiply by the density for mass and inertia.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MassProperties {
    /// Volume, m³; for shells the area, m².
    pub volume: f64,
    /// Center of mass in the mesh frame, m.
    pub com: Vec3<f64>,
    /// Inertia about the center of mass, axes of the mesh frame, at density 1.
    pub inertia: SymMat3<f64>,
}

/// Weighs a mesh at density 1. A mesh without triangles is weighed as its convex hull.
pub fn mass_properties(mesh: &TriangleMesh, kind: MeshInertia) -> Result<MassProperties, MeshError> {
    check(mesh)?;
    if kind == MeshInertia::Convex || mesh.triangles.is_empty() {
        let triangles = convex_hull(&mesh.vertices)?.triangles;
        let hull = TriangleMesh { vertices: mesh.vertices.clone(), triangles };
        return weigh(&hull, if kind == MeshInertia::Shell { kind } else { MeshInertia::Exact });
    }
    if kind == MeshInertia::Exact {
        check_closed(mesh)?;
    }
    weigh(mesh, kind)
}

fn check(mesh: &TriangleMesh) -> Result<(), MeshError> {
    let finite = |v: &Vec3<f64>| v.x.is_finite() && v.y.is_finite() && v.z.is_finite();
    if mesh.vertices.is_empty() || !mesh.vertices.iter().all(finite) {
        return Err(MeshError::geometry("a mesh needs vertices, all finite"));
    }
    let count = mesh.vertices.len();
    match mesh.triangles.iter().position(|t| t.iter().any(|v| *v >= count)) {
        Some(i) => Err(MeshError::geometry(format!("triangle {i} names a vertex that does not exist"))),
        None => Ok(()),
    }
}

/// Every edge is passed once in each direction; vertices at the same position are the same.
fn check_closed(mesh: &TriangleMesh) -> Result<(), MeshError> {
    let mut first = HashMap::with_capacity(mesh.vertices.len());
    let merged: Vec<usize> = (mesh.vertices.iter().enumerate())
        .map(|(i, v)| *first.entry(super::stl::position_key(*v)).or_insert(i))
        .collect();
    let mut balance: HashMap<(usize, usize), (i32, usize)> = HashMap::with_capacity(3 * mesh.triangles.len());
    for (i, t) in mesh.triangles.iter().enumerate() {
        let [a, b, c] = t.map(|v| merged[v]);
        if a == b || b == c || c == a {
            continue;
        }
        for (p, q) in [(a, b), (b, c), (c, a)] {
            let entry = balance.entry((p.min(q), p.max(q))).or_insert((0, i));
            entry.0 += if p < q { 1 } else { -1 };
        }
    }
    let open = balance.iter().filter(|(_, (sum, _))| *sum != 0).map(|(edge, (_, t))| (*t, *edge)).min();
    match open {
        None => Ok(()),
        Some((triangle, (p, q))) => Err(MeshError::geometry(format!(
            "the mesh is not closed: edge {p}-{q} of triangle {triangle} has no opposite; repair the mesh or weigh it as \
             convex or shell"
        ))),
    }
}

fn weigh(mesh: &TriangleMesh, kind: MeshInertia) -> Result<MassProperties, MeshError> {
    // The area-weighted center of the triangles is a point near all of them: moments about it lose few
    // digits.
    let near = mesh.vertices[0];
    let (area, first) = moments(mesh, near, MeshInertia::Shell);
    let extent = mesh.vertices.iter().fold(0.0f64, |m, v| m.max((*v - near).norm()));
    if !(area > 1e-20 * extent * extent && area.is_finite()) {
        return Err(MeshError::geometry("the triangles of the mesh have no area; check its scale"));
    }
    let center = near + first * (1.0 / area);
    let (volume, first) = moments(mesh, center, kind);
    check_volume(volume, extent)?;
    let com = center + first * (1.0 / volume);

    let (volume, _) = moments(mesh, com, kind);
    check_volume(volume, extent)?;
    let second = second_moment(mesh, com, kind);
    // I = tr(S) 1 − S
    let trace = second.trace();
    let inertia = SymMat3::diagonal(Vec3::new(trace, trace, trace)) - second;
    Ok(MassProperties { volume, com, inertia })
}

fn check_volume(volume: f64, extent: f64) -> Result<(), MeshError> {
    if volume.is_nan() || volume.is_infinite() {
        return Err(MeshError::geometry("the volume of the mesh overflows; check its scale"));
    }
    if volume.abs() <= 1e-14 * extent * extent * extent {
        return Err(MeshError::geometry("the mesh has no volume; weigh it as shell or give it a thickness"));
    }
    if volume < 0.0 {
        return Err(MeshError::geometry(format!(
            "the mesh has the negative volume {volume}: its triangles face inward; turn them round"
        )));
    }
    Ok(())
}

/// Weight of each triangle seen from `apex`: the volume below it, or its area.
fn weight([a, b, c]: [Vec3<f64>; 3], kind: MeshInertia) -> f64 {
    match kind {
        MeshInertia::Shell => (b - a).cross(c - a).norm() / 2.0,
        MeshInertia::Legacy => (a.dot(b.cross(c)) / 6.0).abs(),
        MeshInertia::Exact | MeshInertia::Convex => a.dot(b.cross(c)) / 6.0,
    }
}

fn moments(mesh: &TriangleMesh, apex: Vec3<f64>, kind: MeshInertia) -> (f64, Vec3<f64>) {
    let share = if kind == MeshInertia::Shell { 3.0 } else { 4.0 };
    let (mut zeroth, mut first) = (0.0, Vec3::zero());
    for t in &mesh.triangles {
        let corners = mesh.corners(*t).map(|v| v - apex);
        let w = weight(corners, kind);
        let [a, b, c] = corners;
        zeroth += w;
        first += (a + b + c) * (w / share);
    }
    (zeroth, first)
}

fn second_moment(mesh: &TriangleMesh, apex: Vec3<f64>, kind: MeshInertia) -> SymMat3<f64> {
    let share = if kind == MeshInertia::Shell { 12.0 } else { 20.0 };
    let mut second = SymMat3::zero();
    for t in &mesh.triangles {
        let corners = mesh.corners(*t).map(|v| v - apex);
        let w = weight(corners, kind) / share;
        let [a, b, c] = corners;
        for x in [a, b, c, a + b + c] {
            second += SymMat3::outer_square(x) * w;
        }
    }
    second
}

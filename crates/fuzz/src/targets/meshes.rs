//! Meshes: from the bytes to mass properties and hull, and to soft bodies.

use pullback_core::registry::Entry;
use pullback_scene::mesh::{
    MeshError, MeshInertia, TriangleMesh, mass_properties, parse_dae, parse_msh, parse_obj, parse_soft,
    parse_stl,
};

use crate::mutate::Structure::{Binary, Text, Xml};
use crate::target::{Scratch, Target, answer};

pub const TABLE: &[Entry<Target>] = &[
    Entry::new("obj", "Wavefront OBJ", Target::new(Text, |b, _| solid(parse_obj(b, "input.obj")))),
    Entry::new("stl", "STL as text", Target::new(Text, |b, _| solid(parse_stl(b, "input.stl")))),
    Entry::new("stl-binary", "STL as bytes", Target::new(Binary, |b, _| solid(parse_stl(b, "input.stl")))),
    Entry::new("msh", "MuJoCo's MSH", Target::new(Binary, |b, _| solid(parse_msh(b, "input.msh")))),
    Entry::new("dae", "Collada", Target::new(Xml, |b, _| solid(parse_dae(b, "input.dae")))),
    Entry::new("gmsh", "Gmsh as text", Target::new(Text, gmsh).beside(&[(GMSH, "_text.msh")])),
    Entry::new("gmsh-binary", "Gmsh as bytes", Target::new(Binary, gmsh).beside(&[(GMSH, "_binary.msh")])),
];

/// Files that Gmsh wrote.
const GMSH: &str = "crates/scene/tests/golden/gmsh";

/// Weighs a mesh in all ways, and finds its hull.
fn solid(mesh: Result<TriangleMesh, MeshError>) -> String {
    let mesh = match mesh {
        Ok(mesh) => mesh,
        Err(error) => return error.to_string(),
    };
    let ways = [MeshInertia::Legacy, MeshInertia::Exact, MeshInertia::Convex, MeshInertia::Shell];
    let weighed: Vec<String> = ways.map(|way| answer(mass_properties(&mesh, way))).into();
    format!("{} {}", weighed.join(" "), answer(mesh.into_model_mesh("input")))
}

/// As a soft body, whatever it holds.
fn gmsh(input: &[u8], _: &mut Scratch) -> String {
    answer(parse_soft(input, "msh", "input.msh"))
}

//! Soft meshes as text, to read them back.
//!
//! Numbers are written with as many digits as it takes to read the same number again.

use std::fmt::Write;

use pullback_math::Vec3;
use pullback_scene::mesh::SoftMesh;
use pullback_soft::mesh::TriangleMesh;

/// The mesh in Gmsh's format 4.1 as text; `parse_gmsh` reads the same mesh back.
///
/// Vertices and elements keep their order and are numbered from 1, all in one entity.
pub fn write_gmsh(mesh: &SoftMesh) -> String {
    match mesh {
        SoftMesh::Solid(solid) => gmsh(&solid.positions, &solid.tets, 3, 4),
        SoftMesh::Sheet(sheet) => gmsh(&sheet.positions, &sheet.triangles, 2, 2),
    }
}

fn gmsh<const N: usize>(
    positions: &[Vec3<f64>],
    elements: &[[usize; N]],
    dimension: usize,
    kind: usize,
) -> String {
    let (nodes, count) = (positions.len(), elements.len());
    let mut text = format!("$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 {nodes} 1 {nodes}\n");
    line(&mut text, format_args!("{dimension} 1 0 {nodes}"));
    (1..=nodes).for_each(|number| line(&mut text, format_args!("{number}")));
    positions.iter().for_each(|x| line(&mut text, format_args!("{:?} {:?} {:?}", x.x, x.y, x.z)));
    line(&mut text, format_args!("$EndNodes\n$Elements\n1 {count} 1 {count}"));
    line(&mut text, format_args!("{dimension} 1 {kind} {count}"));
    for (i, corners) in elements.iter().enumerate() {
        let corners = corners.map(|c| (c + 1).to_string()).join(" ");
        line(&mut text, format_args!("{} {corners}", i + 1));
    }
    text.push_str("$EndElements\n");
    text
}

/// The mesh as Wavefront OBJ: a sheet as it is, of a solid its surface with the vertices that are on it.
pub fn write_obj(mesh: &SoftMesh) -> String {
    let sheet = match mesh {
        SoftMesh::Sheet(sheet) => sheet.clone(),
        SoftMesh::Solid(solid) => {
            TriangleMesh { positions: solid.positions.clone(), triangles: solid.surface() }.compacted()
        }
    };
    let mut text = String::new();
    sheet.positions.iter().for_each(|x| line(&mut text, format_args!("v {:?} {:?} {:?}", x.x, x.y, x.z)));
    sheet
        .triangles
        .iter()
        .for_each(|[a, b, c]| line(&mut text, format_args!("f {} {} {}", a + 1, b + 1, c + 1)));
    text
}

fn line(text: &mut String, content: std::fmt::Arguments) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{content}");
}

//! Gmsh's MSH format, versions 2.2 and 4.1, text and binary of either byte order.
//!
//! Read: `$Nodes` and `$Elements`; all other sections are skipped. A file with tetrahedra is a solid, and its
//! triangles, which are the surface Gmsh meshed on the way, are ignored; a file with triangles and no
//! tetrahedron is a sheet. Points and lines are always ignored, and so are nodes that only they use. Anything
//! else (quadrangles, hexahedra, prisms, pyramids, curved elements) is refused: dropping it would leave a
//! hole. Physical groups are not kept.
//!
//! Text is read word by word, so line breaks do not matter; errors name the line, in binary files the byte,
//! and the element's own number where there is one. Counts are compared with the bytes that are left before
//! anything is allocated.

use std::collections::HashMap;

use pullback_math::Vec3;
use pullback_soft::mesh::{TetMesh, TriangleMesh};

use super::MeshError;
use super::gmsh_cursor::Cursor;
use super::soft::{SoftMesh, check};

/// How every Gmsh file begins.
pub(super) const HEADER: &[u8] = b"$MeshFormat";

/// Gmsh's numbers of the kinds of element that are read or ignored, with the number of nodes.
const LINE: (i64, usize) = (1, 2);
const TRIANGLE: (i64, usize) = (2, 3);
const TET: (i64, usize) = (4, 4);
const POINT: (i64, usize) = (15, 1);

/// Elements as numbers of nodes, each with its own number.
#[derive(Default)]
struct Elements {
    tets: Vec<([u64; 4], u64)>,
    triangles: Vec<([u64; 3], u64)>,
}

/// Nodes in file order, and where each number stands.
#[derive(Default)]
struct Nodes {
    positions: Vec<Vec3<f64>>,
    index: HashMap<u64, usize>,
}

/// Reads a Gmsh file from its bytes; `file` is the name that errors show.
pub fn parse_gmsh(bytes: &[u8], file: &str) -> Result<SoftMesh, MeshError> {
    let mut cursor = Cursor::new(bytes, file);
    let version_4 = format(&mut cursor)?;
    let (mut nodes, mut elements) = (None, None);
    while let Some(section) = cursor.section()? {
        match section.as_str() {
            "Nodes" if nodes.is_none() => {
                let read = if version_4 { nodes_4(&mut cursor) } else { nodes_2(&mut cursor) };
                nodes = Some(read?);
                cursor.end("Nodes")?;
            }
            "Elements" if elements.is_none() => {
                let read = if version_4 { elements_4(&mut cursor) } else { elements_2(&mut cursor) };
                elements = Some(read?);
                cursor.end("Elements")?;
            }
            "Nodes" | "Elements" => {
                return Err(cursor.error(format!("a second section ${section}; merge the meshes in Gmsh")));
            }
            _ => cursor.skip(&section)?,
        }
    }
    let missing = |section: &str| MeshError::Read {
        file: file.into(),
        reason: format!("there is no section ${section}; save the mesh again"),
    };
    let nodes = nodes.ok_or_else(|| missing("Nodes"))?;
    let Elements { tets, triangles } = elements.ok_or_else(|| missing("Elements"))?;
    if tets.is_empty() && triangles.is_empty() {
        let reason = "there is no tetrahedron and no triangle in it; mesh in 2-D or 3-D and tick `Save all` if \
                      physical groups hide them";
        return Err(MeshError::Read { file: file.into(), reason: reason.into() });
    }
    // A sheet only where there is no solid.
    let (mesh, numbers) = if tets.is_empty() {
        let (triangles, numbers) = resolve(triangles, &nodes, file)?;
        (SoftMesh::Sheet(TriangleMesh { positions: nodes.positions, triangles }.compacted()), numbers)
    } else {
        let (tets, numbers) = resolve(tets, &nodes, file)?;
        (SoftMesh::Solid(TetMesh { positions: nodes.positions, tets }.compacted()), numbers)
    };
    check(&mesh, file, |element| match numbers.get(element) {
        Some(number) => format!("element {number}"),
        None => format!("element at place {element}"),
    })?;
    Ok(mesh)
}

/// Reads `$MeshFormat`, sets the byte order, and says whether the version is 4.1 (else 2.2).
fn format(cursor: &mut Cursor) -> Result<bool, MeshError> {
    if cursor.section()?.as_deref() != Some("MeshFormat") {
        return Err(cursor.error("a Gmsh file begins with $MeshFormat".into()));
    }
    let version = cursor.word()?;
    let version_4 = match version.as_str() {
        "2.2" => false,
        "4.1" => true,
        other => {
            let reason = format!("version {other} is not read; save as 4.1 (Mesh.MshFileVersion = 4.1)");
            return Err(cursor.error(reason));
        }
    };
    let binary = match cursor.word()?.as_str() {
        "0" => false,
        "1" => true,
        other => return Err(cursor.error(format!("file type {other}; 0 is text and 1 is binary"))),
    };
    let size = cursor.word()?;
    if size != "8" {
        return Err(
            cursor.error(format!("numbers of {size} bytes; only 8 are read, save with a 64-bit Gmsh"))
        );
    }
    if binary {
        cursor.start_binary(version_4)?;
    }
    cursor.end("MeshFormat")?;
    Ok(version_4)
}

impl Nodes {
    fn push(&mut self, number: u64, x: Vec3<f64>, cursor: &Cursor) -> Result<(), MeshError> {
        if !(x.x.is_finite() && x.y.is_finite() && x.z.is_finite()) {
            return Err(cursor.error(format!("node {number} is not finite")));
        }
        if self.index.insert(number, self.positions.len()).is_some() {
            return Err(cursor.error(format!("node {number} is there twice; renumber the mesh")));
        }
        self.positions.push(x);
        Ok(())
    }
}

fn nodes_2(cursor: &mut Cursor) -> Result<Nodes, MeshError> {
    let mut nodes = Nodes::default();
    // The count is text in binary files too.
    let count = cursor.text_count()?;
    cursor.expect_room(count, 28, 8)?;
    for _ in 0..count {
        let number = cursor.number()?;
        let x = Vec3::new(cursor.double()?, cursor.double()?, cursor.double()?);
        nodes.push(number, x, cursor)?;
    }
    Ok(nodes)
}

fn nodes_4(cursor: &mut Cursor) -> Result<Nodes, MeshError> {
    let mut nodes = Nodes::default();
    let (blocks, total) = (cursor.size()?, cursor.size()?);
    let _least_and_largest_number = (cursor.size()?, cursor.size()?);
    for _ in 0..blocks {
        let (dimension, _entity, parametric) = (cursor.int()?, cursor.int()?, cursor.int()?);
        if !(0..=3).contains(&dimension) {
            return Err(cursor.error(format!("an entity of dimension {dimension}; 0 to 3 exist")));
        }
        let count = cursor.size()?;
        cursor.expect_room(count, 32, 8)?;
        let numbers: Vec<u64> = (0..count).map(|_| cursor.number()).collect::<Result<_, _>>()?;
        for number in numbers {
            let x = Vec3::new(cursor.double()?, cursor.double()?, cursor.double()?);
            // Parametric coordinates on the curve, surface or volume.
            for _ in 0..if parametric == 0 { 0 } else { dimension } {
                cursor.double()?;
            }
            nodes.push(number, x, cursor)?;
        }
    }
    if nodes.positions.len() as u64 != total {
        let found = nodes.positions.len();
        return Err(cursor.error(format!("{total} nodes are announced and {found} are there")));
    }
    Ok(nodes)
}

impl Elements {
    /// Reads the nodes of one element.
    fn push(&mut self, kind: i64, number: u64, cursor: &mut Cursor) -> Result<(), MeshError> {
        match kind {
            k if k == TET.0 => {
                let mut nodes = [0; 4];
                for slot in &mut nodes {
                    *slot = cursor.number()?;
                }
                self.tets.push((nodes, number));
            }
            k if k == TRIANGLE.0 => {
                let mut nodes = [0; 3];
                for slot in &mut nodes {
                    *slot = cursor.number()?;
                }
                self.triangles.push((nodes, number));
            }
            k => {
                for _ in 0..nodes_of(k, Some(number), cursor)? {
                    cursor.number()?;
                }
            }
        }
        Ok(())
    }
}

/// Number of nodes of a kind of element that is read or ignored.
fn nodes_of(kind: i64, number: Option<u64>, cursor: &Cursor) -> Result<usize, MeshError> {
    if let Some((_, nodes)) = [LINE, TRIANGLE, TET, POINT].iter().find(|(k, _)| *k == kind) {
        return Ok(*nodes);
    }
    let what = match kind {
        3 => "a quadrangle; cut it in triangles (no recombination)",
        5 => "a hexahedron; mesh with tetrahedra",
        6 => "a prism; mesh with tetrahedra (no recombined extrusion)",
        7 => "a pyramid; mesh with tetrahedra",
        8..=14 | 16..=140 => "curved or otherwise not linear; mesh with Mesh.ElementOrder = 1",
        _ => "of no kind that Gmsh knows; save the mesh again",
    };
    let which = number.map_or("an element".into(), |n| format!("element {n}"));
    Err(cursor.error(format!("{which} has type {kind}: it is {what}")))
}

fn elements_2(cursor: &mut Cursor) -> Result<Elements, MeshError> {
    let mut elements = Elements::default();
    let total = cursor.text_count()?;
    if !cursor.is_binary() {
        cursor.expect_room(total, 0, 8)?;
        for _ in 0..total {
            let (number, kind, tags) = (cursor.number()?, cursor.int()?, cursor.int()?);
            for _ in 0..tags.max(0) {
                cursor.int()?;
            }
            elements.push(kind, number, cursor)?;
        }
        return Ok(elements);
    }
    // Binary elements come in runs of one kind with one number of tags.
    let mut left = total;
    while left > 0 {
        let (kind, count, tags) = (cursor.int()?, cursor.number()?, cursor.int()?);
        if count == 0 || count > left {
            return Err(cursor.error(format!("a run of {count} elements where {left} are left")));
        }
        nodes_of(kind, None, cursor)?;
        for _ in 0..count {
            let number = cursor.number()?;
            for _ in 0..tags.max(0) {
                cursor.int()?;
            }
            elements.push(kind, number, cursor)?;
        }
        left -= count;
    }
    Ok(elements)
}

fn elements_4(cursor: &mut Cursor) -> Result<Elements, MeshError> {
    let mut elements = Elements::default();
    let (blocks, total) = (cursor.size()?, cursor.size()?);
    let _least_and_largest_number = (cursor.size()?, cursor.size()?);
    let mut found = 0_u64;
    for _ in 0..blocks {
        let (_dimension, _entity, kind) = (cursor.int()?, cursor.int()?, cursor.int()?);
        let count = cursor.size()?;
        let nodes = nodes_of(kind, None, cursor)?;
        cursor.expect_room(count, 8 * (nodes + 1), 2 * (nodes + 1))?;
        for _ in 0..count {
            let number = cursor.number()?;
            elements.push(kind, number, cursor)?;
        }
        found += count;
    }
    if found != total {
        return Err(cursor.error(format!("{total} elements are announced and {found} are there")));
    }
    Ok(elements)
}

/// Replaces numbers of nodes by their places.
fn resolve<const N: usize>(
    elements: Vec<([u64; N], u64)>,
    nodes: &Nodes,
    file: &str,
) -> Result<(Vec<[usize; N]>, Vec<u64>), MeshError> {
    let mut numbers = Vec::with_capacity(elements.len());
    let mut resolved = Vec::with_capacity(elements.len());
    for (corners, number) in elements {
        let mut places = [0; N];
        for (slot, node) in places.iter_mut().zip(corners) {
            *slot = *nodes.index.get(&node).ok_or_else(|| MeshError::Format {
                file: file.into(),
                place: format!("element {number}"),
                reason: format!("node {node} is not in $Nodes; save the whole mesh"),
            })?;
        }
        resolved.push(places);
        numbers.push(number);
    }
    Ok((resolved, numbers))
}

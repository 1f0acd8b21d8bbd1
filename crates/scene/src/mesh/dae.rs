//! Collada (`.dae`): triangles of a scene.
//!
//! Read are `triangles`, `polylist`, `polygons` (their holes are not cut out), `trifans` and `tristrips` of
//! every geometry that the scene shows, through nodes, `instance_node` and skins in their bind shape, each
//! placed by the transforms of its nodes. A file that names no scene shows its first, one without any all
//! geometries where they stand. Lines, normals, textures and animations are skipped.
//!
//! Lengths are multiplied by the `unit` of the file and so are m, as in RViz and Bullet; the loader of
//! Pinocchio (coal) leaves them as written. `up_axis` is not applied: in URDF files coordinates are those of
//! the link, whatever axis the drawing program calls up. RViz, MoveIt and coal do not apply it either; Bullet
//! does.
//!
//! Hostile files: the XML is bounded (`xml`), a scene that shows more than [`MAX_INSTANCES`] things or nodes
//! in a circle is refused, and every index is checked.

mod scene;
mod source;

use std::collections::HashMap;

use pullback_math::{Mat3, Vec3};
use roxmltree::Node;

use self::source::positions;
use super::{MeshError, TriangleMesh, polygon};
use crate::xml;

/// Most elements of a scene, counting each time they are shown.
const MAX_INSTANCES: usize = 100_000;
/// Most corners of all shown geometries together.
const MAX_CORNERS: usize = 50_000_000;

/// x ↦ A x + b
#[derive(Clone, Copy)]
struct Affine {
    linear: Mat3<f64>,
    shift: Vec3<f64>,
}

impl Affine {
    fn identity() -> Self {
        Affine { linear: Mat3::identity(), shift: Vec3::zero() }
    }

    /// This map after `inner`.
    fn after(self, inner: Affine) -> Affine {
        Affine { linear: self.linear * inner.linear, shift: self.linear * inner.shift + self.shift }
    }

    fn apply(self, v: Vec3<f64>) -> Vec3<f64> {
        self.linear * v + self.shift
    }
}

/// Reads a Collada file from its bytes; `file` is the name that errors show.
pub fn parse_dae(bytes: &[u8], file: &str) -> Result<TriangleMesh, MeshError> {
    let refuse = |reason: String| MeshError::Read { file: file.into(), reason };
    // Names may be in any encoding; numbers and keywords are ASCII.
    let text = String::from_utf8_lossy(bytes);
    xml::check(&text).map_err(refuse)?;
    let document =
        roxmltree::Document::parse(&text).map_err(|e| refuse(format!("not well-formed XML: {e}")))?;
    let at = |(node, why): Fault| {
        let line = document.text_pos_at(node.range().start).row;
        MeshError::line(file, line as usize, format!("<{}>: {why}", node.tag_name().name()))
    };
    let root = document.root_element();
    if root.tag_name().name() != "COLLADA" {
        return Err(refuse("is not a Collada file".into()));
    }
    let library = Library::new(root);
    let mut build = Build { mesh: TriangleMesh::default(), work: 0, cut: HashMap::new() };
    for (geometry, world_from_geometry) in scene::shown(root, &library).map_err(at)? {
        build.add(geometry, world_from_geometry, &library).map_err(at)?;
    }
    let mesh = build.mesh;
    if mesh.triangles.is_empty() {
        return Err(refuse("there is no triangle in it".into()));
    }
    let meter = scene::unit(root).map_err(at)?;
    Ok(mesh.scaled(Vec3::new(meter, meter, meter)))
}

/// An element and what is wrong with it.
type Fault<'a> = (Node<'a, 'a>, String);

/// Elements by their identifiers.
struct Library<'a> {
    by_id: HashMap<&'a str, Node<'a, 'a>>,
}

impl<'a> Library<'a> {
    fn new(root: Node<'a, 'a>) -> Self {
        let identified = root.descendants().filter_map(|n| Some((n.attribute("id")?, n)));
        // The first of equal identifiers counts.
        let mut by_id = HashMap::new();
        identified.for_each(|(id, node)| {
            by_id.entry(id).or_insert(node);
        });
        Library { by_id }
    }

    /// The element that an attribute such as `url="#id"` refers to, which must be of one of these kinds.
    fn referred(
        &self,
        from: Node<'a, 'a>,
        attribute: &str,
        kinds: &[&str],
    ) -> Result<Node<'a, 'a>, Fault<'a>> {
        let Some(id) = from.attribute(attribute).and_then(|u| u.strip_prefix('#')) else {
            return Err((from, format!("needs `{attribute}` with the name of an element of this file")));
        };
        let found = self.by_id.get(id).copied().filter(|n| kinds.contains(&n.tag_name().name()));
        found.ok_or_else(|| {
            (from, format!("`{}` is not in the file", id.chars().take(80).collect::<String>()))
        })
    }
}

/// Children of that name.
fn children<'a>(node: Node<'a, 'a>, tag: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
    node.children().filter(move |n| n.is_element() && n.tag_name().name() == tag)
}

/// All whole numbers of an element's text.
fn indices<'a>(node: Node<'a, 'a>) -> Result<Vec<usize>, Fault<'a>> {
    let words = node.text().unwrap_or("").split_ascii_whitespace();
    words.map(|w| w.parse().map_err(|_| (node, "an index is no whole number".to_string()))).collect()
}

/// Vertices and triangles of one geometry in its own frame.
type Cut = (Vec<Vec3<f64>>, Vec<[usize; 3]>);

/// The mesh so far; a geometry shown twice is cut once.
struct Build {
    mesh: TriangleMesh,
    work: u64,
    cut: HashMap<roxmltree::NodeId, Cut>,
}

impl Build {
    fn add<'a>(
        &mut self,
        geometry: Node<'a, 'a>,
        world_from_geometry: Affine,
        library: &Library<'a>,
    ) -> Result<(), Fault<'a>> {
        if !self.cut.contains_key(&geometry.id()) {
            let cut = triangles(geometry, library, &mut self.work)?;
            self.cut.insert(geometry.id(), cut);
        }
        let (vertices, triangles) = &self.cut[&geometry.id()];
        let first = self.mesh.vertices.len();
        if first + vertices.len() > MAX_CORNERS || self.mesh.triangles.len() + triangles.len() > MAX_CORNERS {
            return Err((geometry, "the scene shows too many corners; simplify it".into()));
        }
        let placed = vertices.iter().map(|v| world_from_geometry.apply(*v));
        self.mesh.vertices.extend(placed);
        // A map that mirrors turns triangles inside out.
        let mirrored = world_from_geometry.linear.determinant() < 0.0;
        let turn = |[a, b, c]: [usize; 3]| if mirrored { [a, c, b] } else { [a, b, c] };
        self.mesh.triangles.extend(triangles.iter().map(|t| turn(*t).map(|i| i + first)));
        Ok(())
    }
}

fn triangles<'a>(geometry: Node<'a, 'a>, library: &Library<'a>, work: &mut u64) -> Result<Cut, Fault<'a>> {
    let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
    let Some(mesh) = children(geometry, "mesh").next() else {
        // Splines and convex hulls of other geometries have no triangles of their own.
        return Ok((vertices, triangles));
    };
    // Primitives that share positions share vertices.
    let mut first_of = HashMap::new();
    for primitive in mesh.children().filter(|n| n.is_element()) {
        let kind = primitive.tag_name().name();
        if !["triangles", "polylist", "polygons", "trifans", "tristrips"].contains(&kind) {
            continue;
        }
        let inputs: Vec<(Node, usize)> = children(primitive, "input")
            .map(|input| Ok((input, source::whole(input, "offset")?.unwrap_or(0))))
            .collect::<Result<_, _>>()?;
        let stride = inputs.iter().map(|(_, offset)| offset + 1).max().unwrap_or(1);
        let Some(&(vertex, offset)) = inputs.iter().find(|(i, _)| i.attribute("semantic") == Some("VERTEX"))
        else {
            return Err((primitive, "needs an input of vertices".into()));
        };
        let place = library.referred(vertex, "source", &["vertices"])?;
        let (first, count) = match first_of.get(&place.id()) {
            Some(known) => *known,
            None => {
                let read = positions(place, library)?;
                let known = (vertices.len(), read.len());
                vertices.extend(read);
                first_of.insert(place.id(), known);
                known
            }
        };
        for corners in faces(primitive, kind, stride, offset)? {
            if let Some(missing) = corners.iter().find(|c| **c >= count) {
                return Err((primitive, format!("vertex {missing} of {count} does not exist")));
            }
            // Exporters write faces of one or two corners now and then; they have no area.
            if corners.len() < 3 {
                continue;
            }
            let corners: Vec<usize> = corners.iter().map(|c| c + first).collect();
            polygon::cut(&corners, &vertices, work, &mut triangles).map_err(|why| (primitive, why))?;
        }
    }
    Ok((vertices, triangles))
}

/// Corners of each face of a primitive.
fn faces<'a>(
    primitive: Node<'a, 'a>,
    kind: &str,
    stride: usize,
    offset: usize,
) -> Result<Vec<Vec<usize>>, Fault<'a>> {
    let corners = |p: Node<'a, 'a>| -> Result<Vec<usize>, Fault<'a>> {
        let all = indices(p)?;
        Ok(all.chunks_exact(stride).map(|corner| corner[offset]).collect())
    };
    let mut faces = Vec::new();
    match kind {
        "triangles" => {
            for p in children(primitive, "p") {
                faces.extend(corners(p)?.chunks_exact(3).map(<[usize]>::to_vec));
            }
        }
        "polylist" => {
            let Some(counts) = children(primitive, "vcount").next() else { return Ok(faces) };
            let all = children(primitive, "p").next().map(corners).transpose()?.unwrap_or_default();
            let mut rest = all.as_slice();
            for count in indices(counts)? {
                let Some((face, after)) = rest.split_at_checked(count) else {
                    return Err((primitive, "names fewer corners than `vcount` announces".into()));
                };
                faces.push(face.to_vec());
                rest = after;
            }
        }
        "polygons" => {
            let with_holes = children(primitive, "ph").flat_map(|ph| children(ph, "p"));
            for p in children(primitive, "p").chain(with_holes) {
                faces.push(corners(p)?);
            }
        }
        "trifans" => {
            for p in children(primitive, "p") {
                let fan = corners(p)?;
                faces.extend(fan.windows(2).skip(1).map(|w| vec![fan[0], w[0], w[1]]));
            }
        }
        _ => {
            for p in children(primitive, "p") {
                // Every second triangle of a strip is turned.
                let turn = |(i, w): (usize, &[usize])| {
                    if i % 2 == 0 { vec![w[0], w[1], w[2]] } else { vec![w[1], w[0], w[2]] }
                };
                faces.extend(corners(p)?.windows(3).enumerate().map(turn));
            }
        }
    }
    Ok(faces)
}

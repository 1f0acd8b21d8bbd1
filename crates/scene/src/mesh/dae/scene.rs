//! The scene of a Collada file: which geometries it shows, and where.

use pullback_math::{Mat3, Quat, Vec3};
use roxmltree::Node;

use super::source::array;
use super::{Affine, Fault, Library, MAX_INSTANCES, children};

/// Deepest nesting of nodes, through instances.
const MAX_DEPTH: usize = 100;

/// A geometry and its place in the scene.
type Shown<'a> = (Node<'a, 'a>, Affine);

/// Length of the file's unit, m.
pub(super) fn unit<'a>(root: Node<'a, 'a>) -> Result<f64, Fault<'a>> {
    let unit = children(root, "asset").flat_map(|a| children(a, "unit")).next();
    let Some((unit, text)) = unit.and_then(|u| Some((u, u.attribute("meter")?))) else { return Ok(1.0) };
    let meter = text.trim().parse::<f64>().ok().filter(|m| *m > 0.0 && m.is_finite());
    meter.ok_or_else(|| (unit, "`meter` must be positive".into()))
}

/// Every geometry that the scene shows.
pub(super) fn shown<'a>(root: Node<'a, 'a>, library: &Library<'a>) -> Result<Vec<Shown<'a>>, Fault<'a>> {
    let mut found = Vec::new();
    let instance = children(root, "scene").flat_map(|s| children(s, "instance_visual_scene")).next();
    let scene = match instance {
        Some(instance) => Some(library.referred(instance, "url", &["visual_scene"])?),
        None => root.descendants().find(|n| n.tag_name().name() == "visual_scene"),
    };
    match scene {
        Some(scene) => {
            let mut walk = Walk { library, visited: 0, found };
            for node in children(scene, "node") {
                walk.visit(node, Affine::identity(), 0)?;
            }
            found = walk.found;
        }
        None => {
            let geometries = root.descendants().filter(|n| n.tag_name().name() == "geometry");
            found.extend(geometries.map(|g| (g, Affine::identity())));
        }
    }
    Ok(found)
}

/// A walk through nodes and their instances.
struct Walk<'a, 'l> {
    library: &'l Library<'a>,
    visited: usize,
    found: Vec<Shown<'a>>,
}

impl<'a> Walk<'a, '_> {
    /// Recursion is bounded by [`MAX_DEPTH`], the number of visits by [`MAX_INSTANCES`].
    fn visit(
        &mut self,
        node: Node<'a, 'a>,
        world_from_parent: Affine,
        depth: usize,
    ) -> Result<(), Fault<'a>> {
        if depth > MAX_DEPTH {
            return Err((node, format!("nodes are nested deeper than {MAX_DEPTH}, or in a circle")));
        }
        let mut world_from_node = world_from_parent;
        for child in node.children().filter(Node::is_element) {
            if let Some(step) = transform(child)? {
                world_from_node = world_from_node.after(step);
            }
        }
        for child in node.children().filter(Node::is_element) {
            self.visited += 1;
            if self.visited > MAX_INSTANCES {
                return Err((
                    child,
                    format!("the scene shows more than {MAX_INSTANCES} things; simplify it"),
                ));
            }
            match child.tag_name().name() {
                "node" => self.visit(child, world_from_node, depth + 1)?,
                "instance_node" => {
                    let shown = self.library.referred(child, "url", &["node"])?;
                    self.visit(shown, world_from_node, depth + 1)?;
                }
                "instance_geometry" => {
                    let geometry = self.library.referred(child, "url", &["geometry"])?;
                    self.found.push((geometry, world_from_node));
                }
                "instance_controller" => self.skin(child, world_from_node)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// A skin stands in its bind shape; a morph has no shape of its own.
    fn skin(&mut self, instance: Node<'a, 'a>, world_from_node: Affine) -> Result<(), Fault<'a>> {
        let controller = self.library.referred(instance, "url", &["controller"])?;
        let Some(skin) = children(controller, "skin").next() else { return Ok(()) };
        let bind = children(skin, "bind_shape_matrix").next().map(matrix).transpose()?;
        let place = world_from_node.after(bind.unwrap_or(Affine::identity()));
        self.found.push((self.library.referred(skin, "source", &["geometry"])?, place));
        Ok(())
    }
}

/// One transform of a node, if the element is one; they apply in the order of the file, the last first.
fn transform<'a>(node: Node<'a, 'a>) -> Result<Option<Affine>, Fault<'a>> {
    let vector = |[x, y, z]: [f64; 3]| Vec3::new(x, y, z);
    let linear = |linear| Affine { linear, shift: Vec3::zero() };
    Ok(Some(match node.tag_name().name() {
        "matrix" => matrix(node)?,
        "translate" => Affine { shift: vector(array(node)?), ..Affine::identity() },
        "scale" => linear(Mat3::diagonal(vector(array(node)?))),
        "rotate" => {
            let [x, y, z, degrees] = array(node)?;
            let axis = Vec3::new(x, y, z);
            match axis.norm() {
                // A rotation about no axis is none.
                length if length < 1e-12 => Affine::identity(),
                length => {
                    let turn = Quat::from_axis_angle(axis * (1.0 / length), degrees.to_radians());
                    linear(turn.to_mat3())
                }
            }
        }
        "skew" | "lookat" => return Err((node, "is not read; bake transforms into the mesh".into())),
        _ => return Ok(None),
    }))
}

/// Sixteen numbers, row by row.
fn matrix<'a>(node: Node<'a, 'a>) -> Result<Affine, Fault<'a>> {
    let m: [f64; 16] = array(node)?;
    let row = |r: usize| Vec3::new(m[4 * r], m[4 * r + 1], m[4 * r + 2]);
    if m[12..] != [0.0, 0.0, 0.0, 1.0] {
        return Err((node, "the last row of a transform must be 0 0 0 1".into()));
    }
    Ok(Affine { linear: Mat3::from_rows(row(0), row(1), row(2)), shift: Vec3::new(m[3], m[7], m[11]) })
}

//! Numbers of a Collada file: sources of positions and their accessors.

use pullback_math::Vec3;
use roxmltree::Node;

use super::{Fault, Library, children};

/// Largest size of a coordinate, so that no volume overflows.
const LARGEST: f64 = 1e30;

/// The whole number in an attribute.
pub(super) fn whole<'a>(node: Node<'a, 'a>, attribute: &str) -> Result<Option<usize>, Fault<'a>> {
    let read = |text: &str| {
        // One that exceeds a file's size is no count of anything in it.
        let value = text.trim().parse::<usize>().ok().filter(|n| *n < 1 << 32);
        value.ok_or_else(|| (node, format!("`{attribute}` is no count")))
    };
    node.attribute(attribute).map(read).transpose()
}

/// All numbers of an element's text.
pub(super) fn numbers<'a>(node: Node<'a, 'a>) -> Result<Vec<f64>, Fault<'a>> {
    let number = |word: &str| match word.parse::<f64>() {
        Ok(x) if x.abs() <= LARGEST => Ok(x),
        _ => Err((node, format!("`{}` is no finite number", word.chars().take(40).collect::<String>()))),
    };
    node.text().unwrap_or("").split_ascii_whitespace().map(number).collect()
}

/// Exactly `N` numbers.
pub(super) fn array<'a, const N: usize>(node: Node<'a, 'a>) -> Result<[f64; N], Fault<'a>> {
    let all = numbers(node)?;
    all.try_into().map_err(|all: Vec<f64>| (node, format!("holds {} numbers where {N} belong", all.len())))
}

/// The positions of a `vertices` element.
pub(super) fn positions<'a>(
    vertices: Node<'a, 'a>,
    library: &Library<'a>,
) -> Result<Vec<Vec3<f64>>, Fault<'a>> {
    let input = children(vertices, "input").find(|i| i.attribute("semantic") == Some("POSITION"));
    let input = input.ok_or_else(|| (vertices, "needs an input of positions".to_string()))?;
    let source = library.referred(input, "source", &["source"])?;
    let accessor = children(source, "technique_common").flat_map(|t| children(t, "accessor")).next();
    let accessor = accessor.ok_or_else(|| (source, "needs an accessor".to_string()))?;
    let all = numbers(library.referred(accessor, "source", &["float_array"])?)?;
    let count = whole(accessor, "count")?.ok_or_else(|| (accessor, "needs `count`".to_string()))?;
    let offset = whole(accessor, "offset")?.unwrap_or(0);
    let stride = whole(accessor, "stride")?.unwrap_or(1);
    // Coordinates by the names of parameters; a parameter without a name is skipped.
    let names: Vec<Option<&str>> = children(accessor, "param").map(|p| p.attribute("name")).collect();
    let place = |name: &str, usual: usize| names.iter().position(|n| *n == Some(name)).unwrap_or(usual);
    let places = [place("X", 0), place("Y", 1), place("Z", 2)];
    let at = |i: usize, k: usize| all.get(offset + i * stride + places[k]).copied();
    let position = |i: usize| Some(Vec3::new(at(i, 0)?, at(i, 1)?, at(i, 2)?));
    if count > all.len() {
        return Err((accessor, format!("announces {count} positions, there are {} numbers", all.len())));
    }
    let read: Option<Vec<Vec3<f64>>> = (0..count).map(position).collect();
    read.ok_or_else(|| (accessor, format!("announces {count} positions, there are {} numbers", all.len())))
}

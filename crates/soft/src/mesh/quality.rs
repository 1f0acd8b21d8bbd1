//! Measures of single elements, and the checks that both kinds of mesh share.
//!
//! All measures are relative to the element's longest edge, so they do not depend on the unit of length.
//! Edges are divided by their largest component first: nothing under- or overflows below [`MAX_COORDINATE`].

use std::collections::HashMap;

use pullback_math::Vec3;

use super::MeshError;

/// Least determinant of an element's edges over the cube (tetrahedra) or square (triangles) of its longest
/// edge.
///
/// The regular tetrahedron has 0.71 and the regular triangle 0.87. At 10⁻⁶ the rest shape's inverse has
/// entries around 10⁶ per edge length: the element's own stiffness then leaves no stable step size, long
/// before round-off matters.
pub const DEGENERATE: f64 = 1e-6;

/// Largest coordinate of a vertex, m: its cube is still a number.
pub const MAX_COORDINATE: f64 = 1e100;

/// Edges over their largest component, and that component (zero when all corners coincide).
fn normalized<const N: usize>(edges: [Vec3<f64>; N]) -> ([Vec3<f64>; N], f64) {
    let largest = edges.iter().fold(0.0_f64, |m, e| m.max(e.x.abs()).max(e.y.abs()).max(e.z.abs()));
    if largest == 0.0 {
        return (edges, 0.0);
    }
    (edges.map(|e| e.map(|c| c / largest)), largest)
}

/// det(x₁ − x₀, x₂ − x₀, x₃ − x₀) over the cube of the longest edge; negative when inverted.
pub(super) fn tet_measure([x0, x1, x2, x3]: [Vec3<f64>; 4]) -> f64 {
    let ([a, b, c], largest) = normalized([x1 - x0, x2 - x0, x3 - x0]);
    if largest == 0.0 {
        return 0.0;
    }
    let longest = [a, b, c, b - a, c - b, a - c].iter().fold(0.0_f64, |m, e| m.max(e.norm()));
    a.cross(b).dot(c) / longest.powi(3)
}

/// |(x₁ − x₀) × (x₂ − x₀)| over the square of the longest edge.
pub(super) fn triangle_measure([x0, x1, x2]: [Vec3<f64>; 3]) -> f64 {
    let ([a, b], largest) = normalized([x1 - x0, x2 - x0]);
    if largest == 0.0 {
        return 0.0;
    }
    let longest = a.norm().max(b.norm()).max((b - a).norm());
    a.cross(b).norm() / (longest * longest)
}

/// Longest edge over 2√6 times the radius of the inscribed sphere: 1 for the regular tetrahedron, more for
/// all others.
pub(super) fn tet_aspect([x0, x1, x2, x3]: [Vec3<f64>; 4]) -> f64 {
    let ([a, b, c], _) = normalized([x1 - x0, x2 - x0, x3 - x0]);
    let longest = [a, b, c, b - a, c - b, a - c].iter().fold(0.0_f64, |m, e| m.max(e.norm()));
    // r = 3 V / ΣA = det / Σ |2A|
    let areas = a.cross(b).norm() + b.cross(c).norm() + c.cross(a).norm() + (b - a).cross(c - a).norm();
    longest * areas / (2.0 * 6.0_f64.sqrt() * a.cross(b).dot(c).abs())
}

/// Longest edge over 2√3 times the radius of the inscribed circle: 1 for the regular triangle.
pub(super) fn triangle_aspect([x0, x1, x2]: [Vec3<f64>; 3]) -> f64 {
    let ([a, b], _) = normalized([x1 - x0, x2 - x0]);
    let sides = [a.norm(), b.norm(), (b - a).norm()];
    // r = 2 A / Σ l
    let longest = sides.iter().fold(0.0_f64, |m, l| m.max(*l));
    longest * sides.iter().sum::<f64>() / (2.0 * 3.0_f64.sqrt() * a.cross(b).norm())
}

/// Indices in range and distinct within each element, positions finite, every vertex used.
pub(super) fn check_elements<const N: usize>(
    kind: &'static str,
    positions: &[Vec3<f64>],
    elements: &[[usize; N]],
) -> Result<(), MeshError> {
    if elements.is_empty() {
        return Err(MeshError::Empty);
    }
    for (vertex, p) in positions.iter().enumerate() {
        // Written so that a position that is no number is refused as well.
        if !(p.x.abs() <= MAX_COORDINATE && p.y.abs() <= MAX_COORDINATE && p.z.abs() <= MAX_COORDINATE) {
            return Err(MeshError::Position { vertex, position: [p.x, p.y, p.z] });
        }
    }
    let mut used = vec![false; positions.len()];
    for (element, corners) in elements.iter().enumerate() {
        for (k, &vertex) in corners.iter().enumerate() {
            match used.get_mut(vertex) {
                Some(slot) => *slot = true,
                None => return Err(MeshError::Index { kind, element, vertex, count: positions.len() }),
            }
            if corners[..k].contains(&vertex) {
                return Err(MeshError::Repeated { kind, element, vertex });
            }
        }
    }
    match used.iter().position(|u| !u) {
        Some(vertex) => Err(MeshError::Unused { vertex }),
        None => Ok(()),
    }
}

/// Refuses a directed side that two elements have: neighbors run along their common side in opposite
/// directions.
pub(super) fn check_sides<const N: usize>(
    kind: &'static str,
    side: &'static str,
    sides: impl Iterator<Item = (usize, [usize; N])>,
) -> Result<(), MeshError> {
    let mut owner = HashMap::new();
    for (second, corners) in sides {
        if let Some(first) = owner.insert(corners, second) {
            return Err(MeshError::Overlap { kind, side, first, second, vertices: corners.to_vec() });
        }
    }
    Ok(())
}

/// The same side with its smallest corner first and its direction kept.
pub(super) fn directed([a, b, c]: [usize; 3]) -> [usize; 3] {
    if a < b && a < c {
        [a, b, c]
    } else if b < c {
        [b, c, a]
    } else {
        [c, a, b]
    }
}

/// Drops vertices that no element names, keeping the order of the others. Indices out of range stay out of
/// range.
pub(super) fn compact<const N: usize>(positions: &mut Vec<Vec3<f64>>, elements: &mut [[usize; N]]) {
    let count = positions.len();
    let mut used = vec![false; count];
    for &vertex in elements.iter().flatten() {
        if let Some(slot) = used.get_mut(vertex) {
            *slot = true;
        }
    }
    let mut kept = 0;
    let moved: Vec<usize> = used
        .iter()
        .map(|u| {
            kept += usize::from(*u);
            kept.saturating_sub(1)
        })
        .collect();
    for vertex in elements.iter_mut().flatten() {
        *vertex = moved.get(*vertex).copied().unwrap_or(usize::MAX);
    }
    let mut used = used.iter();
    positions.retain(|_| used.next() == Some(&true));
}

/// Unique pairs among the given ones, smaller index first, sorted.
pub(super) fn unique_edges(pairs: impl Iterator<Item = (usize, usize)>) -> Vec<[usize; 2]> {
    let mut edges: Vec<[usize; 2]> = pairs.map(|(a, b)| [a.min(b), a.max(b)]).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

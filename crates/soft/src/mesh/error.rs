//! What can be wrong with a mesh, and with what a shape is asked for.

use thiserror::Error;

/// Why a mesh cannot be simulated, or cannot be built.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum MeshError {
    /// There is nothing to simulate.
    #[error("the mesh has no element; mesh the inside of the shape, or export its faces")]
    Empty,
    /// An element names a vertex that does not exist.
    #[error(
        "{kind} {element} names vertex {vertex} of {count}; count vertices from 0 and keep them with the elements"
    )]
    Index {
        /// `tetrahedron` or `triangle`.
        kind: &'static str,
        /// Its index.
        element: usize,
        /// The index it names.
        vertex: usize,
        /// Number of vertices.
        count: usize,
    },
    /// A position is not a number, or too far away for its square to be one.
    #[error("vertex {vertex} stands at {position:?}; coordinates must be finite and below 1e100 m")]
    Position {
        /// Its index.
        vertex: usize,
        /// Where it stands.
        position: [f64; 3],
    },
    /// An element names one vertex twice.
    #[error("{kind} {element} names vertex {vertex} twice; remove it")]
    Repeated {
        /// `tetrahedron` or `triangle`.
        kind: &'static str,
        /// Its index.
        element: usize,
        /// The vertex.
        vertex: usize,
    },
    /// An element has no volume or area to speak of.
    #[error(
        "{kind} {element} is degenerate: {measure:.1e} of a cube or square on its longest edge, 1e-6 is the least; \
         remesh it or merge its corners"
    )]
    Degenerate {
        /// `tetrahedron` or `triangle`.
        kind: &'static str,
        /// Its index.
        element: usize,
        /// Determinant of its edges over the power of the longest edge.
        measure: f64,
    },
    /// A tetrahedron is inside out.
    #[error("tetrahedron {element} has negative volume; swap two of its corners")]
    Inverted {
        /// Its index.
        element: usize,
    },
    /// Two elements lie on the same side of a common side.
    #[error(
        "{kind} {first} and {kind} {second} lie on the same side of the {side} they share, {vertices:?}; remove the \
         overlap or the duplicate, or turn one round"
    )]
    Overlap {
        /// `tetrahedron` or `triangle`.
        kind: &'static str,
        /// `face` or `edge`.
        side: &'static str,
        /// The earlier element.
        first: usize,
        /// The later element.
        second: usize,
        /// Corners of the side.
        vertices: Vec<usize>,
    },
    /// A vertex belongs to no element: it would have no mass.
    #[error(
        "vertex {vertex} belongs to no element and would have no mass; call `compacted` to drop such vertices"
    )]
    Unused {
        /// Its index.
        vertex: usize,
    },
    /// A shape cannot be built from these arguments.
    #[error("{shape}: {reason}")]
    Shape {
        /// Name of the generator.
        shape: &'static str,
        /// What is wrong and what to pass.
        reason: String,
    },
}

/// Most elements a generator makes: 20 million, about 2 GB of simulation state.
const MAX_ELEMENTS: usize = 20_000_000;

/// Refuses counts of zero and products that no machine wants.
pub(super) fn check_counts(
    shape: &'static str,
    counts: &[(&str, usize)],
    per_cell: usize,
) -> Result<(), MeshError> {
    let mut total = per_cell;
    for (name, count) in counts {
        if *count == 0 {
            return Err(MeshError::Shape { shape, reason: format!("`{name}` must be at least 1") });
        }
        total = total.saturating_mul(*count);
    }
    if total > MAX_ELEMENTS {
        let reason = format!("more than {MAX_ELEMENTS} elements are asked for; take a coarser mesh");
        return Err(MeshError::Shape { shape, reason });
    }
    Ok(())
}

/// Refuses lengths that are not positive and of a size that can be squared and cubed.
pub(super) fn check_lengths(shape: &'static str, lengths: &[(&str, f64)]) -> Result<(), MeshError> {
    for (name, length) in lengths {
        if !(*length > 1e-50 && *length < 1e50) {
            let reason = format!("`{name}` is {length}; it must be a positive length in m");
            return Err(MeshError::Shape { shape, reason });
        }
    }
    Ok(())
}

//! Triangle meshes: what moves (vertices) apart from what does not (faces, places on a texture).

use std::sync::Arc;

use pullback_math::Vec3;

/// Faces of a surface and where their corners lie on a texture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    /// Vertices of each face, counter-clockwise seen from outside.
    pub faces: Vec<[u32; 3]>,
    /// Place (u, v) on the texture of each corner of each face, u to the right and v up, from 0 to 1. Empty for
    /// surfaces without a texture.
    pub uv: Vec<[[f64; 2]; 3]>,
}

/// A mesh as generators and files give it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// Positions of the vertices, m.
    pub vertices: Vec<Vec3<f64>>,
    /// Faces; shared with all surfaces made of the mesh.
    pub topology: Arc<Topology>,
}

impl Mesh {
    /// A mesh without places on a texture.
    pub fn new(vertices: Vec<Vec3<f64>>, faces: Vec<[u32; 3]>) -> Self {
        Mesh { vertices, topology: Arc::new(Topology { faces, uv: Vec::new() }) }
    }
    /// A mesh with places on a texture.
    pub fn with_uv(vertices: Vec<Vec3<f64>>, faces: Vec<[u32; 3]>, uv: Vec<[[f64; 2]; 3]>) -> Self {
        Mesh { vertices, topology: Arc::new(Topology { faces, uv }) }
    }

    /// Every vertex through `f`.
    #[must_use]
    pub fn moved(&self, f: impl Fn(Vec3<f64>) -> Vec3<f64>) -> Self {
        Mesh { vertices: self.vertices.iter().map(|x| f(*x)).collect(), topology: self.topology.clone() }
    }

    /// Volume inside, m³; negative if the faces look inward.
    pub fn volume(&self) -> f64 {
        let x = |v: u32| self.vertices[v as usize];
        self.topology.faces.iter().map(|[a, b, c]| x(*a).dot(x(*b).cross(x(*c))) / 6.0).sum()
    }

    /// Whether every edge belongs to exactly two faces that run along it in opposite directions.
    pub fn is_closed(&self) -> bool {
        let mut edges: Vec<[u32; 2]> =
            self.topology.faces.iter().flat_map(|[a, b, c]| [[*a, *b], [*b, *c], [*c, *a]]).collect();
        edges.sort_unstable();
        let single = edges.windows(2).all(|pair| pair[0] != pair[1]);
        single && edges.iter().all(|[a, b]| edges.binary_search(&[*b, *a]).is_ok())
    }
}

//! A plane against the convex hull of a mesh: the lowest corner and others of the face it rests on.
//!
//! These are MuJoCo's contacts, four at most. Of the faces at the lowest corner, the one most parallel to the
//! plane counts; its corners follow counter-clockwise seen from outside, as far as they are not above the
//! center of the mesh. Of a face with more than four corners, three are taken with which the lowest spans a
//! large area, by moving them ahead while that grows.
//!
//! Limits: which of equally low corners comes first, MuJoCo decides by the order of its search. So a face of
//! more than four corners that lies flat may touch at others. A hull without faces touches at one corner.

use pullback_math::{Real, Transform, Vec3};

use super::collider::Collider;
use super::contact::INACTIVE;
use super::hull::{Hull, highest_of};
use super::lanes::pack;

/// Hull vertices that touch a plane at once.
pub(crate) const MESH_SLOTS: usize = 4;

/// Doubled area of the quadrilateral of four corners.
pub(super) fn area(corners: [Vec3<f64>; 4]) -> f64 {
    (corners[3] - corners[1]).cross(corners[2] - corners[0]).norm()
}

/// Four of the corners of a polygon, the first of them `from`: the last moves ahead while the area grows, and
/// after each of its moves those before it do.
fn spread(from: usize, corners: usize, at: impl Fn(usize) -> Vec3<f64>) -> [usize; 4] {
    let mut chosen = [0, 1, 2, 3].map(|k| (from + k) % corners);
    let size = |c: [usize; 4]| area(c.map(&at));
    let mut best = size(chosen);
    let mut grow = |chosen: &mut [usize; 4], k: usize| {
        let mut moved = *chosen;
        moved[k] = (moved[k] + 1) % corners;
        let grown = size(moved);
        let grows = grown > best;
        if grows {
            (*chosen, best) = (moved, grown);
        }
        grows
    };
    while grow(&mut chosen, 3) {
        while grow(&mut chosen, 2) {}
        while grow(&mut chosen, 1) {}
    }
    chosen
}

/// The touching corners of one environment, and how many; `down` is local.
fn touching(hull: &Hull, vertices: &[Vec3<f64>], down: Vec3<f64>) -> ([usize; MESH_SLOTS], usize) {
    let at = |corner: u32| vertices[hull.corners[corner as usize]];
    let low = hull.highest(vertices, down);
    let mut chosen = [low; MESH_SLOTS];
    let slope = |face: u32| hull.normal(face as usize).dot(down);
    let Some(&face) = hull.faces_at(low).iter().max_by(|a, b| slope(**a).total_cmp(&slope(**b))) else {
        return (chosen, 1);
    };
    let face = hull.face(face as usize);
    let from = face.iter().position(|&c| c as usize == low).unwrap_or(0);
    let picked = if face.len() > MESH_SLOTS {
        spread(from, face.len(), |k| at(face[k]))
    } else {
        [0, 1, 2, 3].map(|k| (from + k) % face.len())
    };
    let mut found = 1;
    for &k in &picked[1..face.len().min(MESH_SLOTS)] {
        if down.dot(at(face[k]) - hull.center) >= 0.0 {
            chosen[found] = face[k] as usize;
            found += 1;
        }
    }
    (chosen, found)
}

/// The hull vertices that touch the plane, lane by lane, and what to add to their distances.
pub(super) fn touching_vertices<T: Real>(
    plane: Transform<T>,
    mesh: Transform<T>,
    shape: &Collider<T>,
) -> ([Vec3<T>; MESH_SLOTS], [T; MESH_SLOTS]) {
    let Collider { vertices, hull, faces, .. } = *shape;
    let down = -mesh.inverse_direction(plane.rotation.c2);
    let mut lanes = [([0; MESH_SLOTS], 0); 16];
    if !hull.is_empty() {
        for (lane, chosen) in lanes.iter_mut().enumerate().take(T::LANES) {
            let down = down.map(|x| x.lane(lane));
            *chosen = match faces {
                Some(faces) => touching(faces, vertices, down),
                None => ([highest_of(hull, vertices, down); MESH_SLOTS], 1),
            };
        }
    }
    let at = |lane: usize, slot: usize| {
        let vertex = hull.get(lanes[lane].0[slot]).and_then(|&v| vertices.get(v));
        vertex.copied().unwrap_or(Vec3::zero())
    };
    (
        std::array::from_fn(|slot| pack(|lane| at(lane, slot))),
        std::array::from_fn(|slot| T::from_lanes(|lane| if slot < lanes[lane].1 { 0.0 } else { INACTIVE })),
    )
}

//! Recorded motion of a robot as a page that plays in a browser.

use pullback_core::{Described, VectorField};
use pullback_math::{Quat, Vec3};
use pullback_physics::articulated::contact::pair_law;
use pullback_physics::articulated::{Articulated, Geom, Model, Shape};
use pullback_replay::{ContactMark, Frame, Replay, ReplayGeom, ReplayShape};

/// At most this many frames per second of motion are kept: more than a screen shows.
const FRAMES_PER_SECOND: f64 = 60.0;

/// The page of times and states.
pub fn replay(robot: &Articulated, rows: &[(f64, Vec<f64>)]) -> Replay {
    let model = robot.model();
    let mut page = Replay::new(model.name.clone(), FRAMES_PER_SECOND);
    page.bodies = model.bodies.iter().map(|b| b.name.clone()).collect();
    page.geoms = model.geoms.iter().map(|g| geom(model, g)).collect();

    let params = robot.layout().params.defaults();
    let mut ws = VectorField::<f64>::workspace(robot);
    let mut due = f64::NEG_INFINITY;
    for (time, state) in rows {
        if *time < due {
            continue;
        }
        due = time + 1.0 / FRAMES_PER_SECOND - 1e-9;
        robot.update_kinematics(&mut ws, &params, state);
        let mut contacts = Vec::new();
        robot.for_each_contact(&ws, &params, |geoms, contact| {
            if contact.distance < 0.0 {
                let stiffness = pair_law(model, robot.index(), &params, geoms).stiffness;
                contacts.push(ContactMark {
                    position: array(contact.position),
                    normal: array(contact.normal),
                    force: array(contact.normal * (-contact.distance * stiffness)),
                    distance: contact.distance,
                });
            }
        });
        let poses = ws.kinematics.world_from_body.iter();
        let poses = poses.map(|pose| (array(pose.translation), quaternion(Quat::from_mat3(pose.rotation))));
        page.frames.push(Frame { time: *time, poses: poses.collect(), contacts });
    }
    page
}

fn geom(model: &Model, geom: &Geom) -> ReplayGeom {
    let shape = match geom.shape {
        Shape::Plane => ReplayShape::Plane { half_x: 0.0, half_y: 0.0 },
        Shape::Sphere { radius } => ReplayShape::Sphere { radius },
        Shape::Capsule { radius, half_length } => ReplayShape::Capsule { radius, half_length },
        Shape::Cylinder { radius, half_length } => ReplayShape::Cylinder { radius, half_length },
        Shape::Ellipsoid { radii } => ReplayShape::Ellipsoid { radii: array(radii) },
        Shape::Box { half } => ReplayShape::Box { half: array(half) },
        Shape::Mesh { mesh } => triangles(&model.meshes[mesh].vertices, &model.meshes[mesh].triangles),
        Shape::Heightfield { field } => {
            let (corners, surface) = model.heightfields[field].surface();
            triangles(&corners, &surface)
        }
    };
    ReplayGeom {
        name: geom.name.clone(),
        body: geom.body,
        shape,
        position: array(geom.position),
        orientation: quaternion(geom.orientation),
        rgba: geom.rgba,
    }
}

fn triangles(vertices: &[Vec3<f64>], triangles: &[[usize; 3]]) -> ReplayShape {
    ReplayShape::Mesh {
        vertices: vertices.iter().map(|v| array(*v)).collect(),
        triangles: triangles.iter().map(|t| t.map(|i| i as u32)).collect(),
    }
}

fn array(v: Vec3<f64>) -> [f64; 3] {
    [v.x, v.y, v.z]
}

fn quaternion(q: Quat<f64>) -> [f64; 4] {
    [q.w, q.x, q.y, q.z]
}

//! Robots: geoms fixed to bodies, and contacts with their forces.

use pullback_core::{Described, Point, VectorField};
use pullback_math::{Force, Quat, Vec3};
use pullback_physics::articulated::constraint::inverse_weight::InverseWeights;
use pullback_physics::articulated::contact::{ContactForce, MotionBars};
use pullback_physics::articulated::{Articulated, ArticulatedWorkspace, Geom, Model, Shape};
use pullback_replay::{ContactMark, Pose, Replay, ReplayGeom, ReplayShape};

use super::{Instant, Pace, Stage};
use crate::depict::rooms;

/// A robot on a stage.
pub(crate) struct RobotStage {
    robot: Articulated,
    ws: ArticulatedWorkspace<f64>,
    /// Acceleration of each body by a unit force, 1/kg.
    inverse_masses: Vec<f64>,
}

impl RobotStage {
    pub(crate) fn new(robot: Articulated) -> Self {
        let ws = VectorField::<f64>::workspace(&robot);
        let params = robot.layout().params.defaults();
        let weights =
            InverseWeights::new(robot.model(), robot.tree(), robot.index(), robot.tendons(), &params);
        let inverse_masses = weights.bodies.iter().map(|[translation, _]| *translation).collect();
        RobotStage { robot, ws, inverse_masses }
    }

    /// Poses and contacts at a state.
    pub(crate) fn driven(&mut self, at: Point<'_, f64>) -> Instant {
        self.robot.accelerations(&mut self.ws, at);
        let mark = |found: ContactForce| ContactMark {
            position: array(found.contact.position),
            normal: array(found.contact.normal),
            force: array(found.force),
            distance: found.contact.distance,
        };
        let contacts = self.robot.contact_forces(&self.ws, at.params).into_iter().map(mark).collect();
        Instant { poses: self.poses(), contacts, soft: Vec::new() }
    }

    /// Poses at a state, whatever acts.
    pub(crate) fn placed(&mut self, params: &[f64], state: &[f64]) -> Instant {
        self.robot.update_kinematics(&mut self.ws, params, state);
        Instant { poses: self.poses(), ..Instant::default() }
    }

    fn poses(&self) -> Vec<Pose> {
        let poses = self.ws.kinematics.world_from_body.iter();
        poses.map(|pose| (array(pose.translation), quaternion(Quat::from_mat3(pose.rotation)))).collect()
    }
}

impl Stage for RobotStage {
    fn shapes(&self, params: &[f64]) -> Replay {
        let model = self.robot.model();
        let rooms = rooms(&self.robot, params);
        let shown = model.geoms.iter().enumerate().filter(|(i, _)| !rooms.contains(i));
        Replay {
            title: model.name.clone(),
            bodies: model.bodies.iter().map(|b| b.name.clone()).collect(),
            geoms: shown.map(|(_, g)| geom(model, g)).collect(),
            ..Replay::default()
        }
    }

    fn instant(&mut self, at: Point<'_, f64>) -> Instant {
        self.driven(at)
    }

    fn pace(&self) -> Pace {
        Pace::Screen
    }

    fn felt_mass(&self, body: usize) -> Option<f64> {
        self.inverse_masses.get(body).filter(|w| **w > 0.0).map(|w| 1.0 / w)
    }

    fn body_position(&mut self, body: usize, params: &[f64], state: &[f64]) -> Option<[f64; 3]> {
        self.robot.motion(&mut self.ws, params, state);
        self.ws.kinematics.world_from_body.get(body).map(|pose| array(pose.translation))
    }

    fn body_position_vjp(
        &mut self,
        body: usize,
        (params, state): (&[f64], &[f64]),
        [x, y, z]: [f64; 3],
        (params_bar, state_bar): (&mut [f64], &mut [f64]),
    ) {
        self.robot.motion(&mut self.ws, params, state);
        let bodies = self.robot.model().bodies.len();
        let (mut velocities, mut wrenches) = (vec![Force::zero(); bodies], vec![Force::zero(); bodies]);
        let (arm, force) = (self.ws.kinematics.arm(body), Vec3::new(x, y, z));
        wrenches[body] = Force::new(arm.cross(force), force);
        let bars =
            MotionBars { velocities: &mut velocities, wrenches: &mut wrenches, params: &mut *params_bar };
        self.robot.motion_vjp(&mut self.ws, params, state, bars, state_bar);
    }
}

fn geom(model: &Model, geom: &Geom) -> ReplayGeom {
    let shape = match geom.shape {
        Shape::Plane => ReplayShape::Plane { half_x: 0.0, half_y: 0.0 },
        Shape::Sphere { radius } => ReplayShape::Sphere { radius },
        Shape::Capsule { radius, half_length } => ReplayShape::Capsule { radius, half_length },
        Shape::Cylinder { radius, half_length } => ReplayShape::Cylinder { radius, half_length },
        Shape::Ellipsoid { radii } => ReplayShape::Ellipsoid { radii: array(radii) },
        Shape::Box { half } => ReplayShape::Box { half: array(half) },
        Shape::Torus { ring, tube } => ReplayShape::Torus { ring, tube },
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

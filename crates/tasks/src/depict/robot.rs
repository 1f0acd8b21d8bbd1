//! Pictures of robots.

use pullback_core::{Described, Point, VectorField};
use pullback_math::{Transform, Vec3};
use pullback_physics::articulated::{Articulated, Shape, candidate_pairs};
use pullback_video::look::{Depict, Look, Moment};

use super::{ByLook, first};

/// Draws states of a robot.
pub fn depict_robot(robot: &Articulated) -> Box<dyn Depict> {
    let look = Look::of_robot(robot.model(), &rooms(robot, &robot.layout().params.defaults()));
    Box::new(ByLook::new(look, poser(robot.clone())))
}

/// Finds the poses of the bodies of a robot. States may be longer than the robot's, and so may parameters.
pub(super) fn poser(robot: Articulated) -> impl FnMut(Point<'_, f64>, &mut Moment) {
    let mut ws = VectorField::<f64>::workspace(&robot);
    let [params, state, control] = {
        let layout = robot.layout();
        [layout.params.len(), layout.state.len(), layout.control.len()].map(first)
    };
    let moved_by_controls = robot.model().bodies.iter().any(|b| b.mocap);
    move |at, moment| {
        let (params, state) = (&at.params[params.clone()], &at.state[..state.end.min(at.state.len())]);
        if moved_by_controls && at.control.len() >= control.end {
            robot.accelerations(&mut ws, Point { params, state, control: &at.control[control.clone()] });
        } else {
            robot.update_kinematics(&mut ws, params, state);
        }
        moment.poses.clone_from(&ws.kinematics.world_from_body);
    }
}

/// Rooms: fixed meshes and boxes that nothing touches and that hold all that moves. They would hide it.
pub(crate) fn rooms(robot: &Articulated, params: &[f64]) -> Vec<usize> {
    let model = robot.model();
    let mut moves = vec![false; model.bodies.len()];
    for i in 1..moves.len() {
        let body = &model.bodies[i];
        moves[i] = moves[body.parent] || body.mocap || model.joints_of(i).next().is_some();
    }
    let mut ws = VectorField::<f64>::workspace(robot);
    robot.update_kinematics(&mut ws, params, &robot.layout().state.defaults());
    let world_from_body = &ws.kinematics.world_from_body;
    let touched = candidate_pairs(model);
    let is_room = |i: &usize| {
        let geom = &model.geoms[*i];
        let (low, high) = match geom.shape {
            Shape::Box { half } => (-half, half),
            Shape::Mesh { mesh } => {
                let all = &model.meshes[mesh].vertices;
                let corner = |of: fn(f64, f64) -> f64, from: f64| {
                    let of =
                        |a: Vec3<f64>, b: &Vec3<f64>| Vec3::new(of(a.x, b.x), of(a.y, b.y), of(a.z, b.z));
                    all.iter().fold(Vec3::new(from, from, from), of)
                };
                (corner(f64::min, f64::INFINITY), corner(f64::max, f64::NEG_INFINITY))
            }
            _ => return false,
        };
        let body_from_geom = Transform { rotation: geom.orientation.to_mat3(), translation: geom.position };
        let inside = |(body, pose): (usize, &Transform<f64>)| {
            let seen = world_from_body[geom.body].inverse_point(pose.translation);
            let p = body_from_geom.inverse_point(seen);
            let between = |low: f64, x: f64, high: f64| low < x && x < high;
            !moves[body]
                || (between(low.x, p.x, high.x) && between(low.y, p.y, high.y) && between(low.z, p.z, high.z))
        };
        !moves[geom.body]
            && !touched.iter().any(|pair| pair.0 == *i || pair.1 == *i)
            && world_from_body.iter().enumerate().all(inside)
    };
    let any = moves.contains(&true);
    (0..model.geoms.len()).filter(|i| any && is_room(i)).collect()
}

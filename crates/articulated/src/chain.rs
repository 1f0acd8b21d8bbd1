//! [`Chain`]: where a point of a body is, by the joints between it and the world alone.
//!
//! Losses ask for a few points at every step. A chain finds one without the poses of all bodies and without
//! scratch memory: it walks outward once for the position, and once more for the pullback, where every joint
//! gets what the moment of the cotangent about it gives. Poses, axes and anchors are those of the model.

use pullback_core::ConfigError;
use pullback_core::registry::did_you_mean;
use pullback_math::{Flat, Mat3, Quat, Real, Transform, Vec3};

use super::field::Articulated;
use super::kinematics::rotation;
use super::tree::GroupKind;

/// One step outward.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Link {
    /// To the frame of a body before its joints move.
    Offset(Transform<f64>),
    /// A rotation about an axis through an anchor.
    Hinge { q: usize, axis: Vec3<f64>, anchor: Vec3<f64>, reference: f64 },
    /// A translation along an axis.
    Slide { q: usize, axis: Vec3<f64>, reference: f64 },
    /// The origin is a coordinate, the axes are the world's.
    Translation { q: usize },
    /// A rotation about an anchor.
    Ball { q: usize, anchor: Vec3<f64> },
}

/// How a joint moves the point, in world axes.
enum Motion<T> {
    Turn { q: usize, axis: Vec3<T>, point: Vec3<T> },
    Shift { q: usize, axis: Vec3<T> },
    Place { q: usize },
    Orient { q: usize, rotation: Mat3<T>, point: Vec3<T> },
}

/// A point of a body and the joints that move it.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    links: Vec<Link>,
    point: Vec3<f64>,
}

impl Chain {
    /// The site or, where there is none of that name, the origin of the body called `name`.
    pub fn named(robot: &Articulated, name: &str) -> Result<Self, ConfigError> {
        let model = robot.model();
        if let Some(site) = model.sites.iter().find(|site| site.name == name) {
            return Chain::new(robot, site.body, site.position);
        }
        match model.bodies.iter().position(|body| body.name == name) {
            Some(body) => Chain::new(robot, body, Vec3::zero()),
            None => {
                let sites = model.sites.iter().map(|site| site.name.as_str());
                let near =
                    did_you_mean(name, sites.chain(model.bodies.iter().map(|body| body.name.as_str())));
                let why = format!("no site and no body of `{}` is called `{name}`{near}", model.name);
                Err(ConfigError::new(why))
            }
        }
    }

    /// A point in the frame of a body, m.
    pub fn new(robot: &Articulated, body: usize, point: Vec3<f64>) -> Result<Self, ConfigError> {
        let (model, tree) = (robot.model(), robot.tree());
        let mut bodies: Vec<usize> =
            std::iter::successors(Some(body), |b| Some(tree.parent[*b])).take_while(|b| *b != 0).collect();
        bodies.reverse();
        let mut links = Vec::new();
        for b in bodies {
            let body = &model.bodies[b];
            if body.mocap {
                let why = "its pose is a control, which a loss of the state does not see";
                return Err(ConfigError::new(format!("body `{}`: {why}", body.name)));
            }
            links.push(Link::Offset(Transform::from_quat(body.orientation.normalize(), body.position)));
            for group in &tree.groups[b] {
                let joint = &model.joints[group.joint];
                let first = robot.coordinates().joints[group.joint].ok_or_else(|| {
                    let why = "it follows another and is no part of the state; use the convex contact model";
                    ConfigError::new(format!("joint `{}`: {why}", joint.name))
                })?;
                let q = first.0 + group.q - joint.q;
                let (axis, anchor, reference) = (joint.axis, joint.anchor, joint.reference);
                links.push(match group.kind {
                    GroupKind::Hinge => Link::Hinge { q, axis, anchor, reference },
                    GroupKind::Slide => Link::Slide { q, axis, reference },
                    GroupKind::Translation => Link::Translation { q },
                    GroupKind::Ball => Link::Ball { q, anchor },
                });
            }
        }
        Ok(Chain { links, point })
    }

    /// Pose of the body in the world.
    pub fn world_from_body<T: Real>(&self, state: &[T]) -> Transform<T> {
        self.walk(state, |_| ())
    }

    /// World position of the point, m.
    pub fn position<T: Real>(&self, state: &[T]) -> Vec3<T> {
        self.world_from_body(state).point(self.point.map(T::lit))
    }

    /// The pullback of [`Chain::position`]: *adds* to the cotangent of the state.
    pub fn position_vjp<T: Real>(&self, state: &[T], position_bar: Vec3<T>, state_bar: &mut [T]) {
        let position = self.position(state);
        self.walk(state, |motion| match motion {
            // dp = a × (p − c) dq
            Motion::Turn { q, axis, point } => {
                state_bar[q] += axis.cross(position - point).dot(position_bar);
            }
            // dp = a dq
            Motion::Shift { q, axis } => state_bar[q] += axis.dot(position_bar),
            // dp = dq
            Motion::Place { q } => position_bar.add_to(&mut state_bar[q..]),
            // dp = R δφ × (p − c), δq = ½ q ⊗ (0, δφ) of a unit quaternion
            Motion::Orient { q, rotation, point } => {
                let turn_bar = rotation.transpose_mul((position - point).cross(position_bar));
                let quat = Quat::read(&state[q..]);
                let scale = T::lit(2.0) * quat.norm_squared().sqrt().recip();
                let turned = quat.normalize() * Quat::from_parts(T::zero(), turn_bar);
                (turned * scale).add_to(&mut state_bar[q..]);
            }
        });
    }

    /// From the world to the body; `visit` sees every joint in its place.
    #[inline(always)]
    fn walk<T: Real>(&self, state: &[T], mut visit: impl FnMut(Motion<T>)) -> Transform<T> {
        let mut pose = Transform::<T>::identity();
        for link in &self.links {
            match *link {
                Link::Offset(offset) => {
                    let offset = Transform::new(offset.rotation.map(T::lit), offset.translation.map(T::lit));
                    pose = pose * offset;
                }
                Link::Hinge { q, axis, anchor, reference } => {
                    let (axis, anchor) = (pose.direction(axis.map(T::lit)), anchor.map(T::lit));
                    let point = pose.point(anchor);
                    visit(Motion::Turn { q, axis, point });
                    pose.rotation = rotation(axis, state[q] - T::lit(reference)) * pose.rotation;
                    pose.translation = point - pose.direction(anchor);
                }
                Link::Slide { q, axis, reference } => {
                    let axis = pose.direction(axis.map(T::lit));
                    visit(Motion::Shift { q, axis });
                    pose.translation += axis * (state[q] - T::lit(reference));
                }
                Link::Translation { q } => {
                    visit(Motion::Place { q });
                    pose = Transform::new(Mat3::identity(), Vec3::read(&state[q..]));
                }
                Link::Ball { q, anchor } => {
                    let anchor = anchor.map(T::lit);
                    let point = pose.point(anchor);
                    pose.rotation = pose.rotation * Quat::read(&state[q..]).normalize().to_mat3();
                    pose.translation = point - pose.direction(anchor);
                    visit(Motion::Orient { q, rotation: pose.rotation, point });
                }
            }
        }
        pose
    }
}

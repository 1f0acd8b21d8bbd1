//! Tools that move material, as models: a container, a rolling pin, chopsticks, a finger; and [`Tools`], which builds such
//! models joint by joint.
//!
//! Joints that translate have the place in the world as their coordinate. Geoms of tools deflect material and do not collide with
//! each other. z is up; sizes that follow y-up sources have their axes renamed.

use pullback_core::ConfigError;
use pullback_math::{Quat, SymMat3, Vec3};

use crate::articulated::model::{Body, Geom, Joint, JointKind, Model, Shape};

/// Smallest and largest coordinate of a joint, m or rad.
pub type Range = Option<(f64, f64)>;

/// A model under construction.
#[derive(Clone, Debug)]
pub struct Tools {
    /// What there is so far, not compiled.
    pub model: Model,
}

impl Tools {
    /// Nothing but the world.
    pub fn new(name: &str) -> Self {
        Tools { model: Model::new(name) }
    }

    /// Adds a body in the frame of its parent (0 is the world) and returns its index. It weighs 1 kg with an inertia of
    /// 1 kg m² until [`Tools::weigh`] is asked.
    pub fn body(&mut self, name: &str, parent: usize, position: Vec3<f64>) -> usize {
        self.model.bodies.push(Body {
            name: name.into(),
            parent,
            position,
            orientation: Quat::identity(),
            mass: 1.0,
            com: Vec3::zero(),
            inertia: SymMat3::identity(),
        });
        self.model.bodies.len() - 1
    }

    /// Sets mass, kg, and inertia about the origin of the body, kg m², which becomes its centre of mass.
    pub fn weigh(&mut self, body: usize, mass: f64, inertia: SymMat3<f64>) {
        let body = &mut self.model.bodies[body];
        (body.mass, body.com, body.inertia) = (mass, Vec3::zero(), inertia);
    }

    /// Adds a joint at the origin of a body; its coordinate is `start` where the bodies stand as described.
    pub fn joint(
        &mut self,
        name: &str,
        body: usize,
        kind: JointKind,
        axis: Vec3<f64>,
        start: f64,
        range: Range,
    ) {
        self.model.joints.push(Joint {
            name: name.into(),
            body,
            kind,
            anchor: Vec3::zero(),
            axis,
            reference: start,
            damping: 0.0,
            stiffness: 0.0,
            spring_reference: start,
            armature: 0.0,
            range,
            q: 0,
            v: 0,
        });
    }

    /// Adds slides `x`, `y`, `z` of a body whose parent is the world, where a range is given; they are named PREFIX and axis.
    pub fn slides(&mut self, prefix: &str, body: usize, ranges: [Range; 3]) {
        let at = self.model.bodies[body].position;
        let axes = [("x", at.x), ("y", at.y), ("z", at.z)];
        for (a, ((name, start), range)) in axes.into_iter().zip(ranges).enumerate() {
            if range.is_some() {
                let name = format!("{prefix}{name}");
                self.joint(&name, body, JointKind::Slide, unit(a), start, range);
            }
        }
    }

    /// Adds a geom to a body and returns its index.
    pub fn geom(
        &mut self,
        name: &str,
        body: usize,
        shape: Shape,
        position: Vec3<f64>,
        orientation: Quat<f64>,
        friction: f64,
    ) -> usize {
        self.model.geoms.push(Geom {
            name: name.into(),
            body,
            shape,
            position,
            orientation,
            collision_bits: 1,
            collides_with: 0,
            friction: [friction, 0.0, 0.0],
            margin: 0.0,
            softness: Default::default(),
            rgba: [0.6, 0.6, 0.65, 1.0],
        });
        self.model.geoms.len() - 1
    }

    /// The model, compiled.
    pub fn build(mut self) -> Result<Model, ConfigError> {
        self.model.joints.sort_by_key(|j| j.body);
        self.model.geoms.sort_by_key(|g| g.body);
        self.model.compile()
    }
}

fn unit(axis: usize) -> Vec3<f64> {
    let mut v = Vec3::zero();
    v[axis] = 1.0;
    v
}

/// Turns z to x or y.
fn along(axis: usize) -> Quat<f64> {
    let quarter = std::f64::consts::FRAC_PI_2;
    match axis {
        0 => Quat::from_axis_angle(unit(1), quarter),
        1 => Quat::from_axis_angle(unit(0), -quarter),
        _ => Quat::identity(),
    }
}

/// An open box of five slabs that moves along x, y and z within ranges; paper 2's FluidMove has inner sizes 0.18, 0.22, 0.16 m
/// and walls of 0.05 m. `centre` is that of the inside.
pub fn container(
    centre: Vec3<f64>,
    inner: Vec3<f64>,
    wall: f64,
    ranges: [Range; 3],
    friction: f64,
) -> Result<Model, ConfigError> {
    let mut tools = Tools::new("container");
    let body = tools.body("container", 0, centre);
    tools.slides("", body, ranges);
    let (h, t) = (inner * 0.5, wall * 0.5);
    let outer = h + Vec3::new(wall, wall, 0.0);
    // Walls stand from the bottom of the floor to the rim.
    let tall = h.z + t;
    let mut slab = |name: &str, half: Vec3<f64>, at: Vec3<f64>| {
        tools.geom(name, body, Shape::Box { half }, at, Quat::identity(), friction);
    };
    slab("bottom", Vec3::new(outer.x, outer.y, t), Vec3::new(0.0, 0.0, -h.z - t));
    for (name, side) in [("left", -1.0), ("right", 1.0)] {
        slab(name, Vec3::new(t, outer.y, tall), Vec3::new(side * (h.x + t), 0.0, -t));
    }
    for (name, side) in [("front", -1.0), ("back", 1.0)] {
        slab(name, Vec3::new(outer.x, t, tall), Vec3::new(0.0, side * (h.y + t), -t));
    }
    tools.build()
}

/// A roller with a handle, both capsules along y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RollingPin {
    /// Radius and half length of the roller, m.
    pub roller: (f64, f64),
    /// Radius and half length of the handle, m, if it has one.
    pub handle: Option<(f64, f64)>,
    /// Where the body stands, m; it yaws about the vertical through this point.
    pub origin: Vec3<f64>,
    /// From there to the middle of the roller, m.
    pub offset: Vec3<f64>,
    /// Ranges of the slides x, y, z; none for no such joint.
    pub slides: [Range; 3],
    /// Range of the yaw about z, rad.
    pub yaw: Range,
    /// Whether it also turns about its own axis (joint `spin`).
    pub spins: bool,
    /// Friction.
    pub friction: f64,
}

impl RollingPin {
    /// Paper 2's RollingFlat: slides x and z, yaw about the vertical at y = 0, half a metre from the roller's middle.
    pub fn rolling_flat() -> Self {
        let yaw = 0.66 * std::f64::consts::PI;
        RollingPin {
            roller: (0.03, 0.2),
            handle: Some((0.012, 0.3)),
            origin: Vec3::new(0.5, 0.0, 0.2875),
            offset: Vec3::new(0.0, 0.5, 0.0),
            slides: [Some((0.12, 0.88)), None, Some((0.1225, 0.3725))],
            yaw: Some((-yaw, yaw)),
            spins: false,
            friction: 0.9,
        }
    }

    /// PlasticineLab's RollingPin: slides in all directions, yaw about its middle, spin about its axis.
    pub fn plasticine() -> Self {
        let anywhere = Some((0.0, 1.0));
        RollingPin {
            roller: (0.03, 0.15),
            handle: None,
            origin: Vec3::new(0.5, 0.5, 0.123),
            offset: Vec3::zero(),
            slides: [anywhere; 3],
            yaw: None,
            spins: true,
            friction: 0.9,
        }
    }
}

/// A rolling pin.
pub fn rolling_pin(pin: &RollingPin) -> Result<Model, ConfigError> {
    let mut tools = Tools::new("rolling pin");
    let body = tools.body("pin", 0, pin.origin);
    tools.slides("", body, pin.slides);
    tools.joint("yaw", body, JointKind::Hinge, unit(2), 0.0, pin.yaw);
    if pin.spins {
        tools.joint("spin", body, JointKind::Hinge, unit(1), 0.0, None);
        tools.model.joints.iter_mut().filter(|j| j.name == "spin").for_each(|j| j.anchor = pin.offset);
    }
    let parts = [("roller", Some(pin.roller)), ("handle", pin.handle)];
    for (name, size) in parts {
        if let Some((radius, half_length)) = size {
            let shape = Shape::Capsule { radius, half_length };
            tools.geom(name, body, shape, pin.offset, along(1), pin.friction);
        }
    }
    tools.build()
}

/// Two parallel capsules along z that move and turn as one (slides `x`, `y`, `z`, ball `turn`), each with a slide that is
/// half the gap (`left.gap` along −x, `right.gap` along x). PlasticineLab: radius 0.02 m, half length 0.1 m, gap 0.06 m, which is
/// also the least.
pub fn chopsticks(
    centre: Vec3<f64>,
    radius: f64,
    half_length: f64,
    gap: f64,
    gaps: (f64, f64),
    ranges: [Range; 3],
    friction: f64,
) -> Result<Model, ConfigError> {
    let mut tools = Tools::new("chopsticks");
    let hand = tools.body("hand", 0, centre);
    tools.slides("", hand, ranges);
    tools.joint("turn", hand, JointKind::Ball, unit(2), 0.0, None);
    for (name, side) in [("left", -1.0), ("right", 1.0)] {
        let stick = tools.body(name, hand, unit(0) * (side * gap / 2.0));
        let range = Some((gaps.0 / 2.0, gaps.1 / 2.0));
        tools.joint(&format!("{name}.gap"), stick, JointKind::Slide, unit(0) * side, gap / 2.0, range);
        let shape = Shape::Capsule { radius, half_length };
        tools.geom(&format!("{name}.stick"), stick, shape, Vec3::zero(), Quat::identity(), friction);
    }
    tools.build()
}

/// A chain of capsules that hangs down from `root`, each link turning about y at its upper end (`bend0`, `bend1`, …), with
/// radius and length of each link, m.
pub fn finger(
    root: Vec3<f64>,
    links: &[(f64, f64)],
    range: Range,
    friction: f64,
) -> Result<Model, ConfigError> {
    let mut tools = Tools::new("finger");
    let (mut parent, mut at) = (0, root);
    for (i, (radius, length)) in links.iter().enumerate() {
        parent = tools.body(&format!("link{i}"), parent, at);
        tools.joint(&format!("bend{i}"), parent, JointKind::Hinge, unit(1), 0.0, range);
        let middle = unit(2) * (-length / 2.0);
        let shape = Shape::Capsule { radius: *radius, half_length: length / 2.0 };
        tools.geom(&format!("phalanx{i}"), parent, shape, middle, Quat::identity(), friction);
        at = unit(2) * -*length;
    }
    tools.build()
}

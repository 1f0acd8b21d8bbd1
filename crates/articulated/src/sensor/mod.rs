//! Sensors: named outputs of a robot at a state, in MuJoCo's layout (`sensordata`), and their pullback.
//!
//! [`Sensing`] reads them. Sensors of positions and velocities need kinematics alone. Those of accelerations
//! and forces need the dynamics: the constrained acceleration without implicit terms of an integrator, as
//! MuJoCo has it.
//!
//! *Pullback.* Readings are functions of the bodies' poses, velocities, accelerations and of the force that
//! each body's parent exerts on it. Their cotangents go through inverse dynamics at the acceleration, which
//! gives the cotangent of the acceleration itself, and that through the solver and the smooth dynamics. Forces of rows
//! f = −∇s(J a − a_ref) have a cotangent of their own ([`crate::constraint`]).
//!
//! | sensor | held constant |
//! |---|---|
//! | `touch` | which contacts lie inside the site |
//! | `rangefinder` | which geom the ray meets, and where on its surface |
//! | any with `cutoff` | the derivative beyond it is 0 |

mod actuator;
mod frame;
mod joint;
mod loss;
mod range;
mod ray;
mod subtree;
mod touch;

use std::ops::Range;

use pullback_core::registry::did_you_mean;
use pullback_core::{Bars, ConfigError, Point, VectorField, Workspace};
use pullback_math::{Flat, Force, Motion, Quat, Real, SpatialInertia, Vec3, select};

use super::actuator::{ActuatorSeeds, ActuatorState};
use super::constraint::set::ConstraintSet;
use super::contact::{ContactSet, ContactSolver, ContactSolverWorkspace};
use super::field::Articulated;
use super::kinematics::Kinematics;
use super::model::{FrameQuantity, JointQuantity, Sensor, SensorKind, Shape, SiteQuantity, TendonPath};
use super::rnea::{
    HeldMotions, InverseDynamicsBars, Push, Sweep, SweepInputs, body_velocities, body_velocities_vjp,
    inverse_dynamics, inverse_dynamics_vjp,
};
use super::tendon::TendonState;
use super::workspace::ArticulatedWorkspace;

pub use loss::SensorLoss;

/// Where the reading of a sensor lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SensorReading {
    /// Name of the sensor.
    pub name: String,
    /// Its entries among all readings.
    pub range: Range<usize>,
}

/// A sensor and where its reading lies.
#[derive(Clone, Debug)]
struct Placed {
    sensor: Sensor,
    range: Range<usize>,
    /// Bodies of a subtree.
    bodies: Vec<usize>,
}

/// Reads the sensors of a robot.
#[derive(Clone, Debug)]
pub struct Sensing {
    robot: Articulated,
    placed: Vec<Placed>,
    readings: Vec<SensorReading>,
    unsupported: Vec<(String, String)>,
    /// Whether any sensor needs the dynamics, any the forces between bodies, any orientations.
    dynamics: bool,
    forces: bool,
    orientations: bool,
}

/// Memory of [`Sensing`].
#[derive(Clone, Debug, Workspace)]
pub struct SensingWorkspace<T> {
    dynamics: ArticulatedWorkspace<T>,
    /// Motion at the constrained acceleration.
    sweep: Sweep<T>,
    /// Force of the parent of each body; forces of constraints on each body and everything beyond.
    forces: Vec<Force<T>>,
    external: Vec<Force<T>>,
    orientations: Vec<Quat<T>>,
    pushes: Vec<Push<T>>,
    tau: Vec<T>,
    velocity_bars: Vec<Force<T>>,
    acceleration_bars: Vec<Force<T>>,
    force_bars: Vec<Motion<T>>,
    wrenches: Vec<Force<T>>,
    inertia_bars: Vec<SpatialInertia<T>>,
    push_bars: Vec<Push<T>>,
    axis_bars: Vec<Force<T>>,
    tangent_bar: Vec<T>,
    generalized_bar: Vec<T>,
    row_bars: Vec<T>,
    seeds: ActuatorSeeds<T>,
    tendon_length_bars: Vec<T>,
    tendon_velocity_bars: Vec<T>,
    /// Zero: readings do not depend on the rates of activations.
    activation_rate_bar: Vec<T>,
}

/// A robot as its sensors see it.
pub(super) struct Sensed<'a, T> {
    robot: &'a Articulated,
    params: &'a [T],
    q: &'a [T],
    v: &'a [T],
    time: T,
    kinematics: &'a Kinematics<T>,
    velocities: &'a [Motion<T>],
    /// Whether accelerations and forces are there.
    accelerates: bool,
    accelerations: &'a [Motion<T>],
    forces: &'a [Force<T>],
    orientations: &'a [Quat<T>],
    actuation: &'a [T],
    actuators: &'a ActuatorState<T>,
    tendons: &'a TendonState<T>,
    contacts: &'a ContactSet<T>,
    constraints: Option<&'a ConstraintSet<T>>,
}

/// Cotangents that the pullbacks of sensors add to.
pub(super) struct SensorBars<'a, T> {
    q: &'a mut [T],
    v: &'a mut [T],
    params: &'a mut [T],
    velocities: &'a mut [Force<T>],
    accelerations: &'a mut [Force<T>],
    forces: &'a mut [Motion<T>],
    wrenches: &'a mut [Force<T>],
    inertias: &'a mut [SpatialInertia<T>],
    rows: &'a mut [T],
    actuators: &'a mut ActuatorSeeds<T>,
    /// Of lengths and velocities of tendons.
    tendons: (&'a mut [T], &'a mut [T]),
}

impl Articulated {
    /// A body and all that hangs on it, outward; the world is no body.
    pub(crate) fn subtree(&self, root: usize) -> Vec<usize> {
        let parent = &self.tree.parent;
        let mut inside = vec![false; parent.len()];
        for b in 0..parent.len() {
            inside[b] = b == root || (b > 0 && inside[parent[b]]);
        }
        (1..parent.len()).filter(|b| inside[*b]).collect()
    }

    /// What reads the sensors of the model. Sensors that are not supported are left out of the readings; see
    /// [`Sensing::unsupported`].
    pub fn sensing(&self) -> Result<Sensing, ConfigError> {
        self.sensing_of(&self.model.sensors)
    }

    /// What reads these sensors, which need not be those of the model.
    pub fn sensing_of(&self, sensors: &[Sensor]) -> Result<Sensing, ConfigError> {
        if self.coupling.is_some() {
            return Err(ConfigError::new(
                "sensors: joints that follow others need the convex model, where they are constraints",
            ));
        }
        let mut robot = self.clone();
        (robot.implicit, robot.from_distance) = (None, None);
        let mut sensing = Sensing {
            robot,
            placed: Vec::new(),
            readings: Vec::new(),
            unsupported: Vec::new(),
            dynamics: false,
            forces: false,
            orientations: false,
        };
        sensors.iter().for_each(|sensor| sensing.place(sensor));
        Ok(sensing)
    }
}

impl Sensing {
    fn place(&mut self, sensor: &Sensor) {
        if let Some(why) = self.refusal(&sensor.kind) {
            self.unsupported.push((sensor.name.clone(), why));
            return;
        }
        use SiteQuantity::{Accelerometer, Touch};
        let bodies = match sensor.kind {
            SensorKind::Subtree(root, _) => self.robot.subtree(root),
            _ => Vec::new(),
        };
        match sensor.kind {
            SensorKind::Joint(_, what) => self.dynamics |= joint::needs_dynamics(what),
            SensorKind::Site(_, Accelerometer | Touch) => self.dynamics = true,
            SensorKind::Site(_, SiteQuantity::Force | SiteQuantity::Torque) => {
                (self.dynamics, self.forces) = (true, true);
            }
            SensorKind::Frame { what: FrameQuantity::Orientation, .. } => self.orientations = true,
            SensorKind::Frame { what, .. } => self.dynamics |= frame::needs_dynamics(what),
            SensorKind::Actuator(..) | SensorKind::Tendon(..) => self.dynamics = true,
            SensorKind::PotentialEnergy => self.dynamics |= !self.robot.model.tendons.is_empty(),
            _ => {}
        }
        let start = self.len();
        let range = start..start + sensor.kind.len();
        self.readings.push(SensorReading { name: sensor.name.clone(), range: range.clone() });
        self.placed.push(Placed { sensor: sensor.clone(), range, bodies });
    }

    /// Why a sensor is not read, if it is not.
    fn refusal(&self, kind: &SensorKind) -> Option<String> {
        let convex = matches!(self.robot.solver, ContactSolver::Convex(_));
        let model = &self.robot.model;
        match kind {
            SensorKind::Unsupported(why) => Some(why.clone()),
            SensorKind::Joint(
                _,
                JointQuantity::LimitPosition | JointQuantity::LimitVelocity | JointQuantity::LimitForce,
            )
            | SensorKind::Site(_, SiteQuantity::Touch | SiteQuantity::Force | SiteQuantity::Torque)
                if !convex =>
            {
                Some("it needs the forces of constraints, which the convex model alone has".into())
            }
            SensorKind::Site(site, SiteQuantity::Force | SiteQuantity::Torque)
                if model.sites[*site].body == 0 =>
            {
                Some("the world has no parent that exerts a force on it".into())
            }
            SensorKind::Site(_, SiteQuantity::Force | SiteQuantity::Torque)
                if model.tendons.iter().any(|t| matches!(t.path, TendonPath::Spatial(_))) =>
            {
                Some(
                    "spatial tendons pull on bodies beside their parents, which it does not tell apart"
                        .into(),
                )
            }
            SensorKind::Site(_, SiteQuantity::Range)
                if model
                    .geoms
                    .iter()
                    .any(|g| matches!(g.shape, Shape::Heightfield { .. } | Shape::Torus { .. })) =>
            {
                Some("rays meet neither terrain nor tori; use meshes or boxes".into())
            }
            SensorKind::Subtree(root, _) => {
                let mass: f64 = self.robot.subtree(*root).iter().map(|b| model.bodies[*b].mass).sum();
                (mass <= 0.0).then(|| "the subtree has no mass".into())
            }
            _ => None,
        }
    }

    /// Number of entries of all readings.
    pub fn len(&self) -> usize {
        self.readings.last().map_or(0, |r| r.range.end)
    }

    /// Whether there is nothing to read.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The readings by name, in the order of the model.
    pub fn readings(&self) -> &[SensorReading] {
        &self.readings
    }

    /// The entries of a sensor by name.
    pub fn range(&self, name: &str) -> Result<Range<usize>, ConfigError> {
        if let Some(reading) = self.readings.iter().find(|r| r.name == name) {
            return Ok(reading.range.clone());
        }
        Err(ConfigError::new(match self.unsupported.iter().find(|(n, _)| n == name) {
            Some((_, why)) => format!("sensor `{name}` is not supported: {why}"),
            None => {
                let near = did_you_mean(name, self.readings.iter().map(|r| r.name.as_str()));
                format!("no sensor is called `{name}`{near}")
            }
        }))
    }

    /// Sensors of the model that are not read, and why.
    pub fn unsupported(&self) -> &[(String, String)] {
        &self.unsupported
    }

    /// Memory for readings over scalars `T`.
    pub fn workspace<T: Real>(&self) -> SensingWorkspace<T> {
        let (tree, nv) = (&self.robot.tree, self.robot.model.nv);
        let (bodies, nu) = (tree.bodies(), self.robot.model.actuators.len());
        let zeros = |n: usize| vec![T::zero(); n];
        let mut dynamics: ArticulatedWorkspace<T> = self.robot.workspace();
        dynamics.make_room_for_bars(bodies);
        SensingWorkspace {
            dynamics,
            sweep: Sweep::new(tree),
            forces: vec![Force::zero(); bodies],
            external: vec![Force::zero(); bodies],
            orientations: vec![Quat::identity(); bodies],
            pushes: vec![Push::default(); bodies],
            tau: vec![T::zero(); nv],
            velocity_bars: vec![Force::zero(); bodies],
            acceleration_bars: vec![Force::zero(); bodies],
            force_bars: vec![Motion::zero(); bodies],
            wrenches: vec![Force::zero(); bodies],
            inertia_bars: vec![SpatialInertia::zero(); bodies],
            push_bars: vec![Push::default(); bodies],
            axis_bars: vec![Force::zero(); if self.robot.index.kinematics.is_some() { nv } else { 0 }],
            tangent_bar: vec![T::zero(); nv],
            generalized_bar: vec![T::zero(); nv],
            row_bars: Vec::new(),
            seeds: ActuatorSeeds {
                force: zeros(nu),
                length: zeros(nu),
                velocity: zeros(nu),
                joint: zeros(nv),
            },
            tendon_length_bars: zeros(self.robot.model.tendons.len()),
            tendon_velocity_bars: zeros(self.robot.model.tendons.len()),
            activation_rate_bar: zeros(self.robot.model.activations()),
        }
    }

    /// The readings at a point and time, s (`sensordata`).
    pub fn sensors<T: Real>(&self, ws: &mut SensingWorkspace<T>, at: Point<'_, T>, time: T, out: &mut [T]) {
        self.measure(ws, at);
        let sensed = self.sensed(ws, at, time);
        for placed in &self.placed {
            let out = &mut out[placed.range.clone()];
            placed.read(&sensed, out);
            if let Some(cutoff) = placed.cutoff() {
                out.iter_mut().for_each(|x| *x = x.max(T::lit(-cutoff)).min(T::lit(cutoff)));
            }
        }
    }

    /// The pullback of [`Sensing::sensors`] with cotangent `out_bar`: *adds* to `bars`.
    pub fn sensors_vjp<T: Real>(
        &self,
        ws: &mut SensingWorkspace<T>,
        at: Point<'_, T>,
        out_bar: &[T],
        bars: Bars<'_, T>,
    ) {
        self.measure(ws, at);
        let Bars { params, state, control } = bars;
        let (nq, nv) = (self.robot.model.nq, self.robot.model.nv);
        self.clear_bars(ws);
        {
            let mut own = OwnBars::take(ws);
            let (q, rest) = state.split_at_mut(nq);
            let v = &mut rest[..nv];
            let sensed = self.sensed(ws, at, T::zero());
            let mut bars = SensorBars {
                q,
                v,
                params,
                velocities: &mut own.velocities,
                accelerations: &mut own.accelerations,
                forces: &mut own.forces,
                wrenches: &mut own.wrenches,
                inertias: &mut own.inertias,
                rows: &mut own.rows,
                actuators: &mut own.seeds,
                tendons: (&mut own.tendon_lengths, &mut own.tendon_velocities),
            };
            for placed in &self.placed {
                let mut bar = [T::zero(); 4];
                let bar = &mut bar[..placed.range.len()];
                bar.copy_from_slice(&out_bar[placed.range.clone()]);
                if let Some(cutoff) = placed.cutoff() {
                    let mut value = [T::zero(); 4];
                    placed.read(&sensed, &mut value[..bar.len()]);
                    for (bar, value) in bar.iter_mut().zip(value) {
                        let within = value.abs().lt(T::lit(cutoff));
                        *bar = select(within, *bar, T::zero());
                    }
                }
                placed.read_vjp(&sensed, bar, &mut bars);
            }
            own.put_back(ws);
        }
        let inertia_bars = &ws.inertia_bars;
        let kinematics = &ws.dynamics.kinematics;
        self.robot.inertias_vjp(kinematics, at.params, inertia_bars, &mut ws.wrenches);
        let bars = Bars { params, state, control };
        if self.dynamics {
            self.dynamics_vjp(ws, at, bars);
        } else {
            self.motion_vjp(ws, at, bars);
        }
    }

    /// Computes what the sensors see.
    fn measure<T: Real>(&self, ws: &mut SensingWorkspace<T>, at: Point<'_, T>) {
        let robot = &self.robot;
        let (q, v, _) = robot.split_state(at.state);
        let (_, mocap, pushing) = robot.split_control(at.control);
        if !self.dynamics {
            let kinematics = &mut ws.dynamics.kinematics;
            kinematics.update(&robot.model, &robot.tree, &robot.index, at.params, (q, mocap));
            body_velocities(&robot.inputs(&ws.dynamics.kinematics, at.params, v, &[]), &mut ws.sweep);
        } else {
            robot.accelerations(&mut ws.dynamics, at);
            ws.pushes.fill(Push::default());
            for (i, body) in robot.pushed.iter().enumerate() {
                ws.pushes[*body] = Push::read(&pushing[6 * i..]);
            }
            let inputs = robot.inputs(&ws.dynamics.kinematics, at.params, v, &ws.pushes);
            inverse_dynamics(&inputs, Some(&ws.dynamics.constrained), &mut ws.sweep, &mut ws.tau);
        }
        if self.forces {
            ws.external.fill(Force::zero());
            robot.external_forces(&ws.dynamics, at, &mut ws.external);
            for b in (1..robot.tree.bodies()).rev() {
                let beyond = ws.external[b];
                ws.external[robot.tree.parent[b]] += beyond;
                ws.forces[b] = ws.sweep.forces[b] - beyond;
            }
        }
        if self.orientations {
            frame::body_orientations(robot, at.params, (q, mocap), &mut ws.orientations);
        }
    }

    fn sensed<'a, T: Real>(
        &'a self,
        ws: &'a SensingWorkspace<T>,
        at: Point<'a, T>,
        time: T,
    ) -> Sensed<'a, T> {
        let (q, v, _) = self.robot.split_state(at.state);
        let constraints = match &ws.dynamics.resolve {
            ContactSolverWorkspace::Convex(convex) if self.dynamics => Some(&convex.set),
            _ => None,
        };
        Sensed {
            robot: &self.robot,
            params: at.params,
            q,
            v,
            time,
            kinematics: &ws.dynamics.kinematics,
            velocities: &ws.sweep.velocities,
            accelerates: self.dynamics,
            accelerations: if self.dynamics { &ws.sweep.accelerations } else { &[] },
            forces: if self.forces { &ws.forces } else { &[] },
            orientations: &ws.orientations,
            actuation: &ws.dynamics.actuation,
            actuators: &ws.dynamics.actuators,
            tendons: &ws.dynamics.tendons,
            contacts: &ws.dynamics.contacts,
            constraints,
        }
    }

    fn clear_bars<T: Real>(&self, ws: &mut SensingWorkspace<T>) {
        for bars in [&mut ws.velocity_bars, &mut ws.acceleration_bars, &mut ws.wrenches, &mut ws.axis_bars] {
            bars.fill(Force::zero());
        }
        ws.force_bars.fill(Motion::zero());
        ws.inertia_bars.fill(SpatialInertia::zero());
        ws.push_bars.fill(Push::default());
        let ActuatorSeeds { force, length, velocity, joint } = &mut ws.seeds;
        let tendons = [&mut ws.tendon_length_bars, &mut ws.tendon_velocity_bars];
        let own = [&mut ws.tangent_bar, &mut ws.generalized_bar, force, length, velocity, joint];
        for bars in own.into_iter().chain(tendons) {
            bars.fill(T::zero());
        }
        let rows = match &ws.dynamics.resolve {
            ContactSolverWorkspace::Convex(convex) if self.dynamics => convex.set.rows(),
            _ => 0,
        };
        ws.row_bars.clear();
        ws.row_bars.resize(rows, T::zero());
    }

    /// From cotangents of poses and velocities to those of the state and parameters.
    fn motion_vjp<T: Real>(&self, ws: &mut SensingWorkspace<T>, at: Point<'_, T>, bars: Bars<'_, T>) {
        let robot = &self.robot;
        let (q, v, _) = robot.split_state(at.state);
        let (q_bar, v_bar) = bars.state.split_at_mut(robot.model.nq);
        let SensingWorkspace {
            dynamics, velocity_bars, wrenches, tangent_bar, axis_bars, inertia_bars, ..
        } = ws;
        let kinematics = &dynamics.kinematics;
        let inputs = robot.inputs(kinematics, at.params, v, &[]);
        let none = HeldMotions::none();
        body_velocities_vjp(&inputs, velocity_bars, none, wrenches, tangent_bar, v_bar, axis_bars);
        robot.all_coordinates.add_tangent(q, tangent_bar, q_bar);
        let mocap = robot.mocap_range();
        let mocap_bar = &mut bars.control[mocap.clone()];
        robot.mocap_vjp(kinematics, &at.control[mocap], |b| wrenches[b], mocap_bar);
        robot.kinematic_params_vjp(kinematics, at.params, q, axis_bars, |b| wrenches[b], bars.params);
        robot.body_params_vjp(kinematics, at.params, inertia_bars, bars.params);
    }

    /// The same through accelerations and forces.
    fn dynamics_vjp<T: Real>(&self, ws: &mut SensingWorkspace<T>, at: Point<'_, T>, bars: Bars<'_, T>) {
        let robot = &self.robot;
        let Bars { params: params_bar, state: state_bar, control: control_bar } = bars;
        let (q, v, _) = robot.split_state(at.state);
        let (q_bar, v_bar) = state_bar.split_at_mut(robot.model.nq);
        let SensingWorkspace {
            dynamics,
            sweep,
            pushes,
            tau,
            velocity_bars,
            acceleration_bars,
            force_bars,
            wrenches,
            inertia_bars,
            push_bars,
            axis_bars,
            tangent_bar,
            generalized_bar,
            row_bars,
            seeds,
            tendon_length_bars,
            tendon_velocity_bars,
            activation_rate_bar,
            ..
        } = ws;

        // Inverse dynamics at the constrained acceleration.
        let mut gravity_bar = Vec3::zero();
        let kinematics = &dynamics.kinematics;
        let inputs: SweepInputs<'_, T> = robot.inputs(kinematics, at.params, v, pushes);
        tau.fill(T::zero());
        let mut sweep_bars = InverseDynamicsBars {
            tangent: tangent_bar,
            v: v_bar,
            gravity: &mut gravity_bar,
            inertias: inertia_bars,
            external: push_bars,
            axes: axis_bars,
            accelerations: acceleration_bars,
            compensation: &mut [],
            forces: force_bars,
            generalized: generalized_bar,
        };
        inverse_dynamics_vjp(&inputs, &dynamics.constrained, tau, sweep, &mut sweep_bars);
        robot.index.gravity.add(gravity_bar, params_bar);
        robot.all_coordinates.add_tangent(q, tangent_bar, q_bar);
        let mocap = robot.mocap_range();
        for (i, body) in robot.pushed.iter().enumerate() {
            push_bars[*body].add_to(&mut control_bar[mocap.end + 6 * i..]);
        }
        let mocap_bar = &mut control_bar[mocap.clone()];
        robot.mocap_vjp(kinematics, &at.control[mocap], |b| sweep.wrench(b), mocap_bar);
        robot.kinematic_params_vjp(kinematics, at.params, q, axis_bars, |b| sweep.wrench(b), params_bar);
        robot.body_params_vjp(kinematics, at.params, inertia_bars, params_bar);

        // The solver and the smooth dynamics.
        if let ContactSolverWorkspace::Convex(convex) = &mut dynamics.resolve {
            // Forces of constraints are taken away from those between bodies.
            let bodies = if self.forces { robot.tree.bodies() } else { 0 };
            convex.set_force_bars(row_bars, (0..bodies).map(|b| -sweep.virtual_motion(b)));
        }
        robot.multipliers(dynamics, at, generalized_bar, params_bar);
        dynamics.add_motion_bars(velocity_bars, wrenches);
        let lengths = &mut dynamics.tendons.bars;
        lengths.length.iter_mut().zip(tendon_length_bars).for_each(|(own, bar)| *own += *bar);
        lengths.velocity.iter_mut().zip(tendon_velocity_bars).for_each(|(own, bar)| *own += *bar);
        std::mem::swap(&mut dynamics.actuators.seeds, seeds);
        let bars = Bars { params: params_bar, state: state_bar, control: control_bar };
        robot.full_pullback(dynamics, at, activation_rate_bar, bars);
        std::mem::swap(&mut dynamics.actuators.seeds, seeds);
    }
}

/// Cotangents taken out of a workspace while the rest of it is read.
struct OwnBars<T> {
    velocities: Vec<Force<T>>,
    accelerations: Vec<Force<T>>,
    forces: Vec<Motion<T>>,
    wrenches: Vec<Force<T>>,
    inertias: Vec<SpatialInertia<T>>,
    rows: Vec<T>,
    seeds: ActuatorSeeds<T>,
    tendon_lengths: Vec<T>,
    tendon_velocities: Vec<T>,
}

impl<T: Real> OwnBars<T> {
    fn take(ws: &mut SensingWorkspace<T>) -> Self {
        use std::mem::take;
        OwnBars {
            velocities: take(&mut ws.velocity_bars),
            accelerations: take(&mut ws.acceleration_bars),
            forces: take(&mut ws.force_bars),
            wrenches: take(&mut ws.wrenches),
            inertias: take(&mut ws.inertia_bars),
            rows: take(&mut ws.row_bars),
            seeds: take(&mut ws.seeds),
            tendon_lengths: take(&mut ws.tendon_length_bars),
            tendon_velocities: take(&mut ws.tendon_velocity_bars),
        }
    }

    fn put_back(self, ws: &mut SensingWorkspace<T>) {
        (ws.velocity_bars, ws.acceleration_bars, ws.force_bars) =
            (self.velocities, self.accelerations, self.forces);
        (ws.wrenches, ws.inertia_bars) = (self.wrenches, self.inertias);
        (ws.row_bars, ws.seeds) = (self.rows, self.seeds);
        (ws.tendon_length_bars, ws.tendon_velocity_bars) = (self.tendon_lengths, self.tendon_velocities);
    }
}

impl Placed {
    /// The largest absolute reading; directions and orientations have none.
    fn cutoff(&self) -> Option<f64> {
        let unbounded = matches!(
            self.sensor.kind,
            SensorKind::Joint(_, JointQuantity::Quaternion)
                | SensorKind::Frame { what: FrameQuantity::Orientation | FrameQuantity::Axis(_), .. }
        );
        (self.sensor.cutoff > 0.0 && !unbounded).then_some(self.sensor.cutoff)
    }

    fn read<T: Real>(&self, at: &Sensed<'_, T>, out: &mut [T]) {
        match self.sensor.kind {
            SensorKind::Joint(j, JointQuantity::Quaternion) => at.ball_orientation(j).write(out),
            SensorKind::Joint(j, JointQuantity::Spin) => {
                out.copy_from_slice(&at.v[at.robot.model.joints[j].v..][..3]);
            }
            SensorKind::Joint(j, what) => out[0] = at.joint_value(j, what),
            SensorKind::Actuator(a, what) => out[0] = at.actuator_value(a, what),
            SensorKind::Tendon(t, what) => out[0] = at.tendon_value(t, what),
            SensorKind::Frame { object, reference, what: FrameQuantity::Orientation } => {
                at.frame_orientation(object, reference).write(out);
            }
            SensorKind::Frame { object, reference, what } => {
                at.frame_value(object, reference, what).write(out);
            }
            SensorKind::Site(site, SiteQuantity::Touch) => out[0] = at.touch(site),
            SensorKind::Site(site, SiteQuantity::Range) => out[0] = at.range(site),
            SensorKind::Site(site, what) => at.site_value(site, what).write(out),
            SensorKind::Subtree(_, what) => at.subtree_value(&self.bodies, what).write(out),
            SensorKind::Clock => out[0] = at.time,
            SensorKind::PotentialEnergy => out[0] = at.potential_energy(),
            SensorKind::KineticEnergy => out[0] = at.kinetic_energy(),
            SensorKind::Unsupported(_) => {}
        }
    }

    fn read_vjp<T: Real>(&self, at: &Sensed<'_, T>, bar: &[T], bars: &mut SensorBars<'_, T>) {
        match self.sensor.kind {
            SensorKind::Joint(j, JointQuantity::Quaternion) => {
                at.ball_orientation_vjp(j, Quat::read(bar), bars);
            }
            SensorKind::Joint(j, JointQuantity::Spin) => {
                let first = at.robot.model.joints[j].v;
                bars.v[first..first + 3].iter_mut().zip(bar).for_each(|(v, bar)| *v += *bar);
            }
            SensorKind::Joint(j, what) => at.joint_value_vjp(j, what, bar[0], bars),
            SensorKind::Actuator(a, what) => at.actuator_value_vjp(a, what, bar[0], bars),
            SensorKind::Tendon(t, what) => at.tendon_value_vjp(t, what, bar[0], bars),
            SensorKind::Frame { object, reference, what: FrameQuantity::Orientation } => {
                at.frame_orientation_vjp(object, reference, Quat::read(bar), bars);
            }
            SensorKind::Frame { object, reference, what } => {
                at.frame_value_vjp(object, reference, what, Vec3::read(bar), bars);
            }
            SensorKind::Site(site, SiteQuantity::Touch) => at.touch_vjp(site, bar[0], bars),
            SensorKind::Site(site, SiteQuantity::Range) => at.range_vjp(site, bar[0], bars),
            SensorKind::Site(site, what) => at.site_value_vjp(site, what, Vec3::read(bar), bars),
            SensorKind::Subtree(_, what) => at.subtree_value_vjp(&self.bodies, what, Vec3::read(bar), bars),
            SensorKind::PotentialEnergy => at.potential_energy_vjp(bar[0], bars),
            SensorKind::KineticEnergy => at.kinetic_energy_vjp(bar[0], bars),
            SensorKind::Clock | SensorKind::Unsupported(_) => {}
        }
    }
}

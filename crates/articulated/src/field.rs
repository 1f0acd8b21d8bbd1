//! [`Articulated`]: a model as a vector field, v̇ = M(q)⁻¹ (τ(q, v, u) − bias(q, v)).
//!
//! What is computed and pulled back is in `dynamics.rs`; here it is built, named and put behind
//! [`VectorField`]. Joints that follow others are left out of the state; see [`super::coupling`].

use pullback_core::layout::{Layout, LayoutBuilder, Slice};
use pullback_core::registry::did_you_mean;
use pullback_core::{Bars, ConfigError, Described, FieldShape, Point, SolverInfo, VectorField};
use pullback_math::{Flat, Real, Vec3, rotation_vector_rate, rotation_vector_rate_vjp};

use super::actuator::Line;
use super::complementarity::{self, Complementarity};
use super::constraint::inverse_weight::InverseWeights;
use super::constraint::{self, Convex};
use super::contact::find::MANY_PAIRS;
use super::contact::{ContactSolver, ContactSolverWorkspace, ContactsFromDistance, Penalty};
use super::coordinates::Coordinates;
use super::coupling::Coupling;
use super::guards::Guards;
use super::implicit::{Implicit, ImplicitTerms};
use super::kinematic_params;
use super::kinematics::Kinematics;
use super::mass_matrix::MassMatrix;
use super::model::{
    ActivationDynamics, Actuator, ContactModel, Equality, EqualityKind, Gain, JointKind, Model,
    ModelIntegrator, Softness, Transmission,
};
use super::pairs::{candidate_pairs, check_tori};
use super::params::{ParamIndex, layout};
use super::reference;
use super::size;
use super::tendon::Tendons;
use super::tree::Tree;
use super::workspace::ArticulatedWorkspace;

/// A robot: state (q, v), control per actuator, parameters by name.
#[derive(Clone, Debug)]
pub struct Articulated {
    pub(super) model: Model,
    pub(super) tree: Tree,
    layout: Layout,
    pub(super) index: ParamIndex,
    /// Of the state, and of the state with all joints.
    coordinates: Coordinates,
    pub(super) all_coordinates: Coordinates,
    pub(super) coupling: Option<Coupling>,
    /// The contact model.
    pub(super) solver: ContactSolver,
    /// The time step that constraints see, s.
    pub(super) dt: f64,
    /// What steps treat implicitly.
    pub(super) implicit: Option<Implicit>,
    /// Whether each body floats and carries no other.
    pub(super) floats_alone: Vec<bool>,
    /// Whether Runge-Kutta methods apply the inverse of dexp to rotations.
    corrects_rotations: bool,
    /// Bodies that controls push on.
    pub(super) pushed: Vec<usize>,
    /// Pairs of geoms that may touch.
    pub(super) pairs: Vec<(usize, usize)>,
    /// From how many pairs on they are culled by sort and sweep.
    pub(super) many: usize,
    /// When contacts and limits begin and cease to act.
    pub(super) guards: Guards,
    /// How contacts act from distance, if they do.
    pub(super) from_distance: Option<ContactsFromDistance>,
    /// Tendons, and spans that actuators act along.
    pub(super) tendons: Tendons,
    /// What each actuator acts along, and the degrees of freedom that move it.
    pub(super) lines: Vec<Line>,
    pub(super) moment_columns: Vec<Vec<usize>>,
    /// Number of each actuator's activation.
    pub(super) activation_of: Vec<Option<usize>>,
    /// Change of control after which a servo about a full circle is back where it was.
    pub(super) full_turn: Vec<Option<f64>>,
    /// The step over which exact filters give their mean rate; none where rates are instantaneous.
    pub(super) filter_step: Option<f64>,
}

impl Articulated {
    /// Makes a compiled model move.
    pub fn new(mut model: Model) -> Result<Self, ConfigError> {
        reference::complete(&mut model)?;
        let convex = model.options.contact_model == ContactModel::Convex;
        check_tendons(&model)?;
        size::check(&model)?;
        if model.options.contact_model != ContactModel::Penalty {
            mimics_to_equalities(&mut model);
        }
        let tree = Tree::new(&model);
        let (mut layout, mut index) = layout(&model)?;
        let mut tendons = Tendons::new(&model, &tree, &index);
        let mut solver = ContactSolver::Penalty(Penalty);
        if convex {
            let weights = InverseWeights::new(&model, &tree, &index, &tendons, &layout.params.defaults());
            tendons.reference_lengths.clone_from(&weights.tendon_lengths);
            let mut builder = LayoutBuilder::from(layout);
            let constraints = constraint::params::add_slices(&model, &weights, &mut builder);
            layout = builder.build()?;
            solver = ContactSolver::Convex(Convex::new(&model, &tree, &constraints));
            index.constraints = Some(constraints);
        }
        if model.options.contact_model == ContactModel::Complementarity {
            Complementarity::check(&model)?;
            let mut builder = LayoutBuilder::from(layout);
            let blocks = complementarity::params::add_slices(&model, &mut builder);
            layout = builder.build()?;
            solver = ContactSolver::Complementarity(Complementarity::new(&model, &tree, &blocks));
            index.complementarity = Some(blocks);
        }
        let pairs = if model.options.contact { candidate_pairs(&model) } else { Vec::new() };
        size::check_pairs(&model, &pairs)?;
        check_tori(&model, &pairs)?;
        let lines: Vec<Line> = (model.actuators.iter().zip(&tendons.actuator_spans))
            .map(|(actuator, span)| Line::new(&model, actuator, *span))
            .collect();
        let follows = |j: usize| model.mimics.iter().any(|m| m.joint == j);
        let coordinates = Coordinates::new(&model, |j| !follows(j));
        let activation_of = activation_numbers(&model);
        let full_turn = model.actuators.iter().map(|a| full_turn(&model, a)).collect();
        let continuous = model.options.integrator == ModelIntegrator::Rk4;
        let filter_step = (!continuous).then_some(model.options.timestep);
        let mut robot = Articulated {
            moment_columns: lines.iter().map(|line| tendons.line_columns(&tree, line)).collect(),
            all_coordinates: Coordinates::new(&model, |_| true),
            coupling: Coupling::new(&model, &coordinates, &index.mimics)?,
            coordinates,
            tree,
            floats_alone: Articulated::floating_bodies(&model),
            dt: model.options.timestep,
            model,
            layout,
            index,
            solver,
            implicit: None,
            corrects_rotations: true,
            pushed: Vec::new(),
            pairs,
            many: MANY_PAIRS,
            from_distance: None,
            guards: Guards::default(),
            activation_of,
            full_turn,
            filter_step,
            lines,
            tendons,
        };
        robot.guards = Guards::new(&robot.model, &robot.index, &robot.pairs);
        robot.check_inertia()?;
        Ok(robot)
    }

    /// Refuses a singular mass matrix in the reference configuration; joints that follow others may have one.
    fn check_inertia(&self) -> Result<(), ConfigError> {
        if self.coupling.is_some() {
            return Ok(());
        }
        let (params, q) = (self.layout.params.defaults(), self.model.reference_configuration());
        let mut kinematics = Kinematics::<f64>::new(&self.tree);
        kinematics.update(&self.model, &self.tree, &self.index, &params, (&q, &[]));
        let mut mass = MassMatrix::new(&self.tree);
        mass.update(&self.tree, &kinematics);
        for (k, joint) in self.tree.dof_joint.iter().enumerate() {
            mass.add_diagonal(&self.tree, k, self.model.joints[*joint].armature);
        }
        mass.factorize(&self.tree);
        match mass.singular(&self.tree) {
            None => Ok(()),
            Some(k) => Err(ConfigError::new(format!(
                "joint `{}`: the mass matrix is singular in the reference configuration; give what it moves \
                 inertia that no joint after it takes up, or give it armature",
                self.model.joints[self.tree.dof_joint[k]].name
            ))),
        }
    }

    /// Treats joint damping implicitly over Euler steps of `dt` seconds: (M + dt·C) v̇ = τ − bias. Stiff
    /// damping is then stable. Only for semi-implicit Euler with this step.
    pub fn with_implicit_damping(self, dt: f64) -> Self {
        self.with_implicit(ImplicitTerms::Damping, dt)
    }

    /// Treats `terms` implicitly over Euler steps of `dt` seconds: v̇ = (M − dt·Q)⁻¹ M a. Only for
    /// semi-implicit Euler with this step. With joints that follow others, and under the complementarity
    /// model, only damping is implicit.
    pub fn with_implicit(mut self, terms: ImplicitTerms, dt: f64) -> Self {
        self.implicit = Some(Implicit { terms, dt });
        self.with_time_step(dt)
    }

    /// Tells constraints the time step, which bounds how stiff they are; the model's unless told.
    pub fn with_time_step(mut self, dt: f64) -> Self {
        self.dt = dt;
        self.filter_step = self.filter_step.map(|_| dt);
        self
    }

    /// Gives activations their instantaneous rates, for integrators other than Euler's; else exact filters give
    /// their mean rate over a step.
    pub fn with_instantaneous_activations(mut self) -> Self {
        self.filter_step = None;
        self
    }

    /// Advances orientations the way MuJoCo's RK4 does, without Munthe-Kaas' correction: second order, for
    /// comparison.
    pub fn with_plain_rotations(mut self) -> Self {
        self.corrects_rotations = false;
        self
    }

    /// Culls pairs of geoms by sort and sweep from this many on; `MANY_PAIRS` unless told. Results do not
    /// depend on it.
    pub fn with_broad_phase_from(mut self, pairs: usize) -> Self {
        self.many = pairs;
        self
    }

    /// Lets contacts act from distance, on the way back alone unless told otherwise.
    pub fn with_contacts_from_distance(mut self, distant: ContactsFromDistance) -> Result<Self, ConfigError> {
        let distant = distant.prepared(&self.model.geoms, &self.pairs)?;
        if self.solver.acts_by_impulses() {
            return Err(ConfigError::new("contacts from distance: the complementarity model has none"));
        }
        self.from_distance = Some(distant);
        Ok(self)
    }

    /// Whether the pullback is that of another motion, with contacts from distance.
    fn goes_straight_through(&self) -> bool {
        self.from_distance.as_ref().is_some_and(|distant| distant.straight_through)
    }

    /// Accelerations with contacts from distance, left in the workspace.
    fn distant_accelerations<T: Real>(&self, ws: &mut ArticulatedWorkspace<T>, at: Point<'_, T>) {
        ws.acts_from_distance = true;
        self.accelerations(ws, at);
    }

    /// The rate of the velocities in the state, from the accelerations in the workspace.
    fn write_accelerations<T: Real>(&self, ws: &ArticulatedWorkspace<T>, out: &mut [T]) {
        match &self.coupling {
            None => out.copy_from_slice(&ws.acceleration),
            Some(coupling) => coupling.independent(&ws.acceleration, out),
        }
    }

    /// Adds how bodies and joints stand to the parameters: `BODY.position` and `BODY.orientation` in the
    /// parent, `JOINT.anchor`, `JOINT.axis` and `JOINT.reference`; see [`kinematic_params`]. Pullbacks then
    /// cost a little more.
    pub fn with_kinematic_params(mut self) -> Result<Self, ConfigError> {
        if self.index.kinematics.is_none() {
            let mut builder = LayoutBuilder::from(self.layout);
            self.index.kinematics = Some(kinematic_params::add_slices(&self.model, &mut builder));
            self.layout = builder.build()?;
        }
        Ok(self)
    }

    /// Adds controls that push on the bodies named: `BODY.force` (N) and `BODY.torque` (N m), at the origin
    /// of the body's frame, in world axes.
    pub fn with_pushes(mut self, bodies: &[&str]) -> Result<Self, ConfigError> {
        let mut builder = LayoutBuilder::from(self.layout);
        for name in bodies {
            let found = self.model.bodies.iter().skip(1).position(|b| b.name == *name);
            let body = found.ok_or_else(|| {
                let near = did_you_mean(name, self.model.bodies.iter().map(|b| b.name.as_str()));
                ConfigError::new(format!("no body is called `{name}`{near}"))
            })?;
            self.pushed.push(body + 1);
            builder = builder.control(Slice::new(format!("{name}.force"), 3, "N")).control(Slice::new(
                format!("{name}.torque"),
                3,
                "N m",
            ));
        }
        self.layout = builder.build()?;
        Ok(self)
    }

    /// The robot, if no actuator has an activation; `whose` state has no place for one.
    pub fn without_activations(self, whose: &str) -> Result<Self, ConfigError> {
        match self.model.actuators.iter().find(|a| a.has_activation()) {
            None => Ok(self),
            Some(a) => Err(ConfigError::new(format!(
                "actuator `{}` has an activation, for which the state of {whose} has no place; give it none",
                a.name
            ))),
        }
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }
    /// Its structure.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }
    /// Its tendons.
    pub fn tendons(&self) -> &Tendons {
        &self.tendons
    }
    /// Where its parameters lie.
    pub fn index(&self) -> &ParamIndex {
        &self.index
    }

    /// Where joints lie in the state.
    pub fn coordinates(&self) -> &Coordinates {
        &self.coordinates
    }
}

/// Joints that follow others as equality constraints, as MuJoCo has them.
fn mimics_to_equalities(model: &mut Model) {
    for mimic in std::mem::take(&mut model.mimics) {
        let (joint, of) = (&model.joints[mimic.joint], &model.joints[mimic.of]);
        // q₁ − r₁ = m (q₂ − r₂) + (m r₂ + offset − r₁)
        let constant = mimic.multiplier * of.reference + mimic.offset - joint.reference;
        model.equalities.push(Equality {
            name: format!("{}.mimic", joint.name),
            kind: EqualityKind::Joint {
                joint: mimic.joint,
                other: Some(mimic.of),
                polycoef: [constant, mimic.multiplier, 0.0, 0.0, 0.0],
            },
            softness: Softness::default(),
        });
    }
}

/// What contact models other than the convex one cannot do with tendons and activations.
fn check_tendons(model: &Model) -> Result<(), ConfigError> {
    if model.options.contact_model == ContactModel::Convex {
        return Ok(());
    }
    let o = &model.options;
    let refuse = |what: String| Err(ConfigError::new(format!("{what} needs the contact model `convex`")));
    for tendon in &model.tendons {
        if tendon.range.is_some() && o.limits {
            return refuse(format!("the range of tendon `{}`", tendon.name));
        }
        if tendon.armature > 0.0 {
            return refuse(format!("armature of tendon `{}`", tendon.name));
        }
        if tendon.frictionloss > 0.0 && o.frictionloss {
            return refuse(format!("dry friction of tendon `{}`", tendon.name));
        }
    }
    let adhesive = |a: &&Actuator| matches!(a.transmission, Transmission::Body(_));
    if let Some(a) = model.actuators.iter().find(adhesive) {
        return refuse(format!("adhesion by actuator `{}`", a.name));
    }
    let coupled = !model.mimics.is_empty() && o.contact_model == ContactModel::Penalty;
    match model.actuators.iter().find(|a| a.has_activation()) {
        Some(a) if coupled => refuse(format!("the activation of actuator `{}` beside mimic joints", a.name)),
        _ => Ok(()),
    }
}

/// Number of each actuator's activation.
fn activation_numbers(model: &Model) -> Vec<Option<usize>> {
    let mut count = 0;
    let mut number = |a: &Actuator| {
        let number = count;
        count += usize::from(a.has_activation());
        a.has_activation().then_some(number)
    };
    model.actuators.iter().map(&mut number).collect()
}

/// 2π times the gear of a position servo that turns about all axes: a control and one a full turn away are the same.
fn full_turn(model: &Model, actuator: &Actuator) -> Option<f64> {
    let servo =
        matches!(actuator.gain, Gain::Fixed(gain) if gain == -actuator.affine_bias()[1] && gain != 0.0);
    let direct = matches!(actuator.dynamics, ActivationDynamics::None | ActivationDynamics::Integrator);
    let gear = match actuator.transmission {
        Transmission::Joint(j) | Transmission::JointInParent(j)
            if model.joints[j].kind == JointKind::Ball =>
        {
            &actuator.gear[..3]
        }
        Transmission::Site { reference: Some(_), .. } if actuator.gear[..3] == [0.0; 3] => {
            &actuator.gear[3..]
        }
        _ => return None,
    };
    let norm = gear.iter().map(|g| g * g).sum::<f64>().sqrt();
    (servo && direct && norm > 0.0).then_some(std::f64::consts::TAU * norm)
}

impl Described for Articulated {
    fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl FieldShape for Articulated {
    fn rate_len(&self) -> usize {
        2 * self.coordinates.nv + self.coordinates.activations()
    }
    fn velocities(&self) -> Option<usize> {
        Some(self.coordinates.nv)
    }
    fn flat(&self) -> bool {
        self.coordinates.flat()
    }
    fn vjp_follows_eval(&self) -> bool {
        true
    }
    fn guards(&self) -> usize {
        self.guards.count
    }
}

impl<T: Real> VectorField<T> for Articulated {
    type Workspace = ArticulatedWorkspace<T>;

    fn workspace(&self) -> Self::Workspace {
        ArticulatedWorkspace::new(self)
    }

    fn guard(&self, ws: &mut Self::Workspace, at: Point<'_, T>, _time: T, guards: &mut [T]) {
        self.guard_values(ws, at, guards);
    }

    fn guard_vjp(
        &self,
        ws: &mut Self::Workspace,
        at: Point<'_, T>,
        _time: T,
        guards_bar: &[T],
        bars: Bars<'_, T>,
    ) -> T {
        self.guard_values_vjp(ws, at, guards_bar, bars);
        T::zero()
    }

    fn freeze(&self, ws: &mut Self::Workspace, sides: Option<&[T]>) {
        ws.held.hold(sides);
    }

    fn eval(&self, ws: &mut Self::Workspace, at: Point<'_, T>, _time: T, rate: &mut [T]) {
        ws.acts_from_distance = self.from_distance.is_some() && !self.goes_straight_through();
        self.accelerations(ws, at);
        let Coordinates { nq, nv, .. } = self.coordinates;
        let (velocity, rest) = rate.split_at_mut(nv);
        let (acceleration, activation_rate) = rest.split_at_mut(nv);
        velocity.copy_from_slice(&at.state[nq..nq + nv]);
        activation_rate.copy_from_slice(&ws.actuators.activation_rate);
        self.write_accelerations(ws, acceleration);
        if T::HAS_TANGENT && self.goes_straight_through() {
            // F + F̃ − sg(F̃)
            let values: Vec<T> = acceleration.to_vec();
            self.distant_accelerations(ws, at);
            self.write_accelerations(ws, acceleration);
            for (a, value) in acceleration.iter_mut().zip(values) {
                *a = T::from_parts(value.primal(), a.tangent());
            }
        }
    }

    fn solver_info(&self, ws: &Self::Workspace) -> SolverInfo {
        match &ws.resolve {
            ContactSolverWorkspace::Penalty(_) => SolverInfo::default(),
            ContactSolverWorkspace::Convex(convex) => convex.newton.info,
            ContactSolverWorkspace::Complementarity(complementarity) => complementarity.info(),
        }
    }

    fn eval_vjp(
        &self,
        ws: &mut Self::Workspace,
        at: Point<'_, T>,
        _time: T,
        rate_bar: &[T],
        bars: Bars<'_, T>,
    ) -> T {
        if self.goes_straight_through() {
            self.distant_accelerations(ws, at);
        }
        self.pull_back(ws, at, rate_bar, bars);
        ws.acts_from_distance = false;
        T::zero()
    }

    fn advance(&self, state: &[T], rate: &[T], h: T, next: &mut [T]) {
        self.coordinates.advance(state, rate, h, next);
    }

    fn advance_vjp(
        &self,
        state: &[T],
        rate: &[T],
        h: T,
        next_bar: &[T],
        state_bar: &mut [T],
        rate_bar: &mut [T],
    ) {
        self.coordinates.advance_vjp(state, rate, h, next_bar, state_bar, rate_bar);
    }

    fn embed(&self, state: &[T], rate: &[T], out: &mut [T]) {
        self.coordinates.embed(state, rate, out);
    }

    fn embed_vjp(&self, state: &[T], rate: &[T], out_bar: &[T], state_bar: &mut [T], rate_bar: &mut [T]) {
        self.coordinates.embed_vjp(state, rate, out_bar, state_bar, rate_bar);
    }

    fn dexp_inverse(&self, increment: &[T], h: T, rate: &mut [T]) {
        self.for_each_rotation(|v| {
            let u = Vec3::read(&increment[v..]) * h;
            rotation_vector_rate(u, Vec3::read(&rate[v..])).write(&mut rate[v..]);
        });
    }

    fn dexp_inverse_vjp(
        &self,
        increment: &[T],
        h: T,
        rate: &[T],
        rate_bar: &mut [T],
        increment_bar: &mut [T],
    ) {
        self.for_each_rotation(|v| {
            let u = Vec3::read(&increment[v..]) * h;
            let bar = Vec3::read(&rate_bar[v..]);
            let (u_bar, omega_bar) = rotation_vector_rate_vjp(u, Vec3::read(&rate[v..]), bar);
            omega_bar.write(&mut rate_bar[v..]);
            (u_bar * h).add_to(&mut increment_bar[v..]);
        });
    }
}

impl Articulated {
    /// The pullback of an evaluation whose accelerations are in the workspace.
    fn pull_back<T: Real>(
        &self,
        ws: &mut ArticulatedWorkspace<T>,
        at: Point<'_, T>,
        rate_bar: &[T],
        mut bars: Bars<'_, T>,
    ) {
        let Coordinates { nq, nv, .. } = self.coordinates;
        for (bar, x) in bars.state[nq..nq + nv].iter_mut().zip(rate_bar) {
            *bar += *x;
        }

        let (acceleration_bar, activation_rate_bar) = rate_bar[nv..].split_at(nv);
        self.multipliers(ws, at, acceleration_bar, bars.params);
        let Some(coupling) = &self.coupling else {
            self.full_pullback(ws, at, activation_rate_bar, bars);
            return;
        };
        let full = std::mem::take(&mut ws.coupled.state);
        let mut full_bar = std::mem::take(&mut ws.coupled.state_bar);
        full_bar.fill(T::zero());
        self.full_pullback(ws, at.with_state(&full), activation_rate_bar, bars.with_state(&mut full_bar));
        (ws.coupled.state, ws.coupled.state_bar) = (full, full_bar);
        let (params, params_bar) = (at.params, bars.params);
        coupling.expand_state_vjp(&ws.coupled, params, at.state, bars.state, params_bar);
        // By now `bias` is RNEA(q, v, v̇).
        let ArticulatedWorkspace { mass, coupled, lambda, acceleration, bias, passive, actuation, .. } = ws;
        let residual = |k: usize| {
            let diagonal = self.diagonal(params, self.tree.dof_joint[k]);
            bias[k] + diagonal * acceleration[k] - passive[k] - actuation[k]
        };
        coupling.equation_vjp(&self.tree, mass, coupled, (lambda, acceleration), residual, params_bar);
    }

    /// Visits the first velocity of every rotation that the inverse of dexp applies to.
    fn for_each_rotation(&self, mut visit: impl FnMut(usize)) {
        if self.corrects_rotations {
            self.coordinates.rotations().iter().for_each(|(_, v)| visit(*v));
        }
    }
}

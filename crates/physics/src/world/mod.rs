//! [`World`]: robots and soft bodies in one vector field, each feeling the other.
//!
//! State: coordinates of the robots, positions of the particles, velocities of the robots, velocities of the
//! particles. A world without robots still has a [`Model`]: its static geoms are the ground and the
//! obstacles, its gravity pulls everything.
//!
//! One evaluation reads: where the bodies are and how they move; forces inside the soft parts; contacts and
//! attachments, which push particles and bodies against each other; accelerations of both. The pullback walks
//! the same list backwards.

mod attach;
mod touch;
mod workspace;

use pullback_articulated::contact::{MotionBars, pose_wrench};
use pullback_articulated::rnea::Push;
use pullback_articulated::{Articulated, Model};
use pullback_core::layout::{Layout, Slice};
use pullback_core::{Bars, ConfigError, Described, FieldShape, Point, VectorField};
use pullback_math::{Flat, Force, RECORD, Real, Vec3};
use pullback_soft::element::{ParticleBars, Particles, record as side_by_side};
use pullback_soft::{ParticleContact, Soft, SoftBody};

use attach::{attachment, attachment_vjp};
use touch::{TouchBars, Touching};

pub use workspace::{ParticleEnergy, WorldWorkspace};

/// Robots and soft bodies.
///
/// ```
/// use pullback_core::integrator::{Integrated, Integrator, Method};
/// use pullback_core::{Inputs, Rollout, Schedule};
/// use pullback_math::Vec3;
/// use pullback_physics::soft::{Placement, SoftBody, SpringMaterial};
/// use pullback_physics::world::World;
/// // Two particles on a spring fall.
/// let mut body = SoftBody::new();
/// let ends = [Vec3::new(0.0, 0.0, 2.0), Vec3::new(0.0, 0.0, 3.0)];
/// let part = body.add_particles("pair", &ends, &[0.1, 0.1], Placement::default())?;
/// body.add_springs(part, &[[0, 1]], SpringMaterial { stiffness: 50.0, damping: 0.1 })?;
/// let system = Integrated::new(World::empty(body)?, 0.001, Integrator::fixed(Method::SemiImplicitEuler))?;
/// let rollout = Rollout::new(&system, 100, Schedule::StoreAll)?;
/// let mut end = Vec::new();
/// let inputs = Inputs::defaults(&system, 100);
/// rollout.simulate(&mut rollout.workspace::<f64>(), &inputs, |at| end = at.state.to_vec())?;
/// let place = system.field().particle_positions(&end)[0];
/// assert!((place[2] - (2.0 - 9.81 * 0.1 * 0.1 / 2.0)).abs() < 1e-3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct World {
    robot: Articulated,
    soft: Soft,
    layout: Layout,
    /// Geoms that particles can touch.
    geoms: Vec<usize>,
    /// Body and local point of each attachment.
    attached: Vec<(usize, Vec3<f64>)>,
    /// Where the controls of robots end; those that drive elements follow.
    robot_controls: usize,
    /// Where the forces on particles start among the controls, if they are controls.
    particle_forces: Option<usize>,
    parallel: bool,
}

impl World {
    /// Puts soft bodies beside the robots and static geoms of a model.
    pub fn new(model: Model, body: SoftBody) -> Result<Self, ConfigError> {
        let robot = Articulated::new(model)?.without_activations("a world with soft bodies")?;
        let (model, layout) = (robot.model(), robot.layout());
        let robot_controls = layout.control.len();

        // State: q, x, v, ẋ.
        let mut builder = Layout::builder();
        let state = |velocities: bool| {
            let nq = robot.coordinates().nq;
            layout.state.slices().iter().filter(move |s| (s.range.start >= nq) == velocities).cloned()
        };
        builder = state(false).fold(builder, |b, s| b.state(s));
        for part in &body.parts {
            let x = flat(&body.positions[part.first..part.first + part.count]);
            builder = builder.state(Slice::new(format!("{}.position", part.name), x.len(), "m").default(&x));
        }
        builder = state(true).fold(builder, |b, s| b.state(s));
        for part in &body.parts {
            let v = flat(&body.velocities[part.first..part.first + part.count]);
            builder =
                builder.state(Slice::new(format!("{}.velocity", part.name), v.len(), "m/s").default(&v));
        }
        builder = layout.control.slices().iter().cloned().fold(builder, |b, s| b.control(s));
        if body.drives > 0 {
            builder = builder.control(Slice::new("activation", body.drives, "1"));
        }
        builder = layout.params.slices().iter().cloned().fold(builder, |b, s| b.param(s));
        let soft = Soft::new(body, &mut builder, robot_controls);

        let body_called = |name: &str| {
            let found = model.bodies.iter().position(|b| b.name == name);
            found.ok_or_else(|| {
                ConfigError::new(format!("an attachment names body `{name}`, which is not there"))
            })
        };
        let attachments = &soft.body().attachments;
        let attached = attachments
            .iter()
            .map(|a| Ok((body_called(&a.body)?, a.point)))
            .collect::<Result<Vec<_>, ConfigError>>()?;
        if let Some(a) = attachments.iter().find(|a| a.particle >= soft.body().particles()) {
            return Err(ConfigError::new(format!(
                "an attachment names particle {}, which is not there",
                a.particle
            )));
        }
        let touching = |g: &usize| {
            let geom = &model.geoms[*g];
            model.options.contact && (geom.collision_bits | geom.collides_with) != 0
        };
        let geoms = (0..model.geoms.len()).filter(touching).collect();
        let names: Vec<String> = model.bodies.iter().skip(1).map(|b| b.name.clone()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Ok(World {
            layout: builder.build()?,
            robot: robot.with_pushes(&names)?,
            soft,
            geoms,
            attached,
            robot_controls,
            particle_forces: None,
            parallel: false,
        })
    }

    /// Soft bodies in empty space under gravity (0, 0, −9.81).
    pub fn empty(body: SoftBody) -> Result<Self, ConfigError> {
        World::new(Model::new("empty").compile()?, body)
    }

    /// Adds a force on every particle to the controls, `particle_force` (N).
    pub fn with_particle_forces(mut self) -> Result<Self, ConfigError> {
        self.particle_forces = Some(self.layout.control.len());
        let n = 3 * self.soft.body().particles();
        let builder = pullback_core::layout::LayoutBuilder::from(self.layout);
        self.layout = builder.control(Slice::new("particle_force", n, "N")).build()?;
        Ok(self)
    }

    /// Lets one evaluation use all threads of the pool it is called from. Worth it from a few thousand
    /// elements on; the results have the same bits.
    pub fn with_threads(mut self, parallel: bool) -> Self {
        self.parallel = parallel;
        self
    }

    /// The robots and static geoms.
    pub fn robot(&self) -> &Articulated {
        &self.robot
    }
    /// The soft bodies.
    pub fn soft(&self) -> &Soft {
        &self.soft
    }

    /// Where the positions of the particles lie in a state, three numbers each.
    pub fn particle_entries(&self) -> std::ops::Range<usize> {
        let first = self.robot.coordinates().nq;
        first..first + 3 * self.soft.body().particles()
    }
    /// Positions of the particles in a state.
    pub fn particle_positions<'a, T>(&self, state: &'a [T]) -> &'a [[T; 3]] {
        self.split(state).1.as_chunks().0
    }
    /// Coordinates and velocities of the robots in a state.
    pub fn robot_state<T: Copy>(&self, state: &[T]) -> Vec<T> {
        let (q, _, v, _) = self.split(state);
        [q, v].concat()
    }
    /// Velocities of the particles in a state.
    fn particle_velocities<'a, T>(&self, state: &'a [T]) -> &'a [[T; 3]] {
        self.split(state).3.as_chunks().0
    }

    /// Energy of the particles, J: of their motion, stored in elements, and of their height in gravity.
    pub fn particle_energy<T: Real>(&self, params: &[T], state: &[T], control: &[T]) -> ParticleEnergy<T> {
        let at = self.particles(params, state, control, &mut []);
        let gravity = self.robot.index().gravity.read(params);
        let mut energy = ParticleEnergy { elastic: self.soft.energy(&at), ..Default::default() };
        for ((x, v), m) in at.x.iter().zip(at.v).zip(&params[self.soft.index().mass.clone()]) {
            energy.kinetic += *m * vector(*v).norm_squared() * T::lit(0.5);
            energy.gravitational -= *m * vector(*x).dot(gravity);
        }
        energy
    }

    /// q, x, v, ẋ of a state.
    fn split<'a, T>(&self, state: &'a [T]) -> (&'a [T], &'a [T], &'a [T], &'a [T]) {
        let n = 3 * self.soft.body().particles();
        let (q, rest) = state.split_at(self.robot.coordinates().nq);
        let (x, rest) = rest.split_at(n);
        let (v, w) = rest.split_at(self.robot.coordinates().nv);
        (q, x, v, w)
    }

    /// q̄, x̄, v̄ and the cotangent of ẋ of a state's.
    fn split_mut<'a, T>(&self, state: &'a mut [T]) -> (&'a mut [T], &'a mut [T], &'a mut [T], &'a mut [T]) {
        let n = 3 * self.soft.body().particles();
        let (q, rest) = state.split_at_mut(self.robot.coordinates().nq);
        let (x, rest) = rest.split_at_mut(n);
        let (v, w) = rest.split_at_mut(self.robot.coordinates().nv);
        (q, x, v, w)
    }

    /// The particles at a state.
    fn particles<'a, T: Real>(
        &self,
        params: &'a [T],
        state: &'a [T],
        control: &'a [T],
        records: &'a mut [[T; RECORD]],
    ) -> Particles<'a, T> {
        let (x, v) = (self.particle_positions(state), self.particle_velocities(state));
        for ((record, x), v) in records.iter_mut().zip(x).zip(v) {
            *record = side_by_side(*x, *v);
        }
        let wind = Some(self.soft.wind(params));
        Particles { params, control, x, v, records, wind, parallel: self.parallel }
    }

    /// Where the bodies are and how they move.
    fn motion<T: Real>(&self, ws: &mut WorldWorkspace<T>, params: &[T], state: &[T]) {
        let (q, _, v, _) = self.split(state);
        ws.robot_state[..q.len()].copy_from_slice(q);
        ws.robot_state[q.len()..].copy_from_slice(v);
        self.robot.motion(&mut ws.robot, params, &ws.robot_state);
    }

    /// Forces inside the soft parts, and those from outside.
    fn inner_forces<T: Real>(&self, ws: &mut WorldWorkspace<T>, at: &Particles<T>) {
        match self.particle_forces {
            Some(first) => ws.force.copy_from_slice(at.control[first..].as_chunks().0),
            None => ws.force.fill([T::zero(); 3]),
        }
        self.soft.add_forces(&mut ws.soft, at, &mut ws.force);
    }

    /// Adds the forces of contacts and attachments on particles; their reactions on bodies become the pushes.
    fn couplings<T: Real>(&self, ws: &mut WorldWorkspace<T>, at: &Particles<T>) {
        let params = at.params;
        ws.pushes.fill(Push::default());
        let WorldWorkspace { robot, force, pushes, .. } = ws;
        let scene = self.robot.geoms(&robot.kinematics, params);
        let contact = self.soft.index().contact.read(params);
        let touching = Touching { scene: &scene, sweep: &robot.sweep, particles: at, contact };
        touching.add_forces(&self.geoms, force, pushes);
        for (i, (body, point)) in self.attached.iter().enumerate() {
            let (particle, stiffness, damping) = self.attachment(params, i);
            let (x, v) = (vector(at.x[particle]), vector(at.v[particle]));
            let pose = robot.kinematics.world_from_body[*body];
            let (motion, origin) = (robot.sweep.velocities[*body], robot.kinematics.origins[*body]);
            let (f, torque) = attachment(x, v, pose, motion, stiffness, damping, point.map(T::lit), origin);
            add(&mut force[particle], f);
            pushes[*body].force -= f;
            pushes[*body].torque += torque;
        }
    }

    /// Particle, stiffness and damping of attachment i.
    fn attachment<T: Real>(&self, params: &[T], i: usize) -> (usize, T, T) {
        let index = self.soft.index();
        let particle = self.soft.body().attachments[i].particle;
        let (stiffness, damping) = (&index.attachment_stiffness, &index.attachment_damping);
        (particle, params[stiffness.clone()][i], params[damping.clone()][i])
    }

    /// Controls of the robots: those of the world, then the pushes.
    fn robot_control<T: Real>(&self, ws: &mut WorldWorkspace<T>, control: &[T]) {
        let n = self.robot_controls;
        ws.robot_control[..n].copy_from_slice(&control[..n]);
        for (push, out) in ws.pushes[1..].iter().zip(ws.robot_control[n..].chunks_exact_mut(6)) {
            push.write(out);
        }
    }
}

fn flat(vectors: &[Vec3<f64>]) -> Vec<f64> {
    vectors.iter().flat_map(|v| [v.x, v.y, v.z]).collect()
}
fn vector<T: Real>([x, y, z]: [T; 3]) -> Vec3<T> {
    Vec3::new(x, y, z)
}
fn add<T: Real>(to: &mut [T; 3], x: Vec3<T>) {
    x.add_to(to);
}

impl Described for World {
    fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl FieldShape for World {
    fn rate_len(&self) -> usize {
        2 * (self.robot.coordinates().nv + 3 * self.soft.body().particles())
    }
    fn velocities(&self) -> Option<usize> {
        Some(self.robot.coordinates().nv + 3 * self.soft.body().particles())
    }
    fn flat(&self) -> bool {
        self.robot.flat()
    }
}

impl<T: Real> VectorField<T> for World {
    type Workspace = WorldWorkspace<T>;

    fn workspace(&self) -> Self::Workspace {
        let (model, n) = (self.robot.model(), self.soft.body().particles());
        let (nq, nv) = (self.robot.coordinates().nq, self.robot.coordinates().nv);
        let zeros = |n: usize| vec![T::zero(); n];
        let controls = self.robot.layout().control.len();
        WorldWorkspace {
            robot: self.robot.workspace(),
            soft: self.soft.scratch(),
            records: vec![[T::zero(); RECORD]; n],
            robot_state: zeros(nq + nv),
            robot_control: zeros(controls),
            robot_rate: zeros(2 * nv),
            robot_rate_bar: zeros(2 * nv),
            force: vec![[T::zero(); 3]; n],
            pushes: vec![Push::default(); model.bodies.len()],
            force_bar: vec![[T::zero(); 3]; n],
            work: zeros(n),
            robot_state_bar: zeros(nq + nv),
            robot_control_bar: zeros(controls),
            velocity_bars: vec![Force::zero(); model.bodies.len()],
            wrenches: vec![Force::zero(); model.bodies.len()],
        }
    }

    fn eval(&self, ws: &mut Self::Workspace, at: Point<'_, T>, time: T, rate: &mut [T]) {
        let Point { params, state, control } = at;
        let mut records = std::mem::take(&mut ws.records);
        let at = self.particles(params, state, control, &mut records);
        self.motion(ws, params, state);
        self.inner_forces(ws, &at);
        self.couplings(ws, &at);
        self.robot_control(ws, control);
        ws.records = records;
        let WorldWorkspace { robot, robot_state, robot_control, robot_rate, force, .. } = ws;
        self.robot.eval(
            robot,
            Point { params, state: robot_state, control: robot_control },
            time,
            robot_rate,
        );

        let (_, _, v, w) = self.split(state);
        let nv = v.len();
        let (velocity, acceleration) = rate.split_at_mut(nv + w.len());
        velocity[..nv].copy_from_slice(v);
        velocity[nv..].copy_from_slice(w);
        acceleration[..nv].copy_from_slice(&robot_rate[nv..]);

        // ẍ = f/m + g
        let gravity = self.robot.index().gravity.read(params);
        let masses = &params[self.soft.index().mass.clone()];
        let particles = acceleration[nv..].as_chunks_mut().0.iter_mut().zip(force.iter());
        for (((a, f), m), fixed) in particles.zip(masses).zip(&self.soft.body().fixed) {
            let moved = if *fixed { Vec3::zero() } else { vector(*f) * m.recip() + gravity };
            *a = [moved.x, moved.y, moved.z];
        }
    }

    fn eval_vjp(
        &self,
        ws: &mut Self::Workspace,
        at: Point<'_, T>,
        time: T,
        rate_bar: &[T],
        bars: Bars<'_, T>,
    ) -> T {
        let Point { params, state, control } = at;
        let Bars { params: params_bar, state: state_bar, control: control_bar } = bars;
        let (_, _, v, w) = self.split(state);
        let nv = v.len();
        let (velocity_bar, acceleration_bar) = rate_bar.split_at(nv + w.len());

        // Robots: their accelerations under the pushes, and back.
        let mut records = std::mem::take(&mut ws.records);
        let at = self.particles(params, state, control, &mut records);
        self.motion(ws, params, state);
        if self.robot.model().bodies.len() > 1 {
            self.couplings(ws, &at);
        }
        self.robot_control(ws, control);
        let WorldWorkspace {
            robot,
            soft,
            robot_state,
            robot_control,
            robot_rate,
            robot_rate_bar,
            force_bar,
            work,
            pushes,
            robot_state_bar,
            robot_control_bar,
            velocity_bars,
            wrenches,
            ..
        } = ws;
        robot_state_bar.fill(T::zero());
        robot_control_bar.fill(T::zero());
        robot_rate_bar[..nv].copy_from_slice(&velocity_bar[..nv]);
        robot_rate_bar[nv..].copy_from_slice(&acceleration_bar[..nv]);
        let robot_at = Point { params, state: robot_state, control: robot_control };
        self.robot.eval(robot, robot_at, time, robot_rate);
        self.robot.eval_vjp(
            robot,
            robot_at,
            time,
            robot_rate_bar,
            Bars { params: params_bar, state: robot_state_bar, control: robot_control_bar },
        );
        for (bar, x) in control_bar.iter_mut().zip(&robot_control_bar[..self.robot_controls]) {
            *bar += *x;
        }
        for (push, bar) in
            pushes[1..].iter_mut().zip(robot_control_bar[self.robot_controls..].chunks_exact(6))
        {
            *push = Push::read(bar);
        }
        pushes[0] = Push::default();

        // ẍ = f/m + g:  f̄ = ẍ_bar/m, ḡ = Σ ẍ_bar
        let masses = &params[self.soft.index().mass.clone()];
        let mut gravity_bar = Vec3::zero();
        let bars = acceleration_bar[nv..].as_chunks::<3>().0.iter().zip(force_bar.iter_mut());
        for (((a, f), m), fixed) in bars.zip(masses).zip(&self.soft.body().fixed) {
            let bar = if *fixed { Vec3::zero() } else { vector(*a) };
            gravity_bar += bar;
            let scaled = bar * m.recip();
            *f = [scaled.x, scaled.y, scaled.z];
        }
        self.robot.index().gravity.add(gravity_bar, params_bar);

        let (q_bar, x_bar, v_bar, w_bar) = self.split_mut(state_bar);
        for (bar, x) in w_bar.iter_mut().zip(&velocity_bar[nv..]) {
            *bar += *x;
        }
        let (x_bar, w_bar) = (x_bar.as_chunks_mut().0, w_bar.as_chunks_mut().0);
        work.fill(T::zero());

        // Contacts and attachments.
        velocity_bars.fill(Force::zero());
        wrenches.fill(Force::zero());
        let contact = self.soft.index().contact.read(params);
        let scene = self.robot.geoms(&robot.kinematics, params);
        let touching = Touching { scene: &scene, sweep: &robot.sweep, particles: &at, contact };
        let mut bars = TouchBars {
            x: x_bar,
            v: w_bar,
            work,
            contact: ParticleContact::default(),
            velocities: velocity_bars,
            wrenches,
            params: params_bar,
        };
        touching.add_forces_vjp(&self.geoms, force_bar, pushes, &mut bars);
        self.soft.index().contact.add(bars.contact, bars.params);
        for (i, (body, point)) in self.attached.iter().enumerate() {
            let (particle, stiffness, damping) = self.attachment(params, i);
            let (x, v) = (vector(at.x[particle]), vector(at.v[particle]));
            let pose = robot.kinematics.world_from_body[*body];
            let (motion, origin) = (robot.sweep.velocities[*body], robot.kinematics.origins[*body]);
            let local = point.map(T::lit);
            let (f, _) = attachment(x, v, pose, motion, stiffness, damping, local, origin);
            let f_bar = vector(force_bar[particle]);
            let out = (f_bar - pushes[*body].force, pushes[*body].torque);
            let (x_bar, v_bar, pose_bar, motion_bar, ke_bar, kd_bar, (), ()) =
                attachment_vjp(x, v, pose, motion, stiffness, damping, local, origin, out);
            add(&mut bars.x[particle], x_bar);
            add(&mut bars.v[particle], v_bar);
            bars.work[particle] += f.dot(f_bar);
            bars.velocities[*body] += Force::new(motion_bar.angular, motion_bar.linear);
            bars.wrenches[*body] += pose_wrench(pose, pose_bar, origin);
            let index = self.soft.index();
            bars.params[index.attachment_stiffness.clone()][i] += ke_bar;
            bars.params[index.attachment_damping.clone()][i] += kd_bar;
        }
        let bars = MotionBars { velocities: velocity_bars, wrenches, params: params_bar };
        self.robot.motion_vjp(robot, params, robot_state, bars, robot_state_bar);

        // Elements.
        let mut wind_bar = Vec3::zero();
        let mut bars = ParticleBars {
            params: params_bar,
            control: control_bar,
            x: x_bar,
            v: w_bar,
            work,
            wind: &mut wind_bar,
        };
        self.soft.add_forces_vjp(soft, &at, force_bar, &mut bars);
        self.soft.index().wind.add(wind_bar, params_bar);
        if let Some(first) = self.particle_forces {
            for (bar, f) in control_bar[first..].as_chunks_mut::<3>().0.iter_mut().zip(force_bar.iter()) {
                add(bar, vector(*f));
            }
        }

        // m̄ = −f·f̄/m
        let mass_bars = &mut params_bar[self.soft.index().mass.clone()];
        for ((bar, work), m) in mass_bars.iter_mut().zip(work.iter()).zip(masses) {
            *bar -= *work * m.recip();
        }
        // Forces from controls do work on the masses too.
        if let Some(first) = self.particle_forces {
            let given = control[first..].as_chunks::<3>().0.iter().zip(force_bar.iter());
            for ((bar, (f, f_bar)), m) in mass_bars.iter_mut().zip(given).zip(masses) {
                *bar -= vector(*f).dot(vector(*f_bar)) * m.recip();
            }
        }
        let (robot_q_bar, robot_v_bar) = robot_state_bar.split_at(q_bar.len());
        for (bar, x) in q_bar.iter_mut().zip(robot_q_bar).chain(v_bar.iter_mut().zip(robot_v_bar)) {
            *bar += *x;
        }
        ws.records = records;
        T::zero()
    }

    fn advance(&self, state: &[T], rate: &[T], h: T, next: &mut [T]) {
        let (nq, nv) = (self.robot.coordinates().nq, self.robot.coordinates().nv);
        self.robot.coordinates().advance_positions(state, rate, h, next);
        for (next, (x, k)) in next[nq..].iter_mut().zip(state[nq..].iter().zip(&rate[nv..])) {
            *next = *x + h * *k;
        }
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
        let (nq, nv) = (self.robot.coordinates().nq, self.robot.coordinates().nv);
        self.robot.coordinates().advance_positions_vjp(state, rate, h, next_bar, state_bar, rate_bar);
        let bars = state_bar[nq..].iter_mut().zip(&mut rate_bar[nv..]);
        for (next_bar, (x_bar, k_bar)) in next_bar[nq..].iter().zip(bars) {
            *x_bar += *next_bar;
            *k_bar += h * *next_bar;
        }
    }

    fn embed(&self, state: &[T], rate: &[T], out: &mut [T]) {
        self.robot.coordinates().embed(state, rate, out);
    }

    fn embed_vjp(&self, state: &[T], rate: &[T], out_bar: &[T], state_bar: &mut [T], rate_bar: &mut [T]) {
        self.robot.coordinates().embed_vjp(state, rate, out_bar, state_bar, rate_bar);
    }

    fn dexp_inverse(&self, increment: &[T], h: T, rate: &mut [T]) {
        self.robot.dexp_inverse(increment, h, rate);
    }

    fn dexp_inverse_vjp(
        &self,
        increment: &[T],
        h: T,
        rate: &[T],
        rate_bar: &mut [T],
        increment_bar: &mut [T],
    ) {
        self.robot.dexp_inverse_vjp(increment, h, rate, rate_bar, increment_bar);
    }
}

//! A model in motion, for tests: its state, its solver, and the forces of its contacts.

use pullback_articulated::constraint::SolverInfo;
use pullback_articulated::constraint::contact::contact_frame;
use pullback_articulated::constraint::cost::Cost;
use pullback_articulated::constraint::set::{ConstraintSet, Source};
use pullback_articulated::contact::ContactSolverWorkspace;
use pullback_articulated::{Articulated, ArticulatedWorkspace, ImplicitTerms, Model, ModelIntegrator};
use pullback_core::integrator::{Integrated, IntegratedWorkspace, Integrator, Method};
use pullback_core::{Bars, Described, Point, System, VectorField};
use pullback_math::Vec3;
use pullback_scene::ImportError;
use pullback_scene::mesh::MeshFiles;
use pullback_scene::mjcf::{ImportOptions, parse_mjcf};

/// A model in motion.
pub struct Moving {
    pub system: Integrated<Articulated>,
    pub params: Vec<f64>,
    pub state: Vec<f64>,
    pub control: Vec<f64>,
    /// What the last [`Moving::evaluate`] left.
    pub ws: ArticulatedWorkspace<f64>,
    step_ws: IntegratedWorkspace<f64, ArticulatedWorkspace<f64>>,
    next: Vec<f64>,
}

/// A contact that acts, as the constraint rows have it.
#[derive(Clone, Debug)]
pub struct Acting {
    /// Normal from the first geom to the second, then two tangents.
    pub frame: [Vec3<f64>; 3],
    pub distance: f64,
    /// Along the frame, then about it; on the body of the second geom.
    pub force: Vec<f64>,
    pub friction: [f64; 5],
}

impl Acting {
    /// The force on the second body.
    pub fn push(&self) -> Vec3<f64> {
        let parts = self.frame.iter().zip(&self.force);
        parts.fold(Vec3::zero(), |sum, (axis, f)| sum + *axis * *f)
    }
}

/// A model as text, meshes included.
pub fn try_parse(text: &str) -> Result<Model, ImportError> {
    let options =
        ImportOptions { mesh_loader: Some(std::sync::Arc::new(MeshFiles)), ..ImportOptions::default() };
    parse_mjcf(text, None, &options)
}

impl Moving {
    /// The model of a text at its reference pose, stepped as it asks.
    pub fn new(text: &str) -> Self {
        Moving::from_model(try_parse(text).unwrap_or_else(|e| panic!("{e}\n{text}")))
    }

    pub fn from_model(model: Model) -> Self {
        let (dt, asked) = (model.options.timestep, model.options.integrator);
        let terms = match asked {
            ModelIntegrator::ImplicitFast => Some(ImplicitTerms::Fast),
            ModelIntegrator::Implicit => Some(ImplicitTerms::Full),
            ModelIntegrator::Euler => model.options.implicit_damping.then_some(ImplicitTerms::Damping),
            ModelIntegrator::Rk4 => None,
        };
        let method = if asked == ModelIntegrator::Rk4 { Method::Rk4 } else { Method::SemiImplicitEuler };
        let robot = Articulated::new(model).expect("a robot").with_plain_rotations();
        let robot = match terms {
            Some(terms) => robot.with_implicit(terms, dt),
            None => robot.with_time_step(dt),
        };
        let layout = robot.layout();
        let (state, control) = (layout.state.defaults(), layout.control.defaults());
        let params = layout.params.defaults();
        let ws = VectorField::<f64>::workspace(&robot);
        let system = Integrated::new(robot, dt, Integrator::fixed(method)).expect("a system");
        let step_ws = System::<f64>::workspace(&system);
        Moving { system, params, next: state.clone(), state, control, ws, step_ws }
    }

    pub fn robot(&self) -> &Articulated {
        self.system.field()
    }

    pub fn nq(&self) -> usize {
        self.robot().model().nq
    }

    /// Velocities of the joints.
    pub fn v(&self) -> &[f64] {
        &self.state[self.nq()..]
    }

    /// Solves for the acceleration at the state.
    pub fn evaluate(&mut self) -> SolverInfo {
        let at = Point { params: &self.params, state: &self.state, control: &self.control };
        self.system.field().accelerations(&mut self.ws, at);
        self.convex().1
    }

    fn convex(&self) -> (&ConstraintSet<f64>, SolverInfo) {
        let ContactSolverWorkspace::Convex(convex) = &self.ws.resolve else { panic!("not convex") };
        (&convex.set, convex.newton.info)
    }

    /// One step of time.
    pub fn step(&mut self) {
        let at = Point { params: &self.params, state: &self.state, control: &self.control };
        self.system.step(&mut self.step_ws, at, &mut self.next).expect("a step");
        std::mem::swap(&mut self.state, &mut self.next);
    }

    /// The pullback of a step from this state along fixed cotangents: of state, controls and parameters.
    pub fn step_vjp(&mut self) -> Vec<f64> {
        let bar: Vec<f64> = (0..self.state.len()).map(|i| (1.0 + 0.7 * i as f64).sin()).collect();
        let mut bars = [self.params.len(), self.state.len(), self.control.len()].map(|n| vec![0.0; n]);
        let [params, state, control] = &mut bars;
        let at = Point { params: &self.params, state: &self.state, control: &self.control };
        self.system.step(&mut self.step_ws, at, &mut self.next).expect("a step");
        self.system
            .step_vjp(&mut self.step_ws, at, &bar, Bars { params, state, control })
            .expect("a pullback");
        bars.concat()
    }

    /// Contacts that act, after [`Moving::evaluate`].
    pub fn contacts(&self) -> Vec<Acting> {
        let geoms = self.robot().geoms(&self.ws.kinematics, &self.params);
        let (set, _) = self.convex();
        let acting = set.blocks.iter().enumerate().filter_map(|(i, block)| {
            let Source::Contact { pair, slot } = block.source else { return None };
            let found = self.ws.contacts.pairs()[pair];
            let contact = self.ws.contacts.contacts()[slot];
            Some(Acting {
                frame: contact_frame(&geoms, &self.ws.contacts, &found, slot),
                distance: contact.distance,
                force: set.force[block.row..block.row + block.dim].to_vec(),
                friction: set.weights[i].friction,
            })
        });
        acting.collect()
    }

    /// Geoms and distance of every contact that is found, acting or not.
    pub fn found(&self) -> Vec<(usize, usize, f64)> {
        let found = &self.ws.contacts;
        let slots = found.pairs().iter().flat_map(|pair| pair.contacts().map(move |slot| (pair, slot)));
        slots
            .map(|(pair, slot)| (pair, found.contacts()[slot].distance))
            .filter(|(pair, distance)| *distance <= found.reach(pair))
            .map(|(pair, distance)| (pair.geoms.0, pair.geoms.1, distance))
            .collect()
    }

    /// Reference acceleration and regularization of every row as MuJoCo counts them, and whether it is one of a
    /// contact. Equalities that move nothing are left out.
    pub fn rows(&self) -> Vec<(bool, f64, f64)> {
        let (set, _) = self.convex();
        let mut rows = Vec::new();
        for (i, (block, weights)) in set.blocks.iter().zip(&set.weights).enumerate() {
            let equality = matches!(block.source, Source::Equality(_));
            if equality && set.jacobian(i).iter().all(|j| j.abs() <= 1e-12) {
                continue;
            }
            let reference = &set.reference[block.row..block.row + block.dim];
            let contact = matches!(block.source, Source::Contact { .. });
            if block.cost == Cost::Pyramid {
                for k in 1..block.dim {
                    for mu in [weights.friction[k - 1], -weights.friction[k - 1]] {
                        rows.push((contact, reference[0] + mu * reference[k], 1.0 / weights.rows[0]));
                    }
                }
            } else {
                rows.extend((0..block.dim).map(|i| (contact, reference[i], 1.0 / weights.rows[i])));
            }
        }
        rows
    }

    /// How much stiffer the stiffest row is than the inertia it moves: D J M⁻¹ Jᵀ, with M by its diagonal.
    pub fn stiffness(&self) -> f64 {
        let (set, _) = self.convex();
        let nv = self.robot().model().nv;
        let mass = self.robot().mass_matrix(&self.ws, &self.params);
        let mut most = 0.0_f64;
        for (block, b) in set.blocks.iter().enumerate() {
            let (jacobian, dofs) = (set.jacobian(block), set.dofs(block));
            for (i, row) in jacobian.chunks(dofs.len()).enumerate() {
                let weight = set.weights[block].rows[if b.cost == Cost::Pyramid { 0 } else { i }];
                let seen: f64 = row.iter().zip(dofs).map(|(j, k)| j * j / mass[k * nv + k]).sum();
                most = most.max(weight * seen);
            }
        }
        most
    }

    /// Kinetic and potential energy of bodies, after [`Moving::evaluate`].
    pub fn energy(&self) -> f64 {
        let kinematics = &self.ws.kinematics;
        kinematics.kinetic_energy(&self.ws.sweep.velocities)
            + kinematics.potential_energy(self.robot().model().options.gravity)
    }

    /// Linear momentum, and angular momentum about the origin, after [`Moving::evaluate`].
    pub fn momentum(&self) -> (Vec3<f64>, Vec3<f64>) {
        let (mut linear, mut angular) = (Vec3::zero(), Vec3::zero());
        let model = self.robot().model();
        for (b, body) in model.bodies.iter().enumerate().skip(1) {
            let pose = self.ws.kinematics.world_from_body[b];
            let center = pose.point(body.com);
            let motion = self.ws.sweep.velocities[b];
            let velocity = motion.velocity_at(center - self.ws.kinematics.origins[b]);
            let spin = pose.rotation * (body.inertia * (pose.rotation.transpose() * motion.angular));
            linear += velocity * body.mass;
            angular += center.cross(velocity * body.mass) + spin;
        }
        (linear, angular)
    }
}

//! Integration on a manifold: a torque-free rigid body, orientation by a unit quaternion.
//!
//! State (q, ω) has 4 + 3 entries, the rate (ω, ω̇) 3 + 3: ω in the body frame, moved along by q ⊗ exp(h ω).

use pullback_core::gradcheck::Options;
use pullback_core::integrator::{Adjoint, Integrated, Integrator, Method, PidController};
use pullback_core::layout::{Layout, Slice};
use pullback_core::rollout::{FinalState, Inputs};
use pullback_core::step_check::{check_rollout, check_step};
use pullback_core::{Bars, Described, FieldShape, Point, Rollout, Schedule, System, VectorField};
use pullback_math::{Flat, MulVjp, Quat, Real, Vec3, rotation_vector_rate, rotation_vector_rate_vjp};

/// I ω̇ = (I ω) × ω, I diagonal in the body frame.
#[derive(Debug)]
struct FreeBody {
    layout: Layout,
}

const START: [f64; 7] = [0.5, -0.5, 0.5, 0.5, 1.1, -0.7, 1.9];
const INERTIA: [f64; 3] = [1.0, 1.7, 2.4];

impl FreeBody {
    fn new() -> Self {
        let layout = Layout::builder()
            .state(Slice::new("orientation", 4, "1").default(&START[..4]))
            .state(Slice::new("omega", 3, "rad/s").default(&START[4..]))
            .param(Slice::new("inertia", 3, "kg m^2").default(&INERTIA))
            .build()
            .unwrap();
        FreeBody { layout }
    }
}

impl Described for FreeBody {
    fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl FieldShape for FreeBody {
    fn rate_len(&self) -> usize {
        6
    }
    fn velocities(&self) -> Option<usize> {
        Some(3)
    }
    fn flat(&self) -> bool {
        false
    }
}

type State<T> = (Quat<T>, Vec3<T>);
type Rate<T> = (Vec3<T>, Vec3<T>);

fn times<T: Real>(a: Vec3<T>, b: Vec3<T>) -> Vec3<T> {
    a.zip(b, |a, b| a * b)
}

impl<T: Real> VectorField<T> for FreeBody {
    type Workspace = ();
    fn workspace(&self) {}

    fn eval(&self, _ws: &mut (), at: Point<'_, T>, _time: T, rate: &mut [T]) {
        let Point { params, state, .. } = at;
        let (_, omega) = State::<T>::read(state);
        let inertia = Vec3::read(params);
        let torque = times(inertia, omega).cross(omega);
        (omega, torque.zip(inertia, |t, i| t / i)).write(rate);
    }

    fn eval_vjp(&self, _ws: &mut (), at: Point<'_, T>, _time: T, rate_bar: &[T], bars: Bars<'_, T>) -> T {
        let Point { params, state, .. } = at;
        let Bars { params: params_bar, state: state_bar, .. } = bars;
        let (_, omega) = State::<T>::read(state);
        let inertia = Vec3::<T>::read(params);
        let (omega_bar, alpha_bar) = Rate::<T>::read(rate_bar);
        let momentum = times(inertia, omega);
        // α = torque / I
        let alpha = momentum.cross(omega).zip(inertia, |t, i| t / i);
        let torque_bar = alpha_bar.zip(inertia, |a, i| a / i);
        // torque = (I ω) × ω
        let (momentum_bar, direct_bar) = momentum.cross_vjp(omega, torque_bar);
        (Quat::zero(), omega_bar + direct_bar + times(inertia, momentum_bar)).add_to(state_bar);
        (times(omega, momentum_bar) - times(alpha, torque_bar)).add_to(params_bar);
        T::zero()
    }

    fn advance(&self, state: &[T], rate: &[T], h: T, next: &mut [T]) {
        let (q, omega) = State::<T>::read(state);
        let (turn, alpha) = Rate::<T>::read(rate);
        (q.integrate(turn, h), omega + alpha * h).write(next);
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
        let (q, _) = State::<T>::read(state);
        let (turn, _) = Rate::<T>::read(rate);
        let (q_next_bar, omega_bar) = State::<T>::read(next_bar);
        let (q_bar, turn_bar, _) = q.integrate_vjp(turn, h, q_next_bar);
        (q_bar, omega_bar).add_to(state_bar);
        (turn_bar, omega_bar * h).add_to(rate_bar);
    }

    fn embed(&self, state: &[T], rate: &[T], out: &mut [T]) {
        let (q, _) = State::<T>::read(state);
        let (turn, alpha) = Rate::<T>::read(rate);
        (q * Quat::from_parts(T::zero(), turn * T::lit(0.5)), alpha).write(out);
    }

    fn embed_vjp(&self, state: &[T], rate: &[T], out_bar: &[T], state_bar: &mut [T], rate_bar: &mut [T]) {
        let ((q, _), (turn, _)) = (State::<T>::read(state), Rate::<T>::read(rate));
        let (out, alpha) = State::<T>::read(out_bar);
        let (q_bar, turn_bar) = q.mul_vjp(Quat::from_parts(T::zero(), turn * T::lit(0.5)), out);
        (q_bar, Vec3::zero()).add_to(state_bar);
        (turn_bar.vector() * T::lit(0.5), alpha).add_to(rate_bar);
    }

    fn dexp_inverse(&self, increment: &[T], h: T, rate: &mut [T]) {
        let (u, omega) = (Vec3::read(increment) * h, Vec3::read(rate));
        rotation_vector_rate(u, omega).write(rate);
    }

    fn dexp_inverse_vjp(
        &self,
        increment: &[T],
        h: T,
        rate: &[T],
        rate_bar: &mut [T],
        increment_bar: &mut [T],
    ) {
        let (u, omega) = (Vec3::read(increment) * h, Vec3::read(rate));
        let (u_bar, omega_bar) = rotation_vector_rate_vjp(u, omega, Vec3::read(rate_bar));
        omega_bar.write(rate_bar);
        (u_bar * h).add_to(increment_bar);
    }
}

fn system(dt: f64, integrator: Integrator) -> Integrated<FreeBody> {
    Integrated::new(FreeBody::new(), dt, integrator).unwrap()
}

fn adaptive(tolerance: f64) -> Integrator {
    Integrator::adaptive(Method::Tsit5, PidController::new(tolerance))
}

/// Kinetic energy and angular momentum in the world frame.
fn invariants(state: &[f64]) -> (f64, Vec3<f64>) {
    let (q, omega) = State::<f64>::read(state);
    let momentum = times(Vec3::read(&INERTIA), omega);
    (0.5 * momentum.dot(omega), q.rotate(momentum))
}

/// Largest drift of |q|, energy and world angular momentum over 2 s, the last two relative.
fn drift(dt: f64, integrator: Integrator) -> [f64; 3] {
    let system = system(dt, integrator);
    let steps = (2.0 / dt).round() as usize;
    let rollout = Rollout::new(&system, steps, Schedule::StoreAll).unwrap();
    let mut ws = rollout.workspace::<f64>();
    let (energy, momentum) = invariants(&START);
    let mut worst = [0.0f64; 3];
    rollout
        .simulate(
            &mut ws,
            &Inputs { state: START.to_vec(), controls: vec![], params: INERTIA.to_vec() },
            |at| {
                let (e, l) = invariants(at.state);
                let norm = State::<f64>::read(at.state).0.norm_squared().sqrt();
                let seen =
                    [(norm - 1.0).abs(), (e / energy - 1.0).abs(), (l - momentum).norm() / momentum.norm()];
                for (worst, seen) in worst.iter_mut().zip(seen) {
                    *worst = worst.max(seen);
                }
            },
        )
        .unwrap();
    worst
}

/// Observed orders of the drifts of energy and momentum.
fn orders(integrator: Integrator) -> [f64; 2] {
    let (coarse, fine) = (drift(0.1, integrator), drift(0.025, integrator));
    [1, 2].map(|i| (coarse[i] / fine[i]).log2() / 2.0)
}

#[test]
fn every_step_has_the_exact_pullback() {
    let integrators = [
        (Integrator::fixed(Method::SemiImplicitEuler), 1e-6),
        (Integrator::fixed(Method::Rk4), 1e-6),
        (Integrator::fixed(Method::Tsit5), 1e-6),
        // Differences over adaptive steps see the step sizes change.
        (adaptive(1e-8), 1e-4),
        (Integrator { adjoint: Adjoint::Discrete { checkpoints: 2 }, ..adaptive(1e-8) }, 1e-4),
    ];
    for (integrator, difference_tolerance) in integrators {
        let options = Options { difference_tolerance, ..Options::default() };
        let report = check_step(
            &system(0.4, integrator),
            Point { params: &INERTIA, state: &START, control: &[] },
            &options,
        );
        assert!(report.passed(), "{integrator:?}\n{report}");
        assert_eq!(report.entries.len(), 10);
    }
}

#[test]
fn rollouts_have_the_exact_pullback() {
    let loss = FinalState { weights: vec![1.0, -0.5, 0.3, 0.8, 0.2, 0.1, -0.4] };
    for method in [Method::SemiImplicitEuler, Method::Rk4] {
        let system = system(0.05, Integrator::fixed(method));
        let rollout = Rollout::new(&system, 20, Schedule::Revolve { slots: 4 }).unwrap();
        let inputs = Inputs::defaults(&system, 20);
        check_rollout(&rollout, &inputs, &loss, &Options::default()).assert_passed();
    }
}

#[test]
fn a_unit_quaternion_stays_one() {
    for integrator in
        [Integrator::fixed(Method::SemiImplicitEuler), Integrator::fixed(Method::Rk4), adaptive(1e-6)]
    {
        let [norm, ..] = drift(0.01, integrator);
        assert!(norm < 1e-13, "{integrator:?}: |q| drifts by {norm:e}");
    }
}

#[test]
fn energy_is_conserved_to_the_order_of_the_method() {
    for (method, order) in [(Method::SemiImplicitEuler, 1.0), (Method::Rk4, 4.0), (Method::Tsit5, 5.0)] {
        let [seen, _] = orders(Integrator::fixed(method));
        assert!(seen > order - 0.2, "{method:?}: order {seen:.2}");
    }
    for tolerance in [1e-6, 1e-8] {
        let [_, energy, _] = drift(0.5, adaptive(tolerance));
        assert!(energy < 20.0 * tolerance, "{energy:e} at {tolerance:e}");
    }
}

#[test]
fn world_angular_momentum_is_conserved_to_the_order_of_the_method() {
    for (method, order) in
        [(Method::SemiImplicitEuler, 1.0), (Method::Rk4, 4.0), (Method::Tsit5, 5.0), (Method::Dopri5, 5.0)]
    {
        let [_, seen] = orders(Integrator::fixed(method));
        assert!(seen > order - 0.3, "{method:?}: order {seen:.2}");
    }
    for tolerance in [1e-6, 1e-8, 1e-10] {
        let [_, _, momentum] = drift(0.5, adaptive(tolerance));
        assert!(momentum < 20.0 * tolerance, "{momentum:e} at {tolerance:e}");
    }
}

#[test]
fn a_turn_about_a_principal_axis_is_exact() {
    // ω̇ = 0: the orientation is exp(t ω) whatever the method.
    let spin = Vec3::new(0.0, 0.0, 2.5);
    for integrator in
        [Integrator::fixed(Method::SemiImplicitEuler), Integrator::fixed(Method::Rk4), adaptive(1e-6)]
    {
        let system = system(0.1, integrator);
        let rollout = Rollout::new(&system, 30, Schedule::StoreAll).unwrap();
        let mut ws = rollout.workspace::<f64>();
        let state = [1.0, 0.0, 0.0, 0.0, spin.x, spin.y, spin.z];
        let mut end = [0.0; 7];
        rollout
            .simulate(
                &mut ws,
                &Inputs { state: state.to_vec(), controls: vec![], params: INERTIA.to_vec() },
                |at| end.copy_from_slice(at.state),
            )
            .unwrap();
        let exact = Quat::exp(spin * 3.0);
        let q = State::<f64>::read(&end).0;
        assert!((q - exact).norm_squared().sqrt() < 1e-13, "{integrator:?}: {q:?} against {exact:?}");
    }
}

#[test]
fn the_continuous_adjoint_agrees_with_the_discrete_one_on_manifolds() {
    let gradient = |adjoint: Adjoint| {
        let system = system(0.4, Integrator { adjoint, ..adaptive(1e-11) });
        let inputs = Inputs { state: START.to_vec(), controls: vec![], params: INERTIA.to_vec() };
        let mut ws = System::<f64>::workspace(&system);
        let bar: Vec<f64> = (0..7).map(|i| (1.0 + f64::from(i)).sin()).collect();
        let (mut params, mut state) = (vec![0.0; 3], vec![0.0; 7]);
        let at = Point { params: &inputs.params, state: &inputs.state, control: &[] };
        let bars = Bars { params: &mut params, state: &mut state, control: &mut [] };
        system.step_vjp(&mut ws, at, &bar, bars).unwrap();
        state.extend(params);
        state
    };
    let discrete = gradient(Adjoint::Discrete { checkpoints: 1000 });
    let continuous = gradient(Adjoint::Continuous(PidController::new(1e-11)));
    assert!(discrete.iter().all(|x| x.abs() > 1e-3));
    for (d, c) in discrete.iter().zip(&continuous) {
        assert!((d - c).abs() < 1e-7, "{d} against {c}");
    }
}

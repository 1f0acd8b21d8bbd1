//! The validator: it passes what is right, names what is wrong, and refuses what proves nothing.

use pullback_core::gradcheck::{Differentiable, Options, Report, Verdict, gradcheck};
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::layout::Layout;
use pullback_core::step_check::check_step;
use pullback_core::{Bars, Described, FieldShape, Point, VectorField, check_vjp};
use pullback_math::{Real, Vec3};
use pullback_physics::pendulum::DoublePendulum;

const STATE: [f64; 4] = [2.0, 1.0, 0.7, -1.3];
const CONTROL: [f64; 2] = [0.4, -0.6];
const PARAMS: [f64; 7] = [0.9, 1.2, 0.15, 1.1, 0.8, 0.25, 9.81];

/// What a [`Flawed`] pendulum gets wrong.
#[derive(Clone, Copy, Debug)]
enum Flaw {
    None,
    State(usize),
    Control(usize),
    Param(usize),
}

/// A double pendulum whose pullback has the wrong sign in one entry.
struct Flawed {
    pendulum: DoublePendulum,
    flaw: Flaw,
}

impl Described for Flawed {
    fn layout(&self) -> &Layout {
        self.pendulum.layout()
    }
}

impl FieldShape for Flawed {
    fn velocities(&self) -> Option<usize> {
        Some(2)
    }
}

impl<T: Real> VectorField<T> for Flawed {
    type Workspace = ();
    fn workspace(&self) {}
    fn eval(&self, ws: &mut (), at: Point<'_, T>, time: T, rate: &mut [T]) {
        let Point { params, state, control } = at;
        self.pendulum.eval(ws, Point { params, state, control }, time, rate);
    }
    fn eval_vjp(&self, ws: &mut (), at: Point<'_, T>, time: T, rate_bar: &[T], bars: Bars<'_, T>) -> T {
        let Point { params, state, control } = at;
        let Bars { params: params_bar, state: state_bar, control: control_bar } = bars;
        let zero = T::zero();
        let (mut s, mut c, mut p) = ([zero; 4], [zero; 2], [zero; 7]);
        let t = self.pendulum.eval_vjp(
            ws,
            Point { params, state, control },
            time,
            rate_bar,
            Bars { params: &mut p, state: &mut s, control: &mut c },
        );
        match self.flaw {
            Flaw::None => {}
            Flaw::State(i) => s[i] = -s[i],
            Flaw::Control(i) => c[i] = -c[i],
            Flaw::Param(i) => p[i] = -p[i],
        }
        for (bars, parts) in [(state_bar, &s[..]), (control_bar, &c[..]), (params_bar, &p[..])] {
            for (bar, part) in bars.iter_mut().zip(parts) {
                *bar += *part;
            }
        }
        t
    }
}

fn check_flawed(flaw: Flaw) -> Report {
    let field = Flawed { pendulum: DoublePendulum::default(), flaw };
    // One evaluation per step, so that a flaw in one entry reaches no other.
    let system = Integrated::new(field, 0.01, Integrator::fixed(Method::SemiImplicitEuler)).unwrap();
    check_step(&system, Point { params: &PARAMS, state: &STATE, control: &CONTROL }, &Options::default())
}

#[test]
fn a_right_pullback_passes_by_three_paths() {
    let report = check_flawed(Flaw::None);
    report.assert_passed();
    assert_eq!(report.entries.len(), 13);
    assert!(report.entries.iter().all(|e| e.verdict == Verdict::Ok), "{report}");
    assert!(report.runs.eval > 0 && report.runs.forward == 13 && report.runs.adjoint == 3);
    assert!(report.to_string().ends_with("passed"), "{report}");
}

#[test]
fn a_wrong_sign_is_found_in_exactly_its_entry() {
    let layout = DoublePendulum::default();
    let layout = layout.layout();
    let mut flaws = Vec::new();
    flaws.extend((0..4).map(|i| (Flaw::State(i), format!("state.{}", layout.state.entry_name(i)))));
    flaws.extend((0..2).map(|i| (Flaw::Control(i), format!("control.{}", layout.control.entry_name(i)))));
    flaws.extend((0..7).map(|i| (Flaw::Param(i), format!("params.{}", layout.params.entry_name(i)))));
    for (flaw, name) in flaws {
        let report = check_flawed(flaw);
        assert!(!report.passed() && report.void.is_none(), "{flaw:?} went unnoticed\n{report}");
        let failures: Vec<&str> = report.failures().map(|e| e.name.as_str()).collect();
        assert_eq!(failures, [&name], "{report}");
        let table = report.to_string();
        assert!(table.contains(&format!("wrong: {name}\n")), "{table}");
        assert_eq!(table.matches("WRONG").count(), 1, "{table}");
        assert!(table.lines().any(|l| l.starts_with(&name) && l.ends_with("WRONG")), "{table}");
        assert!(table.ends_with("FAILED"), "{table}");
    }
}

#[test]
#[should_panic(expected = "wrong: params.lower.mass")]
fn a_failed_check_panics_with_the_name() {
    check_flawed(Flaw::Param(4)).assert_passed();
}

#[test]
fn a_forgotten_factor_is_found() {
    let x = [1.0, 2.0, 3.0];
    let right = check_vjp!(|a: Vec3<T>| -> T { a.norm_squared() },
        |bar| a.norm_squared_vjp(bar), at x, Options::default());
    right.assert_passed();
    let wrong = check_vjp!(|a: Vec3<T>| -> T { a.norm_squared() },
        |bar| a * bar, at x, Options::default());
    assert_eq!(wrong.failures().count(), 3, "{wrong}");
}

/// A scalar map given by its three derivatives, each free to lie.
struct Map<E, J, V> {
    eval: E,
    jvp: J,
    vjp: V,
}

impl<E, J, V> Differentiable for Map<E, J, V>
where
    E: Fn(f64) -> f64,
    J: Fn(f64) -> (f64, f64),
    V: Fn(f64) -> f64,
{
    fn input_names(&self) -> Vec<String> {
        vec!["x".into()]
    }
    fn outputs(&self) -> usize {
        1
    }
    fn eval(&self, x: &[f64], y: &mut [f64]) -> Result<(), String> {
        y[0] = (self.eval)(x[0]);
        Ok(())
    }
    fn jvp(&self, x: &[f64], x_dot: &[f64], y: &mut [f64], y_dot: &mut [f64]) -> Result<(), String> {
        let (value, slope) = (self.jvp)(x[0]);
        (y[0], y_dot[0]) = (value, slope * x_dot[0]);
        Ok(())
    }
    fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) -> Result<(), String> {
        x_bar[0] += (self.vjp)(x[0]) * y_bar[0];
        Ok(())
    }
}

fn check(
    x: f64,
    eval: impl Fn(f64) -> f64,
    jvp: impl Fn(f64) -> (f64, f64),
    vjp: impl Fn(f64) -> f64,
) -> Report {
    gradcheck(&Map { eval, jvp, vjp }, &[x], &Options::default())
}

#[test]
fn an_all_zero_gradient_is_void() {
    let map = Map { eval: |_: f64| 3.0, jvp: |_: f64| (3.0, 0.0), vjp: |_: f64| 0.0 };
    let report = gradcheck(&map, &[1.0], &Options::default());
    assert!(!report.passed());
    assert!(report.void.as_ref().is_some_and(|v| v.contains("zero")), "{report}");
    assert!(report.to_string().contains("void: "), "{report}");
    gradcheck(&map, &[1.0], &Options { allow_all_zero: true, ..Options::default() }).assert_passed();
}

#[test]
fn a_pullback_that_is_not_finite_is_wrong() {
    for bad in [f64::NAN, f64::INFINITY] {
        let report = check(1.5, |x| x * x, |x| (x * x, 2.0 * x), |_| bad);
        assert!(!report.passed(), "{report}");
        assert_eq!(report.entries[0].verdict, Verdict::Wrong, "{report}");
    }
}

#[test]
fn a_forward_mode_that_is_not_finite_is_no_proof() {
    let report = check(1.5, |x| x * x, |x| (x * x, f64::NAN), |x| 2.0 * x);
    assert!(!report.passed(), "{report}");
}

#[test]
fn forward_mode_and_pullback_that_share_an_error_are_caught_by_differences() {
    let report = check(1.5, |x| x * x, |x| (x * x, x), |x| x);
    assert_eq!(report.entries[0].verdict, Verdict::Wrong, "{report}");
    assert!(report.entries[0].forward_error == 0.0 && report.entries[0].difference_error > 0.1);
}

#[test]
fn values_that_differ_between_the_paths_are_void() {
    for value in [2.25 + 1e-9, f64::NAN] {
        let report = check(1.5, |x| x * x, |x| (value, 2.0 * x), |x| 2.0 * x);
        assert!(!report.passed(), "{report}");
        assert!(report.void.as_ref().is_some_and(|v| v.contains("different values")), "{report}");
    }
}

#[test]
fn a_value_that_is_not_finite_is_void() {
    let report = check(1.5, |_| f64::NAN, |x| (f64::NAN, 2.0 * x), |x| 2.0 * x);
    assert!(report.void.is_some() && !report.passed(), "{report}");
}

#[test]
fn a_kink_between_evaluation_points_is_a_kink_wherever_it_lies() {
    // The slope grows from 1 to 1 + jump at 1 + offset; central differences reach 2e-3 at most and 6e-5 at
    // least.
    for jump in [1.0, 0.1, -0.3] {
        for offset in [0.0, 1e-9, 1e-6, 1e-5, 3e-5, 5e-5, 6e-5, 6.5e-5, 9e-5, 1.2e-4, 2e-4, 5e-4, 1.5e-3] {
            let kink = 1.0 + offset;
            let f = move |x: f64| x + jump * (x - kink).max(0.0);
            let report = check(1.0, f, |x| (f(x), 1.0), |_| 1.0);
            let verdict = report.entries[0].verdict;
            assert_ne!(verdict, Verdict::Wrong, "jump {jump} at {offset:e}\n{report}");
            report.assert_passed();
            if offset <= 5e-5 {
                assert_eq!(verdict, Verdict::Kink, "jump {jump} at {offset:e}\n{report}");
            }
            if offset >= 5e-4 {
                assert_eq!(verdict, Verdict::Ok, "jump {jump} at {offset:e}\n{report}");
            }
        }
    }
}

#[test]
fn a_jump_between_evaluation_points_is_a_kink() {
    let f = |x: f64| if x > 1.0 + 1e-5 { x + 1.0 } else { x };
    let report = check(1.0, f, |x| (f(x), 1.0), |_| 1.0);
    assert_eq!(report.entries[0].verdict, Verdict::Kink, "{report}");
}

#[test]
fn a_kink_excuses_no_wrong_pullback() {
    let f = |x: f64| x + (x - 1.0 - 1e-5).max(0.0);
    let report = check(1.0, f, |x| (f(x), 1.0), |_| 2.0);
    assert_eq!(report.entries[0].verdict, Verdict::Wrong, "{report}");
}

type Function = fn(f64) -> f64;

#[test]
fn strong_curvature_is_no_kink() {
    // Slope small beside the curvature, an extremum, an inflection, a fast exponential.
    let cases: [(f64, Function, Function); 4] = [
        (1e-4, |x| x * x, |x| 2.0 * x),
        (1.0, |x| (50.0 * x).sin(), |x| 50.0 * (50.0 * x).cos()),
        (0.0, |x| x * x * x + 1e-3 * x, |x| 3.0 * x * x + 1e-3),
        (1.0, |x| (40.0 * x).exp(), |x| 40.0 * (40.0 * x).exp()),
    ];
    for (x, f, slope) in cases {
        let report = check(x, f, |x| (f(x), slope(x)), slope);
        assert_eq!(report.entries[0].verdict, Verdict::Ok, "{report}");
        // The differences still bite.
        let report = check(x, f, |x| (f(x), 1.01 * slope(x)), |x| 1.01 * slope(x));
        assert_eq!(report.entries[0].verdict, Verdict::Wrong, "{report}");
    }
}

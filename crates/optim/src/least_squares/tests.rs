//! What is found of an oscillator m ẍ = −k x − c ẋ + u from noisy recordings of its position.

use pullback_core::gradcheck::{self, gradcheck};
use pullback_core::input_map::{InputEntry, LinearMap, Transform, Variable};
use pullback_core::layout::{Layout, Slice};
use pullback_core::random::Random;
use pullback_core::{Bars, Described, Info, Point, StepError, System};
use pullback_math::{Dual, Flat, Real, f64x8};
use serde_json::{Value, json};

use super::*;

struct Oscillator(Layout);

impl Oscillator {
    fn new() -> Self {
        let slice =
            |name: &str, unit: &'static str, x: f64| Slice::new(name.to_owned(), 1, unit).default(&[x]);
        let builder = Layout::builder()
            .state(slice("x", "m", 1.0))
            .state(slice("v", "m/s", 0.0))
            .control(slice("u", "N", 0.0))
            .param(slice("mass", "kg", 2.0))
            .param(slice("stiffness", "N/m", 30.0))
            .param(slice("damping", "N s/m", 0.6))
            .param(slice("color", "1", 1.0));
        Oscillator(builder.build().unwrap())
    }
}

const DT: f64 = 0.05;

impl Described for Oscillator {
    fn layout(&self) -> &Layout {
        &self.0
    }
}

impl<T: Real> System<T> for Oscillator {
    type Workspace = ();
    fn workspace(&self) {}
    fn step(&self, _ws: &mut (), at: Point<'_, T>, next: &mut [T]) -> Result<Info, StepError> {
        let (x, v) = (at.state[0], at.state[1]);
        let [m, k, c, _] = <[T; 4]>::read(at.params);
        let a = (at.control[0] - k * x - c * v) / m;
        next[1] = v + a * T::lit(DT);
        next[0] = x + next[1] * T::lit(DT);
        Ok(Info::one())
    }
    fn step_vjp(
        &self,
        _ws: &mut (),
        at: Point<'_, T>,
        bar: &[T],
        bars: Bars<'_, T>,
    ) -> Result<(), StepError> {
        let (x, v) = (at.state[0], at.state[1]);
        let [m, k, c, _] = <[T; 4]>::read(at.params);
        let a = (at.control[0] - k * x - c * v) / m;
        let v_bar = bar[1] + bar[0] * T::lit(DT);
        let f_bar = v_bar * T::lit(DT) / m;
        bars.state[0] += bar[0] - k * f_bar;
        bars.state[1] += v_bar - c * f_bar;
        bars.control[0] += f_bar;
        bars.params[0] += -(a * f_bar);
        bars.params[1] += -(x * f_bar);
        bars.params[2] += -(v * f_bar);
        Ok(())
    }
}

const TRUTH: [f64; 4] = [2.0, 30.0, 0.6, 1.0];
const STEPS: usize = 80;
const NOISE: f64 = 0.02;

type Problem<D> = RolloutResiduals<Oscillator, Recorded<StateOutputs>, LinearMap, D>;

/// Recordings of the position at irregular times, with noise of its own stream, and the unknowns by number.
fn problem<D: Real>(
    unknown: &[usize],
    seed: u64,
    recordings: usize,
    driven: bool,
    freed: bool,
) -> Problem<D> {
    let system = Oscillator::new();
    let mut random = Random::new(seed);
    let (mut parts, mut samples) = (Vec::new(), Vec::new());
    for recording in 0..recordings {
        let state = vec![1.0 + 0.2 * recording as f64, 0.3];
        let push = |k: usize| if driven { 4.0 * (0.3 * k as f64).sin() } else { 0.0 };
        let controls: Vec<f64> = (0..STEPS).map(push).collect();
        let mut states = vec![state.clone()];
        for k in 0..STEPS {
            let mut next = [0.0; 2];
            let at = Point { params: &TRUTH[..], state: &states[k], control: &controls[k..=k] };
            System::<f64>::step(&system, &mut (), at, &mut next).unwrap();
            states.push(next.to_vec());
        }
        let mut own = Vec::new();
        for i in 0..60 {
            let time = i as f64 * 1.31 + random.uniform(0.0, 0.9);
            let moment = moment(time, STEPS);
            let x: f64 = (0..moment.count).map(|k| moment.weights[k] * states[moment.first + k][0]).sum();
            own.push(Sample { channel: 0, moment, value: [x + NOISE * random.normal(), 0.0, 0.0, 0.0] });
        }
        let start = if freed { vec![state[0] + 0.1, state[1] - 0.2] } else { state };
        let free = [Freed::Entry { entry: 0, scale: 0.1 }, Freed::Entry { entry: 1, scale: 0.5 }];
        let freed = if freed { free.to_vec() } else { Vec::new() };
        parts.push(Part { state: start, controls, steps: STEPS, residuals: 60, freed, cluster: recording });
        samples.push((STEPS, own));
    }
    let recorded = Recorded::new(StateOutputs { len: 2 }, vec![Channel::Output(0)], vec![NOISE], samples);
    let names = ["mass", "stiffness", "damping", "color"];
    let variable = |i: &usize| {
        let x = TRUTH[*i];
        Variable::new(names[*i], "1", (0.1 * x, 10.0 * x), 1.4 * x)
    };
    let map = LinearMap::direct(
        unknown.iter().map(variable).collect(),
        unknown.iter().map(|i| InputEntry::Params(*i)),
    );
    let transforms = vec![Transform::Log; unknown.len()];
    RolloutResiduals::new(system, recorded, (map, transforms), TRUTH.to_vec(), parts).unwrap()
}

fn fitted(problem: &dyn LeastSquares, method: &str, options: &Value, starts: usize) -> Fitted {
    let method = build_fit_method(method, options).unwrap();
    let settings = FitSettings { method: &method, starts, seed: 5, budget: 3000, from: None, log: None };
    fit(problem, &settings, &|_, _, _| ()).unwrap()
}

#[test]
fn jacobians_by_columns_by_rows_and_by_differences_agree() {
    let x = [0.3, 3.1, -0.2, 0.4, -0.7];
    let forward = problem::<Dual<f64>>(&[0, 1, 2], 1, 2, true, true);
    for part in 0..2 {
        let map = PartMap { problem: &forward, part };
        gradcheck(&map, &x, &gradcheck::Options::default()).assert_passed();
    }
    let reverse = problem::<Dual<f64>>(&[0, 1, 2], 1, 2, true, true).with_sweep(Sweep::Reverse);
    let lanes = problem::<Dual<f64x8>>(&[0, 1, 2], 1, 2, true, true).with_sweep(Sweep::Forward);
    assert_eq!((forward.sweep(0), reverse.sweep(0)), (Sweep::Forward, Sweep::Reverse));
    let expected = forward.linearize(1, &x).unwrap();
    for other in [reverse.linearize(1, &x).unwrap(), lanes.linearize(1, &x).unwrap()] {
        for i in 0..expected.nrows() {
            for j in 0..expected.ncols() {
                let (a, b) = (expected[(i, j)], other[(i, j)]);
                assert!((a - b).abs() <= 1e-10 * (1.0 + a.abs()), "row {i}, column {j}: {a} against {b}");
            }
        }
    }
}

#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    let (mut inside, mut all) = (0, 0);
    for seed in 0..100 {
        let problem = problem::<Dual<f64>>(&[1, 2], 100 + seed, 1, false, true);
        let found = fitted(&problem, "gauss-newton", &Value::Null, 1);
        assert!((found.laplace.variance - 1.0).abs() < 0.8, "{}", found.laplace.variance);
        for (estimate, truth) in found.laplace.estimates.iter().zip([TRUTH[1], TRUTH[2]]) {
            let (low, high) = estimate.error.unwrap().interval;
            inside += usize::from((low..=high).contains(&truth));
            all += 1;
        }
    }
    assert!((0.90..=0.99).contains(&(inside as f64 / all as f64)), "{inside} of {all}");
}

#[test]
fn groups_tell_the_same_errors_where_noise_is_independent() {
    let problem = problem::<Dual<f64>>(&[1, 2], 3, 30, false, true);
    let found = fitted(&problem, "gauss-newton", &Value::Null, 1).laplace;
    assert_eq!((found.groups, found.freedom), (30, 30 * 60 - 2 - 60));
    for estimate in &found.estimates {
        let (by_size, by_groups) = (estimate.error.unwrap().error, estimate.by_groups.unwrap().error);
        assert!((0.6..1.7).contains(&(by_groups / by_size)), "{estimate:?}");
    }
}

#[test]
fn what_the_data_do_not_tell_is_said() {
    let words = |unknown: &[usize], driven| {
        let problem = problem::<Dual<f64>>(unknown, 2, 1, driven, false);
        let found = fitted(&problem, "gauss-newton", &Value::Null, 1).laplace;
        let told = found.estimates.iter().map(|e| e.error.is_some()).collect::<Vec<_>>();
        (found.untold.iter().map(|u| u.words.clone()).collect::<Vec<_>>(), told)
    };
    // Free motion depends on ratios alone.
    let (said, told) = words(&[0, 1, 2], false);
    assert_eq!(told, [false; 3]);
    assert_eq!(said.len(), 1);
    assert!(
        said[0].starts_with("only the ratios among `mass`, `stiffness` and `damping` are determined"),
        "{said:?}"
    );
    // A known push tells all.
    assert_eq!(words(&[0, 1, 2], true), (vec![], vec![true; 3]));
    // A quantity that nothing depends on is named, and spoils no other.
    let (said, told) = words(&[1, 3], false);
    assert_eq!(told, [true, false]);
    assert_eq!(said, ["`color` has no influence on the data: nothing can be said of it"]);
}

/// Residuals that depend on a/b alone, or on a·b alone.
struct Pair {
    unknowns: Vec<Unknown>,
    sign: f64,
}

impl LeastSquares for Pair {
    fn unknowns(&self) -> &[Unknown] {
        &self.unknowns
    }
    fn parts(&self) -> usize {
        1
    }
    fn residual_count(&self, _part: usize) -> usize {
        8
    }
    fn residuals(&self, _part: usize, x: &[f64], out: &mut [f64]) -> Result<(), StepError> {
        for (i, r) in out.iter_mut().enumerate() {
            let noise = if i % 2 == 0 { 0.01 } else { -0.01 };
            *r = (x[0] + self.sign * x[1]).exp() * (1.0 + 0.2 * i as f64) - 1.0 - 0.2 * i as f64 + noise;
        }
        Ok(())
    }
    fn jvp(&self, _part: usize, x: &[f64], x_dot: &[f64], out: &mut [f64]) -> Result<(), StepError> {
        let by = (x_dot[0] + self.sign * x_dot[1]) * (x[0] + self.sign * x[1]).exp();
        out.iter_mut().enumerate().for_each(|(i, r)| *r = by * (1.0 + 0.2 * i as f64));
        Ok(())
    }
    fn vjp(&self, _part: usize, x: &[f64], bar: &[f64], x_bar: &mut [f64]) -> Result<(), StepError> {
        let sum: f64 = bar.iter().enumerate().map(|(i, b)| b * (1.0 + 0.2 * i as f64)).sum();
        let by = sum * (x[0] + self.sign * x[1]).exp();
        (x_bar[0], x_bar[1]) = (x_bar[0] + by, x_bar[1] + self.sign * by);
        Ok(())
    }
}

#[test]
fn ratios_and_products_have_their_own_words() {
    for (sign, words) in [
        (-1.0, "only the ratio `mass` / `stiffness` is determined"),
        (1.0, "only the product `mass` · `stiffness`"),
    ] {
        let unknown = |name: &str| Unknown {
            quantity: Variable::new(name, "1", (0.01, 100.0), 2.0),
            transform: Transform::Log,
        };
        let pair = Pair { unknowns: vec![unknown("mass"), unknown("stiffness")], sign };
        let map = PartMap { problem: &pair, part: 0 };
        gradcheck(&map, &[0.3, -0.2], &gradcheck::Options::default()).assert_passed();
        let found = fitted(&pair, "gauss-newton", &Value::Null, 1).laplace;
        assert!(found.untold[0].words.starts_with(words), "{:?}", found.untold);
        assert!(found.estimates.iter().all(|e| e.error.is_none()));
    }
}

#[test]
fn every_method_finds_the_minimum() {
    let problem = problem::<Dual<f64>>(&[1, 2], 7, 2, false, false);
    let values = |method: &str, options: &Value| -> Vec<f64> {
        fitted(&problem, method, options, 1).laplace.estimates.iter().map(|e| e.value).collect()
    };
    let exact = values("gauss-newton", &Value::Null);
    for (method, options) in [("adam", json!({"rate": 0.02})), ("sgd", Value::Null), ("l-bfgs", Value::Null)]
    {
        for (a, b) in values(method, &options).iter().zip(&exact) {
            assert!((a / b - 1.0).abs() < 1e-4, "{method}: {a} against {b}");
        }
    }
}

#[test]
fn quantities_stop_at_their_bounds_and_say_so() {
    let problem = problem::<Dual<f64>>(&[1, 2], 7, 1, false, false);
    struct Bounded<'a>(&'a dyn LeastSquares, Vec<Unknown>);
    impl LeastSquares for Bounded<'_> {
        fn unknowns(&self) -> &[Unknown] {
            &self.1
        }
        fn parts(&self) -> usize {
            self.0.parts()
        }
        fn residual_count(&self, part: usize) -> usize {
            self.0.residual_count(part)
        }
        fn residuals(&self, part: usize, x: &[f64], out: &mut [f64]) -> Result<(), StepError> {
            self.0.residuals(part, x, out)
        }
        fn jvp(&self, part: usize, x: &[f64], x_dot: &[f64], out: &mut [f64]) -> Result<(), StepError> {
            self.0.jvp(part, x, x_dot, out)
        }
        fn vjp(&self, part: usize, x: &[f64], bar: &[f64], x_bar: &mut [f64]) -> Result<(), StepError> {
            self.0.vjp(part, x, bar, x_bar)
        }
    }
    let mut unknowns = problem.unknowns().to_vec();
    unknowns[1].quantity.bounds = (0.8, 3.0);
    let found = fitted(&Bounded(&problem, unknowns), "gauss-newton", &Value::Null, 1).laplace;
    let damping = &found.estimates[1];
    assert!(
        damping.at_bound && damping.error.is_none() && (damping.value - 0.8).abs() < 1e-12,
        "{damping:?}"
    );
    assert!(found.estimates[0].error.is_some());
}

#[test]
fn starts_do_not_depend_on_threads_and_a_cut_run_ends_as_if_uncut() {
    let problem = problem::<Dual<f64>>(&[1, 2], 9, 2, false, true);
    let folder = std::env::temp_dir().join(format!("pullback-fit-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (name, file) in [("gauss-newton", "fit.jsonl"), ("l-bfgs", "fit-1.jsonl")] {
        let method = build_fit_method(name, &Value::Null).unwrap();
        let run = |threads: usize, log: bool| {
            let log = log.then(|| FitLog::new(&folder, "fit", crate::RunName::new("oscillator", "", 0)));
            let settings = FitSettings { method: &method, starts: 4, seed: 1, budget: 40, from: None, log };
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| fit(&problem, &settings, &|_, _, _| ())).unwrap()
        };
        let whole = run(1, false);
        assert_eq!((whole.starts.len(), whole.resumed), (4, 0));
        let logged = run(3, true);
        assert_eq!((&logged.at, logged.best), (&whole.at, whole.best), "{name}");
        let path = folder.join(file);
        let bytes = std::fs::read(&path).unwrap();
        for part in [0, 1, 3] {
            std::fs::write(&path, &bytes[..bytes.len() * part / 4]).unwrap();
            let again = run(2, true);
            assert_eq!((&again.at, again.best), (&whole.at, whole.best), "{name}");
            assert!(part == 0 && name == "gauss-newton" || again.resumed > 0);
        }
        // Other data must not continue this log.
        let log = Some(FitLog::new(&folder, "fit", crate::RunName::new("pendulum", "", 0)));
        let settings = FitSettings { method: &method, starts: 4, seed: 1, budget: 40, from: None, log };
        assert!(fit(&problem, &settings, &|_, _, _| ()).is_err());
        (0..4).for_each(|k| drop(std::fs::remove_file(folder.join(format!("fit-{k}.jsonl")))));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn searches_count_simulations_that_fail() {
    /// Fails everywhere but at the start.
    struct Fragile<'a>(&'a dyn LeastSquares, Vec<f64>);
    impl LeastSquares for Fragile<'_> {
        fn unknowns(&self) -> &[Unknown] {
            self.0.unknowns()
        }
        fn parts(&self) -> usize {
            self.0.parts()
        }
        fn locals(&self, part: usize) -> usize {
            self.0.locals(part)
        }
        fn residual_count(&self, part: usize) -> usize {
            self.0.residual_count(part)
        }
        fn residuals(&self, part: usize, x: &[f64], out: &mut [f64]) -> Result<(), StepError> {
            if x.iter().zip(&self.1).any(|(x, start)| (x - start).abs() > 1e-9) {
                return Err(StepError::NotFinite { entry: "x".into(), value: f64::NAN, step: 7 });
            }
            self.0.residuals(part, x, out)
        }
        fn jvp(&self, part: usize, x: &[f64], x_dot: &[f64], out: &mut [f64]) -> Result<(), StepError> {
            self.0.jvp(part, x, x_dot, out)
        }
        fn vjp(&self, part: usize, x: &[f64], bar: &[f64], x_bar: &mut [f64]) -> Result<(), StepError> {
            self.0.vjp(part, x, bar, x_bar)
        }
    }
    let problem = problem::<Dual<f64>>(&[1, 2], 3, 2, false, true);
    let start: Vec<f64> = problem.unknowns().iter().map(Unknown::start).collect();
    let found = fitted(&Fragile(&problem, start), "adam", &json!({"steps": 20}), 1);
    let words = found.failures.words(found.searched).unwrap();
    assert!(
        words.contains("of 20 simulations failed; the first, number 2: x became NaN in step 7"),
        "{words}"
    );
}

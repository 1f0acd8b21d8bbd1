//! Soft scenes do what their names say: nothing explodes, nothing sinks, and gradients of what drives them
//! are right.

use pullback_core::drive::{Drive, Knots, SineNetwork};
use pullback_core::gradcheck::{Differentiable, Options, gradcheck};
use pullback_core::rollout::Inputs;
use pullback_math::{Dual, Real};
use pullback_tasks::Checking;
use pullback_tasks::Scene;
use pullback_tasks::scenes::{self, SceneOptions};

fn scene(name: &str) -> Box<dyn Scene> {
    scenes::build(name, SceneOptions::default()).unwrap()
}

/// Particle positions of a scene's only part over `seconds`, one row per step.
fn positions(name: &str, part: &str, seconds: f64) -> Vec<Vec<[f64; 3]>> {
    let scene = scene(name);
    let steps = (seconds / scene.dt()).round() as usize;
    let layout = scene.layout();
    let range = layout.state.slice(&format!("{part}.position")).unwrap().range.clone();
    let inputs = Inputs {
        state: layout.state.defaults(),
        controls: layout.control.defaults().repeat(steps),
        params: layout.params.defaults(),
    };
    let mut rows = Vec::new();
    let mut keep = |state: &[f64]| rows.push(state[range.clone()].as_chunks().0.to_vec());
    scene.simulate(&inputs, steps, &mut |at| keep(at.state)).unwrap();
    rows
}

fn mean(row: &[[f64; 3]], axis: usize) -> f64 {
    row.iter().map(|x| x[axis]).sum::<f64>() / row.len() as f64
}
fn lowest(row: &[[f64; 3]]) -> f64 {
    row.iter().map(|x| x[2]).fold(f64::INFINITY, f64::min)
}

#[test]
fn a_beam_held_at_both_ends_sags_and_stays() {
    let rows = positions("hanging-beam", "beam", 1.5);
    let end = &rows[rows.len() - 1];
    let sag = 1.0 - mean(end, 2);
    assert!((0.05..0.6).contains(&sag), "{sag}");
    assert!(lowest(end) > 0.0);
}

#[test]
fn a_ball_bounces_and_does_not_sink() {
    let rows = positions("elastic-ball", "ball", 1.2);
    assert!(rows.iter().all(|row| lowest(row) > -0.05));
    // Down to the ground and up into the air again.
    let ground = rows.iter().position(|row| lowest(row) < 0.06).unwrap();
    assert!(rows[ground..].iter().any(|row| lowest(row) > 0.2));
    assert!(mean(&rows[rows.len() - 1], 0) > -1.0);
}

#[test]
fn a_walker_stays_in_its_plane_and_above_the_ground() {
    let rows = positions("walker", "walker", 1.0);
    for row in &rows {
        assert!(lowest(row) > -0.05 && row.iter().all(|x| x[1] == 0.0));
    }
}

#[test]
fn a_pancake_lands_in_the_pan_upside_down() {
    let rows = positions("pancake", "pancake", 1.8);
    let end = &rows[rows.len() - 1];
    // Height of the normal at the center, from two spokes a quarter turn apart.
    let normal = |row: &[[f64; 3]]| {
        let spoke = |i: usize| [row[i][0] - row[0][0], row[i][1] - row[0][1]];
        let (a, b) = (spoke(37), spoke(40));
        a[0] * b[1] - a[1] * b[0]
    };
    assert!(normal(&rows[0]) > 0.0 && normal(end) < 0.0);
    assert!((0.3..0.6).contains(&mean(end, 2)) && rows.iter().any(|row| mean(row, 2) > 0.8));
}

#[test]
fn an_arm_lifts_a_cloth_off_its_table() {
    let rows = positions("robot-cloth", "cloth", 1.2);
    let (first, last) = (&rows[0], &rows[rows.len() - 1]);
    assert!(lowest(last) > lowest(first) && mean(last, 2) > mean(first, 2) + 0.05);
}

#[test]
fn small_versions_and_directions_pass_the_validator() {
    for name in ["cloth-64", "walker"] {
        let reports = scene(name).gradcheck(Checking { seed: 3, tolerance: 1e-9, steps: None }).unwrap();
        assert_eq!(reports.len(), 4);
        reports.iter().for_each(|(_, report)| report.assert_passed());
    }
}

/// A drive as a map of its parameters and the time.
struct DriveMap<D>(D);

impl<D: Drive> DriveMap<D> {
    fn run<T: Real>(&self, x: &[T]) -> Vec<T> {
        let (time, params) = x.split_last().unwrap();
        let mut out = vec![T::zero(); self.0.outputs()];
        self.0.eval(params, *time, &mut out);
        out
    }
}

impl<D: Drive> Differentiable for DriveMap<D> {
    fn input_names(&self) -> Vec<String> {
        let params = self.0.slice();
        (0..params.len()).map(|i| params.entry_name(i)).chain(["time".into()]).collect()
    }
    fn outputs(&self) -> usize {
        self.0.outputs()
    }
    fn eval(&self, x: &[f64], y: &mut [f64]) -> Result<(), String> {
        y.copy_from_slice(&self.run(x));
        Ok(())
    }
    fn jvp(&self, x: &[f64], x_dot: &[f64], y: &mut [f64], y_dot: &mut [f64]) -> Result<(), String> {
        let x: Vec<Dual<f64>> = x.iter().zip(x_dot).map(|(x, d)| Dual::new(*x, *d)).collect();
        for (i, out) in self.run(&x).iter().enumerate() {
            (y[i], y_dot[i]) = (out.value, out.tangent);
        }
        Ok(())
    }
    fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) -> Result<(), String> {
        let (time, params) = x.split_last().unwrap();
        let (time_bar, params_bar) = x_bar.split_last_mut().unwrap();
        *time_bar += self.0.eval_vjp(params, *time, y_bar, params_bar);
        Ok(())
    }
}

#[test]
fn drives_have_right_gradients_and_follow_their_plans() {
    let lags = [0.3, 1.0, -2.0];
    let network = SineNetwork::wave(0.3, 2.5, 8, &lags);
    let weights = network.slice().default;
    let mut out = [0.0; 3];
    network.eval(&weights, 0.7, &mut out);
    for (u, lag) in out.iter().zip(lags) {
        assert!((u - 0.3 * (2.5 * 0.7 + lag).sin().tanh()).abs() < 1e-14);
    }
    let x: Vec<f64> = weights.into_iter().chain([0.7]).collect();
    gradcheck(&DriveMap(network), &x, &Options::default()).assert_passed();

    let knots = Knots::new([0.0, 1.0], 0.5, &[[1.0, 2.0], [3.0, -1.0]]);
    let values = knots.slice().default;
    let at = |time: f64| {
        let mut out = [0.0; 2];
        knots.eval(&values, time, &mut out);
        out
    };
    assert_eq!((at(0.25), at(0.75), at(9.0)), ([0.5, 1.5], [2.0, 0.5], [3.0, -1.0]));
    for time in [0.2, 0.8, 2.0] {
        let x: Vec<f64> = values.iter().copied().chain([time]).collect();
        gradcheck(&DriveMap(knots.clone()), &x, &Options::default()).assert_passed();
    }
}

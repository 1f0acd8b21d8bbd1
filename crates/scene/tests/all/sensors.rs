//! Sensors against MuJoCo, by golden files of `reference/sensors.py`, and their pullbacks.

use std::cell::RefCell;
use std::path::Path;

use pullback_articulated::sensor::{Sensing, SensingWorkspace, SensorLoss};
use pullback_articulated::{Articulated, ContactModel, ImplicitTerms, Model};
use pullback_core::gradcheck::{Differentiable, Options, gradcheck};
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::random::Random;
use pullback_core::step_check::check_rollout;
use pullback_core::{Bars, Described, Inputs, Point, Rollout, Schedule};
use pullback_math::Dual;
use pullback_scene::mjcf::{ImportOptions, parse_mjcf, read_mjcf};
use serde_json::Value;

const NAMES: [&str; 5] = ["walker", "frames", "held", "rays", "pulled"];

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn golden(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/sensor/{name}.json"));
    let golden: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    golden["states"].as_array().unwrap().clone()
}

fn model(name: &str) -> Model {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/models/sensor/{name}.xml"));
    let mut model = read_mjcf(&path, &ImportOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    model.options.solver.tolerance = 1e-13;
    model
}

/// A robot whose steps are implicit, which its sensors must not see, with every parameter.
fn sensing(name: &str) -> (Sensing, Vec<f64>, Vec<String>) {
    let robot = Articulated::new(model(name)).unwrap().with_implicit(ImplicitTerms::Fast, 2e-3);
    let robot = robot.with_kinematic_params().unwrap();
    let layout = robot.layout();
    let names =
        [&layout.state, &layout.control, &layout.params].map(|section| section.entry_names()).concat();
    let sensing = robot.sensing().unwrap();
    assert!(sensing.unsupported().is_empty(), "{:?}", sensing.unsupported());
    (sensing, robot.layout().params.defaults(), names)
}

fn state_and_control(g: &Value) -> (Vec<f64>, Vec<f64>) {
    let state = [numbers(&g["qpos"]), numbers(&g["qvel"]), numbers(&g["act"])].concat();
    (state, [numbers(&g["ctrl"]), numbers(&g["mocap"])].concat())
}

#[test]
fn readings_are_mujocos() {
    let mut failures = Vec::new();
    for name in NAMES {
        let (sensing, params, _) = sensing(name);
        let mut ws = sensing.workspace::<f64>();
        for (i, g) in golden(name).iter().enumerate() {
            let (state, control) = state_and_control(g);
            let mut out = vec![0.0; sensing.len()];
            let at = Point { params: &params, state: &state, control: &control };
            sensing.sensors(&mut ws, at, 0.0, &mut out);
            let theirs = numbers(&g["sensordata"]);
            assert_eq!(out.len(), theirs.len());
            for reading in sensing.readings() {
                let (ours, theirs) = (&out[reading.range.clone()], &theirs[reading.range.clone()]);
                let scale = theirs.iter().fold(1.0f64, |m, x| m.max(x.abs()));
                let error = ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / scale;
                if error.is_nan() || error > 1e-9 {
                    failures.push(format!("{name} {i} {}: {ours:?} is not {theirs:?}", reading.name));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Readings as a map of state, control and parameters.
struct SensorMap {
    sensing: Sensing,
    names: Vec<String>,
    sizes: [usize; 2],
    plain: RefCell<SensingWorkspace<f64>>,
    duals: RefCell<SensingWorkspace<Dual<f64>>>,
}

impl SensorMap {
    fn new(name: &str, g: &Value) -> (Self, Vec<f64>) {
        let (sensing, params, names) = sensing(name);
        let (state, control) = state_and_control(g);
        let (plain, duals) = (RefCell::new(sensing.workspace()), RefCell::new(sensing.workspace()));
        let sizes = [state.len(), control.len()];
        (SensorMap { sensing, names, sizes, plain, duals }, [state, control, params].concat())
    }

    fn point<'x, T>(&self, x: &'x [T]) -> Point<'x, T> {
        let (state, rest) = x.split_at(self.sizes[0]);
        let (control, params) = rest.split_at(self.sizes[1]);
        Point { params, state, control }
    }
}

impl Differentiable for SensorMap {
    fn input_names(&self) -> Vec<String> {
        self.names.clone()
    }
    fn outputs(&self) -> usize {
        self.sensing.len()
    }
    fn eval(&self, x: &[f64], y: &mut [f64]) -> Result<(), String> {
        self.sensing.sensors(&mut self.plain.borrow_mut(), self.point(x), 0.0, y);
        Ok(())
    }
    fn jvp(&self, x: &[f64], x_dot: &[f64], y: &mut [f64], y_dot: &mut [f64]) -> Result<(), String> {
        let x: Vec<Dual<f64>> = x.iter().zip(x_dot).map(|(x, d)| Dual::new(*x, *d)).collect();
        let mut out = vec![Dual::default(); y.len()];
        self.sensing.sensors(&mut self.duals.borrow_mut(), self.point(&x), Dual::fixed(0.0), &mut out);
        // The solver stops at its round-off, which readings that nearly cancel see.
        let plain: Vec<f64> = x.iter().map(|x| x.value).collect();
        self.eval(&plain, y)?;
        for (i, out) in out.iter().enumerate() {
            if (out.value - y[i]).abs() > 1e-9 * (1.0 + y[i].abs()) {
                return Err(format!("entry {i}: dual numbers give {}, plain ones {}", out.value, y[i]));
            }
            y_dot[i] = out.tangent;
        }
        Ok(())
    }
    fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) -> Result<(), String> {
        let (state, rest) = x_bar.split_at_mut(self.sizes[0]);
        let (control, params) = rest.split_at_mut(self.sizes[1]);
        let bars = Bars { params, state, control };
        self.sensing.sensors_vjp(&mut self.plain.borrow_mut(), self.point(x), y_bar, bars);
        Ok(())
    }
}

#[test]
fn the_pullback_of_each_sensor_is_that_of_dual_numbers() {
    let (random, mut failures) = (&mut Random::new(4), Vec::new());
    for name in NAMES {
        for (number, g) in golden(name).iter().enumerate() {
            let (map, x) = SensorMap::new(name, g);
            let n = map.outputs();
            let x_dot: Vec<f64> = x.iter().map(|x| random.uniform(-1.0, 1.0) * (0.1 + x.abs())).collect();
            let (mut y, mut y_dot) = (vec![0.0; n], vec![0.0; n]);
            map.jvp(&x, &x_dot, &mut y, &mut y_dot).unwrap();
            for reading in map.sensing.readings() {
                let (mut y_bar, mut x_bar) = (vec![0.0; n], vec![0.0; x.len()]);
                y_bar[reading.range.clone()].iter_mut().for_each(|bar| *bar = random.uniform(-1.0, 1.0));
                map.vjp(&x, &y_bar, &mut x_bar).unwrap();
                let forward: f64 = y_bar.iter().zip(&y_dot).map(|(a, b)| a * b).sum();
                let terms: Vec<f64> = x_bar.iter().zip(&x_dot).map(|(a, b)| a * b).collect();
                let scale = terms.iter().fold(1e-3f64, |m, t| m.max(t.abs()));
                let error = (terms.iter().sum::<f64>() - forward).abs() / scale;
                if error.is_nan() || error > 1e-8 {
                    failures.push(format!("{name} {number} {}: off by {error:e}", reading.name));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn pullbacks_of_sensors_are_exact() {
    for (name, state) in [("walker", 1), ("frames", 0), ("held", 2), ("rays", 0), ("pulled", 1)] {
        let (map, x) = SensorMap::new(name, &golden(name)[state]);
        let options =
            Options { forward_tolerance: 1e-8, difference_tolerance: 1e-4, probes: 1, ..Options::default() };
        let report = gradcheck(&map, &x, &options);
        assert!(report.passed(), "{name}: {report}");
    }
}

#[test]
fn a_loss_over_a_sensor_has_a_gradient_through_a_rollout() {
    let robot = Articulated::new(model("walker")).unwrap();
    let layout = robot.layout().clone();
    let (params, control) = (layout.params.defaults(), layout.control.defaults());
    let sensing = robot.sensing().unwrap();
    let loss = SensorLoss::new(&sensing, "hip_force", &[1.0, 2.0, 3.0], &control).unwrap();
    let (state, controls) = state_and_control(&golden("walker")[0]);
    let system = Integrated::new(robot, 2e-3, Integrator::fixed(Method::SemiImplicitEuler)).unwrap();
    let rollout = Rollout::new(&system, 2, Schedule::StoreAll).unwrap();
    let inputs = Inputs { state, controls: controls.repeat(2), params };
    let options =
        Options { forward_tolerance: 1e-7, difference_tolerance: 1e-3, probes: 1, ..Options::default() };
    let report = check_rollout(&rollout, &inputs, &loss, &options);
    assert!(report.passed(), "{report}");
}

#[test]
fn sensors_that_are_not_supported_are_named_and_block_nothing() {
    let text =
        "<mujoco><worldbody><body name='b'><freejoint/><geom name='g' size='0.1'/><site name='s'/></body>
        </worldbody><sensor><user name='u' dim='3'/><gyro name='w' site='s'/><touch name='t' site='s'/>
<framepos name='missing' objtype='site' objname='nobody'/>
        <gyro name='late' site='s' delay='0.1' nsample='3'/></sensor></mujoco>";
    let mut model = parse_mjcf(text, None, &ImportOptions::default()).unwrap();
    let refused = |model: &Model| {
        let sensing = Articulated::new(model.clone()).unwrap().sensing().unwrap();
        assert!(sensing.range("u").unwrap_err().0.contains("`user`"));
        assert_eq!(sensing.range("w").unwrap(), 0..3);
        sensing.unsupported().iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(refused(&model), ["u", "missing", "late"]);
    model.options.contact_model = ContactModel::Penalty;
    assert_eq!(refused(&model), ["u", "t", "missing", "late"]);

    // MuJoCo takes the pull of spatial tendons away from the force between bodies.
    let text = "<mujoco><worldbody><site name='a' pos='0 0 1'/><body><joint/><geom size='0.1' pos='1 0 0'/>
        <site name='b' pos='1 0 0'/></body></worldbody><tendon><spatial><site site='a'/><site site='b'/></spatial>
        </tendon><sensor><force name='f' site='b'/></sensor></mujoco>";
    let model = parse_mjcf(text, None, &ImportOptions::default()).unwrap();
    let sensing = Articulated::new(model).unwrap().sensing().unwrap();
    assert!(sensing.range("f").unwrap_err().0.contains("spatial tendons"));
}

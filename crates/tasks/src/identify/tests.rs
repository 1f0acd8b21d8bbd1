//! What recordings of scenes tell of their parameters.

use pullback_core::gradcheck::{self, gradcheck};
use pullback_core::random::Random;
use pullback_optim::least_squares::{PartMap, build_fit_method};
use pullback_scene::mjcf::{ImportOptions, parse_mjcf};
use serde_json::Value;

use super::*;
use crate::files::robot_scene;
use crate::scene::Scene;
use crate::scenes::{self, SceneOptions};

fn found(scene: &dyn Scene, tables: &[Table], question: &Question) -> Identified {
    let setup = Setup::new(scene, "scene", tables, question).unwrap();
    let method = build_fit_method("gauss-newton", &Value::Null).unwrap();
    let settings = RunSettings { method: &method, starts: 1, seed: 0, budget: 0, log: None };
    identify(scene, &setup, &settings, &|_, _, _, _| ()).unwrap()
}

/// A cart with a pole on it, a motor, and sensors.
fn cart() -> Box<dyn Scene> {
    let text = "<mujoco model='cart'><option timestep='0.005'/>
        <worldbody><body name='cart'><joint name='slide' type='slide' axis='1 0 0' damping='0.5'/>
        <geom name='cart' type='box' size='.1 .1 .05' mass='1.5'/>
        <body name='pole'><joint name='hinge' axis='0 1 0' damping='0.02'/>
        <geom name='pole' type='capsule' fromto='0 0 0 0 0 -.6' size='.02' mass='.4'/>
        <site name='tip' pos='0 0 -.6'/></body></body></worldbody>
        <actuator><motor name='push' joint='slide' gear='2'/></actuator>
        <sensor><gyro name='gyro' site='tip'/><framequat name='quat' objtype='site' objname='tip'/>
        <accelerometer name='accel' site='tip'/></sensor></mujoco>";
    let model = parse_mjcf(text, None, &ImportOptions::default()).unwrap();
    robot_scene("cart".into(), model, SceneOptions::default()).unwrap()
}

/// A recording of the cart's sensors at irregular times, some of them missing; the truth has other parameters.
fn cart_table(scene: &dyn Scene, truth: &[(&str, f64)], noise: f64) -> Table {
    let outputs = SceneOutputs { state: scene.layout().state.len(), sensing: scene.sensing().cloned() };
    let mut params = scene.layout().params.defaults();
    for (name, x) in truth {
        params[scene.layout().params.index_of(name).unwrap()] = *x;
    }
    let steps = 300;
    let push = |k: usize| (0.04 * (k / 10 * 10) as f64).sin() * 3.0;
    let controls = (0..steps).map(push).collect();
    let inputs = pullback_core::Inputs { state: vec![0.0, 0.4, 0.0, 0.0], controls, params: params.clone() };
    let mut random = Random::new(4);
    let mut table = Table {
        name: "cart.csv".into(),
        header: [
            "slide.q", "hinge.q", "slide.v", "hinge.v", "quat[0]", "quat[1]", "quat[2]", "quat[3]",
            "accel[0]", "push",
        ]
        .map(String::from)
        .to_vec(),
        times: Vec::new(),
        rows: Vec::new(),
    };
    use pullback_optim::least_squares::Outputs;
    let mut ws = Outputs::<f64>::workspace(&outputs);
    let mut y = vec![0.0; Outputs::<f64>::output_count(&outputs)];
    scene
        .simulate(&inputs, steps, &mut |at| {
            if at.step % 10 != 0 || at.last() {
                return;
            }
            let point = pullback_core::Point { params: &params, state: at.state, control: at.control };
            outputs.outputs(&mut ws, point, &mut y);
            let mut seen = |x: f64| Some(x + noise * random.normal());
            // Gyroscope 0..3, orientation 3..7, acceleration 7..10.
            let mut row: Vec<Option<f64>> = if at.step == 0 {
                at.state.iter().map(|x| Some(*x)).collect()
            } else {
                vec![seen(y[0]), None, None, None]
            };
            row.extend((0..4).map(|i| Some(y[4 + 3 + i])));
            row.push(if at.step % 20 == 0 { seen(y[4 + 7]) } else { None });
            row.push(Some(at.control[0]));
            table.times.push(1.0 + at.step as f64 * 0.005);
            table.rows.push(row);
        })
        .unwrap();
    table
}

fn asked(fit: &[&str]) -> Question {
    let fit = fit.iter().map(|f| f.to_string()).collect();
    Question { asked: Asked { fit, ..Asked::default() }, ..Question::default() }
}

#[test]
fn a_robot_is_found_from_sensors_and_controls() {
    let scene = cart();
    let truth = [("cart.mass", 2.1), ("hinge.damping", 0.05), ("slide.damping", 0.3)];
    let table = cart_table(scene.as_ref(), &truth, 1e-3);
    let question = asked(&["cart.mass,*.damping"]);
    let found = found(scene.as_ref(), std::slice::from_ref(&table), &question);
    for (name, truth) in truth {
        let estimate = found.fitted.laplace.estimates.iter().find(|e| e.name == name).unwrap();
        let error = estimate.error.unwrap().error;
        assert!((estimate.value - truth).abs() < 5.0 * error && error < 0.1 * truth, "{estimate:?}");
    }
    // The noise is found too; that of the orientation is none.
    let channel = |name: &str| found.channels.iter().find(|c| c.name == name).unwrap();
    assert!((0.5e-3..2e-3).contains(&channel("slide.q").noise), "{:?}", channel("slide.q"));
    assert!(channel("quat").noise < 1e-3 && channel("accel[0]").samples == 15);

    // Jacobians through sensors, which see parameters directly, with a free start.
    let question = Question { free: vec!["hinge.*".into()], ..question };
    let setup = Setup::new(scene.as_ref(), "cart", &[table], &question).unwrap();
    let problem = scene.residuals(setup.motion(vec![1.0; setup.channels.len()])).unwrap();
    let x = [2.0f64.ln(), 0.4f64.ln(), 0.03f64.ln(), 0.1, -0.2];
    let options = gradcheck::Options { forward_tolerance: 1e-8, ..gradcheck::Options::default() };
    gradcheck(&PartMap { problem: problem.as_ref(), part: 0 }, &x, &options).assert_passed();
}

#[test]
fn floating_bodies_start_at_orientations_that_are_found() {
    let entry = IDENTIFICATIONS.find("ball").unwrap();
    let Made { scene, tables, mut question, .. } = entry.value.make("ball", 0.01, 3).unwrap();
    question.free = vec!["ball.orientation,ball.spin".into()];
    let setup = Setup::new(scene.as_ref(), "ball", &tables[..1], &question).unwrap();
    let problem = scene.residuals(setup.motion(vec![0.1; setup.channels.len()])).unwrap();
    let x = [-0.8, -3.3, -1.0, 0.3, -0.2, 0.1, 0.4, 0.2, -0.3];
    let map = PartMap { problem: problem.as_ref(), part: 0 };
    // Contact begins and ends between steps: differences see its kinks.
    let options = gradcheck::Options {
        forward_tolerance: 1e-8,
        difference_tolerance: 1e-3,
        ..gradcheck::Options::default()
    };
    gradcheck(&map, &x, &options).assert_passed();
}

#[test]
fn made_up_truths_are_found() {
    for (name, noise) in [("pendulum", 0.02), ("double-pendulum", 0.005), ("ball", 0.005)] {
        let entry = IDENTIFICATIONS.find(name).unwrap();
        let Made { scene, tables, question, truth } = entry.value.make(entry.name, noise, 7).unwrap();
        let found = found(scene.as_ref(), &tables, &question);
        for (estimate, (name, value)) in found.fitted.laplace.estimates.iter().zip(&truth.values) {
            let error = estimate
                .error
                .unwrap_or_else(|| panic!("{name} is not told: {:?}", found.fitted.laplace.untold))
                .error;
            assert!((estimate.value - value).abs() < 5.0 * error, "{name}: {estimate:?} for {value}");
            assert!((estimate.start - value).abs() > error, "{name}: nothing to find");
        }
        // Noise is all that is left: it does not follow itself, orientations included.
        for channel in &found.channels {
            assert!(channel.autocorrelation.abs() < 0.5, "{name}: {channel:?}");
        }
    }
}

#[test]
fn a_pendulum_is_found_from_pixels_alone() {
    for seed in [0, 7] {
        a_pendulum_is_found_from_pixels_of(seed);
    }
}

fn a_pendulum_is_found_from_pixels_of(seed: u64) {
    let entry = IDENTIFICATIONS.find("pendulum").unwrap();
    let film = entry.value.film(entry.name, seed, true).unwrap();
    let method = build_fit_method("gauss-newton", &Value::Null).unwrap();
    let settings = RunSettings { method: &method, starts: 1, seed: 0, budget: 0, log: None };
    let found = identify_from_video(&film, &settings, &|_, _, _, _| ()).unwrap();
    for (estimate, (name, value)) in found.fitted.laplace.estimates.iter().zip(&film.truth) {
        let error = estimate.error.unwrap().error;
        assert!((estimate.value - value).abs() < 5.0 * error, "{name}: {estimate:?} for {value}");
        assert!(error < 0.01 * value, "{name}: {estimate:?}");
    }
    // The pictures of what was found are those that were given, to the rounding of their pixels.
    let difference = |a: &Vec<pullback_video::Frame>, b: &Vec<pullback_video::Frame>| {
        let pairs = a.iter().zip(b).flat_map(|(a, b)| a.image.alpha.iter().zip(&b.image.alpha));
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    };
    assert!(difference(&found.found[0], &film.videos[0]) < 0.01);
    assert!(difference(&found.start[0], &film.videos[0]) > 0.5);
}

/// Frames need not end with the recording: those of the arm do not.
#[test]
fn every_made_up_task_has_videos_and_residuals() {
    for entry in IDENTIFICATIONS.entries() {
        let film = entry.value.film(entry.name, 0, true).unwrap();
        assert_eq!(film.videos.len(), film.inputs.len(), "{}", entry.name);
        let problem = film.residuals(2).unwrap();
        assert_eq!(problem.parts(), film.videos.len(), "{}", entry.name);
        let seen = film.videos.iter().all(|video| video[0].image.alpha.iter().any(|a| *a > 0.5));
        assert!(seen, "{}: nothing is in view", entry.name);
    }
}

#[test]
fn a_pendulum_without_torques_tells_ratios_alone() {
    let entry = IDENTIFICATIONS.find("double-pendulum-free").unwrap();
    let Made { scene, tables, question, .. } = entry.value.make(entry.name, 0.002, 1).unwrap();
    let found = found(scene.as_ref(), &tables, &question).fitted.laplace;
    assert_eq!(found.untold.len(), 1, "{:?}", found.untold);
    assert!(found.untold[0].exact && found.untold[0].words.starts_with("only the ratios among `upper.mass`"));
    assert!(found.estimates.iter().all(|e| e.error.is_none()));
}

#[test]
fn round_off_of_what_stands_still_hides_nothing() {
    let scene = scenes::build("double-pendulum", SceneOptions::default()).unwrap();
    let text = "time,angle[0],angle[1],rate[0],rate[1]\n0,0.5,0,0,0\n0.1,0.4,1e-18,,\n0.2,0.2,-2e-18,,\n";
    let table = Table::parse("a.csv", text).unwrap();
    let setup = Setup::new(scene.as_ref(), "double-pendulum", &[table], &asked(&["*.length"])).unwrap();
    let spreads: Vec<f64> = setup.channels.iter().map(|c| c.spread).collect();
    assert!(
        (spreads[0] - 0.1).abs() < 1e-12 && (spreads[1] / spreads[0] - 1e-6).abs() < 1e-12,
        "{spreads:?}"
    );
}

#[test]
fn recordings_that_make_no_sense_are_refused_by_file_and_line() {
    let scene = scenes::build("pendulum", SceneOptions::default()).unwrap();
    let says = |text: &str, question: &Question| {
        let tables = Table::parse("a.csv", text)?;
        Setup::new(scene.as_ref(), "pendulum", &[tables], question).map(drop)
    };
    let question = asked(&["length"]);
    for (text, message) in [
        ("", "a.csv:1: the file is empty"),
        ("t,angle\n0,1\n", "a.csv:1: no column is called `time`; there is t, angle"),
        ("time,angle,angle\n", "a.csv:1: two columns are called `angle`"),
        ("time,angle\n0,1\n0.1\n", "a.csv:3: 1 cells for 2 columns"),
        ("time,\"angle\n0,1\n0.1,2\n", "a.csv:1: a quoted cell has no end"),
        ("time,angle\n0,1\n0.1,one\n", "a.csv:3: `one` in column `angle` is not a finite number"),
        ("time,angle\n0,1\n\n# a remark\n0,2\n", "a.csv:5: time 0 does not come after 0"),
        ("time,angle\n0,1\n,2\n", "a.csv:3: the time is missing"),
        ("time,angle\n0,1\n", "a.csv:1: a recording needs at least two rows"),
        (
            "time,angel\n0,1\n1,1\n",
            "a.csv:1: no state, sensor or control is called `angel` (did you mean `angle`?)",
        ),
        ("time,angle\n0,\n1,1\n", "first row: `angle` is empty where the motion begins"),
        ("time,torque\n0,1\n1,1\n", "a.csv:1: no column is a state or a sensor"),
        ("time,angle\n0,1\n1e9,1\n", "is the time in seconds?"),
    ] {
        let error = says(text, &question).unwrap_err().to_string();
        assert!(error.contains(message) && !error.contains('\n'), "{text:?}: {error}");
    }
    let good = "time,angle\n0,1\n0.5,\n1,0.2\n";
    assert!(says(good, &question).is_ok());
    let misspelled = says(good, &asked(&["lenght"])).unwrap_err().to_string();
    assert!(misspelled.contains("did you mean `length`?"), "{misspelled}");
    let twice = says(good, &asked(&["length", "both=length,gravity"])).unwrap_err().to_string();
    assert_eq!(twice, "--fit: `length` is set by `length` and by `both`");
    let bounds = |bounds: (f64, f64)| {
        let mut question = asked(&["length"]);
        question.asked.bounds.push(("length".into(), bounds));
        says(good, &question).map_err(|e| e.to_string())
    };
    assert!(bounds((2.0, 3.0)).unwrap_err().contains("outside its bounds 2 and 3"));
    assert!(bounds((3.0, 2.0)).unwrap_err().contains("leave nothing between"));
    assert!(bounds((0.5, 3.0)).is_ok());
}

#[test]
fn names_with_commas_and_quotes_are_columns() {
    let names = ["time", "say \"a,b\".angle", "# speed"];
    let text = format!("{}\n0,1,2\n1,\"3\",\n", pullback_core::csv::line(names));
    let table = Table::parse("a.csv", &text).unwrap();
    assert_eq!(table.header, names[1..]);
    assert_eq!(table.rows, [[Some(1.0), Some(2.0)], [Some(3.0), None]]);
}

#[test]
fn data_that_differ_in_one_number_are_other_data() {
    let scene = scenes::build("pendulum", SceneOptions::default()).unwrap();
    let data = |text: &str| {
        let table = Table::parse("a.csv", text).unwrap();
        Setup::new(scene.as_ref(), "pendulum", &[table], &asked(&["length"])).unwrap().data()
    };
    let first = data("time,angle\n0,1\n1,0.2\n");
    assert_eq!(data("time,angle\n0,1\n1,0.2\n"), first);
    assert_ne!(data("time,angle\n0,1\n1,0.20000000000000004\n"), first);
}

//! Small versions of the experiments.

use super::billiard::{self, Billiard, Gradients, Table};
use super::cube::{Cube, Quantity, Simulator, Way, descend, fit, made_tosses, read_tosses, segments};
use super::toss::{SHAPES, Toss};
use super::{tsit5, tsit5_continuous};
use crate::contact_doctor::{Case, judge, settings};
use crate::part_log::PartLog;
use pullback_optim::RunName;
use pullback_scene::mjcf::{ImportOptions, parse_mjcf};

#[test]
fn gradients_of_tosses_are_those_of_the_motion() {
    for shape in SHAPES.iter().filter(|shape| shape.softness == 0.0) {
        let adjoint = Toss::new(shape, tsit5_continuous(1e-9, 1e-8), None).unwrap().throw(-2.3).unwrap();
        let difference = Toss::new(shape, tsit5(1e-11), None).unwrap().difference(-2.3, 1e-5).unwrap();
        let error = (adjoint.gradient - difference).abs() / difference.abs();
        assert!(error < 0.01, "{}: {} against {difference}", shape.name, adjoint.gradient);
    }
}

#[test]
fn balls_that_miss_have_gradients_from_distance_alone() {
    let gradient = |gradients| Billiard::new(Table::None, gradients, 1e-6).unwrap().push(3.0).unwrap();
    let (plain, distant) = (gradient(Gradients::Continuous), gradient(Gradients::DistantContinuous));
    assert_eq!(plain.0.to_bits(), distant.0.to_bits());
    assert_eq!(plain.1, 0.0);
    // Less push across brings the balls together.
    assert!(distant.1 > 1e-4, "{distant:?}");
}

#[test]
fn an_experiment_cut_off_half_way_ends_as_if_uncut() {
    let path = std::env::temp_dir().join(format!("pullback-billiard-{}.jsonl", std::process::id()));
    let name = RunName::new("billiard", "3 pushes", 0);
    let play = || {
        let log = PartLog::open(&path, &name).unwrap();
        let game = billiard::run(Table::None, 3, &log, || {}).unwrap();
        (game.losses, game.gradients, log.resumed())
    };
    let whole = play();
    assert_eq!(whole.2, 0);
    // The process died while it wrote.
    let log = std::fs::read(&path).unwrap();
    std::fs::write(&path, &log[..log.len() / 2]).unwrap();
    let resumed = play();
    assert!((1..9).contains(&resumed.2));
    assert_eq!((&resumed.0, &resumed.1), (&whole.0, &whole.1));
    assert_eq!(play().2, 9);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_cube_is_identified_from_its_tosses() {
    let tosses = made_tosses(6, 1).unwrap();
    let train = segments(&tosses[..4], 24, 0);
    assert!(train.len() > 12);
    let simulator = Simulator::new(Way::AdaptiveDistant, 1e-5).unwrap();
    let start = 0.08;
    let found = descend((&simulator, Way::AdaptiveDistant, ""), &train, start, 30, &PartLog::none()).unwrap();
    let side = *found.sides.last().unwrap();
    assert!((side / super::cube::SIDE - 1.0).abs() < 0.05, "{side}");
    // The gradient of the misfit against differences.
    let exact = Simulator::new(Way::Adaptive, 1e-8).unwrap();
    let mut cube = Cube::default();
    cube.values[0] = 0.1;
    let (_, gradient) = exact.loss_gradient(&train[..4], &cube).unwrap();
    let at = |by: f64| {
        let mut cube = cube;
        cube.values[3] += by;
        exact.loss_gradient(&train[..4], &cube).unwrap().0
    };
    let difference = (at(1e-4) - at(-1e-4)) / 2e-4;
    let error = (gradient.values[3] - difference).abs() / difference.abs().max(1e-9);
    assert!(error < 0.05, "{} against {difference}", gradient.values[3]);
    // Mass leaves no trace.
    let quantities = [Quantity::Side, Quantity::Mass, Quantity::Friction];
    let fitted = fit(&simulator, (&train, &train), cube, &quantities, 4).unwrap();
    assert!(fitted.estimates[1].error.is_none() && fitted.estimates[0].error.is_some());
    assert!(fitted.misfits[1] < fitted.misfits[0]);
}

#[test]
fn recordings_that_make_no_sense_are_refused() {
    let path = std::env::temp_dir().join(format!("pullback-tosses-{}.csv", std::process::id()));
    let header = "toss,t,px,py,pz,qw,qx,qy,qz,vx,vy,vz,wx,wy,wz\n";
    let row = "0,0,1,1,2,1,0,0,0,0,0,0,0,0,0\n";
    for (text, says) in [
        ("toss,px\n0,1\n".to_owned(), "no column `py`"),
        (header.to_owned() + "0,0,1,1,x,1,0,0,0,0,0,0,0,0,0\n", "`pz` is not a number"),
        (header.to_owned() + row, "5 samples"),
    ] {
        std::fs::write(&path, text).unwrap();
        let error = read_tosses(&path).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    std::fs::remove_file(&path).unwrap();
    assert!(read_tosses(&path).unwrap_err().to_string().contains("CSV file"));
}

#[test]
fn the_doctor_finds_what_makes_gradients_right() {
    let text = "<mujoco><option timestep='0.01' gravity='0 0 -2'><flag refsafe='disable'/></option>
        <default><geom solref='0.005 1' solimp='0 0.95 0.001 0.5 2'/></default>
        <worldbody><geom type='plane' size='0 0 1'/><body pos='0 0 0.2'><freejoint name='ball'/>
        <geom size='0.05'/></body></worldbody></mujoco>";
    let model = parse_mjcf(text, None, &ImportOptions::default()).unwrap();
    let targets = [("ball.position[1]".to_owned(), 0.3)];
    let varied = [("ball.velocity[1]".to_owned(), 0.2), ("ball.velocity[2]".to_owned(), 0.3)];
    let names: Vec<String> = {
        use pullback_core::Described;
        pullback_physics::articulated::Articulated::new(model.clone()).unwrap().layout().state.entry_names()
    };
    let known = |name: &String| names.contains(name);
    assert!(targets.iter().all(|t| known(&t.0)) && varied.iter().all(|v| known(&v.0)), "{names:?}");
    let case = Case::new(model, 0.6, &targets, &varied, 0.5).unwrap();
    let verdict = judge(&case, &settings(&case.model, 0.1), 4, 0, || {}).unwrap();
    assert!(verdict.judged[0].agreeing < 0.5, "steps of 0.01 s: {:?}", verdict.judged[0]);
    let best = &verdict.judged[verdict.recommended];
    assert!(best.agreeing == 1.0 && best.downhill == 1.0, "{best:?}");
}

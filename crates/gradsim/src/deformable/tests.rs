//! Gradients from pixels to what experiments search for, against dual numbers and differences.

use pullback_core::Described;
use pullback_core::directions::{Direction, gradcheck_along};
use pullback_core::gradcheck::Options;
use pullback_core::input_map::{InputEntry, LinearMap, Transform, Variable};
use pullback_core::random::Random;
use pullback_optim::least_squares::{LeastSquares, PartMap};
use pullback_tasks::soft::Size;
use pullback_video::Pixels;

use super::control::{GEAR, WALKER};
use super::filmed::center;
use super::imperfect::{Nature, Object};

/// Along a random direction from a random point near `x`.
fn check(problem: &dyn LeastSquares, x: &[f64]) {
    let mut random = Random::new(3);
    let mut around = |x: f64| x + random.uniform(-0.1, 0.1);
    let x: Vec<f64> = x.iter().map(|x| around(*x)).collect();
    let directions =
        [Direction { name: "along".to_owned(), entries: x.iter().map(|_| around(0.0)).collect() }];
    let options =
        Options { forward_tolerance: 1e-8, difference_tolerance: 1e-3, probes: 1, ..Options::default() };
    gradcheck_along(&PartMap { problem, part: 0 }, &x, &directions, &options).assert_passed();
}

#[test]
fn pictures_pull_back_to_weights_of_networks() {
    for task in [WALKER.cut((0.1, 8), 12), GEAR.cut((0.1, 8), 12)] {
        let scene = task.scene(0.5, Size::Small).unwrap();
        let problem = scene.by_picture().unwrap();
        check(&problem, &vec![0.0; problem.unknowns().len()]);
    }
}

#[test]
fn centers_pull_back_to_weights_of_networks() {
    let task = WALKER.cut((0.1, 8), 12);
    let scene = task.scene(0.5, Size::Small).unwrap();
    let problem = scene.by_center().unwrap();
    check(&problem, &vec![0.0; problem.unknowns().len()]);
}

#[test]
fn videos_of_rigid_bodies_pull_back_to_poses() {
    let object = Object::draw(Nature::Rigid, 1);
    let subject = object.rigid().unwrap();
    let entries = subject.filmed.rollout.system.layout().state.len();
    let start = &subject.base.state;
    let variable = |i: usize| Variable::new(format!("state {i}"), "1", (-9.0, 9.0), start[i]);
    let map = LinearMap::direct((0..entries).map(variable).collect(), (0..entries).map(InputEntry::State));
    let video = subject.filmed.film(&subject.base).unwrap();
    let map = (map, vec![Transform::Identity; entries]);
    let base = subject.base.clone();
    let problem = subject.filmed.video_problem(map, base, video, Pixels::default()).unwrap();
    check(&problem, start);
}

#[test]
fn the_center_is_the_mean_of_all_particles() {
    let object = Object::draw(Nature::Cloth, 0);
    let subject = object.soft().unwrap();
    let tracks = subject.filmed.track(&subject.base, center(subject.filmed.rollout.system.field())).unwrap();
    let (mut ws, mut last) = (subject.filmed.rollout.workspace::<f64>(), Vec::new());
    subject.filmed.rollout.simulate(&mut ws, &subject.base, |at| last = at.state.to_vec()).unwrap();
    let particles = subject.filmed.rollout.system.field().particle_positions(&last);
    let mean = particles.iter().map(|x| x[2]).sum::<f64>() / particles.len() as f64;
    assert!((mean - tracks.last()[2]).abs() < 1e-12);
}

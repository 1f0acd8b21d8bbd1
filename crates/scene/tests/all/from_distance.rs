//! Contacts from distance: motion untouched to the last bit, gradients before shapes touch.

use pullback_articulated::contact::ContactsFromDistance;
use pullback_articulated::{Articulated, ContactModel, ImplicitTerms};
use pullback_core::gradcheck::Options;
use pullback_core::integrator::{Integrated, Integrator, Method, PidController};
use pullback_core::rollout::{FinalState, Inputs};
use pullback_core::step_check::check_rollout;
use pullback_core::{Described, Rollout, Schedule};
use pullback_scene::mjcf::{ImportOptions, parse_mjcf};

/// A ball flies past another one and a box without touching them.
fn scene(cone: &str, geom: &str) -> String {
    format!(
        "<mujoco><option cone=\"{cone}\" timestep=\"0.005\" gravity=\"0 0 -2\"/>
         <default><geom mass=\"20\" friction=\"0.5 0.01 0.005\" {geom}/></default>
         <worldbody><geom name=\"floor\" type=\"plane\" size=\"0 0 1\"/>
         <body pos=\"-0.2 0.02 0.1\"><freejoint/><geom name=\"white\" size=\"0.05\"/></body>
         <body pos=\"0 -0.1 0.09\"><freejoint/><geom name=\"black\" size=\"0.05\"/></body>
         <body pos=\"0.1 0.15 0.12\" euler=\"20 30 0\">
         <joint axis=\"0.3 0.2 1\" pos=\"0.1 -0.05 0.05\"/>
         <geom name=\"box\" type=\"box\" size=\"0.05 0.03 0.04\"/></body></worldbody></mujoco>"
    )
}

fn robot(text: &str, model: ContactModel) -> Articulated {
    let mut described = parse_mjcf(text, None, &ImportOptions::default()).unwrap();
    described.options.contact_model = model;
    Articulated::new(described.compile().unwrap()).unwrap().with_implicit(ImplicitTerms::Damping, 0.005)
}

fn inputs(robot: &Articulated, steps: usize) -> Inputs<f64> {
    let mut state = robot.layout().state.defaults();
    // White rolls along x past black.
    let v = robot.coordinates().nq;
    (state[v], state[v + 1]) = (1.2, 0.15);
    let controls = vec![0.0; steps * robot.layout().control.len()];
    Inputs { state, controls, params: robot.layout().params.defaults() }
}

fn euler(robot: Articulated) -> Integrated<Articulated> {
    Integrated::new(robot, 0.005, Integrator::fixed(Method::SemiImplicitEuler)).unwrap()
}

/// Where black and the box end.
fn loss(robot: &Articulated) -> FinalState {
    let (n, mut weights) = (robot.layout().state.len(), Vec::new());
    weights.resize(n, 0.0);
    weights[7..10].copy_from_slice(&[1.0, 2.0, -0.5]);
    weights[14] = 0.7;
    FinalState { weights }
}

fn wide() -> ContactsFromDistance {
    ContactsFromDistance { solimp: [0.0, 0.5, 0.3, 0.6, 3.0], ..ContactsFromDistance::new(0.3) }
}

#[test]
fn motion_is_untouched_to_the_last_bit() {
    for model in [ContactModel::Convex, ContactModel::Penalty] {
        let plain = robot(&scene("elliptic", ""), model);
        let distant = plain.clone().with_contacts_from_distance(wide()).unwrap();
        let end = |robot: Articulated| {
            let inputs = inputs(&robot, 60);
            let system = euler(robot);
            let rollout = Rollout::new(&system, 60, Schedule::StoreAll).unwrap();
            let mut ws = rollout.workspace::<f64>();
            let loss = loss(system.field());
            rollout.gradient(&mut ws, &inputs, &loss).unwrap();
            let mut end = Vec::new();
            rollout.simulate(&mut ws, &inputs, |at| end = at.state.to_vec()).unwrap();
            end.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
        };
        assert_eq!(end(plain), end(distant));
    }
}

#[test]
fn gradients_are_those_of_the_motion_with_distant_contacts() {
    let surrogate =
        Options { forward_tolerance: 1e-8, difference_tolerance: f64::INFINITY, ..Options::default() };
    for (cone, model) in [
        ("elliptic", ContactModel::Convex),
        ("pyramidal", ContactModel::Convex),
        ("elliptic", ContactModel::Penalty),
    ] {
        for geom in ["", "condim=\"6\" margin=\"0.01\" solref=\"-500 -20\""] {
            let plain = robot(&scene(cone, geom), model);
            let distant = plain.clone().with_contacts_from_distance(wide()).unwrap();
            let (inputs, loss) = (inputs(&plain, 12), loss(&plain));
            let system = euler(distant);
            let rollout = Rollout::new(&system, 12, Schedule::StoreAll).unwrap();
            let report = check_rollout(&rollout, &inputs, &loss, &surrogate);
            assert!(report.passed(), "{cone} {model:?} {geom}\n{report}");
        }
    }
}

#[test]
fn distant_contacts_point_where_touch_would() {
    // Black does not see the white ball until it acts from distance.
    let gradient = |robot: Articulated| {
        let (inputs, loss) = (inputs(&robot, 40), loss(&robot));
        let white = robot.coordinates().nq;
        let system = euler(robot);
        let rollout = Rollout::new(&system, 40, Schedule::StoreAll).unwrap();
        let mut ws = rollout.workspace::<f64>();
        rollout.gradient(&mut ws, &inputs, &loss).unwrap();
        ws.gradient.state[white..white + 2].to_vec()
    };
    let plain = robot(&scene("elliptic", ""), ContactModel::Convex);
    assert!(gradient(plain.clone()).iter().all(|g| *g == 0.0));
    let all = gradient(plain.clone().with_contacts_from_distance(wide()).unwrap());
    assert!(all.iter().all(|g| g.abs() > 1e-3), "{all:?}");
    let geom = |name: &str| plain.model().geoms.iter().position(|g| g.name == name).unwrap();
    // A pair that never meets does not change a thing; the one that does is enough.
    let only = |a: &str, b: &str| {
        let pairs = Some(vec![(geom(a), geom(b))]);
        gradient(plain.clone().with_contacts_from_distance(ContactsFromDistance { pairs, ..wide() }).unwrap())
    };
    assert!(only("floor", "box").iter().all(|g| *g == 0.0));
    assert!(only("white", "black").iter().all(|g| g.abs() > 1e-3));
}

#[test]
fn without_the_straight_through_trick_bodies_hover() {
    let text = "<mujoco><option timestep=\"0.005\"/><worldbody><geom type=\"plane\" size=\"0 0 1\"/>
        <body pos=\"0 0 0.15\"><joint type=\"slide\" axis=\"0 0 1\"/><geom size=\"0.1\"/></body></worldbody></mujoco>";
    let rest = |straight_through: bool| {
        let distant = ContactsFromDistance {
            solimp: [0.0, 0.9, 0.1, 1.0, 2.0],
            straight_through,
            ..ContactsFromDistance::new(0.1)
        };
        let robot = robot(text, ContactModel::Convex).with_contacts_from_distance(distant).unwrap();
        let inputs = Inputs {
            state: robot.layout().state.defaults(),
            controls: vec![],
            params: robot.layout().params.defaults(),
        };
        let system = euler(robot);
        let rollout = Rollout::new(&system, 600, Schedule::StoreAll).unwrap();
        let mut height = 0.0;
        rollout.simulate(&mut rollout.workspace::<f64>(), &inputs, |at| height = at.state[0] + 0.15).unwrap();
        if !straight_through {
            // What is simulated is what is differentiated, so differences agree as well.
            let rollout = Rollout::new(&system, 20, Schedule::StoreAll).unwrap();
            let options = Options { forward_tolerance: 1e-8, ..Options::default() };
            let report = check_rollout(&rollout, &inputs, &FinalState { weights: vec![1.0, 0.3] }, &options);
            assert!(report.passed(), "{report}");
        }
        height
    };
    let (real, hovering) = (rest(true), rest(false));
    assert!((0.09..0.1).contains(&real), "{real}");
    assert!(hovering > 0.11, "{hovering}");
}

#[test]
fn the_continuous_adjoint_carries_distant_contacts() {
    let text = scene("elliptic", "contype=\"0\" conaffinity=\"1\"")
        .replace("gravity=\"0 0 -2\"", "gravity=\"0 0 0\"");
    let text = text.replace("name=\"white\"", "name=\"white\" contype=\"1\"");
    let gradient = |adjoint| {
        let robot = robot(&text, ContactModel::Convex).with_contacts_from_distance(wide()).unwrap();
        let (inputs, loss) = (inputs(&robot, 1), loss(&robot));
        let adaptive = Integrator::adaptive(Method::Tsit5, PidController::new(1e-9));
        let system = Integrated::new(robot, 0.3, Integrator { adjoint, ..adaptive }).unwrap();
        let rollout = Rollout::new(&system, 1, Schedule::StoreAll).unwrap();
        let mut ws = rollout.workspace::<f64>();
        rollout.gradient(&mut ws, &inputs, &loss).unwrap();
        ws.gradient.state
    };
    use pullback_core::integrator::Adjoint;
    let fine = gradient(Adjoint::Continuous(PidController::new(1e-10)));
    let coarse = gradient(Adjoint::Continuous(PidController::new(1e-7)));
    let size = fine.iter().fold(0.0f64, |m, g| m.max(g.abs()));
    assert!(size > 1e-3);
    for (a, b) in fine.iter().zip(&coarse) {
        assert!((a - b).abs() < 1e-4 * size, "{a} against {b}");
    }
}

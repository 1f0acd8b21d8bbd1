//! Contacts with soft features: exact gradients through tumbling, rest at the analytic depth.

use crate::robots::{geom, random_state, touching};
use pullback_articulated::contact::PENALTY_DEFAULTS;
use pullback_articulated::{Articulated, Body, ContactModel, Joint, JointKind, Model, Shape};
use pullback_core::gradcheck::{Options, Verdict};
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::rollout::FinalState;
use pullback_core::step_check::{check_rollout, check_rollout_along, check_step};
use pullback_core::{Described, Inputs, Point, Rollout, Schedule};
use pullback_math::{Quat, SymMat3, Vec3};

/// A free body of 2 kg over `below`, softly in contact with it.
fn over(below: Shape, shape: Shape, softness: f64) -> Model {
    let mut model = Model::new("free");
    let (mass, inertia) = (2.0, SymMat3::identity() * 0.02);
    model.bodies.push(Body { name: "body".into(), mass, inertia, ..Body::default() });
    model.joints.push(Joint::new("free", 1, JointKind::Free, Vec3::new(0.0, 0.0, 1.0)));
    model.geoms.push(geom("below", 0, below, Vec3::zero(), Quat::identity()));
    model.geoms.push(geom("shape", 1, shape, Vec3::zero(), Quat::identity()));
    // No tie of the larger one.
    model.geoms[1].friction[0] = 0.4;
    model.options.collision_softness = softness;
    model.compile().unwrap()
}

const CUBE: Shape = Shape::Box { half: Vec3 { x: 0.1, y: 0.1, z: 0.1 } };
const TABLE: Shape = Shape::Box { half: Vec3 { x: 0.4, y: 0.4, z: 0.1 } };
const CAN: Shape = Shape::Cylinder { radius: 0.1, half_length: 0.15 };

fn euler(model: Model, dt: f64) -> Integrated<Articulated> {
    Integrated::new(Articulated::new(model).unwrap(), dt, Integrator::fixed(Method::SemiImplicitEuler))
        .unwrap()
}

/// Fifty steps of a box that lands on a corner and tips over an edge.
#[test]
fn a_tumbling_box_has_the_exact_pullback() {
    let system = euler(over(Shape::Plane, CUBE, 5e-3), 2e-3);
    let tilt = Quat::from_axis_angle(Vec3::new(0.6, 0.8, 0.0), 0.6);
    let state = vec![0.0, 0.0, 0.17, tilt.w, tilt.x, tilt.y, tilt.z, 0.4, 0.1, -1.5, 2.0, -3.0, 0.5];
    let rollout = Rollout::new(&system, 50, Schedule::StoreAll).unwrap();
    let loss = FinalState { weights: (0..13).map(|i| 0.2 + 0.1 * f64::from(i)).collect() };
    let options = Options { forward_tolerance: 1e-8, difference_tolerance: 1e-3, ..Options::default() };
    let params = system.layout().params.defaults().to_vec();
    let report = check_rollout(&rollout, &Inputs { state, controls: vec![], params }, &loss, &options);
    assert!(report.passed(), "{report}");
}

/// Exactly upright and exactly flat, where features of the hard contacts switch; no entry has a kink.
#[test]
fn rest_on_a_face_has_a_derivative() {
    let cases = [(Shape::Plane, CAN, 0.145), (TABLE, CUBE, 0.195), (TABLE, CAN, 0.245)];
    for (below, shape, height) in cases {
        for contact_model in [ContactModel::Penalty, ContactModel::Convex] {
            let mut model = over(below, shape, 5e-3);
            model.options.contact_model = contact_model;
            let system = euler(model.compile().unwrap(), 1e-3);
            let state = vec![0.0, 0.02, height, 1.0, 0.0, 0.0, 0.0, 0.1, 0.05, -0.02, 0.03, -0.02, 0.01];
            let rollout = Rollout::new(&system, 3, Schedule::StoreAll).unwrap();
            let loss = FinalState { weights: (0..13).map(|i| 0.2 + 0.1 * f64::from(i)).collect() };
            let options =
                Options { forward_tolerance: 1e-8, difference_tolerance: 1e-4, ..Options::default() };
            let params = system.layout().params.defaults().to_vec();
            let inputs = Inputs { state, controls: vec![], params };
            let report = check_rollout_along(&rollout, &inputs, &loss, &options);
            let smooth = report.entries.iter().all(|e| e.verdict == Verdict::Ok);
            assert!(report.passed() && smooth, "{below:?} {shape:?} {contact_model:?}\n{report}");
        }
    }
}

/// Shapes of every kind that sink into each other.
#[test]
fn a_robot_in_soft_contact_has_the_exact_pullback() {
    let mut model = touching(3);
    model.options.collision_softness = 0.02;
    let system = euler(model.compile().unwrap(), 1e-3);
    let (layout, control) = (system.layout(), vec![0.0; system.layout().control.len()]);
    let (state, params) = (random_state(system.field().model(), 5), layout.params.defaults().to_vec());
    let options = Options { forward_tolerance: 1e-8, probes: 1, ..Options::default() };
    let at = Point { state: &state, control: &control, params: &params };
    let report = check_step(&system, at, &options);
    assert!(report.passed(), "{report}");
}

/// Corners and middle carry the weight together: five contacts of a face, four corners on a plane.
#[test]
fn soft_stacks_settle_level() {
    let weight = 2.0 * 9.81;
    for (below, shape, bottom, carriers) in [(Shape::Plane, CUBE, 0.1, 4.0), (TABLE, CUBE, 0.2, 5.0)] {
        let system = euler(over(below, shape, 1e-3), 4e-4);
        let mut params = system.layout().params.defaults().to_vec();
        params[system.layout().params.index_of("contact.damping").unwrap()] = 2e5;
        let mut state = vec![0.0; 13];
        (state[0], state[2], state[3]) = (0.05, bottom + 0.002, 1.0);
        let rollout = Rollout::new(&system, 2500, Schedule::Revolve { slots: 1 }).unwrap();
        let inputs = Inputs { state, controls: vec![], params };
        let mut end = vec![0.0; 13];
        rollout
            .simulate(&mut rollout.workspace::<f64>(), &inputs, |at| end.copy_from_slice(at.state))
            .unwrap();
        let expected = bottom - weight / (carriers * PENALTY_DEFAULTS[0]);
        assert!((end[2] - expected).abs() < 2e-6, "{shape:?} at {}, expected {expected}", end[2]);
        assert!((end[3].abs() - 1.0).abs() < 1e-9, "{shape:?} leans: {end:?}");
    }
}

#[test]
fn a_negative_softness_is_refused() {
    let mut model = over(Shape::Plane, CUBE, 0.0);
    model.options.collision_softness = -1.0;
    let error = model.compile().unwrap_err().to_string();
    assert!(error.contains("softness"), "{error}");
}

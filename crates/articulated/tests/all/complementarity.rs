//! The complementarity model: exact gradients of every row over one step and many, laws of impacts and friction, and
//! the same numbers on lanes.

use crate::robots::{random_state, touching};
use pullback_articulated::constraint::set::Source;
use pullback_articulated::contact::ContactSolverWorkspace;
use pullback_articulated::{
    Articulated, ContactModel, FrictionDirections, ImplicitTerms, ImpulseScheme, Model,
};
use pullback_core::gradcheck::Options;
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::step_check::check_step;
use pullback_core::{Described, Point, VectorField};

/// The touching robot under the complementarity model, with every kind of row.
fn constrained(seed: u64, scheme: ImpulseScheme, friction: FrictionDirections) -> Model {
    let mut model = touching(seed);
    model.options.contact_model = ContactModel::Complementarity;
    let options = &mut model.options.complementarity;
    (options.scheme, options.friction) = (scheme, friction);
    (options.erp, options.cfm, options.restitution) = (0.1, 1e-3, 0.3);
    for (i, geom) in model.geoms.iter_mut().enumerate() {
        geom.friction = [0.2 + 0.1 * i as f64, 0.0, 0.0];
        geom.margin = 0.01;
    }
    for joint in &mut model.joints {
        joint.frictionloss = 0.3;
        joint.margin = 0.05;
    }
    // The ball joint at its largest angle.
    model.joints[1].range = Some((0.0, 0.4));
    model.compile().unwrap()
}

/// Rows of dry friction, limits and contacts that exert impulses.
fn kinds(robot: &Articulated, params: &[f64], state: &[f64]) -> [usize; 3] {
    let mut ws = VectorField::<f64>::workspace(robot);
    robot.accelerations(&mut ws, Point { params, state, control: &[0.1, 0.2, -0.3] });
    let mut found = [0; 3];
    let ContactSolverWorkspace::Complementarity(complementarity) = &ws.resolve else {
        panic!("another model")
    };
    let set = &complementarity.set;
    for block in set.blocks.iter().filter(|b| set.force[b.row] != 0.0) {
        found[match block.source {
            Source::Friction(_) => 0,
            Source::Limit { .. } => 1,
            _ => 2,
        }] += 1;
    }
    found
}

#[test]
fn every_kind_of_row_has_the_exact_pullback() {
    let mut found = [0; 3];
    for (scheme, friction) in [
        (ImpulseScheme::Global, FrictionDirections::Two),
        (ImpulseScheme::Pairwise, FrictionDirections::Two),
        (ImpulseScheme::Global, FrictionDirections::AlongSlip),
    ] {
        for (seed, terms) in [(2, Some(ImplicitTerms::Damping)), (4, None), (5, None)] {
            let model = constrained(seed, scheme, friction);
            let state = random_state(&model, seed + 10);
            let robot = Articulated::new(model).unwrap().with_kinematic_params().unwrap();
            let robot = match terms {
                Some(terms) => robot.with_implicit(terms, 2e-3),
                None => robot.with_time_step(2e-3),
            };
            let params = robot.layout().params.defaults();
            for (total, here) in found.iter_mut().zip(kinds(&robot, &params, &state)) {
                *total += here;
            }
            let system = Integrated::new(robot, 2e-3, Integrator::fixed(Method::SemiImplicitEuler)).unwrap();
            let options =
                Options { forward_tolerance: 1e-8, difference_tolerance: 1e-4, ..Options::default() };
            let point = Point { params: &params, state: &state, control: &[0.1, 0.2, -0.3] };
            let report = check_step(&system, point, &options);
            assert!(report.passed(), "{scheme:?} {friction:?} {terms:?} {seed}\n{report}");
        }
    }
    assert!(found.iter().all(|n| *n > 20), "{found:?}");
}

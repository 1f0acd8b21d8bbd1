//! Every physical quantity is a parameter, and its pullback is exact: poses, axes, anchors, ranges, both
//! contact laws.

use crate::robots::{branching, random_state, touching};
use pullback_articulated::contact::pair_law;
use pullback_articulated::{Articulated, ContactDamping, ContactMaterials, MaterialMixing, Model};
use pullback_core::gradcheck::Options;
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::random::Random;
use pullback_core::step_check::check_step;
use pullback_core::{Described, Point, VectorField};

fn robot(model: Model) -> Articulated {
    Articulated::new(model).unwrap().with_kinematic_params().unwrap()
}

/// Checks a step at parameters off the defaults, so that quaternions and axes are not units.
fn check(robot: Articulated, seed: u64, difference_tolerance: f64) {
    let random = &mut Random::new(seed);
    let state = random_state(robot.model(), seed + 30);
    let mut params = robot.layout().params.defaults();
    for slice in robot.layout().params.slices() {
        if ["axis", "orientation"].iter().any(|what| slice.name.ends_with(what)) {
            let scale = random.uniform(0.7, 1.4);
            params[slice.range.clone()].iter_mut().for_each(|x| *x *= scale);
        }
    }
    let system = Integrated::new(robot, 1e-3, Integrator::fixed(Method::SemiImplicitEuler)).unwrap();
    let options = Options { forward_tolerance: 1e-8, difference_tolerance, ..Options::default() };
    let report =
        check_step(&system, Point { params: &params, state: &state, control: &[0.1, 0.2, -0.3] }, &options);
    assert!(report.passed(), "{report}");
}

#[test]
fn poses_axes_anchors_and_ranges_have_exact_pullbacks() {
    for (seed, floating) in [(1, true), (2, false), (3, true)] {
        check(robot(branching(seed, floating)), seed, 1e-5);
    }
}

#[test]
fn they_have_through_contact_of_both_forms() {
    for damping in [ContactDamping::ByDepth, ContactDamping::Plain] {
        for (mixing, materials) in [
            (MaterialMixing::Larger, ContactMaterials::Shared),
            (MaterialMixing::Average, ContactMaterials::PerGeom),
        ] {
            for seed in [1, 4] {
                let mut model = touching(seed);
                (model.options.contact_damping, model.options.contact_materials) = (damping, materials);
                (model.options.material_mixing, model.options.limit_damping) = (mixing, damping);
                check(robot(model), seed, 1e-4);
            }
        }
    }
}

#[test]
fn materials_of_geoms_are_mixed() {
    for (mixing, expected) in [(MaterialMixing::Larger, 3e4), (MaterialMixing::Average, 2e4)] {
        let mut model = touching(1);
        model.options.contact_materials = ContactMaterials::PerGeom;
        model.options.material_mixing = mixing;
        let robot = Articulated::new(model).unwrap();
        let section = &robot.layout().params;
        assert!(section.select("contact.stiffness").is_err());
        let mut params = section.defaults();
        params[section.select("ground.stiffness").unwrap()[0]] = 1e4;
        params[section.select("shape0.stiffness").unwrap()[0]] = 3e4;
        let law = pair_law(robot.model(), robot.index(), &params, (0, 1));
        assert_eq!(law.stiffness, expected);
    }
}

#[test]
fn asking_for_them_changes_no_acceleration() {
    let (plain, asked) = (Articulated::new(touching(4)).unwrap(), robot(touching(4)));
    let state = random_state(plain.model(), 34);
    let rate = |robot: &Articulated| {
        let mut ws = VectorField::<f64>::workspace(robot);
        let mut rate = vec![0.0; 2 * robot.model().nv];
        let params = robot.layout().params.defaults();
        robot.eval(
            &mut ws,
            Point { params: &params, state: &state, control: &[0.1, 0.2, -0.3] },
            0.0,
            &mut rate,
        );
        rate
    };
    for (a, b) in rate(&plain).iter().zip(rate(&asked)) {
        assert!((a - b).abs() < 1e-10 * (1.0 + a.abs()), "{a} became {b}");
    }
}

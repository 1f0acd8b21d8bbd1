//! Points of bodies by their chains, and losses of them.

use pullback_articulated::losses::PointTarget;
use pullback_articulated::{Articulated, Chain, Site};
use pullback_core::gradcheck::Options;
use pullback_core::losses::{Norm, Weights};
use pullback_core::step_check::check_loss;
use pullback_core::{Described, Point, VectorField};
use pullback_math::Vec3;

use crate::robots::{branching, random_state};

fn robot(floating: bool) -> Articulated {
    let mut model = branching(3, floating);
    model.sites.push(Site { position: Vec3::new(0.1, -0.2, 0.05), ..Site::new("fingertip", 3) });
    Articulated::new(model).unwrap()
}

#[test]
fn chains_find_points_where_the_kinematics_does() {
    for floating in [true, false] {
        let robot = robot(floating);
        let (params, state) = (robot.layout().params.defaults(), random_state(robot.model(), 5));
        let mut ws = VectorField::<f64>::workspace(&robot);
        robot.update_kinematics(&mut ws, &params, &state);
        for (b, body) in robot.model().bodies.iter().enumerate() {
            let found = Chain::named(&robot, &body.name).unwrap().position(&state);
            let expected = ws.kinematics.world_from_body[b].translation;
            assert!((found - expected).norm() < 1e-14, "{}: {found:?} {expected:?}", body.name);
        }
        let site = &robot.model().sites[0];
        let found = Chain::named(&robot, "fingertip").unwrap().position(&state);
        let expected = ws.kinematics.world_from_body[site.body].point(site.position);
        assert!((found - expected).norm() < 1e-14);
    }
    let error = Chain::named(&robot(true), "fingertop").unwrap_err().to_string();
    assert!(error.contains("no site and no body of `branching` is called `fingertop`"), "{error}");
}

#[test]
fn losses_of_points_pass_the_validator() {
    for floating in [true, false] {
        let robot = robot(floating);
        let state = random_state(robot.model(), 6);
        let tip = Chain::named(&robot, "fingertip").unwrap();
        let foot = Chain::named(&robot, "foot").unwrap();
        let weights = Weights { running: 0.7, terminal: 2.0 };
        for norm in [Norm::Square, Norm::Smooth(0.1), Norm::Cosine] {
            let place =
                PointTarget::new(tip.clone(), norm, weights).at([0.2, 0.1, -0.4]).along([1.0, 0.0, 2.0]);
            // Along unlike axes: the plain distance of two points does not change as the base turns.
            let way =
                PointTarget::new(tip.clone(), norm, weights).relative_to(foot.clone()).along([1.0, 0.5, 2.0]);
            let at = Point { params: &[], state: &state, control: &[0.1, 0.2, -0.3] };
            for last in [false, true] {
                for loss in [&place, &way] {
                    check_loss(loss, robot.layout(), at, last, &Options::default()).assert_passed();
                }
            }
        }
    }
}

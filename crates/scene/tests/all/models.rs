//! Our own models that lie in contact: they load, hold still and keep their contacts.

use std::path::Path;

use pullback_articulated::{Articulated, ImplicitTerms};
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::{Described, Point, System, VectorField};
use pullback_scene::mjcf::{ImportOptions, read_mjcf};

/// Steps a model of `models/` from its keyframe under the keyframe's controls, as MuJoCo would. Returns the
/// robot, and the states at the start and at the end.
fn held(name: &str, seconds: f64) -> (Robot, [Vec<f64>; 2]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../models/{name}.xml"));
    let model = read_mjcf(&path, &ImportOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    let (dt, home) = (model.options.timestep, model.keyframes[0].clone());
    let robot = Articulated::new(model).unwrap().with_plain_rotations();
    let robot = robot.with_implicit(ImplicitTerms::Damping, dt);
    let params = robot.layout().params.defaults();
    let system = Integrated::new(robot, dt, Integrator::fixed(Method::SemiImplicitEuler)).unwrap();
    let mut ws = System::<f64>::workspace(&system);
    let start = [&home.q[..], &home.v].concat();
    let (mut state, mut next) = (start.clone(), start.clone());
    for _ in 0..(seconds / dt).round() as usize {
        let at = Point { params: &params, state: &state, control: &home.control };
        system.step(&mut ws, at, &mut next).unwrap();
        std::mem::swap(&mut state, &mut next);
    }
    (Robot { system, params, control: home.control }, [start, state])
}

struct Robot {
    system: Integrated<Articulated>,
    params: Vec<f64>,
    control: Vec<f64>,
}

impl Robot {
    /// Pairs of geoms that overlap, by name, once per contact.
    fn touching(&self, state: &[f64]) -> Vec<[String; 2]> {
        let robot = self.system.field();
        let mut ws = VectorField::<f64>::workspace(robot);
        robot.accelerations(&mut ws, Point { params: &self.params, state, control: &self.control });
        let name = |g: usize| robot.model().geoms[g].name.clone();
        let overlapping = ws.contacts.iter().filter(|(_, contact)| contact.distance < 0.0);
        overlapping.map(|((a, b), _)| [name(a), name(b)]).collect()
    }
}

/// Largest distance of two slices.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()))
}

#[test]
fn ten_boxes_stay_on_each_other() {
    let (robot, [start, end]) = held("stack10", 0.3);
    assert_eq!(robot.touching(&end).len(), 40);
    let nq = robot.system.field().coordinates().nq;
    // The boxes sink into each other by a fraction of a millimeter each.
    assert!(distance(&start[..nq], &end[..nq]) < 3e-3);
    assert!(end[nq..].iter().all(|v| v.abs() < 1e-4), "{:?}", &end[nq..]);
}

#[test]
fn the_hand_holds_the_cube() {
    let (robot, [start, end]) = held("hand", 1.0);
    let touching = robot.touching(&end);
    let with = |geom: &str| touching.iter().filter(|pair| pair.contains(&geom.to_owned())).count();
    assert!(with("palm") >= 3 && with("cube") == touching.len(), "{touching:?}");
    for finger in ["index", "middle", "ring", "thumb"] {
        assert!(touching.iter().flatten().any(|geom| geom.starts_with(finger)), "{finger}: {touching:?}");
    }
    let nq = robot.system.field().coordinates().nq;
    assert!(distance(&start[nq - 7..nq], &end[nq - 7..nq]) < 5e-3);
    assert!(end[nq..].iter().all(|v| v.abs() < 0.02), "{:?}", &end[nq..]);
}

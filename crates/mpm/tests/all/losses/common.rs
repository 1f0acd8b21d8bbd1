//! What the tests of particle losses share: functions with pullbacks to be checked, and an arm above two
//! groups.

use pullback_articulated::{Body, Geom, Joint, JointKind, Model, Shape};
use pullback_core::gradcheck::{Differentiable, Options, Report, Verdict, gradcheck};
use pullback_math::{Dual, Quat, Scalar, SymMat3, Vec3};
use pullback_mpm::particles::random_box;
use pullback_mpm::{Elastic, Grid, Material, Mpm, Particles};

/// A function of flat inputs, written once for plain and dual numbers, with its pullback.
pub trait Function {
    fn inputs(&self) -> Vec<(&'static str, usize)>;
    fn outputs(&self) -> usize {
        1
    }
    fn eval<T: Scalar>(&self, x: &[T], y: &mut [T]);
    fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]);
}

struct Map<'a, F>(&'a F);

impl<F: Function> Differentiable for Map<'_, F> {
    fn input_names(&self) -> Vec<String> {
        let named = |(name, n): (&str, usize)| (0..n).map(|i| format!("{name}[{i}]")).collect::<Vec<_>>();
        self.0.inputs().into_iter().flat_map(named).collect()
    }
    fn outputs(&self) -> usize {
        self.0.outputs()
    }
    fn eval(&self, x: &[f64], y: &mut [f64]) -> Result<(), String> {
        self.0.eval(x, y);
        Ok(())
    }
    fn jvp(&self, x: &[f64], x_dot: &[f64], y: &mut [f64], y_dot: &mut [f64]) -> Result<(), String> {
        let x: Vec<Dual<f64>> = x.iter().zip(x_dot).map(|(x, d)| Dual::new(*x, *d)).collect();
        let mut out = vec![Dual::default(); y.len()];
        self.0.eval(&x, &mut out);
        for (i, out) in out.iter().enumerate() {
            (y[i], y_dot[i]) = (out.value, out.tangent);
        }
        Ok(())
    }
    fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) -> Result<(), String> {
        self.0.vjp(x, y_bar, x_bar);
        Ok(())
    }
}

/// Forward mode to 1e-8 and differences to 1e-6, beyond their own error.
pub fn options() -> Options {
    Options { forward_tolerance: 1e-8, difference_tolerance: 1e-6, ..Options::default() }
}

pub fn check(function: &impl Function, x: &[f64]) -> Report {
    gradcheck(&Map(function), x, &options())
}

/// Passed, and differences could judge at least this share of the entries.
#[track_caller]
pub fn assert_judged(report: &Report, share: f64) {
    report.assert_passed();
    let kinks = report.entries.iter().filter(|e| e.verdict == Verdict::Kink).count();
    let judged = 1.0 - kinks as f64 / report.entries.len() as f64;
    assert!(judged >= share, "differences judged {judged} of the entries\n{report}");
}

pub fn flat(x: &[Vec3<f64>]) -> Vec<f64> {
    x.iter().flat_map(|x| [x.x, x.y, x.z]).collect()
}

/// An arm of two bodies: the first slides and turns about a skew axis, the second turns on it and has two
/// geoms.
pub fn arm(shapes: [Shape; 3]) -> Model {
    let mut model = Model::new("arm");
    for (name, parent, position) in
        [("upper", 0, Vec3::new(0.5, 0.45, 0.7)), ("lower", 1, Vec3::new(0.12, 0.02, -0.05))]
    {
        model.bodies.push(Body {
            name: name.into(),
            parent,
            position,
            orientation: Quat::from_axis_angle(Vec3::new(0.0, 0.6, 0.8), 0.3),
            mass: 1.0,
            com: Vec3::zero(),
            inertia: SymMat3::identity(),
            ..Body::default()
        });
    }
    for (name, body, kind, axis) in [
        ("slide", 1, JointKind::Slide, Vec3::new(0.0, 0.0, 1.0)),
        ("turn", 1, JointKind::Hinge, Vec3::new(0.6, 0.8, 0.0)),
        ("elbow", 2, JointKind::Hinge, Vec3::new(0.0, 1.0, 0.0)),
    ] {
        model.joints.push(Joint { anchor: Vec3::new(0.01, 0.0, 0.02), ..Joint::new(name, body, kind, axis) });
    }
    // The last one is fixed to the world.
    let turned = Quat::from_axis_angle(Vec3::new(0.48, 0.6, 0.64), 0.8);
    for ((shape, body), offset) in shapes.into_iter().zip([1, 2, 2]).zip([0.0, 0.03, -0.06]) {
        model.geoms.push(geom(&format!("geom{}", model.geoms.len()), body, shape, offset, turned));
    }
    model.geoms.push(geom("wall", 0, Shape::Sphere { radius: 0.05 }, 0.9, turned));
    model.compile().unwrap()
}

fn geom(name: &str, body: usize, shape: Shape, offset: f64, orientation: Quat<f64>) -> Geom {
    Geom {
        position: Vec3::new(offset, 0.02, 0.01),
        orientation,
        friction: [0.6, 0.0, 0.0],
        ..Geom::new(name, body, shape)
    }
}

/// Two groups of different mass under an arm whose joints the controls move.
pub fn scene(model: Model) -> Mpm {
    let (grid, particles) = dough_and_ball();
    Mpm::new(grid, particles, model, 2e-4).unwrap()
}

/// The same with an arm that the particles push.
pub fn coupled_scene(model: Model) -> Mpm {
    let (grid, particles) = dough_and_ball();
    Mpm::coupled(grid, particles, model, 2e-4).unwrap()
}

fn dough_and_ball() -> (Grid, Particles) {
    let mut particles = Particles::default();
    let low = random_box(13, Vec3::new(0.5, 0.5, 0.4), Vec3::new(0.16, 0.16, 0.1), 3);
    let high = random_box(6, Vec3::new(0.62, 0.4, 0.45), Vec3::new(0.06, 0.06, 0.1), 4);
    let dough = Material::FixedCorotated(Elastic { young: 5e3, poisson: 0.2 });
    particles.add("dough", dough, 1.3, 1.7e-4, &low, Vec3::new(0.3, -0.2, -0.6)).unwrap();
    let ball = Material::NeoHookean(Elastic { young: 3e3, poisson: 0.3 });
    particles.add("ball", ball, 2.1, 1.1e-4, &high, Vec3::zero()).unwrap();
    // Fine enough that no particle reaches a node of a wall, where a velocity of 0 is a kink.
    (Grid { softness: 20.0, ..Grid::cube(16) }, particles)
}

//! Losses of particles: exact pullbacks of every one, values where they are known, and a descent that reaches its target.

use std::sync::Arc;

use pullback_core::gradcheck::{Differentiable, Options, Report, Verdict, gradcheck};
use pullback_core::random::Random;
use pullback_core::rollout::{Loss, Moment};
use pullback_core::step_check::check_rollout_along;
use pullback_core::{Described, Repeated, Rollout, Schedule};
use pullback_math::{Dual, Quat, Scalar, SymMat3, Vec3};
use pullback_physics::articulated::{Body, Geom, Joint, JointKind, Model, Shape};
use pullback_physics::mpm::Mpm;
use pullback_physics::mpm::cloud::{Cloud, Grid, Stuff, random_box};
use pullback_physics::mpm::losses::centre::{centre_distance, centre_distance_vjp};
use pullback_physics::mpm::losses::contact::{ContactScratch, contact_distance, contact_distance_vjp};
use pullback_physics::mpm::losses::density::{density_distance, density_distance_vjp};
use pullback_physics::mpm::losses::distance::{target_distance, target_distance_vjp};
use pullback_physics::mpm::losses::flatness::*;
use pullback_physics::mpm::losses::iou::{best_iou, incremental_iou, soft_iou, soft_iou_vjp};
use pullback_physics::mpm::losses::mirror::{hand_flip_reward, hand_flip_reward_vjp, mirror_distance};
use pullback_physics::mpm::losses::spill::*;
use pullback_physics::mpm::losses::{
    Cells, MassGrid, Nearness, ShapeLoss, Solid, Target, Tools, Weights, When,
};

/// A function of flat inputs, written once for plain and dual numbers, with its pullback.
trait Function {
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
fn options() -> Options {
    Options { forward_tolerance: 1e-8, difference_tolerance: 1e-6, ..Options::default() }
}

fn check(function: &impl Function, x: &[f64]) -> Report {
    gradcheck(&Map(function), x, &options())
}

/// Passed, and differences could judge at least this share of the entries.
#[track_caller]
fn assert_judged(report: &Report, share: f64) {
    report.assert_passed();
    let kinks = report.entries.iter().filter(|e| e.verdict == Verdict::Kink).count();
    let judged = 1.0 - kinks as f64 / report.entries.len() as f64;
    assert!(judged >= share, "differences judged {judged} of the entries\n{report}");
}

fn flat(x: &[Vec3<f64>]) -> Vec<f64> {
    x.iter().flat_map(|x| [x.x, x.y, x.z]).collect()
}

/// Random places, some of them on the borders of cells and right beside them.
fn places(cells: &Cells, n: usize, seed: u64) -> Vec<f64> {
    let mut places = random_box(n, Vec3::new(0.5, 0.45, 0.5), Vec3::new(0.4, 0.3, 0.35), seed);
    for (place, beside) in places.iter_mut().zip([0.0, 1e-9, -1e-9, 1e-5]) {
        let border = |x: f64| ((x / cells.spacing).floor() + 0.5) * cells.spacing + beside;
        *place = Vec3::new(border(place.x), place.y, border(place.z));
    }
    flat(&places)
}

/// What a loss on the grid of masses is.
#[derive(Clone, Copy, Debug)]
enum OnGrid {
    Masses,
    Density,
    Distance,
    Iou,
}

/// A loss of positions and masses.
struct GridLoss {
    target: Target,
    particles: usize,
    what: OnGrid,
}

impl GridLoss {
    fn new(what: OnGrid, cells: Cells) -> Self {
        let solid = Solid::Box { half: Vec3::new(0.15, 0.2, 0.1) }
            .minus(Solid::Cylinder { radius: 0.05, half_length: 1.0 })
            .at(Vec3::new(0.45, 0.5, 0.55));
        let target = Target::from_solid(cells, &solid, 0.3, 400, 9, 1e-3).unwrap();
        GridLoss { target, particles: 24, what }
    }
    fn inputs_at(&self, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        let masses = (0..self.particles).map(|_| random.uniform(0.005, 0.02));
        places(self.target.cells(), self.particles, seed).into_iter().chain(masses).collect()
    }
}

impl Function for GridLoss {
    fn inputs(&self) -> Vec<(&'static str, usize)> {
        vec![("x", 3 * self.particles), ("mass", self.particles)]
    }
    fn outputs(&self) -> usize {
        if let OnGrid::Masses = self.what { self.target.cells().count() } else { 1 }
    }
    fn eval<T: Scalar>(&self, x: &[T], y: &mut [T]) {
        let (x, m) = x.split_at(3 * self.particles);
        let mut grid = MassGrid::new(*self.target.cells());
        grid.scatter(x.as_chunks().0, m);
        match self.what {
            OnGrid::Masses => y.copy_from_slice(grid.masses()),
            OnGrid::Density => y[0] = density_distance(&grid, &self.target),
            OnGrid::Distance => y[0] = target_distance(&grid, &self.target),
            OnGrid::Iou => y[0] = soft_iou(&grid, &self.target),
        }
    }
    fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) {
        let (x, m) = x.split_at(3 * self.particles);
        let (x_bar, m_bar) = x_bar.split_at_mut(3 * self.particles);
        let mut grid = MassGrid::new(*self.target.cells());
        // Twice, so that what is left from the first time shows.
        for _ in 0..2 {
            grid.scatter(x.as_chunks().0, m);
            match self.what {
                OnGrid::Masses => grid.add_bars(|i, _| y_bar[i]),
                OnGrid::Density => density_distance_vjp(&mut grid, &self.target, y_bar[0]),
                OnGrid::Distance => target_distance_vjp(&mut grid, &self.target, y_bar[0]),
                OnGrid::Iou => soft_iou_vjp(&mut grid, &self.target, y_bar[0]),
            }
        }
        grid.scatter_vjp(x.as_chunks().0, m, x_bar.as_chunks_mut().0, m_bar);
    }
}

#[test]
fn losses_on_the_grid_have_the_exact_pullback() {
    for (what, share) in
        [(OnGrid::Masses, 0.8), (OnGrid::Density, 0.8), (OnGrid::Distance, 0.8), (OnGrid::Iou, 0.8)]
    {
        let cells = Cells { nodes: [12, 10, 13], spacing: 0.1, flat: false };
        let loss = GridLoss::new(what, cells);
        assert_judged(&check(&loss, &loss.inputs_at(3)), share);
    }
    // Two dimensions: z moves nothing.
    let cells = Cells { nodes: [12, 12, 4], spacing: 0.1, flat: true };
    let mut loss = GridLoss::new(OnGrid::Distance, Cells { flat: false, nodes: [12; 3], ..cells });
    let flattened = flat(&random_box(400, Vec3::new(0.4, 0.4, 0.15), Vec3::new(0.2, 0.3, 0.0), 2));
    let flattened: Vec<Vec3<f64>> =
        flattened.as_chunks().0.iter().map(|[x, y, z]| Vec3::new(*x, *y, *z)).collect();
    loss.target = Target::from_particles(cells, &flattened, &[1e-3; 400], 1e-3).unwrap();
    let mut x = loss.inputs_at(5);
    (0..loss.particles).for_each(|p| x[3 * p + 2] = 0.17);
    assert_judged(&check(&loss, &x), 0.8);
}

#[test]
fn the_grid_holds_all_mass_and_sparse_sums_equal_dense_ones() {
    let loss = GridLoss::new(OnGrid::Masses, Cells::cube(12));
    let x = loss.inputs_at(1);
    let (x, m) = x.split_at(3 * loss.particles);
    let mut grid = MassGrid::new(Cells::cube(12));
    for shift in [0.0, 0.05] {
        let moved: Vec<f64> = x.iter().map(|x| x + shift).collect();
        grid.scatter(moved.as_chunks().0, m);
        let total: f64 = grid.masses().iter().sum();
        assert!((total - m.iter().sum::<f64>()).abs() < 1e-14, "{total}");
        let pairs = || grid.masses().iter().zip(loss.target.masses());
        let dense: f64 = pairs().map(|(a, b)| (a - b).abs()).sum();
        assert!((density_distance(&grid, &loss.target) - dense).abs() < 1e-14);
        let far: f64 = grid.masses().iter().zip(loss.target.distances()).map(|(m, d)| m * d).sum();
        assert!((target_distance(&grid, &loss.target) - far).abs() < 1e-14 && far > 0.0);
        // I and U by PlasticineLab's formula.
        let largest = grid.masses().iter().copied().fold(0.0, f64::max);
        let (a, b) = (1.0 / largest, 1.0 / loss.target.largest());
        let both: f64 = pairs().map(|(x, y)| x * a * y * b).sum();
        let union = total * a + loss.target.mass() * b;
        assert!((soft_iou(&grid, &loss.target) - both / (union - both)).abs() < 1e-14);
    }
}

#[test]
fn a_target_is_at_its_own_place() {
    let cells = Cells::cube(16);
    let ring = Solid::Torus { ring: 0.2, tube: 0.06 }.at(Vec3::new(0.5, 0.45, 0.4));
    let places = ring.sample(800, 2).unwrap();
    let target = Target::from_solid(cells, &ring, 0.4, 800, 2, 1e-4).unwrap();
    assert!((target.mass() - 0.4).abs() < 1e-13);
    assert!((target.centre() - Vec3::new(0.5, 0.45, 0.4)).norm() < 0.01, "{:?}", target.centre());
    let (mut grid, masses) = (MassGrid::new(cells), [0.4 / 800.0; 800]);
    grid.scatter(flat(&places).as_chunks().0, &masses);
    assert!(density_distance(&grid, &target).abs() < 1e-13);
    assert!((soft_iou(&grid, &target) - best_iou(&target)).abs() < 1e-13);
    // What belongs to it is where its mass is, and distances grow from there.
    for (i, (m, d)) in target.masses().iter().zip(target.distances()).enumerate() {
        assert_eq!(*m > 1e-4, *d == 0.0, "node {i}");
    }
    assert_eq!(incremental_iou(0.3, 0.3, 0.8), 0.0);
    assert_eq!(incremental_iou(0.8, 0.3, 0.8), 1.0);
    assert_eq!(incremental_iou(0.1, 0.3, 0.8), 0.0);
    assert_eq!(incremental_iou(0.9, 0.3, 0.8), 1.0);
    assert!((incremental_iou(0.55, 0.3, 0.8) - 0.5).abs() < 1e-15);
}

#[test]
fn targets_that_cannot_be_say_why() {
    let cells = Cells::cube(8);
    let says = |r: Result<Target, pullback_core::ConfigError>, what: &str| {
        let error = r.unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    };
    says(Target::from_masses(cells, vec![1.0; 7], 1e-4), "does not fit");
    says(Target::from_masses(cells, vec![f64::NAN; 512], 1e-4), "finite");
    says(Target::from_masses(cells, vec![1e-5; 512], 1e-4), "threshold");
    let outside = Solid::Sphere { radius: 0.1 }.at(Vec3::new(2.0, 0.5, 0.5));
    says(Target::from_solid(cells, &outside, 1.0, 10, 0, 1e-4), "beyond its grid");
    says(Target::from_particles(cells, &[Vec3::new(0.5, 0.5, 0.5)], &[], 1e-4), "one each");
}

/// What a loss of positions alone, and of one or two more numbers, is.
#[derive(Clone, Copy, Debug)]
enum OfPlaces {
    Centre,
    Flatness,
    RollingFlat,
    Spill,
    FluidMove,
    HandFlip,
}

/// Particles, then a vector, then one number.
struct PlaceLoss {
    particles: usize,
    what: OfPlaces,
    which: Vec<u32>,
    container: Container,
}

const UP: Vec3<f64> = Vec3 { x: 0.0, y: 0.6, z: 0.8 };
const GOAL: Vec3<f64> = Vec3 { x: 0.5, y: 0.6, z: 0.7 };

impl Function for PlaceLoss {
    fn inputs(&self) -> Vec<(&'static str, usize)> {
        vec![("x", 3 * self.particles), ("mass", self.particles), ("vector", 3), ("number", 1)]
    }
    fn outputs(&self) -> usize {
        if let OfPlaces::Flatness = self.what { 2 } else { 1 }
    }
    fn eval<T: Scalar>(&self, x: &[T], y: &mut [T]) {
        let (x, rest) = x.split_at(3 * self.particles);
        let (m, rest) = rest.split_at(self.particles);
        let (x, vector) = (x.as_chunks().0, Vec3::new(rest[0], rest[1], rest[2]));
        match self.what {
            OfPlaces::Centre => y[0] = centre_distance(x, m, vector),
            OfPlaces::Flatness => (y[0], y[1]) = flatness(x, UP),
            OfPlaces::RollingFlat => y[0] = rolling_flat_reward(x, UP),
            OfPlaces::Spill => y[0] = spill(&self.container, vector, x, &self.which),
            OfPlaces::FluidMove => {
                y[0] = fluid_move_reward(&self.container, vector, GOAL, x, &self.which);
            }
            OfPlaces::HandFlip => y[0] = hand_flip_reward(x, rest[3]),
        }
    }
    fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) {
        let (x, rest) = x.split_at(3 * self.particles);
        let (m, rest) = rest.split_at(self.particles);
        let (x, vector) = (x.as_chunks().0, Vec3::new(rest[0], rest[1], rest[2]));
        let (x_bar, rest_bar) = x_bar.split_at_mut(3 * self.particles);
        let (m_bar, rest_bar) = rest_bar.split_at_mut(self.particles);
        let (x_bar, bar) = (x_bar.as_chunks_mut().0, y_bar[0]);
        let mut vector_bar = Vec3::zero();
        match self.what {
            OfPlaces::Centre => vector_bar = centre_distance_vjp(x, m, vector, bar, x_bar, m_bar),
            OfPlaces::Flatness => flatness_vjp(x, UP, (bar, y_bar[1]), x_bar),
            OfPlaces::RollingFlat => rolling_flat_reward_vjp(x, UP, bar, x_bar),
            OfPlaces::Spill => vector_bar = spill_vjp(&self.container, vector, x, &self.which, bar, x_bar),
            OfPlaces::FluidMove => {
                vector_bar = fluid_move_reward_vjp(&self.container, vector, GOAL, x, &self.which, bar, x_bar);
            }
            OfPlaces::HandFlip => rest_bar[3] += hand_flip_reward_vjp(x, rest[3], bar, x_bar),
        }
        for axis in 0..3 {
            rest_bar[axis] += vector_bar[axis];
        }
    }
}

fn place_loss(what: OfPlaces) -> (PlaceLoss, Vec<f64>) {
    let container = Container { half: Vec3::new(0.12, 0.1, 0.11), width: 0.02 };
    let loss = PlaceLoss { particles: 12, what, which: vec![0, 2, 3, 7, 11], container };
    let mut random = Random::new(8);
    let x = flat(&random_box(12, Vec3::new(0.5, 0.5, 0.5), Vec3::new(0.3, 0.3, 0.3), 6));
    let masses = (0..12).map(|_| random.uniform(0.5, 1.5));
    (loss, x.into_iter().chain(masses).chain([0.52, 0.51, 0.47, 0.3]).collect())
}

#[test]
fn losses_of_places_have_the_exact_pullback() {
    for what in [
        OfPlaces::Centre,
        OfPlaces::Flatness,
        OfPlaces::RollingFlat,
        OfPlaces::Spill,
        OfPlaces::FluidMove,
        OfPlaces::HandFlip,
    ] {
        let (loss, x) = place_loss(what);
        assert_judged(&check(&loss, &x), 1.0);
    }
    // Where rewards double.
    let (loss, mut x) = place_loss(OfPlaces::FluidMove);
    x[48..51].copy_from_slice(&[0.505, 0.603, 0.704]);
    assert_judged(&check(&loss, &x), 1.0);
    let (loss, mut x) = place_loss(OfPlaces::RollingFlat);
    x[..36].iter_mut().for_each(|x| *x *= 0.05);
    assert_judged(&check(&loss, &x), 1.0);
}

#[test]
fn rewards_have_the_values_of_their_formulas() {
    let x: [[f64; 3]; 3] = [[0.0, 0.0, 0.0625], [0.0, 0.0, 0.1875], [0.3, 0.0, 0.125]];
    let up = Vec3::new(0.0, 0.0, 1.0);
    let (mean, variance) = flatness(&x, up);
    let expected = 2.0 * 0.0625f64.powi(2) / 3.0;
    assert!((mean - 0.125).abs() < 1e-15 && (variance - expected).abs() < 1e-15);
    assert!((rolling_flat_reward(&x, up) - (0.25 - expected)).abs() < 1e-15);
    // Particle 0 is 0.1 m from its partner 2, particle 1 is 0.3 m from 3.
    let x: [[f64; 3]; 4] = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.0, 0.3, 0.0]];
    assert!((mirror_distance(&x) - 0.2).abs() < 1e-15);
    assert!((hand_flip_reward(&x, 0.4) - 0.5).abs() < 1e-15);
    assert_eq!(hand_flip_reward(&x, 0.05), -1.0);
    // One of four is above the rim, one below the floor.
    let container = Container::fluid_move();
    let p = Vec3::new(0.5, 0.15, 0.5);
    let x: [[f64; 3]; 4] = [[0.5, 0.15, 0.5], [0.45, 0.1, 0.55], [0.5, 0.3, 0.5], [0.5, 0.02, 0.5]];
    assert_eq!(spilled_fraction(&container, p, &x), 0.5);
    assert!((spill(&container, p, &x, &[0, 1, 2, 3]) - 0.5).abs() < 1e-12);
    let goal = Vec3::new(0.5, 0.15, 0.8);
    let expected = 0.1 / 1.09f64.powi(2) - 0.5;
    assert!((fluid_move_reward(&container, p, goal, &x, &[0, 1, 2, 3]) - expected).abs() < 1e-12);
    assert!((fluid_move_reward(&container, p, p, &x, &[0]) - 0.2).abs() < 1e-12);
}

/// An arm of two bodies: the first slides and turns about a skew axis, the second turns on it and has two geoms.
fn arm(shapes: [Shape; 3]) -> Model {
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

/// Two parts of different mass under an arm.
fn scene(model: Model) -> Mpm {
    let mut cloud = Cloud::default();
    let low = random_box(13, Vec3::new(0.5, 0.5, 0.4), Vec3::new(0.16, 0.16, 0.1), 3);
    let high = random_box(6, Vec3::new(0.62, 0.4, 0.45), Vec3::new(0.06, 0.06, 0.1), 4);
    let still = Vec3::new(0.3, -0.2, -0.6);
    cloud.add("dough", Stuff::FixedCorotated(5e3, 0.2), 1.3, 1.7e-4, &low, still).unwrap();
    cloud.add("ball", Stuff::NeoHookean(3e3, 0.3), 2.1, 1.1e-4, &high, Vec3::zero()).unwrap();
    // Fine enough that no particle reaches a node of a wall, where a velocity of 0 is a kink.
    let grid = Grid { softness: 20.0, ..Grid::cube(16) };
    Mpm::new(grid, cloud, model, 2e-4).unwrap()
}

/// The contact distance as a function of coordinates, positions and all parameters.
struct Contacts {
    mpm: Mpm,
    tools: Tools,
}

impl Function for Contacts {
    fn inputs(&self) -> Vec<(&'static str, usize)> {
        let layout = self.mpm.layout();
        vec![("q", 3), ("x", 3 * self.mpm.cloud().particles()), ("params", layout.params.len())]
    }
    fn eval<T: Scalar>(&self, x: &[T], y: &mut [T]) {
        let (q, rest) = x.split_at(3);
        let (x, params) = rest.split_at(3 * self.mpm.cloud().particles());
        let mut scratch = ContactScratch::new(&self.mpm);
        y[0] = contact_distance(&self.mpm, &self.tools, &mut scratch, params, q, x.as_chunks().0);
    }
    fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) {
        let (q, rest) = x.split_at(3);
        let (x, params) = rest.split_at(3 * self.mpm.cloud().particles());
        let (q_bar, rest) = x_bar.split_at_mut(3);
        let (x_bar, params_bar) = rest.split_at_mut(x.len());
        let (mut scratch, x_bar) = (ContactScratch::new(&self.mpm), x_bar.as_chunks_mut().0);
        let x = x.as_chunks().0;
        contact_distance_vjp(
            &self.mpm,
            &self.tools,
            &mut scratch,
            params,
            q,
            x,
            y_bar[0],
            params_bar,
            q_bar,
            x_bar,
        );
    }
}

impl Contacts {
    fn inputs_at(&self, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        let layout = self.mpm.layout();
        let q = (0..3).map(|_| 0.1 * random.normal()).collect::<Vec<_>>();
        [q, flat(&self.mpm.cloud().positions), layout.params.defaults()].concat()
    }
}

#[test]
fn contact_distance_has_the_exact_pullback_in_coordinates_places_and_sizes() {
    let sphere = Shape::Sphere { radius: 0.04 };
    let capsule = Shape::Capsule { radius: 0.03, half_length: 0.05 };
    let cylinder = Shape::Cylinder { radius: 0.03, half_length: 0.05 };
    let cuboid = Shape::Box { half: Vec3::new(0.03, 0.05, 0.02) };
    for (i, shapes) in [[sphere, capsule, cuboid], [cuboid, sphere, cylinder], [capsule, cylinder, sphere]]
        .into_iter()
        .enumerate()
    {
        for nearness in [Nearness::Hard, Nearness::Soft] {
            let mpm = scene(arm(shapes));
            let tools = Tools::movable(&mpm, nearness);
            assert_eq!(tools.groups(), [vec![0], vec![1, 2]]);
            let contacts = Contacts { mpm, tools };
            let report = check(&contacts, &contacts.inputs_at(i as u64));
            assert_judged(&report, 0.95);
            // Coordinates, places and sizes all count.
            let largest = |stem: &str| {
                let of = report.entries.iter().filter(|e| e.name.starts_with(stem));
                of.fold(0.0, |m: f64, e| m.max(e.adjoint.abs()))
            };
            assert!(["q", "x", "params"].iter().all(|s| largest(s) > 1e-3), "{report}");
        }
    }
}

#[test]
fn contact_distance_is_that_of_the_closest_particle() {
    let sphere = Shape::Sphere { radius: 0.04 };
    let mpm = scene(arm([sphere; 3]));
    let params = mpm.layout().params.defaults();
    let x: Vec<[f64; 3]> = mpm.cloud().positions.iter().map(|x| [x.x, x.y, x.z]).collect();
    let value = |tools: &Tools, x: &[[f64; 3]]| {
        contact_distance(&mpm, tools, &mut ContactScratch::new(&mpm), &params, &[0.0; 3], x)
    };
    // The upper body's sphere is at its frame's (0, 0.02, 0.01).
    let turn = Quat::from_axis_angle(Vec3::new(0.0, 0.6, 0.8), 0.3);
    let centre = Vec3::new(0.5, 0.45, 0.7) + turn.rotate(Vec3::new(0.0, 0.02, 0.01));
    let gaps = |x: &[[f64; 3]]| {
        let gap = |[a, b, c]: &[f64; 3]| ((Vec3::new(*a, *b, *c) - centre).norm() - 0.04).max(0.0);
        x.iter().map(gap).collect::<Vec<f64>>()
    };
    let hard = Tools::named(&mpm, &[&["geom0"]], Nearness::Hard).unwrap();
    let closest = gaps(&x).into_iter().fold(f64::INFINITY, f64::min);
    assert!((value(&hard, &x) - closest * closest).abs() < 1e-14);
    let soft = Tools::named(&mpm, &[&["geom0"]], Nearness::Soft).unwrap();
    let weighted = gaps(&x).into_iter().map(|d| (d / (1.0 + 1e4 * d * d), 1.0 / (1.0 + 1e4 * d * d)));
    let (sum, weight) = weighted.fold((0.0, 0.0), |(a, b), (c, d)| (a + c, b + d));
    assert!((value(&soft, &x) - (sum / weight).powi(2)).abs() < 1e-14);
    // A particle inside: touched.
    let mut inside = x.clone();
    inside[5] = [centre.x, centre.y + 0.01, centre.z];
    assert_eq!(value(&hard, &inside), 0.0);
    assert!(Tools::named(&mpm, &[&["nothing"]], Nearness::Hard).is_err());
    assert!(Tools::new(&mpm, vec![vec![99]], Nearness::Hard).is_err());
    assert!(Tools::new(&mpm, vec![vec![]], Nearness::Hard).is_err());
    let mut model = arm([sphere; 3]);
    model.options.contact = false;
    let none = scene(model);
    assert!(Tools::new(&none, vec![vec![0]], Nearness::Hard).is_err());
    assert!(Tools::movable(&none, Nearness::Hard).groups().is_empty());
}

fn shape_loss(mpm: Mpm) -> ShapeLoss {
    let solid = Solid::Sphere { radius: 0.1 }.at(Vec3::new(0.6, 0.6, 0.5));
    let target = Target::from_solid(Cells::cube(20), &solid, 4e-3, 300, 1, 1e-5).unwrap();
    let weights = Weights { centre: 0.5, ..Weights::default() };
    ShapeLoss::new(Arc::new(mpm), target).unwrap().with_weights(weights)
}

#[test]
fn rollouts_of_the_shape_loss_have_the_exact_pullback() {
    let cuboid = Shape::Box { half: Vec3::new(0.03, 0.05, 0.02) };
    let capsule = Shape::Capsule { radius: 0.03, half_length: 0.05 };
    for (when, nearness) in [(When::EveryFrame, Nearness::Soft), (When::End, Nearness::Hard)] {
        let mpm = scene(arm([capsule, Shape::Sphere { radius: 0.04 }, cuboid]));
        let tools = Tools::movable(&mpm, nearness);
        let loss = shape_loss(mpm.clone()).with_when(when).with_tools(tools);
        let (layout, mut random) = (mpm.layout(), Random::new(2));
        let (mut state, params) = (layout.state.defaults(), layout.params.defaults());
        // Affine velocities large enough to be seen beyond round-off of differences.
        for slice in layout.state.slices().iter().filter(|s| s.name.ends_with("affine")) {
            state[slice.range.clone()].iter_mut().for_each(|c| *c = 20.0 * random.normal());
        }
        let controls: Vec<f64> = (0..9).map(|_| random.normal()).collect();
        let rollout = Rollout::new(Repeated::new(mpm, 5).unwrap(), 3, Schedule::StoreAll).unwrap();
        let options = Options { difference_tolerance: 1e-5, ..options() };
        let report = check_rollout_along(&rollout, &state, &controls, &params, &loss, &options);
        report.assert_passed();
    }
}

#[test]
fn the_shape_loss_is_the_weighted_sum_of_its_terms_at_the_frames_it_counts() {
    let mpm = scene(arm([Shape::Sphere { radius: 0.04 }; 3]));
    let state = mpm.layout().state.defaults();
    let loss = shape_loss(mpm);
    let terms = loss.terms(&state);
    let sum = 10.0 * terms.density + 10.0 * terms.distance + terms.contact + 0.5 * terms.centre;
    assert!((loss.at(&state) - sum).abs() < 1e-15 && terms.contact > 0.0 && terms.centre > 0.0);
    let at = |step: usize| Moment { step, steps: 2, state: &state[..], control: &[] };
    assert_eq!([0, 1, 2].map(|s| Loss::<f64>::value(&loss, at(s))), [0.0, loss.at(&state), loss.at(&state)]);
    let end = loss.clone().with_when(When::End);
    assert_eq!([0, 1, 2].map(|s| Loss::<f64>::value(&end, at(s))), [0.0, 0.0, loss.at(&state)]);
    assert_eq!(loss.score(&state, &state), 0.0);
    // Terms without weight are left out.
    let none = Weights { density: 0.0, distance: 0.0, contact: 1.0, centre: 0.0 };
    assert_eq!(loss.clone().with_weights(none).at(&state), terms.contact);
    // A grid too small for the particles' is refused.
    let small = Cells { nodes: [12; 3], spacing: 0.05, flat: false };
    let target = Target::from_masses(small, vec![1.0; 12 * 12 * 12], 1e-4).unwrap();
    let mpm = scene(arm([Shape::Sphere { radius: 0.04 }; 3]));
    assert!(ShapeLoss::new(Arc::new(mpm), target).is_err());
}

#[test]
fn threads_share_one_loss_and_get_the_same_bits() {
    let mpm = scene(arm([Shape::Sphere { radius: 0.04 }; 3]));
    let state = mpm.layout().state.defaults();
    let loss = shape_loss(mpm);
    let run = |shift: f64| {
        let mut moved = state.clone();
        moved[3..60].iter_mut().for_each(|x| *x += shift);
        let mut bar = vec![0.0; moved.len()];
        loss.at_vjp(&moved, 1.0, &mut bar);
        bar.push(loss.at(&moved));
        bar
    };
    let alone: Vec<Vec<f64>> = (0..4).map(|i| run(0.01 * i as f64)).collect();
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..4)
            .map(|i| scope.spawn(move || (0..20).map(|_| run(0.01 * i as f64)).collect::<Vec<_>>()))
            .collect();
        for (thread, alone) in all.into_iter().zip(&alone) {
            assert!(thread.join().unwrap().iter().all(|bits| bits == alone));
        }
    });
    assert_ne!(alone[0], alone[1]);
}

/// The initial velocity of an elastic block, found by descent on where it should be after five frames.
#[test]
fn descent_on_the_initial_velocity_reaches_the_target() {
    let mut cloud = Cloud::default();
    let block = Solid::Box { half: Vec3::new(0.1, 0.1, 0.1) }.at(Vec3::new(0.4, 0.45, 0.5));
    let places = block.sample(120, 5).unwrap();
    cloud.add("block", Stuff::FixedCorotated(2e3, 0.3), 1.0, 0.008 / 120.0, &places, Vec3::zero()).unwrap();
    let mpm = Arc::new(Mpm::new(Grid::cube(16), cloud, Model::new("none").compile().unwrap(), 1e-3).unwrap());
    let layout = mpm.layout().clone();
    let rollout = Rollout::new(Repeated::new(mpm.clone(), 20).unwrap(), 5, Schedule::StoreAll).unwrap();
    let mut ws = rollout.workspace::<f64>();
    let (params, rest) = (layout.params.defaults(), layout.state.defaults());
    let velocity = layout.state.slice("block.velocity").unwrap().range.clone();
    let thrown = |v: Vec3<f64>| {
        let mut state = rest.clone();
        state[velocity.clone()].as_chunks_mut().0.iter_mut().for_each(|x| *x = [v.x, v.y, v.z]);
        state
    };
    // The target is where a throw at (1.5, 1.0, 0.8) m/s comes to be.
    let wanted = Vec3::new(1.5, 1.0, 0.8);
    let mut reached = Vec::new();
    rollout.simulate(&mut ws, &params, &thrown(wanted), &[], |at| reached = at.state.to_vec()).unwrap();
    let x: Vec<Vec3<f64>> = mpm.split(&reached).x.iter().map(|[x, y, z]| Vec3::new(*x, *y, *z)).collect();
    let target = Target::from_particles(Cells::cube(16), &x, &[0.008 / 120.0; 120], 1e-5).unwrap();
    let loss = ShapeLoss::new(mpm.clone(), target).unwrap().with_when(When::End);
    let floor = loss.at(&reached);

    // Adam with a falling rate.
    let (mut v, mut mean, mut square) = (Vec3::zero(), [0.0; 3], [0.0; 3]);
    let mut losses = Vec::new();
    for step in 0..80 {
        rollout.gradient(&mut ws, &params, &thrown(v), &[], &loss).unwrap();
        losses.push(ws.gradient.loss);
        let rate = 0.15 * 0.95f64.powi(step);
        for axis in 0..3 {
            let g: f64 = ws.gradient.state[velocity.clone()].iter().skip(axis).step_by(3).sum();
            mean[axis] = 0.8 * mean[axis] + 0.2 * g;
            square[axis] = 0.95 * square[axis] + 0.05 * g * g;
            let (m, s) =
                (mean[axis] / (1.0 - 0.8f64.powi(step + 1)), square[axis] / (1.0 - 0.95f64.powi(step + 1)));
            v[axis] -= rate * m / (s.sqrt() + 1e-12);
        }
    }
    let (first, last) = (losses[0] - floor, losses[losses.len() - 1] - floor);
    // Seen: 2400.
    assert!(first > 500.0 * last, "{first} {last} {v:?}");
    assert!((v - wanted).norm() < 0.005, "{v:?}");
    rollout.simulate(&mut ws, &params, &thrown(v), &[], |at| reached = at.state.to_vec()).unwrap();
    let score = loss.score(&rest, &reached);
    assert!(score > 0.95, "{score}");
}

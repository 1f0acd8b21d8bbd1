//! Losses on a grid of masses against a target: exact pullbacks, values where they are known, targets that
//! cannot be.

use pullback_core::random::Random;
use pullback_math::{Scalar, Vec3};
use pullback_mpm::losses::density::{density_distance, density_distance_vjp};
use pullback_mpm::losses::distance::{target_distance, target_distance_vjp};
use pullback_mpm::losses::iou::{best_iou, incremental_iou, soft_iou, soft_iou_vjp};
use pullback_mpm::losses::{Cells, MassGrid, Solid, Target};
use pullback_mpm::particles::random_box;

use super::common::{Function, assert_judged, check, flat};

/// Random positions, some of them on the borders of cells and right beside them.
fn places(cells: &Cells, n: usize, seed: u64) -> Vec<f64> {
    let mut positions = random_box(n, Vec3::new(0.5, 0.45, 0.5), Vec3::new(0.4, 0.3, 0.35), seed);
    for (place, beside) in positions.iter_mut().zip([0.0, 1e-9, -1e-9, 1e-5]) {
        let border = |x: f64| ((x / cells.spacing).floor() + 0.5) * cells.spacing + beside;
        *place = Vec3::new(border(place.x), place.y, border(place.z));
    }
    flat(&positions)
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
            .difference(Solid::Cylinder { radius: 0.05, half_length: 1.0 })
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
    let positions = ring.sample(800, 2).unwrap();
    let target = Target::from_solid(cells, &ring, 0.4, 800, 2, 1e-4).unwrap();
    assert!((target.mass() - 0.4).abs() < 1e-13);
    assert!((target.center() - Vec3::new(0.5, 0.45, 0.4)).norm() < 0.01, "{:?}", target.center());
    let (mut grid, masses) = (MassGrid::new(cells), [0.4 / 800.0; 800]);
    grid.scatter(flat(&positions).as_chunks().0, &masses);
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

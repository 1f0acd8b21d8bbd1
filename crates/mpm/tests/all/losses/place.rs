//! Losses of places alone (center, flatness, spill, Rewarped's rewards): exact pullbacks and the values of
//! their formulas.

use pullback_core::random::Random;
use pullback_math::{Scalar, Vec3};
use pullback_mpm::losses::center::{center_distance, center_distance_vjp};
use pullback_mpm::losses::flatness::*;
use pullback_mpm::losses::mirror::{hand_flip_reward, hand_flip_reward_vjp, mirror_distance};
use pullback_mpm::losses::spill::*;
use pullback_mpm::particles::random_box;

use super::common::{Function, assert_judged, check, flat};

/// What a loss of positions alone, and of one or two more numbers, is.
#[derive(Clone, Copy, Debug)]
enum OfPlaces {
    Center,
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
            OfPlaces::Center => y[0] = center_distance(x, m, vector),
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
            OfPlaces::Center => vector_bar = center_distance_vjp(x, m, vector, bar, x_bar, m_bar),
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
        OfPlaces::Center,
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

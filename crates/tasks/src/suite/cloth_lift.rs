//! `cloth-lift`: size, mass, friction and patch stiffnesses of a sheet from a recording of its corners
//! (BO-Leap 5.2, real2sim).
//!
//! A sheet of springs lies on a table; two corners are gripped and lifted, two hang and drag. The 68
//! variables are width, length, mass, friction and the stiffness of 8 × 8 patches. The grippers move the
//! gripped corners by the recorded displacements. Loss: mean distance of the four corners from the recording,
//! over its frames.
//!
//! The recording is a file of the user's (`cloth-lift:PATH`, see [`CornerTrack`]) or, without one, made by
//! the same code with the parameters [`truth`] and Gaussian noise of [`NOISE`] m (seed [`NOISE_SEED`]). The
//! paper's recordings are not public.

use std::ops::Range;
use std::path::Path;

use pullback_core::random::Random;
use pullback_core::rollout::{Gradient, Inputs};
use pullback_core::{ConfigError, Described, Rollout, Schedule};
use pullback_math::{Cotangent, Flat, Real, Vec3};
use pullback_physics::soft::{Placement, SpringMaterial};
use pullback_physics::world::World;

use super::corner_track::CornerTrack;
use super::losses::FollowTracks;
use super::sheet::Sheet;
use super::surfaces::Floor;
use super::tangential::Tangential;
use crate::objectives::Built;
use pullback_core::input_map::{InputMap, Variable};
use pullback_optim::RolloutObjective;

/// Cells and patches along an edge (patches: the paper).
const CELLS: usize = 8;
/// Seconds per step (ours).
pub const DT: f64 = 1.0 / 2400.0;
/// Steps per frame of the recording as the loss sees it (ours): 30 frames per second.
pub const STRIDE: usize = 80;
/// Bounds and start of width and length, m (ours).
const SIZE: ((f64, f64), f64) = ((0.1, 0.4), 0.22);
/// Of the mass, kg (ours).
const MASS: ((f64, f64), f64) = ((0.01, 0.05), 0.03);
/// Of the friction (ours).
const FRICTION: ((f64, f64), f64) = ((0.0, 1.0), 0.5);
/// Of the stiffness of a patch, N/m (ours).
const STIFFNESS: ((f64, f64), f64) = ((2.0, 50.0), 25.0);
/// Damping of the springs, N s/m (ours).
const DAMPING: f64 = 0.003;
/// Seconds of our own recording (ours).
const DURATION: f64 = 1.2;
/// How far our own grippers move, m: towards the free edge, and up (ours).
const LIFT: [f64; 2] = [0.08, 0.15];
/// Standard deviation of the noise in our own recording, m (ours).
const NOISE: f64 = 5e-4;
/// Its seed.
const NOISE_SEED: u64 = 68;
/// Longest recording, s: beyond it an episode takes seconds.
pub const LONGEST: f64 = 30.0;

/// The variables of our own recording: 0.20 m × 0.25 m, 20 g, friction 0.3, stiffness from 10 N/m at the
/// gripped edge to 40 N/m.
pub fn truth() -> Vec<f64> {
    let patch = |k: usize| 10.0 + 30.0 * (k / CELLS) as f64 / (CELLS - 1) as f64;
    [0.20, 0.25, 0.02, 0.3].into_iter().chain((0..CELLS * CELLS).map(patch)).collect()
}

/// The task for a recording, or for our own.
pub(crate) fn cloth_lift(file: Option<&Path>) -> Built {
    let track = match file {
        Some(path) => CornerTrack::read(path)?,
        None => recorded(NOISE)?,
    };
    Ok(Box::new(task(&track)?))
}

/// Our own recording, with noise of this standard deviation.
pub fn recorded(noise: f64) -> Result<CornerTrack, ConfigError> {
    // Where the grippers go: a smooth way from rest to rest, with 30 frames per second.
    let truth = truth();
    let (half, length) = (0.5 * truth[0], truth[1]);
    let frames = (DURATION / (DT * STRIDE as f64)).round() as usize;
    let times: Vec<f64> = (0..=frames).map(|k| k as f64 * DT * STRIDE as f64).collect();
    let corners = times.iter().map(|t| {
        // s³ (10 − 15 s + 6 s²)
        let s = (t / (0.8 * DURATION)).min(1.0);
        let way = s * s * s * (10.0 - 15.0 * s + 6.0 * s * s);
        let gripped = |x: f64| Vec3::new(x, LIFT[0] * way, LIFT[1] * way);
        [gripped(-half), gripped(half), Vec3::new(-half, length, 0.0), Vec3::new(half, length, 0.0)]
    });
    let corners = corners.collect();
    let mut track = CornerTrack { times, corners };
    let task = task(&track)?;
    let states = task.states(&truth).map_err(|e| ConfigError::new(e.to_string()))?;
    let mut random = Random::new(NOISE_SEED);
    let particles = Sheet::new(CELLS, CELLS).corners();
    for (row, state) in track.corners.iter_mut().zip(states.iter().step_by(STRIDE)) {
        for (corner, p) in row.iter_mut().zip(particles) {
            let error: [f64; 3] = std::array::from_fn(|_| noise * random.normal());
            *corner = Vec3::read(&state[3 * p..]) + Vec3::read(&error);
        }
    }
    Ok(track)
}

fn task(
    track: &CornerTrack,
) -> Result<RolloutObjective<Tangential<Floor>, FollowTracks, SheetMap>, ConfigError> {
    let frame = DT * STRIDE as f64;
    let frames = (track.duration() / frame + 1e-9).floor();
    if !(1.0..=LONGEST / frame).contains(&frames) {
        return Err(ConfigError::new(format!(
            "the recording lasts {} s; between {frame:.3} s and {LONGEST} s can be simulated",
            track.duration()
        )));
    }
    let frames = frames as usize;
    let rows: Vec<[Vec3<f64>; 4]> = (0..=frames).map(|k| track.at(k as f64 * frame)).collect();

    let sheet = Sheet::new(CELLS, CELLS);
    let corners = sheet.corners();
    let led = vec![corners[0], corners[1]];
    let material = SpringMaterial { stiffness: STIFFNESS.1, damping: DAMPING };
    let mut body = sheet.body([SIZE.1; 2], MASS.1, material, Placement::default())?;
    led.iter().for_each(|p| body.fixed[*p] = true);
    let system = Tangential::new(World::empty(body)?, Floor { friction: FRICTION.1 }, DT, led)?;
    let map = SheetMap::new(&system, sheet, rows[0])?;

    let steps = frames * STRIDE;
    let rollout = Rollout::new(system, steps, Schedule::StoreAll)?;
    let mut base = Inputs::defaults(&rollout.system, steps);
    let controls = rollout.system.layout().control.len();
    for (step, lead) in base.controls.chunks_exact_mut(controls).enumerate() {
        let (row, next) = (rows[step / STRIDE], rows[step / STRIDE + 1]);
        for k in 0..2 {
            let velocity = (next[k] - row[k]) * (1.0 / frame);
            velocity.write(&mut lead[3 * k..]);
        }
    }
    let recorded = rows.iter().map(|row| row.to_vec()).collect();
    let loss = FollowTracks { particles: corners.to_vec(), recorded, stride: STRIDE };
    Ok(RolloutObjective::new(rollout, loss, map).with_base(base).with_floor(0.0))
}

/// The first variables; the stiffnesses of the patches follow.
#[derive(Clone, Copy, Cotangent)]
struct SheetVariables<T> {
    width: T,
    length: T,
    mass: T,
    friction: T,
}

/// Turns width, length, mass, friction and patch stiffnesses into a sheet that lies on the table.
struct SheetMap {
    variables: Vec<Variable>,
    sheet: Sheet,
    /// Middle of the gripped edge, m; directions along it and away from it.
    origin: Vec3<f64>,
    along: Vec3<f64>,
    away: Vec3<f64>,
    /// Entries of the parameters.
    mass: Range<usize>,
    rest: Range<usize>,
    stiffness: Range<usize>,
    friction: usize,
}

impl SheetMap {
    fn new(system: &Tangential<Floor>, sheet: Sheet, first: [Vec3<f64>; 4]) -> Result<Self, ConfigError> {
        let level = |v: Vec3<f64>| Vec3::new(v.x, v.y, 0.0);
        let along = level(first[1] - first[0]).normalize();
        let free = level(first[2] + first[3] - first[0] - first[1]);
        // Away from the gripped edge, at right angles, on the side of the free corners.
        let across = Vec3::new(-along.y, along.x, 0.0);
        let side = across.dot(free);
        if along.norm() < 0.5 || side == 0.0 {
            return Err(ConfigError::new(
                "the first row of the recording shows no sheet: corners 1 and 2, or 1 and 3, are above each other",
            ));
        }
        let mut variables = vec![
            Variable::new("width", "m", SIZE.0, SIZE.1),
            Variable::new("length", "m", SIZE.0, SIZE.1),
            Variable::new("mass", "kg", MASS.0, MASS.1),
            Variable::new("friction", "1", FRICTION.0, FRICTION.1),
        ];
        let patch = |k| Variable::new(format!("stiffness[{k}]"), "N/m", STIFFNESS.0, STIFFNESS.1);
        variables.extend((0..CELLS * CELLS).map(patch));
        let params = &system.layout().params;
        let at = |name: &str| params.slice(name).map(|s| s.range.clone());
        Ok(SheetMap {
            variables,
            sheet,
            origin: level(first[0] + first[1]) * 0.5,
            along,
            away: across * side.signum(),
            mass: at("cloth.mass")?,
            rest: at("cloth.spring.rest")?,
            stiffness: at("cloth.spring.stiffness")?,
            friction: params.index_of("floor.friction")?,
        })
    }

    /// How a particle's place changes with width and with length.
    fn rates(&self, particle: usize) -> [Vec3<f64>; 2] {
        let [x, y] = self.sheet.place(particle);
        [self.along * x, self.away * (y + 0.5)]
    }

    /// A spring's extent along both edges, in parts of width and length.
    fn extent(&self, spring: usize) -> [f64; 2] {
        self.sheet.spans[spring].map(|cells| cells / self.sheet.cells as f64)
    }
}

impl InputMap for SheetMap {
    fn variables(&self) -> &[Variable] {
        &self.variables
    }

    fn apply<T: Real>(&self, x: &[T], inputs: &mut Inputs<T>) {
        let SheetVariables { width, length, mass, friction } = SheetVariables::read(x);
        let patches = &x[SheetVariables::<T>::LEN..];
        let particles = self.sheet.particles();
        for (p, i) in self.mass.clone().enumerate() {
            // x = o + w a + l b
            let [by_width, by_length] = self.rates(p).map(|v| v.map(T::lit));
            let place = self.origin.map(T::lit) + by_width * width + by_length * length;
            place.write(&mut inputs.state[3 * p..]);
            inputs.params[i] = mass * T::lit(1.0 / particles as f64);
        }
        inputs.params[self.friction] = friction;
        let springs = self.rest.clone().zip(self.stiffness.clone());
        for ((k, shares), (rest, spring)) in self.sheet.shares.iter().enumerate().zip(springs) {
            // l₀ = √((w a)² + (l b)²)
            let [a, b] = self.extent(k);
            let (dx, dy) = (width * T::lit(a), length * T::lit(b));
            inputs.params[rest] = (dx * dx + dy * dy).sqrt();
            let mut stiffness = T::zero();
            for (patch, share) in shares {
                stiffness += patches[*patch] * T::lit(*share);
            }
            inputs.params[spring] = stiffness;
        }
    }

    fn apply_vjp<T: Real>(&self, x: &[T], bars: &Gradient<T>, x_bar: &mut [T]) {
        let SheetVariables { width, length, .. } = SheetVariables::read(x);
        let (own_bar, patches_bar) = x_bar.split_at_mut(SheetVariables::<T>::LEN);
        let mut sum = SheetVariables::read(own_bar);
        let particles = self.sheet.particles();
        for (p, i) in self.mass.clone().enumerate() {
            let [by_width, by_length] = self.rates(p).map(|v| v.map(T::lit));
            let bar = Vec3::read(&bars.state[3 * p..]);
            sum.width += by_width.dot(bar);
            sum.length += by_length.dot(bar);
            sum.mass += bars.params[i] * T::lit(1.0 / particles as f64);
        }
        sum.friction += bars.params[self.friction];
        let springs = self.rest.clone().zip(self.stiffness.clone());
        for ((k, shares), (rest, spring)) in self.sheet.shares.iter().enumerate().zip(springs) {
            // dl₀ = (w a² dw + l b² dl) / l₀
            let [a, b] = self.extent(k);
            let (dx, dy) = (width * T::lit(a), length * T::lit(b));
            let squared_bar = (dx * dx + dy * dy).sqrt_vjp(bars.params[rest]);
            sum.width += squared_bar * dx * T::lit(2.0 * a);
            sum.length += squared_bar * dy * T::lit(2.0 * b);
            for (patch, share) in shares {
                patches_bar[*patch] += bars.params[spring] * T::lit(*share);
            }
        }
        sum.write(own_bar);
    }
}

#[cfg(test)]
mod tests {
    use pullback_core::gradcheck::Options;
    use pullback_optim::Objective;

    use super::super::check;
    use super::*;

    #[test]
    fn gradients_are_exact() {
        let task = task(&recorded(NOISE).unwrap()).unwrap();
        check::well_posed(&task, 68);
        // Differences step over particles that leave the table a step earlier: forward mode is the judge.
        let options =
            Options { forward_tolerance: 1e-8, difference_tolerance: 1e-2, probes: 1, ..Options::default() };
        check::along(&task, &task.start(), 2, 0.02, &options).assert_passed();
    }

    #[test]
    fn the_truth_explains_the_recording_up_to_its_noise() {
        let exact = task(&recorded(0.0).unwrap()).unwrap();
        assert!(exact.value(&truth()).unwrap() < 1e-9);
        let noisy = task(&recorded(NOISE).unwrap()).unwrap();
        let (true_value, start) = (noisy.value(&truth()).unwrap(), noisy.value(&noisy.start()).unwrap());
        assert!(true_value < 4.0 * NOISE && start > 5.0 * true_value, "{true_value} against {start}");
    }

    #[test]
    fn a_file_is_taken_wherever_the_sheet_lies() {
        // The same recording, turned by a quarter and moved: the same loss.
        let track = recorded(0.0).unwrap();
        let moved = |v: &Vec3<f64>| Vec3::new(0.4 - v.y, v.x - 1.0, v.z);
        let corners = track.corners.iter().map(|row| [0, 1, 2, 3].map(|k| moved(&row[k]))).collect();
        let elsewhere = CornerTrack { times: track.times.clone(), corners };
        let path = std::env::temp_dir().join(format!("pullback-cloth-lift-{}.csv", std::process::id()));
        std::fs::write(&path, elsewhere.to_csv()).unwrap();
        let from_file = cloth_lift(Some(&path)).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(from_file.value(&truth()).unwrap() < 1e-6);
        let here = task(&track).unwrap();
        let x = here.start();
        assert!((from_file.value(&x).unwrap() - here.value(&x).unwrap()).abs() < 1e-6);
    }

    #[test]
    fn a_recording_without_a_sheet_or_time_is_refused() {
        let flat = [Vec3::zero(); 4];
        let message = |track: CornerTrack| task(&track).err().map(|e| e.to_string()).unwrap_or_default();
        let point = CornerTrack { times: vec![0.0, 1.0], corners: vec![flat, flat] };
        assert!(message(point.clone()).contains("shows no sheet"));
        assert!(message(CornerTrack { times: vec![0.0, 0.001], ..point }).contains("lasts 0.001 s"));
    }
}

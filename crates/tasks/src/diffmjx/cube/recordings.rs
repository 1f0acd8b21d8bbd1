//! Recorded tosses, and tosses of our own, cut into segments.

use std::path::Path;

use pullback_core::random::Random;
use pullback_core::rollout::Inputs;
use pullback_core::{ConfigError, Rollout, Schedule};
use pullback_math::{Flat, Quat, Vec3};

use super::super::ExperimentError;
use super::{Cube, MASS, SEGMENT, SIDE, STATE, Simulator, UNIT, Way};

/// States of the cube in meters, seconds and radians, one toss after the other.
pub type Toss = Vec<[f64; STATE]>;

/// Reads tosses from a file with the columns toss, t, px, py, pz, qw, qx, qy, qz, vx, vy, vz, wx, wy, wz; lengths in
/// half widths of the block.
pub fn read_tosses(path: &Path) -> Result<Vec<Toss>, ConfigError> {
    let text = pullback_core::files::read_to_string(path).map_err(|e| {
        ConfigError::new(format!("{}: {e}; give the path of a CSV file of tosses", path.display()))
    })?;
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').map(str::trim).collect();
    let names = ["px", "py", "pz", "qw", "qx", "qy", "qz", "vx", "vy", "vz", "wx", "wy", "wz"];
    let column = |name: &str| {
        let found = header.iter().position(|h| *h == name);
        found.ok_or_else(|| ConfigError::new(format!("{}:1: no column `{name}`", path.display())))
    };
    let toss_column = column("toss")?;
    let columns = names.iter().map(|name| column(name)).collect::<Result<Vec<_>, _>>()?;
    let mut tosses: Vec<Toss> = Vec::new();
    let mut last = None;
    for (number, line) in lines.enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let cell = |column: usize| {
            let value = cells.get(column).and_then(|x| x.parse::<f64>().ok()).filter(|x| x.is_finite());
            value.ok_or_else(|| {
                let place = format!("{}:{}", path.display(), number + 2);
                ConfigError::new(format!("{place}: `{}` is not a number", header[column]))
            })
        };
        let toss = cell(toss_column)?;
        let mut state = [0.0; STATE];
        for (i, column) in columns.iter().enumerate() {
            // Positions and velocities are in half widths.
            state[i] = cell(*column)? * if i < 3 || (7..10).contains(&i) { UNIT } else { 1.0 };
        }
        if last != Some(toss) {
            tosses.push(Vec::new());
            last = Some(toss);
        }
        if let Some(toss) = tosses.last_mut() {
            toss.push(state);
        }
    }
    if tosses.iter().all(|t| t.len() < SEGMENT) {
        return Err(ConfigError::new(format!("{}: no toss has {SEGMENT} samples", path.display())));
    }
    Ok(tosses)
}

/// Tosses of a cube by our own simulator, with the noise of motion capture: 0.3 mm, and 0.005 in quaternions.
pub fn made_tosses(count: usize, seed: u64) -> Result<Vec<Toss>, ExperimentError> {
    let simulator = Simulator::new(Way::Adaptive, 1e-6)?;
    let mut random = Random::new(seed);
    let cube = Cube { values: [SIDE, 1.2, MASS, 0.18, 0.01, 0.5, 0.0] };
    let mut tosses = Vec::new();
    for _ in 0..count {
        let mut state = vec![0.0; STATE];
        state[2] = random.uniform(0.12, 0.2);
        let turn = Quat::new(random.normal(), random.normal(), random.normal(), random.normal());
        turn.normalize().write(&mut state[3..]);
        for i in 0..3 {
            state[7 + i] = random.uniform(-1.0, 1.0);
            state[10 + i] = random.uniform(-6.0, 6.0);
        }
        let steps = 80;
        let rollout = Rollout::new(simulator.system(), steps, Schedule::StoreAll)?;
        let inputs = Inputs { state, controls: vec![], params: simulator.params(&cube) };
        let mut toss = Toss::new();
        rollout.simulate(&mut rollout.workspace::<f64>(), &inputs, |at| {
            let mut sample = [0.0; STATE];
            for (i, (seen, x)) in sample.iter_mut().zip(at.state).enumerate() {
                let noise = if i < 3 {
                    3e-4
                } else if i < 7 {
                    5e-3
                } else {
                    1e-2
                };
                *seen = x + noise * random.normal();
            }
            toss.push(sample);
        })?;
        tosses.push(toss);
    }
    Ok(tosses)
}

/// Five samples in a row.
#[derive(Clone, Debug)]
pub struct Segment {
    /// Number of the toss that it is from.
    pub(super) toss: usize,
    pub(super) samples: Vec<[f64; STATE]>,
}

/// `count` segments of some tosses, drawn at random from those whose motion the floor may change: a corner of the
/// recorded cube comes within 5 mm of it.
pub fn segments(tosses: &[Toss], count: usize, seed: u64) -> Vec<Segment> {
    let mut all: Vec<Segment> = Vec::new();
    for (number, toss) in tosses.iter().enumerate() {
        let cut = |samples: &[[f64; STATE]]| Segment { toss: number, samples: samples.to_vec() };
        all.extend(toss.chunks_exact(SEGMENT).map(cut));
    }
    all.retain(|segment| segment.samples.iter().any(|s| lowest_corner(s) < 0.005));
    let mut random = Random::new(seed);
    for i in (1..all.len()).rev() {
        let j = random.uniform(0.0, (i + 1) as f64) as usize;
        all.swap(i, j.min(i));
    }
    all.truncate(count);
    all
}

/// Height of the lowest corner of the published cube, m.
fn lowest_corner(state: &[f64; STATE]) -> f64 {
    let turn = Quat::read(&state[3..]).normalize();
    let up = turn.inverse_rotate(Vec3::new(0.0, 0.0, 1.0));
    state[2] - 0.5 * SIDE * (up.x.abs() + up.y.abs() + up.z.abs())
}

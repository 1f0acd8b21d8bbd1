//! Bayesian optimisation whose trials are descents: from each proposed point plain gradient descent goes down, and all its
//! points enter the model (paper 0's strategy without leaps).
//!
//! A descent takes at most J steps x ← x − rate ∇L, with no variable moving further than `largest_step` in one step, and ends when
//! the loss has not improved for `patience` steps in a row, or where the simulation fails.

use pullback_core::random::Random;
use serde::{Deserialize, Serialize};

use super::bo::first_episodes;
use crate::gp::{LossModel, ModelConfig};
use crate::run::{Method, Run, Stop, inside};

/// Bayesian optimisation with descents.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BoDescents {
    /// Episodes at random points first, in parallel (10).
    pub first: usize,
    /// Steps J of a descent at most (20).
    pub steps: usize,
    /// Step over gradient, in the scaled box (0.1).
    pub rate: f64,
    /// Farthest that one variable moves in a step (0.1).
    pub largest_step: f64,
    /// Steps without improvement before a descent ends (3).
    pub patience: usize,
    /// The model.
    pub model: ModelConfig,
}

impl Default for BoDescents {
    fn default() -> Self {
        BoDescents {
            first: 10,
            steps: 20,
            rate: 0.1,
            largest_step: 0.1,
            patience: 3,
            model: ModelConfig::default(),
        }
    }
}

/// An improvement smaller than this part of the loss is stagnation.
const IMPROVEMENT: f64 = 1e-4;

impl Method for BoDescents {
    fn name(&self) -> &'static str {
        "bo-descents"
    }
    fn settings(&self) -> String {
        format!("bo-descents {}", serde_json::to_string(self).unwrap_or_default())
    }
    fn search(&self, run: &mut Run<'_>, random: &mut Random) -> Result<(), Stop> {
        let mut model = first_episodes(run, self.first, self.model, random)?;
        loop {
            model.fit(random);
            let z = model.propose(random);
            self.descend(run, &mut model, z)?;
        }
    }
}

impl BoDescents {
    fn descend(&self, run: &mut Run<'_>, model: &mut LossModel, mut z: Vec<f64>) -> Result<(), Stop> {
        let mut gradient = vec![0.0; z.len()];
        let (mut lowest, mut stagnant) = (f64::INFINITY, 0);
        for _ in 0..self.steps.max(1) {
            let loss = run.value_grad(&z, &mut gradient)?;
            model.add(&z, loss);
            if loss.is_infinite() {
                break;
            }
            if lowest.is_infinite() || loss < lowest - IMPROVEMENT * lowest.abs() {
                (lowest, stagnant) = (loss, 0);
            } else {
                stagnant += 1;
            }
            if stagnant > self.patience {
                break;
            }
            let largest = gradient.iter().fold(0.0, |m: f64, g| m.max(g.abs()));
            let rate = self.rate.min(self.largest_step / largest.max(f64::MIN_POSITIVE));
            let moved: Vec<f64> = z.iter().zip(&gradient).map(|(z, g)| z - rate * g).collect();
            let moved = inside(&moved);
            // Held by the walls, or on level ground.
            if moved == z {
                break;
            }
            z = moved;
        }
        Ok(())
    }
}

//! Returns: TD(λ) targets of a critic over a horizon, and returns of whole episodes.

use serde::{Deserialize, Serialize};

/// What one environment went through in one step of a horizon.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Reward, with what entropy adds.
    pub reward: f64,
    /// Value of what was seen after the step; 0 where the episode ended for good.
    pub next_value: f64,
    /// Whether the episode ended.
    pub done: bool,
}

/// λ-returns of a horizon, step after step, by the recursion
/// G_t = r_t + γ ((1 − λ) V_{t+1} + λ G_{t+1}), with G = r + γ V at the end of an episode or of the horizon.
pub fn lambda_returns(outcomes: &[Outcome], gamma: f64, lambda: f64, returns: &mut [f64]) {
    let mut later = None;
    for (outcome, to) in outcomes.iter().zip(returns).rev() {
        let Outcome { reward, next_value, done } = *outcome;
        let ahead = match later {
            Some(later) if !done => (1.0 - lambda) * next_value + lambda * later,
            _ => next_value,
        };
        *to = reward + gamma * ahead;
        later = Some(*to);
    }
}

/// Undiscounted returns of episodes as they end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Episodes {
    running: Vec<(f64, u64)>,
    recent: Vec<(f64, u64)>,
    finished: u64,
}

/// Episodes over which statistics are taken.
const RECENT: usize = 100;

/// Statistics of recent episodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EpisodeStatistics {
    /// Mean return; NaN before any episode ended.
    pub return_mean: f64,
    /// Standard deviation of returns.
    pub return_std: f64,
    /// Largest return; −∞ before any episode ended.
    pub return_max: f64,
    /// Mean length.
    pub length_mean: f64,
    /// Episodes that ended so far.
    pub finished: u64,
}

impl Episodes {
    /// No episode has begun.
    pub fn new(envs: usize) -> Self {
        Episodes { running: vec![(0.0, 0); envs], recent: Vec::new(), finished: 0 }
    }

    /// Adds a step of environment `env`.
    pub fn add(&mut self, env: usize, reward: f64, done: bool) {
        let (sum, length) = &mut self.running[env];
        *sum += reward;
        *length += 1;
        if done {
            if self.recent.len() == RECENT {
                self.recent.remove(0);
            }
            self.recent.push((*sum, *length));
            self.finished += 1;
            self.running[env] = (0.0, 0);
        }
    }

    /// Statistics of the last hundred episodes that ended.
    pub fn statistics(&self) -> EpisodeStatistics {
        let n = self.recent.len() as f64;
        let mean = self.recent.iter().map(|(sum, _)| sum).sum::<f64>() / n;
        let square = self.recent.iter().map(|(sum, _)| (sum - mean).powi(2)).sum::<f64>() / n;
        let length_mean = self.recent.iter().map(|(_, length)| *length as f64).sum::<f64>() / n;
        EpisodeStatistics {
            return_mean: mean,
            return_std: square.sqrt(),
            return_max: self.recent.iter().map(|(sum, _)| *sum).fold(f64::NEG_INFINITY, f64::max),
            length_mean,
            finished: self.finished,
        }
    }

    /// Mean return of the last `n` episodes that ended, at most a hundred; NaN of none.
    pub fn mean_of_last(&self, n: u64) -> f64 {
        let n = self.recent.len().min(n as usize);
        let last = &self.recent[self.recent.len() - n..];
        last.iter().map(|(sum, _)| sum).sum::<f64>() / n as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Equation 9 of the SAPO paper, term by term.
    #[test]
    fn recursion_is_the_weighted_sum_of_k_step_returns() {
        let (gamma, lambda) = (0.9, 0.8);
        let outcomes: Vec<Outcome> = (0..5)
            .map(|t| Outcome { reward: 1.0 + t as f64, next_value: 0.5 * t as f64, done: false })
            .collect();
        let mut returns = vec![0.0; 5];
        lambda_returns(&outcomes, gamma, lambda, &mut returns);
        let k_step = |t: usize, k: usize| {
            let rewards: f64 = (0..k).map(|l| gamma.powi(l as i32) * outcomes[t + l].reward).sum();
            rewards + gamma.powi(k as i32) * outcomes[t + k - 1].next_value
        };
        for t in 0..5 {
            let ahead = 5 - t;
            let sum: f64 = (1..ahead).map(|k| lambda.powi(k as i32 - 1) * k_step(t, k)).sum();
            let expected = (1.0 - lambda) * sum + lambda.powi(ahead as i32 - 1) * k_step(t, ahead);
            assert!((returns[t] - expected).abs() < 1e-12, "{t}");
        }
    }

    #[test]
    fn statistics_are_of_the_last_episodes() {
        let mut episodes = Episodes::new(1);
        assert!(episodes.mean_of_last(5).is_nan());
        (0..150).for_each(|i| episodes.add(0, f64::from(i), true));
        let found = episodes.statistics();
        assert_eq!((found.return_mean, found.return_max, found.finished), (99.5, 149.0, 150));
        assert_eq!([1, 3, 500].map(|n| episodes.mean_of_last(n)), [149.0, 148.0, 99.5]);
    }

    #[test]
    fn nothing_is_seen_beyond_the_end_of_an_episode() {
        let end = Outcome { reward: 1.0, next_value: 0.0, done: true };
        let later = Outcome { reward: 100.0, next_value: 100.0, done: false };
        let mut returns = [0.0; 2];
        lambda_returns(&[end, later], 0.9, 0.95, &mut returns);
        assert_eq!(returns[0], 1.0);
    }
}

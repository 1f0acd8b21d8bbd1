//! Bayesian optimization: each trial is one episode, where the model of all losses so far proposes it; of
//! their gradients too if the model is to be conditioned on them.

use pullback_core::ConfigError;
use pullback_core::random::Random;
use pullback_core::settings::{Range, check_memory, check_ranges};
use serde::{Deserialize, Serialize};

use super::{MOST_POINTS, Settings, bytes};
use crate::gp::{LossModel, ModelConfig};
use crate::run::{Run, SearchMethod, Stop};

/// Bayesian optimization.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BayesOpt {
    /// Episodes at random points first, in parallel (10).
    pub first: usize,
    /// The model.
    pub model: ModelConfig,
}

impl Default for BayesOpt {
    fn default() -> Self {
        BayesOpt { first: 10, model: ModelConfig::default() }
    }
}

impl Settings for BayesOpt {
    fn check(&self, name: &str) -> Result<(), ConfigError> {
        check_ranges(name, &[("first", self.first as f64, Range::Within(0.0, MOST_POINTS))])?;
        self.model.check(name)
    }
}

impl SearchMethod for BayesOpt {
    fn name(&self) -> &'static str {
        "bo"
    }
    fn settings(&self) -> String {
        format!("bo {}", serde_json::to_string(self).unwrap_or_default())
    }
    fn check(&self, dim: usize) -> Result<(), ConfigError> {
        Settings::check(self, self.name())?;
        check_memory(self.name(), "first", bytes(self.first as f64 * dim as f64))?;
        self.model.check_memory(self.name(), dim)
    }
    fn search(&self, run: &mut Run<'_>, random: &mut Random) -> Result<(), Stop> {
        let mut model = first_episodes(run, self.first, self.model, random)?;
        loop {
            model.fit(random);
            let z = model.propose(random);
            if model.wants_gradients() {
                let mut gradient = vec![0.0; run.dim()];
                let loss = run.value_grad(&z, &mut gradient)?;
                model.add_with_gradient(&z, loss, &gradient);
            } else {
                model.add(&z, run.value(&z)?);
            }
        }
    }
}

/// A model of the losses at `count` points spread over the box, one in every slice along every variable.
pub fn first_episodes(
    run: &mut Run<'_>,
    count: usize,
    config: ModelConfig,
    random: &mut Random,
) -> Result<LossModel, Stop> {
    let points = latin_square(run.dim(), count, random);
    let mut model = LossModel::new(config, run.dim());
    for (z, loss) in points.iter().zip(run.values(&points)?) {
        model.add(z, loss);
    }
    Ok(model)
}

/// `count` points of the box [−1, 1] of which each has its own slice along every variable.
fn latin_square(dim: usize, count: usize, random: &mut Random) -> Vec<Vec<f64>> {
    let mut points = vec![vec![0.0; dim]; count];
    for k in 0..dim {
        let mut slices: Vec<usize> = (0..count).collect();
        for i in (1..count).rev() {
            slices.swap(i, (random.bits() % (i as u64 + 1)) as usize);
        }
        for (z, slice) in points.iter_mut().zip(slices) {
            z[k] = -1.0 + 2.0 * (slice as f64 + random.uniform(0.0, 1.0)) / count as f64;
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::BoDescents;
    use crate::objective::Objective;
    use crate::run::optimize;
    use crate::run_log::RunLog;
    use pullback_core::StepError;

    /// A bowl with ripples, failing at one side: Σ (x − 1)² + ½ sin² 4x.
    struct Rippled;

    impl Objective for Rippled {
        fn names(&self) -> Vec<String> {
            ["a", "b", "c"].map(String::from).to_vec()
        }
        fn bounds(&self) -> Vec<(f64, f64)> {
            vec![(-4.0, 4.0); 3]
        }
        fn start(&self) -> Vec<f64> {
            vec![0.0; 3]
        }
        fn value(&self, x: &[f64]) -> Result<f64, StepError> {
            if x[0] < -3.0 {
                return Err(StepError::NotFinite { entry: "a".into(), value: f64::NAN, step: 0 });
            }
            Ok(x.iter().map(|x| (x - 1.0).powi(2) + 0.5 * (4.0 * (x - 1.0)).sin().powi(2)).sum())
        }
        fn value_grad(&self, x: &[f64], grad: &mut [f64]) -> Result<f64, StepError> {
            for (g, x) in grad.iter_mut().zip(x) {
                *g = 2.0 * (x - 1.0) + 2.0 * (8.0 * (x - 1.0)).sin();
            }
            self.value(x)
        }
    }

    fn losses(method: &dyn SearchMethod, budget: usize, seed: u64) -> Vec<f64> {
        let mut run = Run::new(&Rippled, budget, RunLog::none()).unwrap();
        optimize(method, &mut run, seed).unwrap();
        run.losses().to_vec()
    }

    #[test]
    fn both_come_far_below_random_search_and_repeat_themselves() {
        let methods: [&dyn SearchMethod; 2] = [&BayesOpt::default(), &BoDescents::default()];
        for method in methods {
            let all = losses(method, 90, 3);
            assert_eq!(all.len(), 90);
            let lowest = |losses: &[f64]| losses.iter().fold(f64::INFINITY, |m, x| m.min(*x));
            assert!(lowest(&all) < 0.5, "{}: {}", method.name(), lowest(&all));
            assert!(lowest(&all) < 0.3 * lowest(&all[..10]), "{}", method.name());
            assert_eq!(losses(method, 90, 3), all);
            assert_eq!(losses(method, 4, 3), all[..4]);
        }
    }

    #[test]
    fn settings_tell_methods_apart() {
        let other = BayesOpt { first: 11, ..BayesOpt::default() };
        assert_ne!(other.settings(), BayesOpt::default().settings());
        assert!(BayesOpt::default().settings().contains("Matern52"));
    }

    #[test]
    fn every_slice_has_its_point() {
        for z in 0..3 {
            let mut slices: Vec<usize> = latin_square(3, 8, &mut Random::new(1))
                .iter()
                .map(|point| ((point[z] + 1.0) * 4.0) as usize)
                .collect();
            slices.sort_unstable();
            assert_eq!(slices, (0..8).collect::<Vec<_>>());
        }
    }
}

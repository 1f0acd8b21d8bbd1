//! Every algorithm by name, made of a preset and what settings change about it.

use pullback_core::ConfigError;
use pullback_core::registry::{Entry, Registry, did_you_mean};
use pullback_core::settings::suggesting;
use pullback_core::sources::{APG, ARTICULATED_ADJOINT, DFLEX, MBPO, PPO, REWARPED, SAC};
use serde::Serialize;
use serde_json::Value;

use super::actor_critic::{ActorCritic, ActorCriticConfig};
use super::mbpo::enhance::Enhancement;
use super::mbpo::{self, Mbpo};
use super::ppo::{self, Ppo};
use super::presets::Preset;
use super::sac::{self, Sac};
use super::trajopt::{self, TrajOpt};
use super::{Algorithm, apg, sapo, shac};
use crate::env::Spaces;

/// An algorithm of settings, sizes and a seed.
pub type BuildAlgorithm = fn(&Value, Spaces, u64) -> Result<Box<dyn Algorithm>, ConfigError>;

/// How an algorithm is made.
#[derive(Clone, Copy, Debug)]
pub struct AlgorithmSpec {
    /// The settings of a preset.
    pub settings: fn(&Preset) -> Value,
    /// The algorithm with settings that may have been changed; every key must be known.
    pub build: BuildAlgorithm,
}

/// Every algorithm by name.
pub const ALGORITHMS: Registry<AlgorithmSpec> = Registry::new("algorithm", &[TABLE]);

const TABLE: &[Entry<AlgorithmSpec>] = &[
    Entry::cited(
        "sapo",
        "soft analytic policy optimization: gradients through the physics, rewarded entropy, two critics",
        REWARPED.at("section 4"),
        AlgorithmSpec { settings: |preset| json(&sapo::preset(preset)), build: actor_critic },
    ),
    Entry::cited(
        "shac",
        "short-horizon actor-critic: gradients through the physics and a value beyond",
        DFLEX.whole(),
        AlgorithmSpec { settings: |preset| json(&shac::preset(preset)), build: actor_critic },
    ),
    Entry::cited(
        "apg",
        "analytic policy gradients: gradients through the physics alone",
        APG.whole(),
        AlgorithmSpec { settings: |preset| json(&apg::preset(preset)), build: actor_critic },
    ),
    Entry::cited(
        "ppo",
        "proximal policy optimization: clipped ratios of densities, without gradients of the physics",
        PPO.whole(),
        AlgorithmSpec {
            settings: |preset| json(&ppo::preset(preset)),
            build: |settings, spaces, seed| Ok(Box::new(Ppo::new(read(settings)?, spaces, seed)?)),
        },
    ),
    Entry::cited(
        "sac",
        "soft actor-critic: replay buffer, twin critics, rewarded entropy, without gradients of the physics",
        SAC.whole(),
        AlgorithmSpec {
            settings: |preset| json(&sac::preset(preset)),
            build: |settings, spaces, seed| Ok(Box::new(Sac::new(read(settings)?, spaces, seed)?)),
        },
    ),
    Entry::cited(
        "trajopt",
        "trajectory optimization: one sequence of actions along gradients through the physics",
        REWARPED.at("appendix C"),
        AlgorithmSpec {
            settings: |preset| json(&trajopt::preset(preset)),
            build: |settings, spaces, seed| Ok(Box::new(TrajOpt::new(read(settings)?, spaces, seed)?)),
        },
    ),
    Entry::cited(
        "mbpo",
        "model-based policy optimization: soft actor-critic on short rollouts of learned models",
        MBPO.whole(),
        AlgorithmSpec { settings: |preset| json(&mbpo::preset(preset, Enhancement::None)), build: mbpo },
    ),
    Entry::cited(
        "mbpo-policy",
        "MBPO whose policy follows gradients of true steps",
        ARTICULATED_ADJOINT.at("section 5, policy enhancement"),
        AlgorithmSpec { settings: |preset| json(&mbpo::preset(preset, Enhancement::Policy)), build: mbpo },
    ),
    Entry::cited(
        "mbpo-sample",
        "MBPO with nine more samples to first order around each true one",
        ARTICULATED_ADJOINT.at("section 5, sample enhancement"),
        AlgorithmSpec { settings: |preset| json(&mbpo::preset(preset, NEIGHBORS)), build: mbpo },
    ),
];

/// Samples around each true one, as Qiao et al. have them.
const NEIGHBORS: Enhancement = Enhancement::Sample { count: 9, delta: 1e-2 };

fn mbpo(settings: &Value, spaces: Spaces, seed: u64) -> Result<Box<dyn Algorithm>, ConfigError> {
    Ok(Box::new(Mbpo::new(read(settings)?, spaces, seed)?))
}

fn json(settings: &impl Serialize) -> Value {
    serde_json::to_value(settings).unwrap_or(Value::Null)
}

fn actor_critic(settings: &Value, spaces: Spaces, seed: u64) -> Result<Box<dyn Algorithm>, ConfigError> {
    let config: ActorCriticConfig = read(settings)?;
    Ok(Box::new(ActorCritic::new(config, spaces, seed)?))
}

/// Settings of one kind; unknown keys are errors.
pub fn read<C: serde::de::DeserializeOwned>(settings: &Value) -> Result<C, ConfigError> {
    if !settings.is_object() {
        return Err(ConfigError::new(format!("settings are an object, not {settings}")));
    }
    serde_json::from_value(settings.clone())
        .map_err(|e| ConfigError::new(format!("settings: {}", suggesting(&e.to_string()))))
}

/// Refuses a list where there is an object, whose entries it would be taken for.
fn check_kind(path: &str, old: &Value, new: &Value) -> Result<(), ConfigError> {
    match (old, new) {
        (Value::Object(_), Value::Array(_)) => {
            Err(ConfigError::new(format!("settings: `{path}` is a list; it must be an object")))
        }
        _ => Ok(()),
    }
}

/// Changes the entry of nested settings that a dotted path names, `critic.network.hidden`. The entry must be there.
pub fn change(settings: &mut Value, path: &str, value: Value) -> Result<(), ConfigError> {
    let mut at = settings;
    for key in path.split('.') {
        let known: Vec<String> = at.as_object().map(|map| map.keys().cloned().collect()).unwrap_or_default();
        at = at.get_mut(key).ok_or_else(|| {
            let near = did_you_mean(key, known.iter().map(String::as_str));
            let there = if known.is_empty() { "nothing".into() } else { known.join(", ") };
            ConfigError::new(format!("settings: `{path}` is unknown at `{key}`{near}; there is {there}"))
        })?;
    }
    check_kind(path, at, &value)?;
    *at = value;
    Ok(())
}

/// Lays the entries of `changes` over `settings`; entries that `settings` does not have are errors.
pub fn overlay(settings: &mut Value, changes: &Value, path: &str) -> Result<(), ConfigError> {
    let (Value::Object(to), Value::Object(from)) = (&mut *settings, changes) else {
        return Err(ConfigError::new(format!("settings are an object, not {changes}")));
    };
    for (key, value) in from {
        let here = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match to.get_mut(key) {
            Some(old) if old.is_object() && value.is_object() => overlay(old, value, &here)?,
            Some(old) => {
                check_kind(&here, old, value)?;
                *old = value.clone();
            }
            None => {
                let near = did_you_mean(key, to.keys().map(String::as_str));
                return Err(ConfigError::new(format!("settings: `{here}` is unknown{near}")));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::presets::PRESETS;
    use super::*;

    const SPACES: Spaces = Spaces { points: 0, vector: 11, actions: 3 };

    #[test]
    fn every_algorithm_takes_every_preset() {
        for entry in ALGORITHMS.entries() {
            for preset in PRESETS.entries() {
                let settings = (entry.value.settings)(&preset.value);
                let spaces = Spaces { points: if preset.value.encoder { 4 } else { 0 }, ..SPACES };
                let built = (entry.value.build)(&settings, spaces, 0);
                assert!(built.is_ok(), "{} {}: {}", entry.name, preset.name, built.err().unwrap());
            }
        }
    }

    #[test]
    fn settings_out_of_their_ranges_are_refused_by_name() {
        let refused: &[(&str, &str, Value, &str)] = &[
            ("sapo", "envs", 0.into(), "`envs` is 0; it must be from 1"),
            ("sapo", "envs", 1_000_000_000.into(), "`envs` needs"),
            ("sapo", "gamma", 2.into(), "`gamma` is 2; it must be from 0 to 1"),
            ("sapo", "actor.lr", (-1).into(), "`actor.lr` is -1"),
            ("sapo", "actor.grad_clip", 0.into(), "`actor.grad_clip` is 0; it must be positive"),
            ("sapo", "actor.network.hidden", vec![200_000, 200_000].into(), "network: `hidden` needs"),
            ("sapo", "entropy.alpha", 0.into(), "`entropy.alpha` is 0"),
            ("sapo", "critic.target", 1.into(), "`critic.target` is 1; it must be at least 0 and below 1"),
            ("sapo", "critic.batches", 0.into(), "`critic.batches` is 0"),
            ("sapo", "critic", vec![1].into(), "`critic` is a list; it must be an object"),
            ("shac", "lambda", 1.5.into(), "`lambda` is 1.5"),
            ("ppo", "clip", 0.into(), "`clip` is 0"),
            ("ppo", "mini_epochs", 0.into(), "`mini_epochs` is 0"),
            ("ppo", "entropy", (-1).into(), "`entropy` is -1"),
            ("sac", "capacity", 1_000_000_000.into(), "`capacity` needs"),
            ("sac", "learner.alpha", 0.into(), "`learner.alpha` is 0"),
            ("sac", "learner.target", 1.into(), "`learner.target` is 1"),
            ("trajopt", "lr", 11.into(), "`lr` is 11"),
            ("mbpo", "real_share", 2.into(), "`real_share` is 2"),
            ("mbpo", "warm_up", 3.into(), "`warm_up` is 3; it must be from 10"),
            ("mbpo", "model.holdout", 1.into(), "`model.holdout` is 1"),
            ("mbpo", "model.elites", 50.into(), "`model.elites` is 50"),
            ("mbpo", "model.optimizer.adamw.weight_decay", (-1).into(), "`weight_decay` is -1"),
        ];
        let preset = PRESETS.find("dflex-ant").unwrap().value;
        for (name, path, value, words) in refused {
            let entry = ALGORITHMS.find(name).unwrap().value;
            let mut settings = (entry.settings)(&preset);
            let changed = change(&mut settings, path, value.clone());
            let built = changed.and_then(|()| (entry.build)(&settings, SPACES, 0).map(drop));
            let message = built.err().unwrap_or_else(|| panic!("{name} {path}")).to_string();
            assert!(message.contains(words), "{name} {path}: {message}");
        }
        let mut settings = serde_json::json!({"actor": {"lr": 1.0}});
        for list in [serde_json::json!([1]), serde_json::json!({"actor": [1]})] {
            assert!(overlay(&mut settings, &list, "").is_err(), "{list}");
        }
        assert!(read::<ActorCriticConfig>(&serde_json::json!([])).is_err());
    }

    #[test]
    fn unknown_settings_are_errors() {
        let preset = PRESETS.find("dflex-ant").unwrap().value;
        let mut settings = (ALGORITHMS.find("sapo").unwrap().value.settings)(&preset);
        let message = change(&mut settings, "critic.learning", 1.into()).unwrap_err().to_string();
        assert!(
            message.starts_with("settings: `critic.learning` is unknown at `learning`; there is batches")
        );
        change(&mut settings, "critic.lr", 0.1.into()).unwrap();
        assert_eq!(settings["critic"]["lr"], 0.1);
        let file = serde_json::json!({"actor": {"lrr": 1.0}});
        assert_eq!(
            overlay(&mut settings, &file, "").unwrap_err().to_string(),
            "settings: `actor.lrr` is unknown (did you mean `lr`?)"
        );
        settings["more"] = 1.into();
        let build = ALGORITHMS.find("sapo").unwrap().value.build;
        assert!(build(&settings, SPACES, 0).err().unwrap().to_string().contains("unknown field `more`"));
    }
}

//! [`EnvSnapshot`]: all that environments are between two steps, for checkpoints.

/// Environment after environment, in full precision.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EnvSnapshot {
    /// States.
    pub states: Vec<f64>,
    /// Actions that led there.
    pub actions: Vec<f64>,
    /// Numbers of the task's own.
    pub contexts: Vec<f64>,
    /// Parameters.
    pub params: Vec<f64>,
    /// Number of the episode.
    pub episodes: Vec<u64>,
    /// Steps of the episode so far.
    pub ages: Vec<u64>,
}

impl EnvSnapshot {
    /// Appends environments that follow these.
    pub fn append(&mut self, mut other: EnvSnapshot) {
        self.states.append(&mut other.states);
        self.actions.append(&mut other.actions);
        self.contexts.append(&mut other.contexts);
        self.params.append(&mut other.params);
        self.episodes.append(&mut other.episodes);
        self.ages.append(&mut other.ages);
    }

    /// The environments from `first` on, `count` of `envs`.
    pub fn part(&self, first: usize, count: usize, envs: usize) -> EnvSnapshot {
        fn rows<X: Clone>(values: &[X], first: usize, count: usize, envs: usize) -> Vec<X> {
            let width = values.len() / envs.max(1);
            values[first * width..(first + count) * width].to_vec()
        }
        EnvSnapshot {
            states: rows(&self.states, first, count, envs),
            actions: rows(&self.actions, first, count, envs),
            contexts: rows(&self.contexts, first, count, envs),
            params: rows(&self.params, first, count, envs),
            episodes: rows(&self.episodes, first, count, envs),
            ages: rows(&self.ages, first, count, envs),
        }
    }
}

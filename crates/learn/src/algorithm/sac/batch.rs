//! [`Batch`]: transitions that the soft actor-critic learns from.

/// A row each: r is the sum of rewards up to o′, `discounts` what a value there is worth.
#[derive(Clone, Debug, Default)]
pub struct Batch<F> {
    /// Normalized observations o.
    pub observations: Vec<F>,
    /// Actions a.
    pub actions: Vec<F>,
    /// Rewards r.
    pub rewards: Vec<F>,
    /// Normalized observations o′.
    pub next_observations: Vec<F>,
    /// γᵏ, or 0 where the episode ended for good.
    pub discounts: Vec<F>,
}

impl<F> Batch<F> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rewards.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rewards.is_empty()
    }
    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.observations.clear();
        self.actions.clear();
        self.rewards.clear();
        self.next_observations.clear();
        self.discounts.clear();
    }
}

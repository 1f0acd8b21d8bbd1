//! A small reproducible source of random numbers: the same seed gives the same bits everywhere.

/// SplitMix64: tiny, fast, passes the usual batteries; not for cryptography.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A stream that depends on `seed` alone.
    pub fn new(seed: u64) -> Self {
        Random { state: seed }
    }
    /// A stream of its own for every `key` under a seed: no order of use changes it.
    pub fn stream(seed: u64, key: &[u64]) -> Self {
        let mix = |state: u64, part: &u64| Random::new(state).bits() ^ part;
        Random::new(Random::new(key.iter().fold(seed, mix)).bits())
    }
    /// 64 uniform bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// Uniform in [low, high).
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.bits() >> 11) as f64 / (1u64 << 53) as f64)
    }
    /// Standard normal, by Box and Muller.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform(0.0, 1.0)).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform(0.0, 1.0)).cos()
    }
}

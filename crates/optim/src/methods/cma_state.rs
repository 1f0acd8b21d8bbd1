//! [`CmaState`]: the distribution of CMA-ES, asked for points and told their losses (Hansen, "The CMA
//! evolution strategy: a tutorial", 2016, arXiv:1604.00772; equation numbers below are of its Figure 6 and
//! Table 1).
//!
//! Weighted recombination, cumulative step-size adaptation, and rank-one and rank-μ updates of the covariance
//! with negative weights for the worst half ("active" CMA). Only the order of losses matters, so the search
//! is the same for every increasing function of the loss. The covariance is decomposed lazily, about once in
//! 1/(10 n (c₁ + cμ)) generations, so that a generation costs O(λ n²): up to some hundreds of variables.
//!
//! Limits: the distribution knows no bounds. Who asks for points in a box is given repaired ones, and tells
//! those.

use faer::{Mat, Side};
use pullback_core::random::Random;

use crate::run::clamp_to_box;

/// How candidates count in the mean and in the covariance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// ln((λ + 1)/2) − ln i, the worst half negative in the covariance: the tutorial's default.
    Logarithmic,
    /// The best half alike and the rest not at all, as BO-Leap's Kbest.
    BestHalf,
}

/// Constants of the strategy, which follow from the dimension and the population (Table 1).
#[derive(Clone, Debug)]
struct Strategy {
    weights: Vec<f64>,
    parents: usize,
    mu_eff: f64,
    c_sigma: f64,
    d_sigma: f64,
    c_c: f64,
    c_1: f64,
    c_mu: f64,
    /// E‖N(0, I)‖.
    chi: f64,
    /// Generations between decompositions.
    lazy: usize,
}

impl Strategy {
    fn new(dim: usize, population: usize, kind: Weights) -> Self {
        let (n, half) = (dim as f64, population / 2);
        let raw: Vec<f64> = match kind {
            Weights::Logarithmic => {
                let middle = ((population as f64 + 1.0) / 2.0).ln();
                (1..=population).map(|i| middle - (i as f64).ln()).collect()
            }
            Weights::BestHalf => (0..population).map(|i| if i < half { 1.0 } else { 0.0 }).collect(),
        };
        let sum = |w: &[f64]| w.iter().map(|w| w.abs()).sum::<f64>();
        // μeff = (Σ w)²/Σ w²
        let effective = |w: &[f64]| {
            let squares: f64 = w.iter().map(|w| w * w).sum();
            if squares > 0.0 { sum(w).powi(2) / squares } else { 0.0 }
        };
        let parents = raw.iter().filter(|w| **w > 0.0).count();
        let (best, worst) = raw.split_at(parents);
        let (mu_eff, mu_eff_minus) = (effective(best), effective(worst));

        let c_1 = 2.0 / ((n + 1.3).powi(2) + mu_eff);
        let c_mu = (1.0 - c_1).min(2.0 * (0.25 + mu_eff + 1.0 / mu_eff - 2.0) / ((n + 2.0).powi(2) + mu_eff));
        // Negative weights sum to what keeps C positive definite (Eqs. 50 to 53).
        let minus = (1.0 + c_1 / c_mu)
            .min(1.0 + 2.0 * mu_eff_minus / (mu_eff + 2.0))
            .min((1.0 - c_1 - c_mu) / (n * c_mu));
        let scale_worst = if sum(worst) > 0.0 { minus / sum(worst) } else { 0.0 };
        let weights = best.iter().map(|w| w / sum(best)).chain(worst.iter().map(|w| w * scale_worst));
        let c_sigma = (mu_eff + 2.0) / (n + mu_eff + 5.0);
        Strategy {
            weights: weights.collect(),
            parents,
            mu_eff,
            c_sigma,
            d_sigma: 1.0 + 2.0 * (((mu_eff - 1.0) / (n + 1.0)).sqrt() - 1.0).max(0.0) + c_sigma,
            c_c: (4.0 + mu_eff / n) / (n + 4.0 + 2.0 * mu_eff / n),
            c_1,
            c_mu,
            chi: n.sqrt() * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n)),
            lazy: ((1.0 / (10.0 * n * (c_1 + c_mu))) as usize).max(1),
        }
    }
}

/// N(mean, σ² C) and the paths it came along.
#[derive(Clone, Debug)]
pub struct CmaState {
    /// Center of the distribution.
    pub mean: Vec<f64>,
    /// Step size σ.
    pub sigma: f64,
    strategy: Strategy,
    path_sigma: Vec<f64>,
    path_c: Vec<f64>,
    /// C, row by row.
    covariance: Vec<f64>,
    /// Orthonormal columns of B, stored one after the other, and the axes' lengths D: C = B D² Bᵀ.
    basis: Vec<f64>,
    axes: Vec<f64>,
    generation: usize,
    decomposed_at: usize,
}

impl CmaState {
    /// A round distribution.
    pub fn new(mean: Vec<f64>, sigma: f64, population: usize, weights: Weights) -> Self {
        let n = mean.len();
        let mut state = CmaState {
            sigma,
            strategy: Strategy::new(n, population.max(2), weights),
            path_sigma: vec![0.0; n],
            path_c: vec![0.0; n],
            covariance: vec![0.0; n * n],
            basis: vec![0.0; n * n],
            axes: vec![1.0; n],
            generation: 0,
            decomposed_at: 0,
            mean,
        };
        state.make_round();
        state
    }

    /// The tutorial's population, 4 + ⌊3 ln n⌋ (Eq. 48).
    pub(crate) fn default_population(dim: usize) -> usize {
        4 + (3.0 * (dim.max(1) as f64).ln()) as usize
    }
    /// Points of one generation, λ.
    pub fn population(&self) -> usize {
        self.strategy.weights.len()
    }
    /// Generations told.
    pub fn generation(&self) -> usize {
        self.generation
    }
    /// C, row by row.
    pub fn covariance(&self) -> &[f64] {
        &self.covariance
    }
    /// Standard deviations of the longest and the shortest axis, without σ.
    pub fn axes(&self) -> (f64, f64) {
        self.axes.iter().fold((0.0, f64::INFINITY), |(long, short), d| (d.max(long), d.min(short)))
    }

    /// The next generation: x = m + σ B D z with z ~ N(0, I).
    #[cfg(test)]
    fn ask(&mut self, random: &mut Random) -> Vec<Vec<f64>> {
        self.refresh();
        (0..self.population()).map(|_| self.sample(random)).collect()
    }

    /// The next generation in the box [−1, 1]: a point outside is drawn again, and after `tries` its
    /// coordinates are put on the wall.
    pub(crate) fn ask_in_box(&mut self, tries: usize, random: &mut Random) -> Vec<Vec<f64>> {
        self.refresh();
        let one = |random: &mut Random| {
            let mut z = self.sample(random);
            for _ in 1..tries {
                if z.iter().all(|z| z.abs() <= 1.0) {
                    break;
                }
                z = self.sample(random);
            }
            clamp_to_box(&z)
        };
        (0..self.population()).map(|_| one(random)).collect()
    }

    fn refresh(&mut self) {
        if self.generation >= self.decomposed_at + self.strategy.lazy {
            self.decompose();
        }
    }

    fn sample(&self, random: &mut Random) -> Vec<f64> {
        let (n, mut x) = (self.mean.len(), self.mean.clone());
        for (column, axis) in self.basis.chunks_exact(n).zip(&self.axes) {
            let step = self.sigma * axis * random.normal();
            for (x, b) in x.iter_mut().zip(column) {
                *x += step * b;
            }
        }
        x
    }

    /// Moves the mean to the weighted best of the points told, and adapts σ and C.
    pub fn tell(&mut self, points: &[Vec<f64>], losses: &[f64]) {
        let order = ranking(losses);
        // m ← Σ wᵢ xᵢ:λ over the best μ
        let mean = self.recombined(points, &order);
        self.adapt(points, &order, mean, f64::INFINITY);
    }

    /// Moves the mean to one found by other means, such as a descent, and adapts σ and C from that move.
    ///
    /// The length that the paths see is limited as Hansen (2011, arXiv:1110.4181) limits injected points: to
    /// √n + 2n/(n + 2) times what selection would move the mean at random. A leap of many σ would otherwise
    /// make σ explode.
    pub(crate) fn tell_with_mean(&mut self, points: &[Vec<f64>], losses: &[f64], mean: Vec<f64>) {
        let n = mean.len() as f64;
        self.adapt(points, &ranking(losses), mean, n.sqrt() + 2.0 * n / (n + 2.0));
    }

    /// Where the mean goes next if nothing else moves it.
    pub(crate) fn next_mean(&self, points: &[Vec<f64>], losses: &[f64]) -> Vec<f64> {
        self.recombined(points, &ranking(losses))
    }

    fn recombined(&self, points: &[Vec<f64>], order: &[usize]) -> Vec<f64> {
        let mut mean = vec![0.0; self.mean.len()];
        for (w, best) in self.strategy.weights.iter().zip(order).take(self.strategy.parents) {
            for (m, x) in mean.iter_mut().zip(&points[*best]) {
                *m += w * x;
            }
        }
        mean
    }

    fn adapt(&mut self, points: &[Vec<f64>], order: &[usize], mean: Vec<f64>, limit: f64) {
        let n = self.mean.len();
        let Strategy { mu_eff, c_sigma, d_sigma, c_c, c_1, c_mu, chi, .. } = self.strategy;
        self.generation += 1;
        // y = (m' − m)/σ, no longer than the limit in the metric of C
        let mut y: Vec<f64> =
            mean.iter().zip(&self.mean).map(|(new, old)| (new - old) / self.sigma).collect();
        let mut whitened = self.whitened(&y);
        let length = mu_eff.sqrt() * norm(&whitened);
        if length > limit {
            y.iter_mut().chain(&mut whitened).for_each(|y| *y *= limit / length);
        }

        // pσ ← (1 − cσ) pσ + √(cσ(2 − cσ) μeff) C^(−1/2) y
        let push = (c_sigma * (2.0 - c_sigma) * mu_eff).sqrt();
        for (p, w) in self.path_sigma.iter_mut().zip(&whitened) {
            *p = (1.0 - c_sigma) * *p + push * w;
        }
        let length = norm(&self.path_sigma);
        // hσ: no rank-one push while σ still grows fast
        let settled = (1.0 - (1.0 - c_sigma).powi(2 * self.generation.min(1 << 20) as i32)).sqrt();
        let h = if length / settled < (1.4 + 2.0 / (n as f64 + 1.0)) * chi { 1.0 } else { 0.0 };
        // pc ← (1 − cc) pc + hσ √(cc(2 − cc) μeff) y
        let push = h * (c_c * (2.0 - c_c) * mu_eff).sqrt();
        for (p, y) in self.path_c.iter_mut().zip(&y) {
            *p = (1.0 - c_c) * *p + push * y;
        }

        // C ← (1 + c₁ (1 − hσ) cc(2 − cc) − c₁ − cμ Σ w) C + c₁ pc pcᵀ + cμ Σ w° y yᵀ
        let sum: f64 = self.strategy.weights.iter().sum();
        let keep = 1.0 + c_1 * (1.0 - h) * c_c * (2.0 - c_c) - c_1 - c_mu * sum;
        self.covariance.iter_mut().for_each(|c| *c *= keep);
        let path = std::mem::take(&mut self.path_c);
        self.add_outer(&path, c_1);
        self.path_c = path;
        for (rank, at) in order.iter().enumerate() {
            let weight = self.strategy.weights[rank];
            if weight == 0.0 {
                continue;
            }
            let y: Vec<f64> = points[*at].iter().zip(&self.mean).map(|(x, m)| (x - m) / self.sigma).collect();
            // w° = w n/‖C^(−1/2) y‖² for negative weights
            let size = if weight < 0.0 { norm(&self.whitened(&y)).powi(2) } else { n as f64 };
            self.add_outer(&y, c_mu * weight * n as f64 / size.max(1e-12));
        }

        // σ ← σ exp((cσ/dσ)(‖pσ‖/E‖N(0, I)‖ − 1))
        self.sigma *= ((c_sigma / d_sigma) * (length / chi - 1.0)).exp();
        self.mean = mean;
    }

    /// C += weight y yᵀ.
    fn add_outer(&mut self, y: &[f64], weight: f64) {
        for (row, yi) in self.covariance.chunks_exact_mut(y.len()).zip(y) {
            let scaled = weight * yi;
            for (c, yj) in row.iter_mut().zip(y) {
                *c += scaled * yj;
            }
        }
    }

    /// C^(−1/2) y = B D⁻¹ Bᵀ y.
    fn whitened(&self, y: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; y.len()];
        for (column, axis) in self.basis.chunks_exact(y.len()).zip(&self.axes) {
            let along = column.iter().zip(y).map(|(b, y)| b * y).sum::<f64>() / axis;
            for (out, b) in out.iter_mut().zip(column) {
                *out += along * b;
            }
        }
        out
    }

    /// C = B D² Bᵀ. Axes are kept above 10⁻¹⁰ of the longest; a covariance that is no longer finite starts
    /// anew as a sphere.
    fn decompose(&mut self) {
        let n = self.mean.len();
        self.decomposed_at = self.generation;
        if !self.covariance.iter().all(|c| c.is_finite()) {
            return self.make_round();
        }
        let matrix = Mat::from_fn(n, n, |i, j| self.covariance[i * n + j]);
        let Ok(parts) = matrix.self_adjoint_eigen(Side::Lower) else { return self.make_round() };
        let (values, vectors) = (parts.S().column_vector(), parts.U());
        let largest = (0..n).fold(0.0, |m: f64, i| m.max(values[i]));
        if !(largest > 0.0 && largest.is_finite()) {
            return self.make_round();
        }
        for j in 0..n {
            self.axes[j] = values[j].max(1e-20 * largest).sqrt();
            for i in 0..n {
                self.basis[j * n + i] = vectors[(i, j)];
            }
        }
    }

    /// C = I.
    fn make_round(&mut self) {
        let n = self.mean.len();
        self.path_c.fill(0.0);
        self.axes.fill(1.0);
        for matrix in [&mut self.covariance, &mut self.basis] {
            matrix.fill(0.0);
            (0..n).for_each(|i| matrix[i * n + i] = 1.0);
        }
    }
}

/// Indices from the lowest loss to the highest; equal losses keep their order.
pub(crate) fn ranking(losses: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..losses.len()).collect();
    order.sort_by(|a, b| losses[*a].total_cmp(&losses[*b]));
    order
}

fn norm(y: &[f64]) -> f64 {
    y.iter().map(|y| y * y).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Evaluations until f < 1e-9 from a mean of ones.
    fn evaluations(dim: usize, seed: u64, f: impl Fn(&[f64]) -> f64) -> usize {
        let population = CmaState::default_population(dim);
        let mut state = CmaState::new(vec![1.0; dim], 0.5, population, Weights::Logarithmic);
        let mut random = Random::new(seed);
        let mut spent = 0;
        while spent < 100_000 {
            let points = state.ask(&mut random);
            let losses: Vec<f64> = points.iter().map(|x| f(x)).collect();
            spent += points.len();
            if losses.iter().any(|l| *l < 1e-9) {
                break;
            }
            state.tell(&points, &losses);
        }
        spent
    }

    fn median(mut of: Vec<usize>) -> f64 {
        of.sort();
        of[of.len() / 2] as f64
    }

    /// Σ 10^(4 i/(n−1)) xᵢ².
    fn ellipsoid(x: &[f64]) -> f64 {
        let last = x.len() as f64 - 1.0;
        x.iter().enumerate().map(|(i, x)| 1e4f64.powf(i as f64 / last) * x * x).sum()
    }

    /// Reflections I − 2 v vᵀ/v² by two fixed vectors: an orthogonal matrix that mixes all axes.
    fn turned(x: &[f64]) -> Vec<f64> {
        let mut x = x.to_vec();
        for phase in [0.3, 1.7] {
            let v: Vec<f64> = (0..x.len()).map(|i| (phase + 1.3 * i as f64).sin()).collect();
            let scale = 2.0 * x.iter().zip(&v).map(|(x, v)| x * v).sum::<f64>() / norm(&v).powi(2);
            x.iter_mut().zip(&v).for_each(|(x, v)| *x -= scale * v);
        }
        x
    }

    #[test]
    fn a_turned_landscape_costs_the_same() {
        let dim = 8;
        let straight = median((0..11).map(|seed| evaluations(dim, seed, ellipsoid)).collect());
        let turned = median((0..11).map(|seed| evaluations(dim, seed, |x| ellipsoid(&turned(x)))).collect());
        let ratio = turned / straight;
        assert!((0.85..1.18).contains(&ratio), "{straight} evaluations, turned {turned}");
        // About what the method is known to take on an ellipsoid of condition 10⁴.
        assert!(straight < 300.0 * dim as f64, "{straight}");
    }

    #[test]
    fn only_the_order_of_losses_and_the_unit_free_shape_matter() {
        let sphere = |x: &[f64]| x.iter().map(|x| (x - 0.3) * (x - 0.3)).sum::<f64>();
        let walk = |unit: f64, f: &dyn Fn(f64) -> f64| {
            let mut state = CmaState::new(vec![unit; 5], 0.5 * unit, 8, Weights::Logarithmic);
            let mut random = Random::new(4);
            for _ in 0..60 {
                let points = state.ask(&mut random);
                let unscaled = |x: &Vec<f64>| x.iter().map(|x| x / unit).collect::<Vec<f64>>();
                let losses: Vec<f64> = points.iter().map(|x| f(sphere(&unscaled(x)))).collect();
                state.tell(&points, &losses);
            }
            state.mean.iter().map(|x| x / unit).collect::<Vec<f64>>()
        };
        let plain = walk(1.0, &|l| l);
        // An increasing function, and another unit of length (a power of two, so that rounding is the same),
        // change no bit.
        assert_eq!(plain, walk(1.0, &|l| l.sqrt() * 7.0 - 3.0));
        assert_eq!(plain, walk(1024.0, &|l| l));
        assert!(plain.iter().all(|x| (x - 0.3).abs() < 1e-2), "{plain:?}");
    }

    #[test]
    fn weights_follow_the_tutorial() {
        let strategy = Strategy::new(10, 10, Weights::Logarithmic);
        let best: f64 = strategy.weights[..5].iter().sum();
        assert!((best - 1.0).abs() < 1e-14 && strategy.weights[5..].iter().all(|w| *w < 0.0));
        // μeff ≈ 3.17 for λ = 10
        assert!((strategy.mu_eff - 3.167).abs() < 1e-3, "{}", strategy.mu_eff);
        let equal = Strategy::new(10, 10, Weights::BestHalf);
        assert_eq!(equal.weights, [0.2, 0.2, 0.2, 0.2, 0.2, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert!((equal.mu_eff - 5.0).abs() < 1e-14);
    }

    #[test]
    fn a_leap_of_many_steps_keeps_the_step_size_bounded() {
        let mut state = CmaState::new(vec![0.0; 4], 1e-3, 10, Weights::BestHalf);
        let points = state.ask(&mut Random::new(1));
        let losses: Vec<f64> = (0..10).map(f64::from).collect();
        state.tell_with_mean(&points, &losses, vec![1.0; 4]);
        assert_eq!(state.mean, [1.0; 4]);
        assert!(state.sigma < 4e-3, "{}", state.sigma);
        assert!(state.covariance().iter().all(|c| c.abs() < 30.0));
    }
}

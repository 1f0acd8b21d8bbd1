//! [`Normalizer`]: observations of mean zero and variance one, by statistics of all seen so far.
//!
//! y = (x − mean) / √(variance + ε). Batches are merged by Chan, Golub and LeVeque's update, in double
//! precision. Statistics are constants of the pullback. A frozen copy is a clone.

use pullback_core::ConfigError;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::network::InputShape;
use crate::Number;

/// ε of the variance.
const EPSILON: f64 = 1e-5;

/// Which numbers of a row share statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistics {
    /// None.
    #[default]
    PerEntry,
    /// The same axis of all points; the numbers after the points share none.
    SharedByPoints,
}

/// An observation that cannot be taken into the statistics.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("observation {entry} of row {row} is {value}: the simulation diverged; the statistics are unchanged")]
pub struct ObservationNotFinite {
    /// Row of the batch.
    pub row: usize,
    /// Index in the row.
    pub entry: usize,
    /// What it is.
    pub value: f64,
}

/// Statistics of observations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Saved", into = "Saved")]
pub struct Normalizer {
    input: InputShape,
    statistics: Statistics,
    /// Rows that the statistics stand for.
    count: f64,
    mean: Vec<f64>,
    variance: Vec<f64>,
    /// 1 / √(variance + ε).
    scale: Vec<f64>,
}

/// What is saved of a normalizer.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    input: InputShape,
    statistics: Statistics,
    count: f64,
    mean: Vec<f64>,
    variance: Vec<f64>,
}

impl From<Normalizer> for Saved {
    fn from(n: Normalizer) -> Self {
        let Normalizer { input, statistics, count, mean, variance, .. } = n;
        Saved { input, statistics, count, mean, variance }
    }
}

impl TryFrom<Saved> for Normalizer {
    type Error = ConfigError;
    fn try_from(saved: Saved) -> Result<Self, ConfigError> {
        let Saved { input, statistics, count, mean, variance } = saved;
        let mut normalizer = Normalizer::new(input, count, statistics)?;
        let n = input.len();
        if mean.len() != n || variance.len() != n {
            return Err(ConfigError::new(format!(
                "normalizer: {} means and {} variances for rows of {n}; take those of the same task",
                mean.len(),
                variance.len()
            )));
        }
        if !mean.iter().chain(&variance).all(|x| x.is_finite()) || variance.iter().any(|v| *v < 0.0) {
            return Err(ConfigError::new("normalizer: a statistic is not finite, or a variance negative"));
        }
        (normalizer.mean, normalizer.variance) = (mean, variance);
        normalizer.set_scale();
        Ok(normalizer)
    }
}

impl Normalizer {
    /// Mean zero and variance one, which count as `count` rows (SHAC: 1e-4, SAPO: 1).
    pub fn new(input: InputShape, count: f64, statistics: Statistics) -> Result<Self, ConfigError> {
        if !(count > 0.0 && count.is_finite()) {
            return Err(ConfigError::new(format!("normalizer: count {count} is not positive; take 1e-4")));
        }
        let n = input.len();
        let (mean, variance, scale) = (vec![0.0; n], vec![1.0; n], vec![0.0; n]);
        let mut normalizer = Normalizer { input, statistics, count, mean, variance, scale };
        normalizer.set_scale();
        Ok(normalizer)
    }

    fn set_scale(&mut self) {
        let entries = self.scale.iter_mut().zip(&self.variance);
        entries.for_each(|(scale, variance)| *scale = 1.0 / (variance + EPSILON).sqrt());
    }

    /// Rows that the statistics stand for.
    pub fn count(&self) -> f64 {
        self.count
    }
    /// Mean of each entry.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }
    /// Variance of each entry.
    pub fn variance(&self) -> &[f64] {
        &self.variance
    }
    /// 1 / √(variance + ε) of each entry.
    pub fn scale(&self) -> &[f64] {
        &self.scale
    }

    /// Takes a batch of whole rows into the statistics. Rows that are not finite leave them as they are.
    pub fn update<F: Number>(&mut self, rows: &[F]) -> Result<(), ObservationNotFinite> {
        let n = self.input.len();
        let batch = (rows.len() / n) as f64;
        if batch == 0.0 {
            return Ok(());
        }
        let mut mean = vec![0.0; n];
        for row in rows.chunks_exact(n) {
            mean.iter_mut().zip(row).for_each(|(sum, x)| *sum += x.to_f64());
        }
        mean.iter_mut().for_each(|sum| *sum /= batch);
        self.share(&mut mean);
        if mean.iter().any(|mean| !mean.is_finite()) {
            return Err(self.not_finite(rows));
        }
        let mut variance = vec![0.0; n];
        for row in rows.chunks_exact(n) {
            for j in 0..n {
                let deviation = row[j].to_f64() - mean[j];
                variance[j] += deviation * deviation;
            }
        }
        variance.iter_mut().for_each(|sum| *sum /= batch);
        self.share(&mut variance);

        // mean ← mean + δ b/t, variance ← (a variance + b variance_b + δ² a b/t) / t with t = a + b
        let total = self.count + batch;
        for j in 0..n {
            let delta = mean[j] - self.mean[j];
            self.mean[j] += delta * batch / total;
            let sum = self.count * self.variance[j] + batch * variance[j];
            self.variance[j] = (sum + delta * delta * self.count * batch / total) / total;
        }
        self.count = total;
        self.set_scale();
        Ok(())
    }

    /// Averages over points where these share statistics.
    fn share(&self, entries: &mut [f64]) {
        if self.statistics == Statistics::SharedByPoints && self.input.points > 0 {
            let points = &mut entries[..3 * self.input.points];
            let mut sums = [0.0; 3];
            points.iter().enumerate().for_each(|(i, x)| sums[i % 3] += x);
            let share = 1.0 / self.input.points as f64;
            points.iter_mut().enumerate().for_each(|(i, x)| *x = sums[i % 3] * share);
        }
    }

    fn not_finite<F: Number>(&self, rows: &[F]) -> ObservationNotFinite {
        let bad = rows.iter().enumerate().find(|(_, x)| !x.to_f64().is_finite());
        let (at, value) = bad.map_or((0, f64::NAN), |(at, x)| (at, x.to_f64()));
        ObservationNotFinite { row: at / self.input.len(), entry: at % self.input.len(), value }
    }

    /// y = (x − mean) / √(variance + ε) for each of whole rows.
    pub fn normalize<F: Number>(&self, rows: &[F], normalized: &mut [F]) {
        assert_eq!(rows.len(), normalized.len(), "rows to normalize");
        let n = self.input.len();
        for (row, normalized) in rows.chunks_exact(n).zip(normalized.chunks_exact_mut(n)) {
            let statistics = self.mean.iter().zip(&self.scale);
            for ((x, y), (mean, scale)) in row.iter().zip(normalized).zip(statistics) {
                *y = (*x - F::from_f64(*mean)) * F::from_f64(*scale);
            }
        }
    }

    /// x̄ += ȳ / √(variance + ε).
    pub fn normalize_vjp<F: Number>(&self, normalized_bar: &[F], rows_bar: &mut [F]) {
        assert_eq!(rows_bar.len(), normalized_bar.len(), "cotangents of normalized rows");
        let n = self.input.len();
        for (bars, row_bars) in normalized_bar.chunks_exact(n).zip(rows_bar.chunks_exact_mut(n)) {
            for ((y_bar, x_bar), scale) in bars.iter().zip(row_bars).zip(&self.scale) {
                *x_bar += *y_bar * F::from_f64(*scale);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::check::{Map, check, normals};

    fn seen(statistics: Statistics) -> (Normalizer, Vec<f64>) {
        let mut normalizer = Normalizer::new(InputShape { points: 2, vector: 1 }, 1e-4, statistics).unwrap();
        let rows: Vec<f64> =
            normals(7 * 30, 1).iter().enumerate().map(|(i, x)| x * 2.0 + i as f64 % 7.0).collect();
        // Three batches of different sizes.
        for batch in [&rows[..7], &rows[7..70], &rows[70..]] {
            normalizer.update(batch).unwrap();
        }
        (normalizer, rows)
    }

    /// Batches one after another give what all rows give at once, up to the weight of the beginning.
    #[test]
    fn batches_merge_to_the_statistics_of_all() {
        let (normalizer, rows) = seen(Statistics::PerEntry);
        for j in 0..7 {
            let column: Vec<f64> = rows.iter().skip(j).step_by(7).copied().collect();
            let mean = column.iter().sum::<f64>() / 30.0;
            let variance = column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 30.0;
            assert!((normalizer.mean()[j] - mean).abs() < 1e-4);
            assert!((normalizer.variance()[j] - variance).abs() < 1e-3);
        }
        assert!((normalizer.count() - 30.0).abs() < 1e-3);
    }

    #[test]
    fn points_may_share_statistics() {
        let (normalizer, rows) = seen(Statistics::SharedByPoints);
        let (mean, variance) = (normalizer.mean(), normalizer.variance());
        assert_eq!((&mean[..3], &variance[..3]), (&mean[3..6], &variance[3..6]));
        let axis: Vec<f64> = rows.chunks(7).flat_map(|row| [row[1], row[4]]).collect();
        let pooled = axis.iter().sum::<f64>() / 60.0;
        assert!((mean[1] - pooled).abs() < 1e-3);
        let spread = axis.iter().map(|x| (x - pooled).powi(2)).sum::<f64>() / 60.0;
        assert!((variance[1] - spread).abs() < 1e-3 * spread, "{} {spread}", variance[1]);
    }

    #[test]
    fn rows_that_are_not_finite_change_nothing() {
        let (mut normalizer, _) = seen(Statistics::PerEntry);
        let before = normalizer.clone();
        let mut rows = vec![0.0_f32; 14];
        rows[9] = f32::NAN;
        let error = normalizer.update(&rows).unwrap_err();
        assert_eq!((error.row, error.entry), (1, 2));
        assert_eq!(normalizer, before);
    }

    impl Map for Normalizer {
        fn groups(&self) -> Vec<(&'static str, usize)> {
            vec![("observation", 14)]
        }
        fn outputs(&self) -> usize {
            14
        }
        fn run<F: Number>(&self, x: &[F], y: &mut [F]) {
            self.normalize(x, y);
        }
        fn vjp(&self, _x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) {
            self.normalize_vjp(y_bar, x_bar);
        }
    }

    #[test]
    fn normalization_passes_the_check() {
        check(&seen(Statistics::PerEntry).0, &normals(14, 3));
    }

    #[test]
    fn statistics_are_saved_to_the_bit() {
        let (normalizer, _) = seen(Statistics::PerEntry);
        let text = serde_json::to_string(&normalizer).unwrap();
        assert_eq!(serde_json::from_str::<Normalizer>(&text).unwrap(), normalizer);
        let shorter = text.replacen("\"vector\":1", "\"vector\":0", 1);
        assert!(serde_json::from_str::<Normalizer>(&shorter).is_err());
    }
}

//! Holm's correction: p values of several tests, such that any below α is wrong with probability at most α.

/// Adjusted p values, in the order given: the k-th smallest of m is multiplied by m − k + 1, and none is below
/// a smaller one.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|i, j| p[*i].total_cmp(&p[*j]));
    let (mut adjusted, mut largest) = (vec![0.0; p.len()], 0.0_f64);
    for (k, i) in order.into_iter().enumerate() {
        largest = largest.max((p.len() - k) as f64 * p[i]).min(1.0);
        adjusted[i] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_are_multiplied_most() {
        // 4 · 0.01, 3 · 0.02, then 2 · 0.022 is below 0.06, and 0.4 stands alone.
        let adjusted = holm(&[0.02, 0.4, 0.01, 0.022]);
        let expected = [0.06, 0.4, 0.04, 0.06];
        assert!(adjusted.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{adjusted:?}");
        assert_eq!(holm(&[0.7, 0.8]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }
}

//! Butcher tableaux of explicit Runge-Kutta methods.

/// X₍ᵢ₎ = x ⊕ h Σⱼ aᵢⱼ kⱼ, k₍ᵢ₎ = f(t + cᵢ h, X₍ᵢ₎), x′ = x ⊕ h Σᵢ bᵢ kᵢ, error = h Σᵢ eᵢ kᵢ.
#[derive(Debug)]
pub struct Tableau {
    /// Name as users know it.
    pub name: &'static str,
    /// Times of the stages.
    pub c: &'static [f64],
    /// Row i has i entries.
    pub a: &'static [&'static [f64]],
    /// Weights of the result.
    pub b: &'static [f64],
    /// Weights of the embedded error estimate, if there is one.
    pub error: Option<&'static [f64]>,
    /// Order of the error estimate's leading term in h: the exponent of the step controller.
    pub error_order: f64,
    /// Whether the last stage is the first of the next step.
    pub first_same_as_last: bool,
}

impl Tableau {
    /// Number of stages.
    pub fn stages(&self) -> usize {
        self.c.len()
    }
    /// Stages that x′ depends on: a first-same-as-last stage serves the error estimate only.
    pub fn stages_of_result(&self) -> usize {
        self.b.iter().rposition(|b| *b != 0.0).map_or(0, |last| last + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{dopri5::DOPRI5, rk4::RK4, tsit5::TSIT5};
    use super::Tableau;

    /// Σᵢ wᵢ Φᵢ for the elementary weights Φ of the trees up to order 5 that explicit methods are judged by.
    fn weight(t: &Tableau, w: &[f64], phi: impl Fn(usize) -> f64) -> f64 {
        (0..t.stages()).map(|i| w[i] * phi(i)).sum()
    }

    fn order_residual(t: &Tableau, w: &[f64], order: usize) -> f64 {
        let a = |i: usize, f: &dyn Fn(usize) -> f64| -> f64 { (0..i).map(|j| t.a[i][j] * f(j)).sum() };
        let c = |i: usize| t.c[i];
        let ac = |i: usize| a(i, &c);
        let ac2 = |i: usize| a(i, &|j| c(j).powi(2));
        let aac = |i: usize| a(i, &ac);
        let conditions: Vec<(usize, f64)> = vec![
            (1, weight(t, w, |_| 1.0) - 1.0),
            (2, weight(t, w, c) - 1.0 / 2.0),
            (3, weight(t, w, |i| c(i).powi(2)) - 1.0 / 3.0),
            (3, weight(t, w, ac) - 1.0 / 6.0),
            (4, weight(t, w, |i| c(i).powi(3)) - 1.0 / 4.0),
            (4, weight(t, w, |i| c(i) * ac(i)) - 1.0 / 8.0),
            (4, weight(t, w, ac2) - 1.0 / 12.0),
            (4, weight(t, w, aac) - 1.0 / 24.0),
            (5, weight(t, w, |i| c(i).powi(4)) - 1.0 / 5.0),
            (5, weight(t, w, |i| c(i).powi(2) * ac(i)) - 1.0 / 10.0),
            (5, weight(t, w, |i| ac(i).powi(2)) - 1.0 / 20.0),
            (5, weight(t, w, |i| c(i) * ac2(i)) - 1.0 / 15.0),
            (5, weight(t, w, |i| a(i, &|j| c(j).powi(3))) - 1.0 / 20.0),
            (5, weight(t, w, |i| c(i) * aac(i)) - 1.0 / 30.0),
            (5, weight(t, w, |i| a(i, &|j| c(j) * ac(j))) - 1.0 / 40.0),
            (5, weight(t, w, |i| a(i, &ac2)) - 1.0 / 60.0),
            (5, weight(t, w, |i| a(i, &aac)) - 1.0 / 120.0),
        ];
        conditions.iter().filter(|(p, _)| *p <= order).map(|(_, r)| r.abs()).fold(0.0, f64::max)
    }

    #[test]
    fn rows_sum_to_their_times() {
        for t in [&RK4, &TSIT5, &DOPRI5] {
            for (row, c) in t.a.iter().zip(t.c) {
                assert!((row.iter().sum::<f64>() - c).abs() < 1e-14, "{}", t.name);
            }
        }
    }

    #[test]
    fn order_conditions_hold() {
        for (t, order) in [(&RK4, 4), (&TSIT5, 5), (&DOPRI5, 5)] {
            assert!(order_residual(t, t.b, order) < 1e-13, "{}", t.name);
        }
        assert!(order_residual(&RK4, RK4.b, 5) > 1e-3);
    }

    #[test]
    fn embedded_methods_are_of_order_four() {
        for t in [&TSIT5, &DOPRI5] {
            let error = t.error.unwrap();
            let embedded: Vec<f64> = t.b.iter().zip(error).map(|(b, e)| b - e).collect();
            assert!(order_residual(t, &embedded, 4) < 1e-12, "{}", t.name);
            assert!(order_residual(t, &embedded, 5) > 1e-5, "{}", t.name);
        }
    }
}

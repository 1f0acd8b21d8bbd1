//! [`LeastSquares`]: residuals in parts with their derivatives, and the loss ½ |r|² that they make.

use faer::Mat;
use pullback_core::StepError;
use pullback_core::gradcheck::Differentiable;
use pullback_core::input_map::{Transform, Variable};
use rayon::prelude::*;

use crate::objective::Objective;

/// A quantity to be found, and the transform through which it is searched.
#[derive(Clone, Debug, PartialEq)]
pub struct Unknown {
    /// Name, unit, bounds and start of the quantity itself.
    pub quantity: Variable,
    /// From the search variable to the quantity.
    pub transform: Transform,
}

impl Unknown {
    /// The quantity at a search variable, and its slope.
    pub fn eval(&self, z: f64) -> (f64, f64) {
        self.transform.eval(z)
    }
    /// The search variable at the start.
    pub fn start(&self) -> f64 {
        self.transform.inverse(self.quantity.start)
    }
    /// Bounds of the search variable.
    pub fn bounds(&self) -> (f64, f64) {
        self.transform.bounds(self.quantity.bounds)
    }
    /// Change of the search variable that changes the quantity by its own size; where that is zero by its size at the
    /// start, or by half of its range.
    pub fn size(&self, z: f64) -> f64 {
        let ((value, slope), (low, high)) = (self.eval(z), self.quantity.bounds);
        let own = value.abs().max(1e-3 * self.quantity.start.abs());
        let half = 0.5 * (high - low);
        let size =
            if own > 0.0 { own } else { Some(half).filter(|h| h.is_finite() && *h > 0.0).unwrap_or(1.0) };
        if slope != 0.0 { size / slope.abs() } else { 1.0 }
    }
}

/// Residuals r(x) whose squares are to be least. They come in parts that do not depend on each other: recordings, videos.
///
/// The variables x of a part are the unknowns, which all parts share, then those of the part alone
/// ([`LeastSquares::locals`]), such as its initial state. These start at zero and are scaled to be about one.
///
/// Every residual is divided by the standard deviation of its noise, as far as it is known.
pub trait LeastSquares: Sync {
    /// What all parts share.
    fn unknowns(&self) -> &[Unknown];
    /// Number of parts.
    fn parts(&self) -> usize;
    /// Number of residuals of a part.
    fn residual_count(&self, part: usize) -> usize;
    /// Number of variables of a part alone.
    fn locals(&self, _part: usize) -> usize {
        0
    }
    /// The group of a part: noise and faults of the model may be correlated within a group, not between groups.
    fn cluster(&self, part: usize) -> usize {
        part
    }
    /// Whether residuals are divided by the whole of their noise, as with pixels whose rounding is all of it. Then noise is
    /// not taken to be less than that, though most residuals may be zero: pixels that see nothing of the unknowns.
    fn noise_is_known(&self) -> bool {
        false
    }
    /// r(x).
    fn residuals(&self, part: usize, x: &[f64], out: &mut [f64]) -> Result<(), StepError>;
    /// J ẋ.
    fn jvp(&self, part: usize, x: &[f64], x_dot: &[f64], out_dot: &mut [f64]) -> Result<(), StepError>;
    /// The pullback of [`LeastSquares::residuals`]: *adds* Jᵀ r̄ to the cotangent of x.
    fn vjp(&self, part: usize, x: &[f64], out_bar: &[f64], x_bar: &mut [f64]) -> Result<(), StepError>;

    /// \[J r\], a row per residual and a column per variable, then r. A part with more residuals than memory holds may
    /// return any matrix A with the same AᵀA, such as the [`triangle`](super::triangle) of its rows.
    fn linearize(&self, part: usize, x: &[f64]) -> Result<Mat<f64>, StepError> {
        let (m, n) = (self.residual_count(part), x.len());
        let mut all = Mat::zeros(m, n + 1);
        let (mut column, mut x_dot) = (vec![0.0; m], vec![0.0; n]);
        for j in 0..n {
            x_dot[j] = 1.0;
            self.jvp(part, x, &x_dot, &mut column)?;
            x_dot[j] = 0.0;
            (0..m).for_each(|i| all[(i, j)] = column[i]);
        }
        self.residuals(part, x, &mut column)?;
        (0..m).for_each(|i| all[(i, n)] = column[i]);
        Ok(all)
    }
}

/// A point: the unknowns, and the variables of every part.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Place {
    /// The unknowns, as they are searched.
    pub shared: Vec<f64>,
    /// Variables of each part alone.
    pub locals: Vec<Vec<f64>>,
}

impl Place {
    /// These unknowns, and the variables of all parts at zero.
    pub fn new(problem: &dyn LeastSquares, shared: Vec<f64>) -> Self {
        Place { shared, locals: (0..problem.parts()).map(|part| vec![0.0; problem.locals(part)]).collect() }
    }
    /// From all numbers in a row.
    fn from_flat(problem: &dyn LeastSquares, flat: &[f64]) -> Self {
        let mut place = Place::new(problem, flat[..problem.unknowns().len()].to_vec());
        let mut rest = &flat[problem.unknowns().len()..];
        for local in &mut place.locals {
            let (own, others) = rest.split_at(local.len());
            local.copy_from_slice(own);
            rest = others;
        }
        place
    }
    /// The variables of a part.
    pub fn of(&self, part: usize) -> Vec<f64> {
        [&self.shared[..], &self.locals[part]].concat()
    }
}

/// All residuals at a place, part after part.
pub fn residuals(problem: &dyn LeastSquares, at: &Place) -> Result<Vec<Vec<f64>>, StepError> {
    (0..problem.parts())
        .into_par_iter()
        .map(|part| {
            let mut out = vec![0.0; problem.residual_count(part)];
            problem.residuals(part, &at.of(part), &mut out)?;
            Ok(out)
        })
        .collect()
}

/// ½ |r|²; infinite where a simulation fails.
pub fn cost(problem: &dyn LeastSquares, at: &Place) -> f64 {
    let Ok(parts) = residuals(problem, at) else { return f64::INFINITY };
    let sum: f64 = parts.iter().map(|r| r.iter().map(|x| x * x).sum::<f64>()).sum();
    if sum.is_finite() { 0.5 * sum } else { f64::INFINITY }
}

/// Number of all residuals.
pub fn residual_count(problem: &dyn LeastSquares) -> usize {
    (0..problem.parts()).map(|part| problem.residual_count(part)).sum()
}

/// The mean square ½ |r|² / m as an objective of searches by gradients.
pub struct Loss<'a> {
    /// The residuals.
    pub problem: &'a dyn LeastSquares,
    /// Where the search begins: the unknowns, and the variables of all parts if they do not begin at zero.
    pub start: Vec<f64>,
}

/// Searches let variables of one part go so far from zero.
const LOCAL_BOUND: f64 = 10.0;

impl Loss<'_> {
    /// The unknowns at the variables of the search.
    pub fn place(&self, x: &[f64]) -> Place {
        Place::from_flat(self.problem, x)
    }

    fn local_count(&self) -> usize {
        (0..self.problem.parts()).map(|part| self.problem.locals(part)).sum()
    }
}

impl Objective for Loss<'_> {
    fn names(&self) -> Vec<String> {
        let shared = self.problem.unknowns().iter().map(|u| u.quantity.name.clone());
        let locals = (0..self.problem.parts())
            .flat_map(|part| (0..self.problem.locals(part)).map(move |i| format!("part {part}, start {i}")));
        shared.chain(locals).collect()
    }
    fn bounds(&self) -> Vec<(f64, f64)> {
        let mut bounds: Vec<(f64, f64)> = self.problem.unknowns().iter().map(Unknown::bounds).collect();
        bounds.resize(bounds.len() + self.local_count(), (-LOCAL_BOUND, LOCAL_BOUND));
        bounds
    }
    fn start(&self) -> Vec<f64> {
        let mut start = self.start.clone();
        start.resize(self.problem.unknowns().len() + self.local_count(), 0.0);
        start
    }
    fn floor(&self) -> Option<f64> {
        Some(0.0)
    }
    fn value(&self, x: &[f64]) -> Result<f64, StepError> {
        let parts = residuals(self.problem, &self.place(x))?;
        let sum: f64 = parts.iter().map(|r| r.iter().map(|x| x * x).sum::<f64>()).sum();
        Ok(0.5 * sum / residual_count(self.problem) as f64)
    }
    fn value_grad(&self, x: &[f64], grad: &mut [f64]) -> Result<f64, StepError> {
        let (place, scale) = (self.place(x), 1.0 / residual_count(self.problem) as f64);
        let parts = residuals(self.problem, &place)?;
        let pulled: Result<Vec<Vec<f64>>, StepError> = (0..parts.len())
            .into_par_iter()
            .map(|part| {
                let x = place.of(part);
                let mut x_bar = vec![0.0; x.len()];
                self.problem.vjp(part, &x, &parts[part], &mut x_bar)?;
                Ok(x_bar)
            })
            .collect();
        // Part after part, so that the sum does not depend on threads.
        grad.fill(0.0);
        let n = self.problem.unknowns().len();
        let mut first = n;
        for bar in pulled? {
            (0..n).for_each(|i| grad[i] += scale * bar[i]);
            let own = &bar[n..];
            grad[first..first + own.len()].iter_mut().zip(own).for_each(|(g, bar)| *g = scale * bar);
            first += own.len();
        }
        Ok(0.5 * scale * parts.iter().map(|r| r.iter().map(|x| x * x).sum::<f64>()).sum::<f64>())
    }
}

/// The residuals of a part as a map that [`gradcheck`](pullback_core::gradcheck::gradcheck) can check.
pub struct PartMap<'a> {
    /// The residuals.
    pub problem: &'a dyn LeastSquares,
    /// The part.
    pub part: usize,
}

impl Differentiable for PartMap<'_> {
    fn input_names(&self) -> Vec<String> {
        let shared = self.problem.unknowns().iter().map(|u| u.quantity.name.clone());
        let locals = (0..self.problem.locals(self.part)).map(|i| format!("start[{i}]"));
        shared.chain(locals).collect()
    }
    fn outputs(&self) -> usize {
        self.problem.residual_count(self.part)
    }
    fn eval(&self, x: &[f64], y: &mut [f64]) -> Result<(), String> {
        self.problem.residuals(self.part, x, y).map_err(|e| e.to_string())
    }
    fn jvp(&self, x: &[f64], x_dot: &[f64], y: &mut [f64], y_dot: &mut [f64]) -> Result<(), String> {
        self.problem.residuals(self.part, x, y).map_err(|e| e.to_string())?;
        self.problem.jvp(self.part, x, x_dot, y_dot).map_err(|e| e.to_string())
    }
    fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) -> Result<(), String> {
        self.problem.vjp(self.part, x, y_bar, x_bar).map_err(|e| e.to_string())
    }
}

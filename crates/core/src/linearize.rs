//! [`linearize`]: the Jacobians of a step, x′ + A δx + B δu + C δθ.

use crate::error::StepError;
use crate::point::{Bars, Point};
use crate::system::System;

/// A step and its Jacobians. Entries of a quaternion count as numbers of their own, as in the state.
///
/// ```
/// # use pullback_core::doc_example::falling;
/// use pullback_core::{Point, linearize};
/// let found = linearize(&falling(0.1), Point { params: &[10.0], state: &[2.0, 0.0], control: &[] })?;
/// assert_eq!((found.next, found.a.len(), found.c.len()), (vec![1.9, -1.0], 4, 2));
/// # Ok::<(), pullback_core::StepError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Linearization {
    /// x′.
    pub next: Vec<f64>,
    /// A = ∂x′/∂x, row after row.
    pub a: Vec<f64>,
    /// B = ∂x′/∂u, row after row.
    pub b: Vec<f64>,
    /// C = ∂x′/∂θ, row after row.
    pub c: Vec<f64>,
}

/// The step at a point and its exact Jacobians: a pullback for each row.
///
/// ```
/// use pullback_core::doc_example::falling;
/// use pullback_core::{Point, linearize};
///
/// // Semi-implicit Euler in free fall: v′ = v − g Δt, h′ = h + v′ Δt.
/// let (dt, system) = (0.1, falling(0.1));
/// let found = linearize(&system, Point { params: &[9.81], state: &[2.0, 0.0], control: &[] })?;
/// assert_eq!(found.a, [1.0, dt, 0.0, 1.0]);
/// assert!((found.c[0] + dt * dt).abs() < 1e-15 && found.c[1] == -dt);
/// # Ok::<(), pullback_core::StepError>(())
/// ```
pub fn linearize<S: System<f64>>(system: &S, at: Point<'_, f64>) -> Result<Linearization, StepError> {
    let (n, m, p) = (at.state.len(), at.control.len(), at.params.len());
    let zeros = |columns: usize| vec![0.0; n * columns];
    let mut found = Linearization { next: zeros(1), a: zeros(n), b: zeros(m), c: zeros(p) };
    let mut ws = system.workspace();
    system.step(&mut ws, at, &mut found.next)?;
    let mut row_bar = zeros(1);
    for i in 0..n {
        row_bar.fill(0.0);
        row_bar[i] = 1.0;
        let bars = Bars {
            state: &mut found.a[i * n..][..n],
            control: &mut found.b[i * m..][..m],
            params: &mut found.c[i * p..][..p],
        };
        system.step_vjp(&mut ws, at, &row_bar, bars)?;
    }
    Ok(found)
}

//! The classical fourth-order method of Kutta (1901).

use super::tableau::Tableau;

/// The classical fourth-order method; no error estimate.
pub static RK4: Tableau = Tableau {
    name: "rk4",
    c: &[0.0, 0.5, 0.5, 1.0],
    a: &[&[], &[0.5], &[0.0, 0.5], &[0.0, 0.0, 1.0]],
    b: &[1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0],
    error: None,
    error_order: 0.0,
    first_same_as_last: false,
};

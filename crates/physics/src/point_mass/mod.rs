//! A point mass above a surface (DiffMJX, Fig. 4 and S4): the smallest scene in which gradients of contact go
//! wrong.
//!
//! Without gravity and with the point falling at v₀ = −1 m/s, every autonomous contact law gives the same
//! motion later for a higher start: q_N(q₀) = Q(T + q₀/v₀). Hence the true derivative is dq_N/dq₀ = v_N / v₀,
//! whatever the law.

mod elastic;
mod penalty;

pub use elastic::{ElasticPointMass, ElasticPointMassParams, elastic_step, elastic_step_vjp};
pub use penalty::{PenaltyPointMass, PenaltyPointMassParams, penalty_acceleration, penalty_acceleration_vjp};
pub use pullback_collision::ContactDamping;

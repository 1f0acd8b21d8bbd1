//! Pendula (gradSim, C.3): a well-behaved system and a chaotic one. Point masses on massless rods, angles
//! from the downward vertical, viscous joints, a torque at each joint.

mod double;
mod double_by_hand;
mod simple;

pub use double::{
    DoublePendulum, DoublePendulumParams, Link, acceleration as double_acceleration,
    acceleration_vjp as double_acceleration_vjp,
};
pub use double_by_hand::DoublePendulumByHand;
pub use simple::{
    SimplePendulum, SimplePendulumParams, acceleration as simple_acceleration,
    acceleration_vjp as simple_acceleration_vjp,
};

//! The physical systems.
//!
//! | module | what moves | paper |
//! |---|---|---|
//! | [`point_mass`] | a point above a surface: penalty, elastic, time of impact | 4, Fig. 4 and S4 |
//! | [`articulated`] | robots: trees of rigid bodies | 1, 2, 3 |
//! | [`collision`] | nothing: where shapes touch, for the contact models | 1, 2, 3, 4 |
//! | [`mpm`] | plastic, elastic and fluid matter by the material point method | 0, 2 |
//! | [`pendulum`] | simple and double pendulum | 1, C.3 |
//! | [`smoke`] | incompressible smoke on grids | 1, C.4 |
//! | [`soft`] | particles: springs, elastic solids, cloth | 1, 2 |
//! | [`world`] | robots and soft bodies together | 1, 2 |

pub mod pendulum;
pub mod point_mass;
pub mod world;

pub use pullback_articulated as articulated;
pub use pullback_collision as collision;
pub use pullback_mpm as mpm;
pub use pullback_smoke as smoke;
pub use pullback_soft as soft;

/// Compiles the kernels for the scalars of tests and tasks; see `pullback_articulated::compiled_kernels`.
#[cfg(debug_assertions)]
#[inline(never)]
#[doc(hidden)]
pub fn compiled_kernels() -> Vec<*const ()> {
    use pendulum::{DoublePendulum, DoublePendulumByHand, SimplePendulum};
    use point_mass::PenaltyPointMass;
    use pullback_core::compiled::{both_ways, forward};
    use pullback_core::drive::{Driven, Knots, SineNetwork};
    use pullback_core::{Integrated, System};
    use pullback_math::Dual;
    use world::World;

    fn checked<S: System<f64> + System<Dual<f64>>>() -> Vec<*const ()> {
        [&both_ways::<f64, S>()[..], &forward::<Dual<f64>, S>()].concat()
    }
    [
        checked::<Integrated<World>>(),
        checked::<Integrated<Driven<World, Knots>>>(),
        checked::<Integrated<Driven<World, SineNetwork>>>(),
        checked::<Integrated<PenaltyPointMass>>(),
        checked::<Integrated<SimplePendulum>>(),
        checked::<Integrated<DoublePendulum>>(),
        checked::<Integrated<DoublePendulumByHand>>(),
        checked::<mpm::ActuatedMpm>(),
        both_ways::<f32, Integrated<World>>().to_vec(),
        both_ways::<f32, mpm::ActuatedMpm>().to_vec(),
    ]
    .concat()
}

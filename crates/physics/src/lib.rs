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

/// Compiles the kernels for plain and dual numbers; see `pullback_articulated::compiled_kernels`.
#[cfg(debug_assertions)]
#[inline(never)]
#[doc(hidden)]
pub fn compiled_kernels() -> [*const (); 3] {
    use pullback_core::VectorField;
    use pullback_math::Dual;
    [
        <world::World as VectorField<f64>>::eval as *const (),
        <world::World as VectorField<f64>>::eval_vjp as *const (),
        <world::World as VectorField<Dual<f64>>>::eval as *const (),
    ]
}

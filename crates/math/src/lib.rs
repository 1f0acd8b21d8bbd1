//! Scalars, SIMD lanes, dual numbers and small fixed-size algebra.
//!
//! Every differentiable function `f` has a sibling `f_vjp`: the same arguments, then the cotangent of the
//! output; it returns one cotangent per argument, in order. A cotangent has the type of its primal; the
//! cotangent of a constant (an index, a flag) is `()`. A function of one argument returns that cotangent
//! bare, a function of several returns a tuple.
//!
//! ```
//! use pullback_math::{Real, Vec3};
//! let (a, b) = (Vec3::new(1.0, 2.0, 3.0), Vec3::new(-1.0, 0.5, 2.0));
//! // d(a·b) = b·da + a·db
//! let (a_bar, b_bar) = a.dot_vjp(b, 1.0);
//! assert_eq!((a_bar, b_bar), (b, a));
//! ```
//!
//! `#[differentiable]` writes the siblings. By hand are those of operators and other primitives, and those
//! with an adjoint that costs less than the macro's: its equation stands above each.
//!
//! Code generic over [`Real`] runs four ways: on `f64`, on `f32`, on SIMD [`lanes`] that step several
//! environments at once, and on [`Dual`], the forward mode every `_vjp` is checked against.

extern crate self as pullback_math;

pub mod cotangent;
pub mod dual;
pub mod flat;
pub mod inertia;
pub mod isotropic;
pub mod lanes;
pub mod linear;
pub mod mat3;
pub mod ops;
pub mod pack;
pub mod polar;
pub mod quad;
pub mod quat;
pub mod quat_exp;
pub mod real;
pub mod register_pair;
pub mod scalar;
pub mod spatial;
pub mod spectral;
pub mod svd3;
pub mod sym_mat3;
pub mod symmetric_eigen;
pub mod transform;
pub mod vec3;

pub use cotangent::{Accumulate, Cotangent, constant};
pub use dual::Dual;
pub use flat::{Flat, Rescale};
pub use inertia::SpatialInertia;
pub use isotropic::{isotropic, isotropic_vjp};
pub use lanes::{f32x4, f32x8, f32x16, f64x4, f64x8};
pub use linear::Linear;
pub use mat3::Mat3;
pub use ops::{AddVjp, DivVjp, MulVjp, NegVjp, SubVjp};
pub use pack::{HALF, Packing, RECORD};
pub use polar::{Polar, polar, polar_vjp};
/// ```
/// use pullback_math::{Cotangent, Flat, Vec3};
///
/// #[derive(Clone, Copy, Cotangent)]
/// struct Particle<T> {
///     position: Vec3<T>,
///     mass: T,
/// }
///
/// assert_eq!(<Particle<f64> as Flat<f64>>::LEN, 4);
/// let mut sum = Particle { position: Vec3::new(1.0, 2.0, 3.0), mass: 4.0 };
/// sum.accumulate(sum);
/// assert_eq!(sum.mass, 8.0);
/// ```
#[doc(inline)]
pub use pullback_macros::Cotangent;
/// ```
/// use pullback_math::{Real, Vec3, differentiable};
///
/// /// Force of a spring on particle a.
/// #[differentiable]
/// fn spring<T: Real>(xa: Vec3<T>, xb: Vec3<T>, rest: T, #[constant] stiffness: T) -> Vec3<T> {
///     let d = xa - xb;
///     d.normalize() * (stiffness * (rest - d.norm()))
/// }
///
/// let (xa, xb) = (Vec3::new(2.0, 0.0, 0.0), Vec3::zero());
/// assert_eq!(spring(xa, xb, 1.0, 5.0), Vec3::new(-5.0, 0.0, 0.0));
/// // One slot per argument; the slot of a constant is `()`.
/// let (xa_bar, xb_bar, rest_bar, ()) = spring_vjp(xa, xb, 1.0, 5.0, Vec3::new(1.0, 0.0, 0.0));
/// assert_eq!((xa_bar.x, xb_bar.x, rest_bar), (-5.0, 5.0, 5.0));
/// ```
///
/// ```
/// use pullback_math::{Real, differentiable};
///
/// #[differentiable]
/// fn horner<T: Real, const N: usize>(c: [T; N], x: T) -> T {
///     let mut sum = T::zero();
///     for i in 0..N {
///         sum = sum * x + c[i];
///     }
///     sum
/// }
///
/// // d(3x² + 2x + 1) = (6x + 2) dx + x² dc₀ + x dc₁ + dc₂
/// assert_eq!(horner_vjp([3.0, 2.0, 1.0], 2.0, 1.0), ([4.0, 2.0, 1.0], 14.0));
/// ```
#[doc(inline)]
pub use pullback_macros::differentiable;
pub use quad::Scalar;
pub use quat::Quat;
pub use quat_exp::{rotation_vector_rate, rotation_vector_rate_vjp};
pub use real::{Mask, Real, Select, select, select_vjp};
pub use register_pair::RegisterPair;
pub use spatial::{Force, Motion};
pub use spectral::{SpectralMap, spectral_map, spectral_map_at, spectral_map_at_vjp, spectral_map_vjp};
pub use svd3::{Svd3, singular_values, singular_values_vjp, svd, svd_vjp};
pub use sym_mat3::SymMat3;
pub use symmetric_eigen::{
    SymmetricEigen, symmetric_eigen, symmetric_eigen_vjp, symmetric_eigenvalues, symmetric_eigenvalues_vjp,
};
pub use transform::Transform;
pub use vec3::Vec3;

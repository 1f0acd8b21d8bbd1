//! Parameters of materials: blocks that are read, pulled back and described as a whole.

use pullback_math::{Cotangent, Flat, Real};

/// A block of material parameters of one particle.
pub trait MaterialParams<T>: Flat<T> + Cotangent {
    /// Name and unit of each parameter, in the order of [`Flat`].
    const FIELDS: &'static [(&'static str, &'static str)];
}

/// A struct of parameters with its [`MaterialParams`], and as the array of a
/// [`SpectralMap`](pullback_math::SpectralMap).
macro_rules! material_params {
    ($(#[$doc:meta])* $name:ident, $count:literal, {
        $($(#[$field_doc:meta])* $field:ident: $label:literal, $unit:literal;)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
        pub struct $name<T> {
            $($(#[$field_doc])* pub $field: T,)*
        }

        impl<T: Real> MaterialParams<T> for $name<T> {
            const FIELDS: &'static [(&'static str, &'static str)] = &[$(($label, $unit)),*];
        }

        impl<T> From<[T; $count]> for $name<T> {
            #[inline(always)]
            fn from([$($field),*]: [T; $count]) -> Self {
                $name { $($field),* }
            }
        }

        impl<T> From<$name<T>> for [T; $count] {
            #[inline(always)]
            fn from($name { $($field),* }: $name<T>) -> Self {
                [$($field),*]
            }
        }
    };
}

material_params! {
    /// Parameters of elastic solids and of fluids.
    Elastic, 2, {
        /// Young's modulus E, Pa.
        young: "young", "Pa";
        /// Poisson's ratio ν.
        poisson: "poisson", "1";
    }
}

material_params! {
    /// Parameters of elastic solids that flow at a yield stress.
    Elastoplastic, 3, {
        /// Young's modulus E, Pa.
        young: "young", "Pa";
        /// Poisson's ratio ν.
        poisson: "poisson", "1";
        /// Yield stress σ_y, Pa.
        yield_stress: "yield", "Pa";
    }
}

material_params! {
    /// Parameters of granular materials.
    Granular, 3, {
        /// Young's modulus E, Pa.
        young: "young", "Pa";
        /// Poisson's ratio ν.
        poisson: "poisson", "1";
        /// Angle of internal friction φ, rad.
        friction_angle: "friction_angle", "rad";
    }
}

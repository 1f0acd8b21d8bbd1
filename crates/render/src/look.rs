//! The color of fragments: textures and light.

use pullback_math::{Cotangent, Mask, Scalar, Select, Vec3};

use crate::material::{
    Light, Reflectance, Shading, SurfacePoint, facing_normal, facing_normal_vjp, shade, shade_vjp,
};
use crate::primitive::{Fragment, Sight};
use crate::settings::Outputs;
use crate::texture::{Texture, sample, sample_vjp};

/// How a primitive looks, and what is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look<'a, T: Scalar> {
    pub sight: Sight,
    pub outputs: Outputs,
    pub lights: &'a [Light<T::Pack>],
    pub shading: Shading,
    pub reflectance: Reflectance<T::Pack>,
    /// The texture, and the first of its texels among those of all surfaces.
    pub texture: Option<(&'a Texture<T>, usize)>,
}

/// Color and normal of a fragment; zero where not asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shown<P> {
    pub color: Vec3<P>,
    pub normal: Vec3<P>,
}

/// Where cotangents of looks go.
#[derive(Debug)]
pub(crate) struct LookBar<'a, T: Scalar> {
    pub lights: &'a mut [Light<T::Pack>],
    pub reflectance: Reflectance<T::Pack>,
    /// Texels of all surfaces.
    pub texels: &'a mut [Vec3<T>],
}

impl<T: Scalar> Look<'_, T> {
    /// What the viewer sees of a fragment in the lanes of `mask`.
    #[inline(always)]
    pub fn show(&self, fragment: &Fragment<T::Pack>, mask: <T::Pack as Select>::Mask) -> Shown<T::Pack> {
        let mut shown = Shown::default();
        if self.outputs.color {
            let point = SurfacePoint { albedo: self.albedo(fragment, mask), ..fragment.point };
            shown.color = shade(self.shading, self.sight.perspective, self.lights, self.reflectance, point);
        }
        if self.outputs.normal {
            let point = fragment.point;
            shown.normal = facing_normal(self.sight.perspective, point.position, point.normal);
        }
        shown
    }

    /// Pullback of [`Look::show`].
    #[inline(always)]
    pub fn show_vjp(
        &self,
        fragment: &Fragment<T::Pack>,
        mask: <T::Pack as Select>::Mask,
        shown_bar: Shown<T::Pack>,
        bar: &mut LookBar<'_, T>,
    ) -> Fragment<T::Pack> {
        let mut fragment_bar = fragment.zero_like();
        let perspective = self.sight.perspective;
        if self.outputs.color {
            let point = SurfacePoint { albedo: self.albedo(fragment, mask), ..fragment.point };
            fragment_bar.point = shade_vjp(
                self.shading,
                perspective,
                self.lights,
                self.reflectance,
                point,
                shown_bar.color,
                bar.lights,
                &mut bar.reflectance,
            );
            if let Some((texture, first)) = self.texture {
                let texels_bar = &mut bar.texels[first..first + texture.texels.len()];
                let uv = fragment.point.albedo;
                fragment_bar.point.albedo = texels_vjp(texture, uv, fragment_bar.point.albedo, texels_bar);
            }
        }
        if self.outputs.normal {
            let point = fragment.point;
            let ((), position, normal) =
                facing_normal_vjp(perspective, point.position, point.normal, shown_bar.normal);
            fragment_bar.point.position += position;
            fragment_bar.point.normal += normal;
        }
        fragment_bar
    }

    #[inline(always)]
    fn albedo(&self, fragment: &Fragment<T::Pack>, mask: <T::Pack as Select>::Mask) -> Vec3<T::Pack> {
        match self.texture {
            None => fragment.point.albedo,
            Some((texture, _)) => texels(texture, fragment.point.albedo, mask),
        }
    }
}

/// The color at (u, v) in each lane of `mask`.
#[inline(never)]
fn texels<T: Scalar>(
    texture: &Texture<T>,
    uv: Vec3<T::Pack>,
    mask: <T::Pack as Select>::Mask,
) -> Vec3<T::Pack> {
    if !mask.any() {
        return Vec3::zero();
    }
    T::pack_vectors(|i| {
        let [u, v] = [uv.x, uv.y].map(|x| T::unpack(&x, i));
        sample(texture, u, v)
    })
}

/// Pullback of [`texels`]: returns the cotangent of (u, v, 0).
#[inline(never)]
fn texels_vjp<T: Scalar>(
    texture: &Texture<T>,
    uv: Vec3<T::Pack>,
    color_bar: Vec3<T::Pack>,
    texels_bar: &mut [Vec3<T>],
) -> Vec3<T::Pack> {
    T::pack_vectors(|i| {
        let color_bar = T::unpack_vector(&color_bar, i);
        let nothing = color_bar.norm_squared().le(T::zero());
        if nothing.all() {
            return Vec3::zero();
        }
        let [u, v] = [uv.x, uv.y].map(|x| T::unpack(&x, i));
        let (u_bar, v_bar) = sample_vjp(texture, u, v, color_bar, texels_bar);
        Vec3::new(u_bar, v_bar, T::zero())
    })
}

//! Materials and lights, and the light that a point sends to the viewer.
//!
//! Phong's reflection model in the camera's frame: c = albedo (Σ ambient + kd Σ I max(n·l, 0)) + ks Σ I max(r·v,
//! 0)ˢ with r = 2 (n·l) n − l. Normals look toward the viewer, so that both sides of a face are lit.

use pullback_math::{Cotangent, Real, Vec3, differentiable, select};

/// Which light a material reflects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shading {
    /// The color itself, whatever the lights are.
    Unlit,
    /// Ambient and diffuse light.
    Lambert,
    /// Ambient, diffuse and specular light.
    Phong,
}

/// How much light a material reflects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub struct Reflectance<T> {
    /// Share of ambient light.
    pub ambient: T,
    /// Share of light that is scattered evenly.
    pub diffuse: T,
    /// Share of light that is mirrored.
    pub specular: T,
    /// Exponent s of the highlight.
    pub shininess: T,
}

impl<T> Reflectance<T> {
    /// Every number through `f`.
    #[inline(always)]
    pub fn map<U>(self, f: impl Fn(T) -> U) -> Reflectance<U> {
        Reflectance {
            ambient: f(self.ambient),
            diffuse: f(self.diffuse),
            specular: f(self.specular),
            shininess: f(self.shininess),
        }
    }
}

/// How a surface looks, apart from its color.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Material<T> {
    /// Which light is reflected; constant.
    pub shading: Shading,
    /// Whether normals are interpolated between vertices, or are those of faces; constant.
    pub smooth: bool,
    /// How much of each.
    pub reflectance: Reflectance<T>,
}

impl<T: Real> Material<T> {
    /// The color itself, unlit.
    pub fn unlit() -> Self {
        Material::new(Shading::Unlit, 0.0, 0.0)
    }
    /// Matt: all of the ambient and diffuse light.
    pub fn matt() -> Self {
        Material::new(Shading::Lambert, 0.0, 0.0)
    }
    /// Shiny: the same with highlights.
    pub fn shiny(specular: f64, shininess: f64) -> Self {
        Material::new(Shading::Phong, specular, shininess)
    }
    /// The same with interpolated normals.
    #[must_use]
    pub fn smoothed(self) -> Self {
        Material { smooth: true, ..self }
    }

    fn new(shading: Shading, specular: f64, shininess: f64) -> Self {
        let (one, specular, shininess) = (T::one(), T::lit(specular), T::lit(shininess));
        Material {
            shading,
            smooth: false,
            reflectance: Reflectance { ambient: one, diffuse: one, specular, shininess },
        }
    }

    /// Every number through `f`.
    pub fn map<U: Real>(&self, f: impl Fn(T) -> U) -> Material<U> {
        Material { shading: self.shading, smooth: self.smooth, reflectance: self.reflectance.map(f) }
    }
    pub(crate) fn numbers(&self) -> [T; 4] {
        let Reflectance { ambient, diffuse, specular, shininess } = self.reflectance;
        [ambient, diffuse, specular, shininess]
    }
}

/// Where light comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LightKind {
    /// From everywhere.
    Ambient,
    /// From one direction, as the sun's.
    Directional,
    /// From a point.
    Point,
}

/// A light.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Light<T> {
    /// Where it comes from; constant.
    pub kind: LightKind,
    /// Towards the light of a directional one, whose length does not matter; position (m) of a point light.
    pub vector: Vec3<T>,
    /// Red, green and blue.
    pub intensity: Vec3<T>,
}

impl<T: Real> Light<T> {
    /// Light from everywhere.
    pub fn ambient(intensity: Vec3<T>) -> Self {
        Light { kind: LightKind::Ambient, vector: Vec3::zero(), intensity }
    }
    /// Light from the direction `toward`, which points to the light.
    pub fn directional(toward: Vec3<T>, intensity: Vec3<T>) -> Self {
        Light { kind: LightKind::Directional, vector: toward, intensity }
    }
    /// Light from a point at `position` (m), of the same intensity at any distance.
    pub fn point(position: Vec3<T>, intensity: Vec3<T>) -> Self {
        Light { kind: LightKind::Point, vector: position, intensity }
    }
    /// Every number through `f`.
    pub fn map<U: Real>(&self, f: impl Fn(T) -> U) -> Light<U> {
        Light { kind: self.kind, vector: self.vector.map(&f), intensity: self.intensity.map(&f) }
    }
}

/// A point of a surface as light meets it, in the camera's frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub struct SurfacePoint<T> {
    /// Position, m.
    pub position: Vec3<T>,
    /// Normal, of any length and side.
    pub normal: Vec3<T>,
    /// Color.
    pub albedo: Vec3<T>,
}

/// Direction to the viewer from a point in the camera's frame.
#[differentiable]
#[inline(always)]
pub(crate) fn toward_viewer<T: Real>(#[constant] perspective: bool, position: Vec3<T>) -> Vec3<T> {
    if perspective { (-position).normalize() } else { Vec3::new(T::zero(), T::zero(), T::one()) }
}

/// The unit normal on the viewer's side. The choice of the side is held constant.
#[differentiable]
#[inline(always)]
pub fn facing_normal<T: Real>(#[constant] perspective: bool, position: Vec3<T>, normal: Vec3<T>) -> Vec3<T> {
    let n = normal.normalize();
    let away = n.dot(toward_viewer(perspective, position)).lt(T::zero());
    n * select(away, T::lit(-1.0), T::one())
}

/// Light of one ambient light.
#[differentiable]
#[inline(always)]
pub(crate) fn ambient_light<T: Real>(intensity: Vec3<T>, r: Reflectance<T>, albedo: Vec3<T>) -> Vec3<T> {
    times(albedo, intensity) * r.ambient
}

/// Light of one lamp that is scattered evenly: kd I max(n·l, 0) albedo.
#[differentiable]
#[inline(always)]
pub(crate) fn diffuse_light<T: Real>(
    l: Vec3<T>,
    intensity: Vec3<T>,
    r: Reflectance<T>,
    n: Vec3<T>,
    albedo: Vec3<T>,
) -> Vec3<T> {
    times(albedo, intensity) * (r.diffuse * n.dot(l).max(T::zero()))
}

/// Light of one lamp that is mirrored: ks I max(r·v, 0)ˢ where the lamp is on the viewer's side.
#[differentiable]
#[inline(always)]
pub(crate) fn specular_light<T: Real>(
    l: Vec3<T>,
    intensity: Vec3<T>,
    r: Reflectance<T>,
    n: Vec3<T>,
    v: Vec3<T>,
) -> Vec3<T> {
    let cosine = n.dot(l);
    let mirrored = n * (cosine + cosine) - l;
    let lit = cosine.gt(T::zero());
    let along = select(lit, mirrored.dot(v), T::zero());
    intensity * (r.specular * along.powf(r.shininess))
}

/// Direction from a point to a lamp.
#[differentiable]
#[inline(always)]
pub(crate) fn toward_lamp<T: Real>(#[constant] point: bool, vector: Vec3<T>, position: Vec3<T>) -> Vec3<T> {
    if point { (vector - position).normalize() } else { vector.normalize() }
}

/// Entry by entry.
#[differentiable]
#[inline(always)]
pub(crate) fn times<T: Real>(a: Vec3<T>, b: Vec3<T>) -> Vec3<T> {
    Vec3::new(a.x * b.x, a.y * b.y, a.z * b.z)
}

/// Light of one light that a point sends to the viewer.
#[differentiable]
#[inline(always)]
fn one_light<T: Real>(
    #[constant] kind: LightKind,
    #[constant] shading: Shading,
    #[constant] perspective: bool,
    vector: Vec3<T>,
    intensity: Vec3<T>,
    r: Reflectance<T>,
    at: SurfacePoint<T>,
) -> Vec3<T> {
    if kind == LightKind::Ambient {
        ambient_light(intensity, r, at.albedo)
    } else {
        let n = facing_normal(perspective, at.position, at.normal);
        let l = toward_lamp(kind == LightKind::Point, vector, at.position);
        let diffuse = diffuse_light(l, intensity, r, n, at.albedo);
        if shading == Shading::Phong {
            let v = toward_viewer(perspective, at.position);
            diffuse + specular_light(l, intensity, r, n, v)
        } else {
            diffuse
        }
    }
}

/// The color that the viewer sees of a point.
#[inline(always)]
pub fn shade<T: Real>(
    shading: Shading,
    perspective: bool,
    lights: &[Light<T>],
    r: Reflectance<T>,
    at: SurfacePoint<T>,
) -> Vec3<T> {
    if shading == Shading::Unlit {
        return at.albedo;
    }
    let mut color = Vec3::zero();
    for light in lights {
        color += one_light(light.kind, shading, perspective, light.vector, light.intensity, r, at);
    }
    color
}

/// Pullback of [`shade`]: adds to the cotangents of lights and reflectance, returns that of the point.
#[inline(always)]
pub fn shade_vjp<T: Real>(
    shading: Shading,
    perspective: bool,
    lights: &[Light<T>],
    r: Reflectance<T>,
    at: SurfacePoint<T>,
    color_bar: Vec3<T>,
    lights_bar: &mut [Light<T>],
    r_bar: &mut Reflectance<T>,
) -> SurfacePoint<T> {
    let mut at_bar = at.zero_like();
    if shading == Shading::Unlit {
        at_bar.albedo = color_bar;
        return at_bar;
    }
    for (light, light_bar) in lights.iter().zip(lights_bar) {
        let ((), (), (), vector, intensity, reflectance, point) =
            one_light_vjp(light.kind, shading, perspective, light.vector, light.intensity, r, at, color_bar);
        light_bar.vector += vector;
        light_bar.intensity += intensity;
        r_bar.accumulate(reflectance);
        at_bar.accumulate(point);
    }
    at_bar
}

//! The color of what samples see: textures, light with shadows, haze, sky.

use pullback_math::{Mat3, Real, Scalar, Select, Vec3, select};

use super::effects::{Effects, Finish, Lamp, Sky};
use super::pyramid::Pyramid;
use super::shadow::ShadowMap;
use crate::look::{Look, Shown};
use crate::material::{
    LightKind, Shading, SurfacePoint, ambient_light, diffuse_light, facing_normal, specular_light,
    toward_lamp, toward_viewer,
};
use crate::primitive::{Fragment, Primitive};
use crate::stage::Stage;

/// What all samples need to know for their colors.
pub(super) struct Shader<'a, T: Scalar> {
    pub stage: &'a Stage<'a, T>,
    effects: &'a Effects,
    shadows: &'a [ShadowMap<T>],
    pyramids: &'a [Pyramid<T>],
    world_from_camera: Mat3<T::Pack>,
    /// Lamps with the axes of cones in the camera's frame.
    lamps: Vec<Lamp>,
}

impl<'a, T: Scalar> Shader<'a, T> {
    pub fn new(
        stage: &'a Stage<'a, T>,
        effects: &'a Effects,
        shadows: &'a [ShadowMap<T>],
        pyramids: &'a [Pyramid<T>],
    ) -> Self {
        let axes = stage.camera.world_from_camera;
        let camera_from_world = axes.map(|x| x.lane(0)).transpose();
        let seen = |i: usize| {
            let mut lamp = effects.lamp(i);
            if let Some(cone) = &mut lamp.cone {
                cone.axis = camera_from_world * cone.axis.normalize();
            }
            lamp
        };
        let lamps = (0..stage.lights.len()).map(seen).collect();
        Shader { stage, effects, shadows, pyramids, world_from_camera: axes.map(T::fill), lamps }
    }

    /// Optical properties of triangle `i`.
    #[inline(always)]
    pub fn finish_of_triangle(&self, i: usize) -> Finish {
        self.effects.finish(self.stage.triangles.origins[i].surface as usize)
    }

    /// Places of the samples of a block on the screen.
    #[inline(always)]
    pub fn places(&self, tile: usize, block: usize) -> [T::Pack; 2] {
        let [x, y] = self.stage.grid.sample(tile, block, 0);
        self.stage.grid.centers(x, y)
    }

    /// What the samples at `at` in the lanes of `here` see of a primitive: a triangle, or a ball after all triangles.
    pub fn show(&self, number: usize, at: [T::Pack; 2], here: <T::Pack as Select>::Mask) -> Shown<T::Pack> {
        let triangles = self.stage.triangles.origins.len();
        if number < triangles {
            let surface = self.stage.triangles.origins[number].surface as usize;
            let (look, triangle) = (self.stage.triangle_look(number), self.stage.triangle(number));
            let fragment = triangle.fragment_inside(look.sight, at);
            let albedo = match look.texture {
                None => fragment.point.albedo,
                Some((texture, _)) => {
                    let slopes = triangle.paint_slopes(look.sight, &fragment);
                    let spacing = self.stage.grid.spacing;
                    self.pyramids[surface].sample(texture, fragment.point.albedo, slopes, spacing, here)
                }
            };
            self.shown(&look, self.effects.finish(surface), &fragment, albedo, at, here)
        } else {
            let (look, ball) = (self.stage.ball_look(), self.stage.ball(number - triangles));
            let fragment = ball.fragment_inside(look.sight, at);
            self.shown(&look, Finish::default(), &fragment, fragment.point.albedo, at, here)
        }
    }

    fn shown(
        &self,
        look: &Look<'_, T>,
        finish: Finish,
        fragment: &Fragment<T::Pack>,
        albedo: Vec3<T::Pack>,
        at: [T::Pack; 2],
        here: <T::Pack as Select>::Mask,
    ) -> Shown<T::Pack> {
        let mut shown = Shown::default();
        let point = SurfacePoint { albedo, ..fragment.point };
        let normal = facing_normal(look.sight.perspective, point.position, point.normal);
        if look.outputs.normal {
            shown.normal = normal;
        }
        if look.outputs.color {
            let lit =
                if look.shading == Shading::Unlit { albedo } else { self.light(look, point, normal, here) };
            shown.color = self.hazy(lit + albedo * T::Pack::lit(finish.emission), point.position, at);
        }
        shown
    }

    /// Light of all lights that a point sends to the viewer.
    fn light(
        &self,
        look: &Look<'_, T>,
        point: SurfacePoint<T::Pack>,
        normal: Vec3<T::Pack>,
        here: <T::Pack as Select>::Mask,
    ) -> Vec3<T::Pack> {
        let (r, perspective) = (look.reflectance, look.sight.perspective);
        let mut color = Vec3::zero();
        for (i, light) in look.lights.iter().enumerate() {
            if light.kind == LightKind::Ambient {
                color += ambient_light(light.intensity, r, point.albedo);
                continue;
            }
            let lamp = &self.lamps[i];
            let l = toward_lamp(light.kind == LightKind::Point, light.vector, point.position);
            let mut strength = strength(lamp, light.vector, point.position, l);
            if let Some(map) = self.shadows.get(i).filter(|map| map.is_drawn()) {
                // What turns away from the light is dark anyway.
                let lit = here & normal.dot(l).gt(T::Pack::zero()) & strength.gt(T::Pack::zero());
                strength *= map.visibility(point.position, normal, lit);
            }
            color += diffuse_light(l, light.intensity * strength, r, normal, point.albedo);
            if look.shading == Shading::Phong {
                let highlight = lamp.highlight.map_or(light.intensity, |c| c.map(T::Pack::lit));
                let viewer = toward_viewer(perspective, point.position);
                color += specular_light(l, highlight * strength, r, normal, viewer);
            }
        }
        color
    }

    /// What is behind everything.
    pub fn background(&self, at: [T::Pack; 2]) -> Vec3<T::Pack> {
        match self.effects.sky {
            None => self.stage.scene.background.map(T::fill),
            Some(sky) => sky_color(sky, self.direction(at)),
        }
    }

    /// The direction of sight in the world.
    fn direction(&self, at: [T::Pack; 2]) -> Vec3<T::Pack> {
        let camera = self.stage.camera;
        let (half, ahead) = (T::fill(camera.half_height), T::Pack::lit(-1.0));
        let seen = match camera.lens.is_perspective() {
            true => Vec3 { x: at[0] * half, y: at[1] * half, z: ahead },
            false => Vec3 { x: T::Pack::zero(), y: T::Pack::zero(), z: ahead },
        };
        (self.world_from_camera * seen).normalize()
    }

    /// Mixes the background in, by distance.
    fn hazy(&self, color: Vec3<T::Pack>, position: Vec3<T::Pack>, at: [T::Pack; 2]) -> Vec3<T::Pack> {
        let Some(haze) = self.effects.haze else { return color };
        let far = position.norm() - T::Pack::lit(haze.start);
        let share =
            (far * T::Pack::lit(1.0 / (haze.end - haze.start))).max(T::Pack::zero()).min(T::Pack::one());
        let smooth = share * share * (T::Pack::lit(3.0) - share - share);
        color + (self.background(at) - color) * smooth
    }
}

/// Intensity of a point light at a place: 1 / (a₀ + a₁ d + a₂ d²), and cosˢ of the angle from the axis within its cone.
fn strength<P: Real>(lamp: &Lamp, from: Vec3<P>, at: Vec3<P>, l: Vec3<P>) -> P {
    let mut strength = P::one();
    if let Some([a, b, c]) = lamp.attenuation {
        let d = (from - at).norm();
        strength = (P::lit(a) + d * (P::lit(b) + d * P::lit(c))).recip();
    }
    if let Some(cone) = lamp.cone {
        let cosine = -cone.axis.map(P::lit).dot(l);
        let inside = cosine.gt(P::lit(cone.cutoff.cos()));
        let falloff = select(inside, cosine, P::one()).max(P::lit(1e-6)).powf(P::lit(cone.exponent));
        strength *= select(inside, falloff, P::zero());
    }
    strength
}

fn sky_color<P: Real>(sky: Sky, direction: Vec3<P>) -> Vec3<P> {
    let up = direction.z.max(P::lit(-1.0)).min(P::one());
    let e = up.asin() * P::lit(std::f64::consts::FRAC_2_PI);
    let half = P::lit(0.5);
    let share = half + half * P::lit(2.0_f64.sqrt()) * e / (e.mul_add(e, P::one())).sqrt();
    let (above, below) = (sky.above.map(P::lit), sky.below.map(P::lit));
    below + (above - below) * share
}

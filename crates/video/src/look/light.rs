//! Lights of models: on bodies, and at the camera.

use pullback_math::{Mat3, Real, Transform, Vec3};
use pullback_physics::articulated::{LightKind, Model};
use pullback_render::{Camera, Cone, Lamp, Light, Scene};

use super::camera::Mount;
use super::{Look, Moment};

/// What moves a light.
#[derive(Clone, Debug, PartialEq)]
pub enum LightMount {
    /// Nothing.
    Still,
    /// The camera: it shines where that looks.
    Head,
    /// A body.
    Body(Box<BodyMount>),
}

/// A light on a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyMount {
    mount: Mount,
}

/// Adds a light with what moves it.
fn add(look: &mut Look, light: Light<f64>, lamp: Lamp, mount: LightMount) {
    look.scene.lights.push(light);
    look.effects.lamps.push(lamp);
    look.lights.push(mount);
}

/// The lights of a model, in place of those of the look. A model without lights of its own gets one from above.
pub(super) fn light_up(look: &mut Look, model: &Model, reference: &Moment) {
    look.scene.lights.clear();
    let shining: Vec<_> = model.lights.iter().filter(|l| l.active).collect();
    let lit = !shining.is_empty() || model.visual.headlight.is_some();
    let head = model.visual.headlight.unwrap_or_default();
    let vector = |c: [f32; 3]| Vec3::new(c[0], c[1], c[2]).map(f64::from);

    let mut ambient = if head.active { vector(head.ambient) } else { Vec3::zero() };
    ambient = shining.iter().fold(ambient, |sum, light| sum + vector(light.ambient));
    if !lit {
        ambient = Vec3::new(0.42, 0.42, 0.45);
    }
    add(look, Light::ambient(ambient), Lamp::default(), LightMount::Still);

    if head.active {
        let strength = if lit { 1.0 } else { 0.35 };
        let light = Light::directional(Vec3::new(0.0, 0.0, 1.0), vector(head.diffuse) * strength);
        let lamp = Lamp { highlight: Some(vector(head.specular) * strength), ..Lamp::default() };
        add(look, light, lamp, LightMount::Head);
    }
    if !lit {
        let sun = Light::directional(Vec3::new(0.45, 0.35, 1.0), Vec3::new(0.62, 0.6, 0.56));
        let highlight = Some(Vec3::new(0.3, 0.3, 0.3));
        add(look, sun, Lamp { casts_shadow: true, highlight, ..Lamp::default() }, LightMount::Still);
    }
    for light in shining {
        let (position, diffuse) = (light.position, vector(light.diffuse));
        let source = match light.kind {
            LightKind::Directional => Light::directional(-light.direction, diffuse),
            LightKind::Spot | LightKind::Point => Light::point(position, diffuse),
            LightKind::Image => {
                look.notes.push(format!("light `{}`: light of an image is not drawn", light.name));
                continue;
            }
        };
        let cone = Cone {
            axis: light.direction,
            cutoff: f64::from(light.cutoff).to_radians(),
            exponent: f64::from(light.exponent),
        };
        let lamp = Lamp {
            casts_shadow: light.castshadow,
            cone: (light.kind == LightKind::Spot).then_some(cone),
            attenuation: (light.attenuation != [1.0, 0.0, 0.0]).then(|| light.attenuation.map(f64::from)),
            highlight: Some(vector(light.specular)),
        };
        // Its frame has the direction of its rays as −z.
        let fixed = Transform::new(frame(-light.direction), position);
        let mount = Mount::new(look, reference, light.body, light.following, fixed);
        add(look, source, lamp, LightMount::Body(Box::new(BodyMount { mount })));
    }
}

/// A rotation whose z axis is this direction.
fn frame(z: Vec3<f64>) -> Mat3<f64> {
    let z = z.normalize();
    let other = if z.x.abs() < 0.9 { Vec3::new(1.0, 0.0, 0.0) } else { Vec3::new(0.0, 1.0, 0.0) };
    let x = other.cross(z).normalize();
    Mat3::from_cols(x, z.cross(x), z)
}

impl Look {
    /// Moves the lights: sets their positions and directions in the scene, and those of their cones.
    pub fn aim_lights<T: Real>(
        &self,
        moment: &Moment,
        camera: &Camera<f64>,
        scene: &mut Scene<T>,
        lamps: &mut [Lamp],
    ) {
        for ((mount, light), lamp) in self.lights.iter().zip(&mut scene.lights).zip(lamps) {
            match mount {
                LightMount::Still => {}
                LightMount::Head => light.vector = camera.world_from_camera.c2.map(T::lit),
                LightMount::Body(body) => {
                    let pose = body.mount.pose(self, moment);
                    let point = light.kind == pullback_render::LightKind::Point;
                    light.vector = if point { pose.translation } else { pose.rotation.c2 }.map(T::lit);
                    if let Some(cone) = &mut lamp.cone {
                        cone.axis = -pose.rotation.c2;
                    }
                }
            }
        }
    }
}

//! `rolling-flat`: a pin on three joints rolls out dough (Rewarped, RollingFlat).

use std::f64::consts::PI;

use pullback_core::ConfigError;
use pullback_math::Vec3;
use pullback_physics::mpm::particles::random_box;
use pullback_physics::mpm::{Elastoplastic, Material, Particles};

use super::blueprint::{Blueprint, Size, SourceFrame, ToolBuilder, cube};

/// Height of the source's floor: three of its 48 cells, m.
pub(super) const FLOOR: f64 = 3.0 / 48.0;
/// Seconds per action: 40 substeps of 5 · 10⁻⁵ s.
pub(super) const ACTION: f64 = 2e-3;

/// Dough under a pin.
pub(super) fn build(name: &str, size: Size) -> Result<Blueprint, ConfigError> {
    let grid = cube(size.pick(48, 32, 16), 48, size, 500.0);
    let frame = SourceFrame::new(&grid, FLOOR);
    let count = size.pick(2592, 800, 6);
    let edges = Vec3::new(0.3, 0.3, 0.125);
    let volume = edges.x * edges.y * edges.z / count as f64;
    let mut particles = Particles::default();
    let positions = random_box(count, frame.at(0.5, 0.15, 0.5), edges, 0);
    let dough = Material::VonMises(Elastoplastic { young: 5e3, poisson: 0.2, yield_stress: 50.0 });
    particles.add("dough", dough, 1.0, volume, &positions, Vec3::zero())?;

    let mut builder = ToolBuilder::new(ACTION, 0.9);
    // The yaw turns about the body's origin, half a meter beside the pin's center, as in the source.
    let Vec3 { x, y, z } = frame.at(0.5, 0.2875, 0.0);
    let (low, high) = (0.1225 + frame.lift, 0.3725 + frame.lift);
    let pin = builder.geoms(
        "<geom type='capsule' fromto='0 -0.7 0 0 -0.3 0' size='0.03'/><geom type='capsule' fromto='0 -0.8 0 0 -0.2 0' size='0.012'/>",
    );
    let most = 0.66 * PI;
    builder.add(&format!(
        "<body name='pin' pos='{x} {y} {z}'>
          <joint name='pin_x' type='slide' axis='1 0 0' ref='{x}' range='0.12 0.88'/>
          <joint name='pin_z' type='slide' axis='0 0 1' ref='{z}' range='{low} {high}'/>
          <joint name='pin_yaw' type='hinge' axis='0 0 1' range='-{most} {most}'/>
          {pin}
        </body>"
    ));
    builder.transmission("pin.x.rate", "m/s", 0.01, &[("pin_x.rate", 1.0)]);
    builder.transmission("pin.z.rate", "m/s", 0.01, &[("pin_z.rate", 1.0)]);
    builder.transmission("pin.yaw.rate", "rad/s", PI / 60.0, &[("pin_yaw.rate", 1.0)]);

    let (dt, substeps) = size.pick((ACTION / 40.0, 40), (ACTION / 20.0, 20), (ACTION / 10.0, 1));
    let roll = |x: f64, z: f64| vec![x, z, 0.0];
    Ok(Blueprint {
        tools: builder.finish(name, 90.0, FLOOR + frame.lift)?,
        grid,
        particles,
        dt,
        substeps,
        // Down on one side, then to and fro and a little lower each time.
        demonstration: vec![
            roll(-0.4, -0.1),
            roll(0.0, -0.14),
            roll(0.8, -0.02),
            roll(-0.8, -0.03),
            roll(0.8, -0.03),
            roll(-0.8, -0.03),
            roll(0.8, -0.02),
            roll(-0.4, 0.3),
        ],
    })
}

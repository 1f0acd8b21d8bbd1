//! `<sensor>`: named outputs.
//!
//! Sensors change no motion, so none of them blocks a file: one that is not supported, or that names something
//! that is not there, is kept by name with the reason. `noise` is kept out of readings, as in MuJoCo.

use pullback_articulated::{
    ActuatorQuantity, FrameObject, FrameQuantity, JointKind, JointQuantity, Model, Sensor, SensorKind,
    SiteQuantity, SubtreeQuantity, TendonQuantity,
};

use super::ImportOptions;
use super::names::Names;
use crate::ImportError;
use crate::xml::Element;

/// Attributes that say how a sensor is sampled or drawn; delays are refused where they act.
const IGNORED: [&str; 4] = ["noise", "user", "nsample", "interp"];

/// Reads one `<sensor>` section.
pub(super) fn read_sensors(
    section: &Element,
    model: &Model,
    names: &mut Names,
    sensors: &mut Vec<Sensor>,
    options: &ImportOptions,
) -> Result<(), ImportError> {
    section.finish(options, &[])?;
    for e in &section.children {
        names.register("sensor", e)?;
        let name = e.text("name").unwrap_or_default().to_string();
        let cutoff = e.number("cutoff")?.unwrap_or(0.0);
        let kind = match read_kind(e, model) {
            Ok(kind) if e.number("delay")?.unwrap_or(0.0) > 0.0 || e.has("interval") => {
                drop(kind);
                SensorKind::Unsupported("its `delay` and `interval` are not; remove them".into())
            }
            Ok(kind) => kind,
            Err(why) => SensorKind::Unsupported(why),
        };
        if !matches!(kind, SensorKind::Unsupported(_)) {
            e.finish(options, &IGNORED)?;
        }
        sensors.push(Sensor { name, kind, cutoff });
    }
    Ok(())
}

/// What a sensor measures, or why it is not supported.
fn read_kind(e: &Element, model: &Model) -> Result<SensorKind, String> {
    use ActuatorQuantity as A;
    use FrameQuantity as F;
    use JointQuantity as J;
    use SiteQuantity as S;
    use SubtreeQuantity as T;
    let compensated = model.bodies.iter().any(|b| b.gravity_compensation != 0.0);
    let joint = |what: J, kinds: &[JointKind]| {
        let j = find(e, "joint", model.joints.iter().map(|j| j.name.as_str()))?;
        if kinds.contains(&model.joints[j].kind) {
            Ok(SensorKind::Joint(j, what))
        } else {
            Err(format!("joint `{}` is not of the kind it measures", model.joints[j].name))
        }
    };
    let scalar = [JointKind::Hinge, JointKind::Slide];
    let limited = [JointKind::Hinge, JointKind::Slide, JointKind::Ball];
    let site =
        |what: S| Ok(SensorKind::Site(find(e, "site", model.sites.iter().map(|s| s.name.as_str()))?, what));
    let actuator = |what: A| {
        let a = find(e, "actuator", model.actuators.iter().map(|a| a.name.as_str()))?;
        Ok(SensorKind::Actuator(a, what))
    };
    let tendon = |what: TendonQuantity| {
        let t = find(e, "tendon", model.tendons.iter().map(|t| t.name.as_str()))?;
        Ok(SensorKind::Tendon(t, what))
    };
    let subtree = |what: T| {
        Ok(SensorKind::Subtree(find(e, "body", model.bodies.iter().map(|b| b.name.as_str()))?, what))
    };
    let frame = |what: F| {
        let object = read_object(e, "objtype", "objname", model)?.ok_or("it names no object")?;
        let reference = read_object(e, "reftype", "refname", model)?;
        Ok(SensorKind::Frame { object, reference, what })
    };
    match e.tag.as_str() {
        "jointpos" => joint(J::Position, &scalar),
        "jointvel" => joint(J::Velocity, &scalar),
        "ballquat" => joint(J::Quaternion, &[JointKind::Ball]),
        "ballangvel" => joint(J::Spin, &[JointKind::Ball]),
        "jointactuatorfrc" => match joint(J::ActuatorForce, &scalar)? {
            SensorKind::Joint(j, _) if model.joints[j].gravity_by_actuator && compensated => {
                Err(format!("gravity compensation by actuators of joint `{}` is not", model.joints[j].name))
            }
            kind => Ok(kind),
        },
        "jointlimitpos" => joint(J::LimitPosition, &limited),
        "jointlimitvel" => joint(J::LimitVelocity, &limited),
        "jointlimitfrc" => joint(J::LimitForce, &limited),
        "actuatorpos" => actuator(A::Length),
        "actuatorvel" => actuator(A::Velocity),
        "actuatorfrc" => actuator(A::Force),
        "tendonpos" => tendon(TendonQuantity::Length),
        "tendonvel" => tendon(TendonQuantity::Velocity),
        "tendonactuatorfrc" => tendon(TendonQuantity::ActuatorForce),
        "framepos" => frame(F::Position),
        "framequat" => frame(F::Orientation),
        "framexaxis" => frame(F::Axis(0)),
        "frameyaxis" => frame(F::Axis(1)),
        "framezaxis" => frame(F::Axis(2)),
        "framelinvel" => frame(F::LinearVelocity),
        "frameangvel" => frame(F::AngularVelocity),
        "framelinacc" => frame(F::LinearAcceleration),
        "frameangacc" => frame(F::AngularAcceleration),
        "gyro" => site(S::Gyro),
        "velocimeter" => site(S::Velocimeter),
        "accelerometer" => site(S::Accelerometer),
        "magnetometer" => site(S::Magnetometer),
        "force" => site(S::Force),
        "torque" => site(S::Torque),
        "touch" => site(S::Touch),
        "rangefinder" if e.has("site") => site(S::Range),
        "subtreecom" => subtree(T::Center),
        "subtreelinvel" => subtree(T::LinearVelocity),
        "subtreeangmom" => subtree(T::AngularMomentum),
        "clock" => Ok(SensorKind::Clock),
        "e_potential" => Ok(SensorKind::PotentialEnergy),
        "e_kinetic" if model.tendons.iter().any(|t| t.armature > 0.0) => {
            Err("kinetic energy of tendons with armature is not".into())
        }
        "e_kinetic" => Ok(SensorKind::KineticEnergy),
        other => Err(format!("sensors of the kind `{other}` are not")),
    }
}

/// The frame that two attributes name, if they do.
fn read_object(e: &Element, kind: &str, name: &str, model: &Model) -> Result<Option<FrameObject>, String> {
    let Some(kind) = e.text(kind) else { return Ok(None) };
    let bodies = || model.bodies.iter().map(|b| b.name.as_str());
    Ok(Some(match kind {
        "body" => FrameObject::Inertial(find(e, name, bodies())?),
        "xbody" => FrameObject::Body(find(e, name, bodies())?),
        "geom" => FrameObject::Geom(find(e, name, model.geoms.iter().map(|g| g.name.as_str()))?),
        "site" => FrameObject::Site(find(e, name, model.sites.iter().map(|s| s.name.as_str()))?),
        other => return Err(format!("frames of a `{other}` are not")),
    }))
}

/// The place among `names` of what an attribute names.
fn find<'a>(e: &Element, attribute: &str, mut names: impl Iterator<Item = &'a str>) -> Result<usize, String> {
    let wanted = e.text(attribute).ok_or_else(|| format!("it has no `{attribute}`"))?;
    names.position(|n| n == wanted).ok_or_else(|| format!("nothing is called `{wanted}`"))
}

//! [`ActuatedMpm`]: material points whose colliders are driven through transmissions.
//!
//! A control of a task (the gap of chopsticks, the roll of a pin) moves several joints at once. A
//! [`Transmission`] maps it to their velocities by fixed ratios. Controls are rates in SI units, within the
//! bounds of the task.

use pullback_core::layout::{Layout, Section, Slice};
use pullback_core::{Bars, ConfigError, Described, Info, Point, StepError, System, Workspace};
use pullback_math::Scalar;

use super::system::Mpm;

/// A control, and the joints that it moves.
#[derive(Clone, Debug, PartialEq)]
pub struct Transmission {
    /// Name of the control.
    pub name: String,
    /// Unit of its rate.
    pub unit: &'static str,
    /// Largest rate, in that unit.
    pub limit: f64,
    /// Joint velocities by the names of the controls of [`Mpm`] (`slide.rate`, `free.rate[2]`), and the ratio
    /// of each to the rate.
    pub joints: Vec<(String, f64)>,
}

/// Rolling without slipping: a control that spins a pin also moves it by `radius` times the angle, at right
/// angles to its axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Rolling {
    /// The control that spins it, by its name.
    pub control: String,
    /// Velocity along x, by the name of the control of [`Mpm`].
    pub x: String,
    /// Velocity along y, likewise.
    pub y: String,
    /// Angle about z, by its name in the state; the pin moves along x where it is 0.
    pub yaw: String,
    /// Distance per angle, m/rad.
    pub radius: f64,
}

/// A material point system with kinematic colliders that are driven through transmissions.
#[derive(Clone, Debug)]
pub struct ActuatedMpm {
    mpm: Mpm,
    /// Index of the control, index of the joint velocity, and their ratio.
    ratios: Vec<(usize, usize, f64)>,
    rolling: Option<RollingIndex>,
    layout: Layout,
}

/// [`Rolling`] by indices of the control, of joint velocities and of a coordinate.
#[derive(Clone, Copy, Debug)]
struct RollingIndex {
    control: usize,
    x: usize,
    y: usize,
    yaw: usize,
    radius: f64,
}

/// Index of the one entry called `name`.
fn entry(section: &Section, name: &str) -> Result<usize, ConfigError> {
    match section.select(name)?[..] {
        [index] => Ok(index),
        _ => Err(ConfigError::new(format!("`{name}` is not one number; name one of its entries"))),
    }
}

impl ActuatedMpm {
    /// Drives the joints of `mpm` through `transmissions`. The first joint coordinates start at `start`, the
    /// others as the model stands.
    pub fn new(
        mpm: Mpm,
        transmissions: &[Transmission],
        rolling: Option<&Rolling>,
        start: &[f64],
    ) -> Result<Self, ConfigError> {
        if mpm.is_coupled() {
            return Err(ConfigError::new(
                "transmissions drive kinematic colliders; a coupled robot has actuators of its own",
            ));
        }
        let inner = mpm.layout();
        let mut builder = Layout::builder();
        for slice in inner.state.slices() {
            let mut slice = slice.clone();
            let given = start.get(slice.range.start..).unwrap_or_default();
            slice.default.iter_mut().zip(given).for_each(|(default, q)| *default = *q);
            builder = builder.state(slice);
        }
        let mut ratios = Vec::new();
        for (control, Transmission { name, unit, limit, joints }) in transmissions.iter().enumerate() {
            if limit.is_nan() || *limit <= 0.0 {
                return Err(ConfigError::new(format!("transmission `{name}` needs a positive limit")));
            }
            builder = builder.control(Slice::new(name.clone(), 1, *unit).bounds(-limit, *limit));
            for (joint, ratio) in joints {
                let joint = entry(&inner.control, joint)
                    .map_err(|e| ConfigError::new(format!("transmission `{name}`: {e}")))?;
                ratios.push((control, joint, *ratio));
            }
        }
        let layout = inner.params.slices().iter().cloned().fold(builder, |b, s| b.param(s)).build()?;
        let resolve = |rolling: &Rolling| {
            Ok(RollingIndex {
                control: entry(&layout.control, &rolling.control)?,
                x: entry(&inner.control, &rolling.x)?,
                y: entry(&inner.control, &rolling.y)?,
                yaw: entry(&layout.state, &rolling.yaw)?,
                radius: rolling.radius,
            })
        };
        let rolling = rolling.map(resolve).transpose();
        let rolling = rolling.map_err(|e: ConfigError| ConfigError::new(format!("rolling: {e}")))?;
        Ok(ActuatedMpm { mpm, ratios, rolling, layout })
    }

    /// The system with one control per joint velocity.
    pub fn mpm(&self) -> &Mpm {
        &self.mpm
    }

    /// Velocities of the joints.
    fn joint_velocities<T: Scalar>(&self, q: &[T], control: &[T], velocities: &mut [T]) {
        velocities.fill(T::zero());
        for (u, joint, ratio) in &self.ratios {
            velocities[*joint] += control[*u] * T::lit(*ratio);
        }
        if let Some(RollingIndex { control: roll, x, y, yaw, radius }) = self.rolling {
            // (ẋ, ẏ) = r u (cos ψ, sin ψ)
            let ((sin, cos), speed) = (q[yaw].sin_cos(), control[roll] * T::lit(radius));
            velocities[x] += speed * cos;
            velocities[y] += speed * sin;
        }
    }

    /// The pullback of [`ActuatedMpm::joint_velocities`]: *adds* to the cotangents of coordinates and
    /// controls.
    fn joint_velocities_vjp<T: Scalar>(
        &self,
        q: &[T],
        control: &[T],
        velocities_bar: &[T],
        q_bar: &mut [T],
        control_bar: &mut [T],
    ) {
        for (u, joint, ratio) in &self.ratios {
            control_bar[*u] += velocities_bar[*joint] * T::lit(*ratio);
        }
        if let Some(RollingIndex { control: roll, x, y, yaw, radius }) = self.rolling {
            let ((sin, cos), speed) = (q[yaw].sin_cos(), control[roll] * T::lit(radius));
            control_bar[roll] += (velocities_bar[x] * cos + velocities_bar[y] * sin) * T::lit(radius);
            q_bar[yaw] += (velocities_bar[y] * cos - velocities_bar[x] * sin) * speed;
        }
    }
}

/// Scratch of [`ActuatedMpm`].
#[derive(Debug)]
pub struct ActuatedWorkspace<T, W> {
    inner: W,
    joint_velocities: Vec<T>,
    joint_velocities_bar: Vec<T>,
}

impl<T: Send, W: Workspace> Workspace for ActuatedWorkspace<T, W> {
    fn heap_bytes(&self) -> usize {
        let scalars = self.joint_velocities.capacity() + self.joint_velocities_bar.capacity();
        self.inner.heap_bytes() + scalars * size_of::<T>()
    }
}

impl Described for ActuatedMpm {
    fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl<T: Scalar> System<T> for ActuatedMpm {
    type Workspace = ActuatedWorkspace<T, <Mpm as System<T>>::Workspace>;

    fn workspace(&self) -> Self::Workspace {
        let zeros = vec![T::zero(); self.mpm.layout().control.len()];
        ActuatedWorkspace {
            inner: self.mpm.workspace(),
            joint_velocities: zeros.clone(),
            joint_velocities_bar: zeros,
        }
    }

    fn step(&self, ws: &mut Self::Workspace, at: Point<'_, T>, next: &mut [T]) -> Result<Info, StepError> {
        let Point { params, state, control } = at;
        self.joint_velocities(state, control, &mut ws.joint_velocities);
        self.mpm.step(&mut ws.inner, Point { params, state, control: &ws.joint_velocities }, next)
    }

    fn step_vjp(
        &self,
        ws: &mut Self::Workspace,
        at: Point<'_, T>,
        next_bar: &[T],
        bars: Bars<'_, T>,
    ) -> Result<(), StepError> {
        let Point { params, state, control } = at;
        let Bars { params: params_bar, state: state_bar, control: control_bar } = bars;
        let ActuatedWorkspace { inner, joint_velocities: velocities, joint_velocities_bar: velocities_bar } =
            ws;
        self.joint_velocities(state, control, velocities);
        velocities_bar.fill(T::zero());
        self.mpm.step_vjp(
            inner,
            Point { params, state, control: velocities },
            next_bar,
            Bars { params: params_bar, state: state_bar, control: velocities_bar },
        )?;
        self.joint_velocities_vjp(state, control, velocities_bar, state_bar, control_bar);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use pullback_core::gradcheck::Options;
    use pullback_core::step_check::check_step;
    use pullback_math::{Quat, SymMat3, Vec3};

    use super::*;
    use crate::particles::random_box;
    use crate::{Elastic, Grid, Material, Particles};
    use pullback_articulated::{Body, Geom, Joint, JointKind, Model, Shape};

    /// Dough under a pin with two slides and two hinges.
    fn pin(coupled: bool) -> Mpm {
        let mut model = Model::new("pin");
        model.bodies.push(Body {
            name: "pin".into(),
            parent: 0,
            position: Vec3::new(0.5, 0.5, 0.42),
            orientation: Quat::identity(),
            mass: 1.0,
            com: Vec3::zero(),
            inertia: SymMat3::identity(),
            ..Body::default()
        });
        let (x, y, z) = (Vec3::new(1.0, 0.0, 0.0), Vec3::new(0.0, 1.0, 0.0), Vec3::new(0.0, 0.0, 1.0));
        model.joints = vec![
            Joint::new("x", 1, JointKind::Slide, x),
            Joint::new("y", 1, JointKind::Slide, y),
            Joint::new("yaw", 1, JointKind::Hinge, z),
            Joint::new("spin", 1, JointKind::Hinge, y),
        ];
        model.geoms.push(Geom {
            orientation: Quat::from_axis_angle(x, 1.5),
            friction: [0.6, 0.0, 0.0],
            ..Geom::new("pin", 1, Shape::Capsule { radius: 0.05, half_length: 0.06 })
        });
        let mut particles = Particles::default();
        let positions = random_box(8, Vec3::new(0.5, 0.5, 0.33), Vec3::new(0.16, 0.16, 0.12), 3);
        let dough = Material::NeoHookean(Elastic { young: 5e3, poisson: 0.2 });
        particles.add("dough", dough, 1.3, 1.7e-4, &positions, Vec3::new(0.3, -0.2, 0.6)).unwrap();
        // Soft colliders reach further than a node here.
        let grid = Grid { softness: 20.0, ..Grid::cube(12) };
        let build = if coupled { Mpm::coupled } else { Mpm::new };
        build(grid, particles, model.compile().unwrap(), 2e-4).unwrap()
    }

    fn transmission(name: &str, joints: &[(&str, f64)]) -> Transmission {
        let joints = joints.iter().map(|(joint, ratio)| ((*joint).to_owned(), *ratio)).collect();
        Transmission { name: name.into(), unit: "rad/s", limit: 10.0, joints }
    }

    fn rolling() -> Rolling {
        let [control, x, y, yaw] = ["roll", "x.rate", "y.rate", "yaw.q"].map(str::to_owned);
        Rolling { control, x, y, yaw, radius: 0.05 }
    }

    #[test]
    fn a_pin_rolls_where_it_points() {
        let transmissions =
            [transmission("roll", &[("spin.rate", 1.0)]), transmission("turn", &[("yaw.rate", 0.5)])];
        let actuated = ActuatedMpm::new(pin(false), &transmissions, Some(&rolling()), &[]).unwrap();
        let (yaw, dt) = (0.7f64, actuated.mpm().dt());
        let entry = |name: &str| entry(&actuated.layout().state, name).unwrap();
        let (params, mut state) = (actuated.layout().params.defaults(), actuated.layout().state.defaults());
        state[entry("yaw.q")] = yaw;
        let (mut ws, mut next) = (System::<f64>::workspace(&actuated), state.clone());
        let (roll, turn) = (3.0, 0.8);
        actuated
            .step(&mut ws, Point { params: &params, state: &state, control: &[roll, turn] }, &mut next)
            .unwrap();
        for (name, expected) in [
            ("spin.q", roll),
            ("yaw.q", 0.5 * turn),
            ("x.q", 0.05 * roll * yaw.cos()),
            ("y.q", 0.05 * roll * yaw.sin()),
        ] {
            let rate = (next[entry(name)] - state[entry(name)]) / dt;
            assert!((rate - expected).abs() < 1e-11, "{name}: {rate} {expected}");
        }
    }

    #[test]
    fn transmissions_have_the_exact_pullback() {
        let transmissions = [
            transmission("roll", &[("spin.rate", 1.0)]),
            transmission("both", &[("yaw.rate", 0.5), ("x.rate", -0.2)]),
        ];
        let start = [0.01, -0.02, 0.3];
        let actuated = ActuatedMpm::new(pin(false), &transmissions, Some(&rolling()), &start).unwrap();
        let (params, mut state) = (actuated.layout().params.defaults(), actuated.layout().state.defaults());
        assert_eq!(state[..3], start);
        let affine = actuated.layout().state.slice("dough.affine").unwrap().range.clone();
        state[affine].iter_mut().enumerate().for_each(|(i, c)| *c = 0.3 * (i as f64).sin());
        let options =
            Options { forward_tolerance: 1e-8, difference_tolerance: 1e-4, probes: 1, ..Options::default() };
        check_step(&actuated, Point { params: &params, state: &state, control: &[0.8, -0.5] }, &options)
            .assert_passed();
    }

    #[test]
    fn transmissions_that_cannot_be_say_why() {
        let refused = |mpm: Mpm, transmission: Transmission, rolling: Option<&Rolling>| {
            ActuatedMpm::new(mpm, &[transmission], rolling, &[]).unwrap_err().to_string()
        };
        let roll = || transmission("roll", &[("spin.rate", 1.0)]);
        assert!(refused(pin(true), roll(), None).contains("kinematic"));
        assert!(refused(pin(false), transmission("lift", &[("z.rate", 1.0)]), None).contains("`lift`"));
        assert!(refused(pin(false), Transmission { limit: 0.0, ..roll() }, None).contains("limit"));
        let other = Rolling { control: "spin".into(), ..rolling() };
        assert!(refused(pin(false), roll(), Some(&other)).contains("`spin`"));
    }
}

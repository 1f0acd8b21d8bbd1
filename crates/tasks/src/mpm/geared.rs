//! [`Geared`]: a material with tools whose joints follow a few levers.
//!
//! What a task calls a control (the gap of chopsticks, the roll of a pin) moves several joints at once. Levers are in natural
//! units, rates of what they move, and carry the bounds within which the source lets them act.

use pullback_core::layout::{Layout, Slice};
use pullback_core::{Bars, ConfigError, Described, Info, Point, StepError, System, Workspace};
use pullback_math::Scalar;
use pullback_physics::mpm::Mpm;

/// One control.
#[derive(Clone, Debug)]
pub struct Lever {
    /// Name.
    pub name: String,
    /// Unit of its rate.
    pub unit: &'static str,
    /// Largest rate.
    pub limit: f64,
    /// Joint velocities that it moves, with the ratio of each.
    pub moves: Vec<(usize, f64)>,
}

/// A pin with the joints x, y, height, yaw, spin that rolls where it points: the lever at `roll` spins it and moves it by
/// `radius` times that, at right angles to its axis.
#[derive(Clone, Copy, Debug)]
pub struct Rolling {
    /// Lever of the spin.
    pub roll: usize,
    /// Way per angle, m/rad.
    pub radius: f64,
}

/// Places of the joints of a rolling pin.
const X: usize = 0;
const Y: usize = 1;
const YAW: usize = 3;

/// A material point system whose joints follow levers.
#[derive(Clone, Debug)]
pub struct Geared {
    mpm: Mpm,
    levers: Vec<Lever>,
    rolling: Option<Rolling>,
    layout: Layout,
}

impl Geared {
    /// Lets `levers` move the joints of `mpm`, which start at the coordinates `start`, or as the model stands where it is empty.
    pub fn new(
        mpm: Mpm,
        levers: Vec<Lever>,
        rolling: Option<Rolling>,
        start: &[f64],
    ) -> Result<Self, ConfigError> {
        let inner = mpm.layout();
        let joints = inner.control.len();
        let sound = |l: &Lever| l.limit > 0.0 && l.moves.iter().all(|(joint, _)| *joint < joints);
        if let Some(lever) = levers.iter().find(|l| !sound(l)) {
            return Err(ConfigError::new(format!(
                "lever `{}` needs a positive limit and joints among the {joints} there are",
                lever.name
            )));
        }
        let mut builder = Layout::builder();
        for slice in inner.state.slices() {
            let mut slice = slice.clone();
            let given = start.get(slice.range.start..).unwrap_or_default();
            slice.default.iter_mut().zip(given).for_each(|(default, q)| *default = *q);
            builder = builder.state(slice);
        }
        for lever in &levers {
            let slice = Slice::new(lever.name.clone(), 1, lever.unit);
            builder = builder.control(slice.bounds(-lever.limit, lever.limit));
        }
        let layout = inner.params.slices().iter().cloned().fold(builder, |b, s| b.param(s)).build()?;
        Ok(Geared { mpm, levers, rolling, layout })
    }

    /// What the levers move.
    pub fn mpm(&self) -> &Mpm {
        &self.mpm
    }
    /// The levers.
    pub fn levers(&self) -> &[Lever] {
        &self.levers
    }

    /// Speeds of the joints.
    fn speeds<T: Scalar>(&self, q: &[T], control: &[T], speeds: &mut [T]) {
        speeds.fill(T::zero());
        for (lever, u) in self.levers.iter().zip(control) {
            for (joint, ratio) in &lever.moves {
                speeds[*joint] += *u * T::lit(*ratio);
            }
        }
        if let Some(Rolling { roll, radius }) = self.rolling {
            // (ẋ, ẏ) = r u (cos ψ, sin ψ)
            let ((sin, cos), way) = (q[YAW].sin_cos(), control[roll] * T::lit(radius));
            speeds[X] += way * cos;
            speeds[Y] += way * sin;
        }
    }

    /// The pullback of [`Geared::speeds`]: *adds* to the cotangents of coordinates and controls.
    fn speeds_vjp<T: Scalar>(
        &self,
        q: &[T],
        control: &[T],
        speeds_bar: &[T],
        q_bar: &mut [T],
        control_bar: &mut [T],
    ) {
        for (lever, bar) in self.levers.iter().zip(control_bar.iter_mut()) {
            for (joint, ratio) in &lever.moves {
                *bar += speeds_bar[*joint] * T::lit(*ratio);
            }
        }
        if let Some(Rolling { roll, radius }) = self.rolling {
            let ((sin, cos), way) = (q[YAW].sin_cos(), control[roll] * T::lit(radius));
            control_bar[roll] += (speeds_bar[X] * cos + speeds_bar[Y] * sin) * T::lit(radius);
            q_bar[YAW] += (speeds_bar[Y] * cos - speeds_bar[X] * sin) * way;
        }
    }
}

/// Scratch of [`Geared`].
#[derive(Debug, Workspace)]
pub struct GearedWorkspace<T, W> {
    inner: W,
    speeds: Vec<T>,
    speeds_bar: Vec<T>,
}

impl Described for Geared {
    fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl<T: Scalar> System<T> for Geared {
    type Workspace = GearedWorkspace<T, <Mpm as System<T>>::Workspace>;

    fn workspace(&self) -> Self::Workspace {
        let zeros = vec![T::zero(); self.mpm.layout().control.len()];
        GearedWorkspace { inner: self.mpm.workspace(), speeds: zeros.clone(), speeds_bar: zeros }
    }

    fn step(&self, ws: &mut Self::Workspace, at: Point<'_, T>, next: &mut [T]) -> Result<Info, StepError> {
        let Point { params, state, control } = at;
        self.speeds(state, control, &mut ws.speeds);
        self.mpm.step(&mut ws.inner, Point { params, state, control: &ws.speeds }, next)
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
        let GearedWorkspace { inner, speeds, speeds_bar } = ws;
        self.speeds(state, control, speeds);
        speeds_bar.fill(T::zero());
        self.mpm.step_vjp(
            inner,
            Point { params, state, control: speeds },
            next_bar,
            Bars { params: params_bar, state: state_bar, control: speeds_bar },
        )?;
        self.speeds_vjp(state, control, speeds_bar, state_bar, control_bar);
        Ok(())
    }
}

//! Parameters of actuators, and where each lies.

use std::ops::Range;

use pullback_core::Block;
use pullback_core::layout::{LayoutBuilder, Slice};

use super::law::{BiasBlock, DynamicsBlock, GainBlock};
use super::muscle::MuscleParams;
use crate::model::{ActivationDynamics, Actuator, Bias, Gain, JointKind, Model, Muscle, Transmission};

/// Where the parameters of an actuator lie.
#[derive(Clone, Debug)]
pub struct ActuatorBlocks {
    /// Force per control or activation.
    pub gain: GainBlock,
    /// Force without control.
    pub bias: BiasBlock,
    /// Activation.
    pub dynamics: DynamicsBlock,
    /// Gear: one entry per velocity of a joint, six for a site, else one.
    pub gear: Range<usize>,
    /// Length of the rod of a slider-crank.
    pub rod: Option<Block<[f64; 1]>>,
}

/// Number of gears of a transmission.
fn gears(model: &Model, transmission: Transmission) -> usize {
    match transmission {
        Transmission::Joint(j) | Transmission::JointInParent(j) => match model.joints[j].kind {
            JointKind::Hinge | JointKind::Slide => 1,
            kind => kind.velocities(),
        },
        Transmission::Site { .. } => 6,
        Transmission::Tendon(_) | Transmission::SliderCrank { .. } | Transmission::Body(_) => 1,
    }
}

/// The curves of a muscle, under names that begin with `of`.
fn muscle_block(
    of: &str,
    curves: &Muscle,
    actuator: &Actuator,
    builder: &mut LayoutBuilder,
) -> Block<MuscleParams<f64>> {
    let name = |what: &str| format!("{of}.muscle_{what}");
    let (low, high) = actuator.length_range.unwrap_or((0.0, 0.0));
    let one = |what: &str, unit: &'static str, x: f64| Slice::new(name(what), 1, unit).default(&[x]);
    builder.param_block([
        one("force", "N", curves.force),
        Slice::new(name("lengthrange"), 2, "m").default(&[low, high]),
        Slice::new(name("range"), 2, "1").default(&curves.range),
        one("lmin", "1", curves.lmin),
        one("lmax", "1", curves.lmax),
        one("vmax", "1/s", curves.vmax),
        one("fpmax", "1", curves.fpmax),
        one("fvmax", "1", curves.fvmax),
    ])
}

/// Adds the slices of an actuator to a layout.
pub fn actuator_blocks(model: &Model, actuator: &Actuator, builder: &mut LayoutBuilder) -> ActuatorBlocks {
    let name = |what: &str| format!("{}.{what}", actuator.name);
    let gain = match &actuator.gain {
        Gain::Fixed(gain) => {
            GainBlock::Fixed(builder.param_block([Slice::new(name("gain"), 1, "1").default(&[*gain])]))
        }
        Gain::Affine(terms) => {
            GainBlock::Affine(builder.param_block([Slice::new(name("gain"), 3, "1").default(terms)]))
        }
        Gain::Muscle(curves) => GainBlock::Muscle(muscle_block(&actuator.name, curves, actuator, builder)),
    };
    let bias = match (&actuator.bias, gain) {
        (Bias::None | Bias::Affine(_), _) => {
            let terms = actuator.affine_bias();
            BiasBlock::Affine(builder.param_block([Slice::new(name("bias"), 3, "1").default(&terms)]))
        }
        // One muscle, one set of parameters.
        (Bias::Muscle(curves), GainBlock::Muscle(block)) if actuator.gain == Gain::Muscle(*curves) => {
            BiasBlock::Muscle(block)
        }
        (Bias::Muscle(curves), _) => {
            BiasBlock::Muscle(muscle_block(&format!("{}.passive", actuator.name), curves, actuator, builder))
        }
    };
    let mut filter = |tau: f64, exact: bool| {
        let slice = Slice::new(name("timeconst"), 1, "s").default(&[tau]).bounds(0.0, f64::INFINITY);
        DynamicsBlock::Filter { timeconst: builder.param_block([slice]), exact }
    };
    let dynamics = match &actuator.dynamics {
        ActivationDynamics::None => DynamicsBlock::None,
        ActivationDynamics::Integrator => DynamicsBlock::Integrator,
        ActivationDynamics::Filter(tau) => filter(*tau, false),
        ActivationDynamics::FilterExact(tau) => filter(*tau, true),
        ActivationDynamics::Muscle { timeconst, tausmooth } => DynamicsBlock::Muscle(builder.param_block([
            Slice::new(name("timeconst"), 2, "s").default(timeconst).bounds(0.0, f64::INFINITY),
            Slice::new(name("tausmooth"), 1, "1").default(&[*tausmooth]).bounds(0.0, f64::INFINITY),
        ])),
    };
    let gears = gears(model, actuator.transmission);
    let gear = builder.param_range(Slice::new(name("gear"), gears, "1").default(&actuator.gear[..gears]));
    let rod = match actuator.transmission {
        Transmission::SliderCrank { rod, .. } => {
            Some(builder.param_block([Slice::new(name("cranklength"), 1, "m").default(&[rod])]))
        }
        _ => None,
    };
    ActuatorBlocks { gain, bias, dynamics, gear, rod }
}

//! Actuators: what they act along, and the law of their force.

/// What an actuator acts along: it gives a length and how that changes with the joints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transmission {
    /// A joint; the gear of ball and free joints is in the frame of the child.
    Joint(usize),
    /// A joint; the gear of ball and free joints is in the frame of the parent.
    JointInParent(usize),
    /// A tendon.
    Tendon(usize),
    /// A force and torque at a site, `gear` in its frame; without a length, unless there is a reference.
    Site {
        /// The site.
        site: usize,
        /// The site that its pose is measured from (`refsite`); the gear is in its frame.
        reference: Option<usize>,
    },
    /// A crank that a rod connects to a slider.
    SliderCrank {
        /// The site where the rod holds the crank.
        crank: usize,
        /// The site along whose z axis the other end slides.
        slider: usize,
        /// Length of the rod, m.
        rod: f64,
    },
    /// Pull on everything that touches a body, along the normals of the contacts.
    Body(usize),
}

/// Force curves of a muscle (Millard et al., 2013, as simplified by MuJoCo). Lengths and velocities are in units of the
/// optimal length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Muscle {
    /// Lengths at the ends of the actuator's length range.
    pub range: [f64; 2],
    /// Peak active force at rest, N; negative: `scale` over the acceleration that unit force causes.
    pub force: f64,
    /// Peak force per unit of inverse acceleration, where `force` is negative.
    pub scale: f64,
    /// Shortest length at which it is active.
    pub lmin: f64,
    /// Longest length at which it is active.
    pub lmax: f64,
    /// Shortening velocity at which the active force vanishes.
    pub vmax: f64,
    /// Passive force at `lmax`, in units of the peak force.
    pub fpmax: f64,
    /// Active force at the largest lengthening velocity, in units of the peak force.
    pub fvmax: f64,
}

impl Default for Muscle {
    fn default() -> Self {
        Muscle {
            range: [0.75, 1.05],
            force: -1.0,
            scale: 200.0,
            lmin: 0.5,
            lmax: 1.6,
            vmax: 1.5,
            fpmax: 1.3,
            fvmax: 1.2,
        }
    }
}

/// Force per unit of control, or of activation if the actuator has one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gain {
    /// A constant.
    Fixed(f64),
    /// g₀ + g₁·length + g₂·velocity.
    Affine([f64; 3]),
    /// The active force of a muscle.
    Muscle(Muscle),
}

/// Force that is there without control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bias {
    /// None.
    None,
    /// b₀ + b₁·length + b₂·velocity.
    Affine([f64; 3]),
    /// The passive force of a muscle.
    Muscle(Muscle),
}

/// How an activation follows the control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ActivationDynamics {
    /// No activation: the control acts itself.
    None,
    /// ȧ = u.
    Integrator,
    /// ȧ = (u − a)/τ.
    Filter(f64),
    /// The same, exactly over an Euler step.
    FilterExact(f64),
    /// ȧ = (u − a)/τ(u, a), faster up than down.
    Muscle {
        /// Time constants of activation and deactivation, s.
        timeconst: [f64; 2],
        /// Width of the transition between the two; 0 switches.
        tausmooth: f64,
    },
}

/// An actuator: force = gain·(control or activation) + bias along its transmission. A motor has gain 1; a position
/// servo gain kp and bias (0, −kp, −kv); a velocity servo gain kv and bias (0, 0, −kv).
#[derive(Clone, Debug, PartialEq)]
pub struct Actuator {
    /// Unique name.
    pub name: String,
    /// What it acts along.
    pub transmission: Transmission,
    /// Scale of length and force: one number for a hinge, slide, tendon, crank or body, three for a ball joint, six for
    /// a free joint or site (translations, rotations).
    pub gear: [f64; 6],
    /// Force per control or activation.
    pub gain: Gain,
    /// Force without control.
    pub bias: Bias,
    /// How its activation follows the control.
    pub dynamics: ActivationDynamics,
    /// Limits of the control, if limited.
    pub control_range: Option<(f64, f64)>,
    /// Limits of the force before the gear, if limited.
    pub force_range: Option<(f64, f64)>,
    /// Limits of the activation, if limited.
    pub activation_range: Option<(f64, f64)>,
    /// Whether the force is that of the activation at the end of the step (`actearly`).
    pub early: bool,
    /// Range of lengths, by which muscles measure; see [`Model::with_length_ranges`](super::Model::with_length_ranges).
    pub length_range: Option<(f64, f64)>,
}

impl Actuator {
    /// A motor on a joint: force = gear·control.
    ///
    /// ```
    /// use pullback_articulated::Actuator;
    /// let hip = Actuator { control_range: Some((-1.0, 1.0)), ..Actuator::motor("hip", 3, 150.0) };
    /// ```
    pub fn motor(name: impl Into<String>, joint: usize, gear: f64) -> Self {
        Actuator {
            name: name.into(),
            transmission: Transmission::Joint(joint),
            gear: [gear, 0.0, 0.0, 0.0, 0.0, 0.0],
            gain: Gain::Fixed(1.0),
            bias: Bias::None,
            dynamics: ActivationDynamics::None,
            control_range: None,
            force_range: None,
            activation_range: None,
            early: false,
            length_range: None,
        }
    }

    /// A position servo on a joint: force = kp (control − length) − kv velocity.
    pub fn position(name: impl Into<String>, joint: usize, kp: f64, kv: f64) -> Self {
        let motor = Actuator::motor(name, joint, 1.0);
        Actuator { gain: Gain::Fixed(kp), bias: Bias::Affine([0.0, -kp, -kv]), ..motor }
    }

    /// A muscle along a tendon, whose activation follows the control.
    pub fn muscle(name: impl Into<String>, tendon: usize, curves: Muscle, length_range: (f64, f64)) -> Self {
        Actuator {
            transmission: Transmission::Tendon(tendon),
            gain: Gain::Muscle(curves),
            bias: Bias::Muscle(curves),
            dynamics: ActivationDynamics::Muscle { timeconst: [0.01, 0.04], tausmooth: 0.0 },
            control_range: Some((0.0, 1.0)),
            length_range: Some(length_range),
            ..Actuator::motor(name, 0, 1.0)
        }
    }

    /// Whether it has an activation.
    pub fn has_activation(&self) -> bool {
        self.dynamics != ActivationDynamics::None
    }

    /// The constant, length and velocity terms of an affine bias; zeros for others.
    pub fn affine_bias(&self) -> [f64; 3] {
        match self.bias {
            Bias::Affine(bias) => bias,
            Bias::None | Bias::Muscle(_) => [0.0; 3],
        }
    }
}

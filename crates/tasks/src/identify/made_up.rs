//! The built-in tasks: scenes whose parameters are found again from recordings that they made themselves.
//!
//! The truth is the scene's own parameters, each multiplied by a factor drawn from the seed. The scene moves under that truth,
//! noise is added to what is measured, and the fit begins at the scene's own values. Noise is a part of the spread of each
//! channel.

use std::f64::consts::TAU;

use pullback_core::input_map::InputMap;
use pullback_core::layout::{Layout, glob};
use pullback_core::random::Random;
use pullback_core::registry::{Entry, Registry};
use pullback_core::rollout::Inputs;
use pullback_core::sources::GRADSIM;
use pullback_core::{ConfigError, StepError};
use pullback_scene::mjcf::{ImportOptions, parse_mjcf};

use super::film::{self, Filming, MadeFilm};
use super::setup::Question;
use super::table::Table;
use super::unknowns::{Asked, Unknowns};
use crate::files::robot_scene;
use crate::scene::Scene;
use crate::scenes::{self, BuiltScene, SceneOptions};

/// A task with a made-up truth.
#[derive(Clone, Copy, Debug)]
pub struct MadeUp {
    /// Builds the scene.
    scene: fn() -> BuiltScene,
    /// What is found, as `--fit` takes it.
    fit: &'static [&'static str],
    /// Starts of what the scene has as zero.
    start: &'static [(&'static str, f64)],
    /// States that are measured.
    measured: &'static str,
    /// Initial states of each recording: name and value.
    from: &'static [&'static [(&'static str, f64)]],
    /// The control by time and number.
    drive: fn(f64, usize) -> f64,
    /// Seconds of a recording, and between samples.
    time: (f64, f64),
    /// Factors that the truth is drawn between.
    truth: (f64, f64),
    /// What a camera sees of it.
    filming: Filming,
}

/// Every task.
pub const IDENTIFICATIONS: Registry<MadeUp> =
    Registry::new("identification", &[TABLE]).or("a scene or the path of a model file together with --data");

const TABLE: &[Entry<MadeUp>] = &[
    Entry::cited(
        "pendulum",
        "length and damping of a pendulum from its angle",
        GRADSIM.at("C.3"),
        MadeUp {
            scene: || scenes::build("pendulum", SceneOptions::default()),
            fit: &["length,damping"],
            start: &[],
            measured: "angle",
            from: &[&[("angle", 1.0)]],
            drive: |_, _| 0.0,
            time: (2.5, 0.04),
            truth: (0.6, 1.6),
            filming: film::pendulum,
        },
    ),
    Entry::new(
        "double-pendulum",
        "lengths, masses and dampings of a double pendulum that torques of known size move",
        MadeUp {
            fit: &["*.length,*.mass,*.damping"],
            drive: |t, i| if i == 0 { 6.0 * (2.1 * t).sin() } else { 3.0 * (3.7 * t).cos() },
            ..DOUBLE_PENDULUM
        },
    ),
    Entry::new(
        "double-pendulum-free",
        "the same without torques: only ratios of masses and dampings can be told",
        MadeUp { fit: &["*.mass,*.damping"], ..DOUBLE_PENDULUM },
    ),
    Entry::new(
        "arm",
        "damping of seven joints and masses of their links, from joint angles and known torques",
        MadeUp {
            scene: || model("arm", ARM),
            fit: &[
                "joint_*.damping",
                "link_2*=link_2.mass,link_2.inertia",
                "link_3*=link_3.mass,link_3.inertia",
                "link_4*=link_4.mass,link_4.inertia",
                "link_5*=link_5.mass,link_5.inertia",
                "link_6*=link_6.mass,link_6.inertia",
                "link_7*=link_7.mass,link_7.inertia",
            ],
            start: &[],
            measured: "joint_*.q",
            // Short motions from several poses: later on the arm falls onto its stops, where the motion has kinks.
            from: &[
                &[("joint_2.q", 0.1), ("joint_4.q", -1.5), ("joint_6.q", 1.8)],
                &[("joint_1.q", 1.0), ("joint_2.q", -0.6), ("joint_4.q", -2.0), ("joint_6.q", 1.0)],
                &[
                    ("joint_2.q", -0.2),
                    ("joint_3.q", 0.8),
                    ("joint_4.q", -1.2),
                    ("joint_5.q", 0.6),
                    ("joint_6.q", 2.2),
                ],
                &[
                    ("joint_3.q", -1.0),
                    ("joint_4.q", -2.2),
                    ("joint_5.q", -0.8),
                    ("joint_6.q", 1.5),
                    ("joint_7.q", 0.5),
                ],
            ],
            drive: arm_torque,
            time: (0.35, 0.01),
            truth: (0.7, 1.4),
            filming: || film::arm(ARM),
        },
    ),
    Entry::cited(
        "cloth",
        "stiffness and damping of the springs of a cloth, from places on its free edge",
        GRADSIM.at("C.3"),
        MadeUp {
            scene: || scenes::build("cloth-swing", SceneOptions::default()),
            fit: &["stiffness*=cloth.spring.stiffness", "damping*=cloth.spring.damping"],
            start: &[],
            // Both ends of the edge opposite to the corners that are held, and its middle.
            measured: "cloth.position[0],cloth.position[1],cloth.position[2],cloth.position[19],cloth.position[20],\
                       cloth.position[36],cloth.position[37],cloth.position[38]",
            from: &[&[]],
            drive: |_, _| 0.0,
            time: (0.5, 1.0 / 60.0),
            truth: (0.7, 1.5),
            filming: film::cloth,
        },
    ),
    Entry::new(
        "ball",
        "friction, time constant and damping ratio of contacts of a bouncing ball",
        MadeUp {
            scene: || model("ball", BALL),
            fit: &["friction=*.friction", "time_constant=*.solref[0]", "damping_ratio=*.solref[1]"],
            start: &[],
            measured: "ball.position,ball.orientation",
            from: &[
                &[("ball.velocity[0]", 1.5), ("ball.spin[1]", -8.0)],
                &[("ball.velocity[0]", -0.8), ("ball.velocity[1]", 0.6), ("ball.velocity[2]", -1.0)],
            ],
            drive: |_, _| 0.0,
            time: (1.0, 0.01),
            truth: (0.7, 1.4),
            filming: || film::ball(BALL),
        },
    ),
];

const DOUBLE_PENDULUM: MadeUp = MadeUp {
    scene: || scenes::build("double-pendulum", SceneOptions::default()),
    fit: &[],
    start: &[("*.damping", 0.1)],
    measured: "angle",
    from: &[&[("angle[0]", 0.8), ("angle[1]", -0.3)]],
    drive: |_, _| 0.0,
    time: (2.0, 0.02),
    truth: (0.7, 1.4),
    filming: film::double_pendulum,
};

const ARM: &str = pullback_models::ARM9;

/// A ball of 5 cm and 0.2 kg; the floor takes all of its softness and friction from the ball. A contact lasts some forty
/// steps and its force begins at zero: with hard contacts the motion jumps with the step in which the ball is found to
/// touch, by more than the noise, and a fit ends on one of many teeth.
const BALL: &str = "<mujoco model='ball'><option timestep='0.001'/>
    <default><geom solref='0.04 0.3' solimp='0 0.95 0.02 0.5 2' friction='0.4 0.001 0.0001'/></default>
    <worldbody><geom name='floor' type='plane' size='0 0 1'/>
    <body name='ball' pos='0 0 0.2'><freejoint name='ball'/>
    <geom name='sphere' size='0.05' mass='0.2'/></body></worldbody></mujoco>";

fn model(name: &str, text: &str) -> BuiltScene {
    let model =
        parse_mjcf(text, None, &ImportOptions::default()).map_err(|e| ConfigError::new(e.to_string()))?;
    robot_scene(name.into(), model, SceneOptions::default())
}

/// Torques of the arm: waves of a frequency of its own for each joint, strong near the base.
fn arm_torque(time: f64, joint: usize) -> f64 {
    let size = [25.0, 40.0, 15.0, 20.0, 3.0, 3.0, 1.0, 0.0, 0.0][joint];
    size * (TAU * (0.7 + 0.23 * joint as f64) * time + joint as f64).sin()
}

/// What the recordings were made with.
#[derive(Clone, Debug)]
pub struct Truth {
    /// Names and true values of the unknowns.
    pub values: Vec<(String, f64)>,
    /// Standard deviation of the noise of every channel.
    pub noise: Vec<(String, f64)>,
}

/// A task that was made up.
pub struct Made {
    /// The scene.
    pub scene: Box<dyn Scene>,
    /// Recordings of it under the truth.
    pub tables: Vec<Table>,
    /// What to ask.
    pub question: Question,
    /// What the answer should be.
    pub truth: Truth,
}

impl MadeUp {
    /// The scene, recordings of it under a truth drawn from the seed, what to ask, and the truth. `noise` is a part of
    /// the spread of each channel.
    pub fn make(&self, name: &'static str, noise: f64, seed: u64) -> Result<Made, ConfigError> {
        if !(noise >= 0.0 && noise.is_finite()) {
            return Err(ConfigError::new(format!(
                "--noise must be zero or a positive part of the spread, got {noise}"
            )));
        }
        let (scene, motion) = self.motion(seed)?;
        let MadeMotion { asked, unknowns, truth, inputs, steps, every } = motion;
        let layout = scene.layout();
        let measured = layout.state.select(self.measured)?;
        let mut tables = Vec::new();
        for (number, mut inputs) in inputs.into_iter().enumerate() {
            unknowns.map.apply(&truth, &mut inputs);
            tables.push(record(scene.as_ref(), &inputs, (steps, every), &measured, number).map_err(|e| {
                ConfigError::new(format!("{name}: the made-up truth cannot be simulated: {e}"))
            })?);
        }
        let noise = add_noise(&mut tables, &measured, layout, noise, seed);
        // The initial state is known but for what is measured of it with noise; it is given as it is.
        let question = Question { asked, ..Question::default() };
        let values = unknowns.map.variables().iter().map(|v| v.name.clone()).zip(truth).collect();
        Ok(Made { scene, tables, question, truth: Truth { values, noise } })
    }
}

/// What moves under a truth drawn from a seed.
struct MadeMotion {
    asked: Asked,
    unknowns: Unknowns,
    truth: Vec<f64>,
    /// What each recording starts from; parameters as the scene has them.
    inputs: Vec<Inputs<f64>>,
    /// Steps of a recording, and between samples.
    steps: usize,
    every: usize,
}

impl MadeUp {
    /// The scene, and its motions under a truth drawn from the seed.
    fn motion(&self, seed: u64) -> Result<(Box<dyn Scene>, MadeMotion), ConfigError> {
        let scene = (self.scene)()?;
        let asked = Asked {
            fit: self.fit.iter().map(|f| f.to_string()).collect(),
            start: self.start.iter().map(|(name, x)| (name.to_string(), *x)).collect(),
            ..Asked::default()
        };
        let unknowns = Unknowns::new(&asked, scene.layout())?;
        let mut random = Random::stream(seed, &[1]);
        let (low, high) = (self.truth.0.ln(), self.truth.1.ln());
        let starts = unknowns.map.variables();
        let truth: Vec<f64> = starts.iter().map(|v| v.start * random.uniform(low, high).exp()).collect();

        let (dt, (time, between)) = (scene.dt(), self.time);
        let (steps, every) = ((time / dt).round() as usize, (between / dt).round().max(1.0) as usize);
        let layout = scene.layout();
        let mut all = Vec::new();
        for start in self.from {
            let mut inputs = Inputs {
                state: layout.state.defaults(),
                controls: scene.controls(steps),
                params: layout.params.defaults(),
            };
            for (name, x) in *start {
                inputs.state[layout.state.index_of(name)?] = *x;
            }
            let controls = layout.control.len();
            for (i, u) in inputs.controls.iter_mut().enumerate() {
                // Held between samples, as a recording has it.
                let step = i / controls / every * every;
                *u = (self.drive)(step as f64 * dt, i % controls);
            }
            all.push(inputs);
        }
        Ok((scene, MadeMotion { asked, unknowns, truth, inputs: all, steps, every }))
    }

    /// The task before a camera: videos under the truth, with `VIDEO_FRAMES` frames each after the start, whose pixels are
    /// rounded to eight bits unless told otherwise.
    pub fn film(&self, name: &str, seed: u64, rounded: bool) -> Result<MadeFilm, ConfigError> {
        let (_, motion) = self.motion(seed)?;
        let MadeMotion { asked: _, unknowns, truth, mut inputs, steps, every } = motion;
        // A frame with every few samples.
        let samples = steps / every;
        let stride = samples.div_ceil(VIDEO_FRAMES).max(1) * every;
        let frames: Vec<usize> = (1..=steps / stride).map(|k| k * stride).collect();
        // A video ends with its last frame, which may be before the end of the recording.
        for controls in inputs.iter_mut().map(|inputs| &mut inputs.controls) {
            controls.truncate(controls.len() / steps * (steps / stride * stride));
        }
        let names = unknowns.map.variables().iter().map(|v| v.name.clone());
        let values = names.zip(truth.iter().copied()).collect();
        let mut made = MadeFilm {
            filmed: (self.filming)()?,
            unknowns,
            inputs,
            frames,
            videos: Vec::new(),
            truth: values,
            rounded,
        };
        let videos = made
            .film(&truth)
            .map_err(|e| ConfigError::new(format!("{name}: the made-up truth cannot be filmed: {e}")))?;
        made.videos = if rounded { videos.into_iter().map(film::rounded).collect() } else { videos };
        Ok(made)
    }
}

/// Frames of a video at most.
const VIDEO_FRAMES: usize = 25;

/// All states at the start, then the measured ones, and all controls.
fn record(
    scene: &dyn Scene,
    inputs: &Inputs<f64>,
    (steps, every): (usize, usize),
    measured: &[usize],
    number: usize,
) -> Result<Table, StepError> {
    let layout = scene.layout();
    let mut table = Table {
        name: format!("recording {}", number + 1),
        header: layout.state.entry_names().into_iter().chain(layout.control.entry_names()).collect(),
        times: Vec::new(),
        rows: Vec::new(),
    };
    scene.simulate(inputs, steps, &mut |at| {
        if at.step % every != 0 {
            return;
        }
        let state = at.state.iter().enumerate().map(|(i, x)| {
            // The first row is the start of the motion, known in full.
            (at.step == 0 || measured.contains(&i)).then_some(*x)
        });
        let control = (0..layout.control.len()).map(|i| at.control.get(i).copied());
        table.rows.push(state.chain(control).collect());
        table.times.push(at.step as f64 * scene.dt());
    })?;
    Ok(table)
}

/// Adds noise to all but the first row of what is measured; returns its standard deviations.
fn add_noise(
    tables: &mut [Table],
    measured: &[usize],
    layout: &Layout,
    part: f64,
    seed: u64,
) -> Vec<(String, f64)> {
    let mut random = Random::stream(seed, &[2]);
    let mut all = Vec::new();
    for &i in measured {
        let name = layout.state.entry_name(i);
        let values: Vec<f64> =
            tables.iter().flat_map(|t| t.rows.iter().filter_map(move |row| row[i])).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let spread = (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt();
        // Entries of a quaternion have noise of one size.
        let sigma = part * if glob("*orientation*", &name) { 0.5 } else { spread };
        for x in tables.iter_mut().flat_map(|t| t.rows.iter_mut().skip(1)).filter_map(|row| row[i].as_mut()) {
            *x += sigma * random.normal();
        }
        all.push((name, sigma));
    }
    all
}

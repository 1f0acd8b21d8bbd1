//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use pullback_core::integrator::{Adjoint, Integrator, Method, PidController, StepControl};

/// A differentiable multiphysics engine: every function has its pullback.
#[derive(Debug, Parser)]
#[command(name = "pullback", version, arg_required_else_help = true)]
pub struct Arguments {
    /// Print exactly one JSON object on standard output
    #[arg(long, global = true)]
    pub json: bool,
    /// Seed of everything random
    #[arg(long, global = true, default_value_t = 0)]
    pub seed: u64,
    /// Folder for files [default: out/COMMAND-NAME]
    #[arg(long, global = true, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Scenes, tasks, benchmarks and reproductions that exist
    List,
    /// A short tour that ends in an HTML page with pictures
    Demo,
    /// Run a scene: trajectory as CSV and NPZ, a picture of it, and for robots a page that plays it
    Simulate(SimulateOptions),
    /// What a model file holds, and its mass matrix, bias force and accelerations at a state
    Inspect(InspectOptions),
    /// Adjoint against forward mode and finite differences, as a table; exit code 1 if they disagree
    Gradcheck(GradcheckOptions),
    /// Value, gradient field and adjoint against finite differences over two variables of a task
    Landscape(LandscapeOptions),
    /// What to know about a task before choosing a method: can its gradients be trusted?
    Doctor(DoctorOptions),
    /// Search for the lowest loss of a task; goes on where an interrupted run stopped
    Optimize(OptimizeOptions),
    /// A paper's result beside ours
    Reproduce(ReproduceOptions),
    /// Machine-readable figures of speed and memory
    Bench(BenchOptions),
}

#[derive(Debug, Args)]
pub struct SimulateOptions {
    /// Name of a scene, see `pullback list`, or path of a model file
    pub scene: String,
    /// Seconds to simulate [default: 5, or as long as the scene's episode]
    #[arg(long, allow_negative_numbers = true)]
    pub time: Option<f64>,
    /// Seconds per step [default: the scene's own]
    #[arg(long, allow_negative_numbers = true)]
    pub dt: Option<f64>,
    /// How one step is made [default: the scene's own]
    #[arg(long)]
    pub method: Option<MethodName>,
    /// Adaptive inner steps with this tolerance (tsit5 and dopri5)
    #[arg(long, allow_negative_numbers = true)]
    pub tolerance: Option<f64>,
    /// Start from this keyframe of the model file, by name or number [default: the pose in the file]
    #[arg(long, value_name = "NAME|INDEX")]
    pub keyframe: Option<String>,
    /// Set an initial state, a constant control or a parameter, such as state.rate=0.5 or params.*.mass=2
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
}

#[derive(Debug, Args)]
pub struct InspectOptions {
    /// An MJCF file
    pub file: String,
    /// Look at this keyframe of the model file, by name or number [default: the pose in the file]
    #[arg(long, value_name = "NAME|INDEX")]
    pub keyframe: Option<String>,
    /// Coordinates, separated by commas [default: as described in the file]
    #[arg(long, allow_hyphen_values = true)]
    pub qpos: Option<String>,
    /// Velocities, separated by commas [default: zero]
    #[arg(long, allow_hyphen_values = true)]
    pub qvel: Option<String>,
    /// Controls, separated by commas [default: zero]
    #[arg(long, allow_hyphen_values = true)]
    pub ctrl: Option<String>,
    /// Elements and attributes to overlook although they change the motion, such as `joint.frictionloss`
    #[arg(long, value_delimiter = ',')]
    pub allow_ignored: Vec<String>,
}

#[derive(Debug, Args)]
pub struct GradcheckOptions {
    /// Name of a scene, path of a model file, or `all`
    pub scene: String,
    /// Largest accepted error against forward mode
    #[arg(long, default_value_t = 1e-8, allow_negative_numbers = true)]
    pub tolerance: f64,
}

#[derive(Debug, Args)]
pub struct LandscapeOptions {
    /// Name of a task, see `pullback list`
    pub task: String,
    /// The two variables to move
    #[arg(long, value_name = "I,J", default_value = "0,1", value_parser = parse_dims)]
    pub dims: (usize, usize),
    /// Grid points along each variable
    #[arg(long, default_value_t = 81)]
    pub points: usize,
}

#[derive(Debug, Args)]
pub struct DoctorOptions {
    /// Name of a task, see `pullback list`
    pub task: String,
    /// Points at which gradients are judged
    #[arg(long, default_value_t = 48)]
    pub points: usize,
    /// Lines across the box
    #[arg(long, default_value_t = 12)]
    pub lines: usize,
}

#[derive(Debug, Args)]
pub struct OptimizeOptions {
    /// Name of a task, see `pullback list`
    pub task: String,
    /// How to search, see `pullback list`
    #[arg(long, default_value = "bo-leap")]
    pub method: String,
    /// Simulations to spend
    #[arg(long, default_value_t = 1000)]
    pub budget: usize,
    /// Settings of the method other than its defaults, as a JSON object
    #[arg(long, value_name = "JSON")]
    pub settings: Option<String>,
}

#[derive(Debug, Args)]
pub struct ReproduceOptions {
    /// Which result
    pub what: Reproduction,
    /// Number of initial heights (diffmjx-toy)
    #[arg(long, default_value_t = 2000)]
    pub points: usize,
    /// Fewer tasks, seeds and simulations, in less than a quarter of an hour (bo-leap)
    #[arg(long)]
    pub quick: bool,
    /// Runs of each method on each task [default: 10, or 3 if quick] (bo-leap)
    #[arg(long)]
    pub seeds: Option<u64>,
    /// Simulations per run [default: 1000, or 100 if quick] (bo-leap)
    #[arg(long)]
    pub budget: Option<usize>,
    /// Only these tasks, separated by commas [default: all, or seven if quick] (bo-leap)
    #[arg(long, value_delimiter = ',')]
    pub tasks: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Reproduction {
    /// Paper 4, Fig. 4: gradients of a bouncing point under six contact models
    DiffmjxToy,
    /// Paper 0, Figs. 2 to 5: lowest loss of six methods on every task, mean and 95 % interval over seeds
    BoLeap,
}

#[derive(Debug, Args)]
pub struct BenchOptions {
    /// Which benchmark
    pub what: Benchmark,
    /// Steps of the checkpoint benchmark
    #[arg(long, default_value_t = 100_000)]
    pub steps: usize,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Benchmark {
    /// Cost of a gradient over a step, macro-made against hand-written, lanes against scalars
    Core,
    /// Memory and time of checkpoint schedules over a long rollout
    Checkpoint,
    /// Forward and backward steps of an 18-dof quadruped beside Pinocchio's, and robots standing
    Articulated,
    /// Environment steps per second of the ant on the ground, with and without gradients, beside MuJoCo's
    Ant,
    /// Steps of elastic blocks and a cloth, forward and backward, beside Warp's CPU device
    Fem,
    /// Substeps of clouds of plasticine, forward and backward, alone and in batches, beside Taichi's and Warp's CPU
    Mpm,
    /// Trials of Bayesian optimisation beside BoTorch
    Bo,
    /// Methods of search on known functions beside cmaes and BoTorch
    Search,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum MethodName {
    /// First order, velocities first
    SemiImplicitEuler,
    /// Classical fourth order
    Rk4,
    /// Tsitouras 5(4)
    Tsit5,
    /// Dormand-Prince 5(4)
    Dopri5,
}

impl SimulateOptions {
    /// The integrator asked for, if any.
    pub fn integrator(&self) -> Option<Integrator> {
        let method = match (self.method, self.tolerance) {
            (None, None) => return None,
            (None, Some(_)) | (Some(MethodName::Tsit5), _) => Method::Tsit5,
            (Some(MethodName::SemiImplicitEuler), _) => Method::SemiImplicitEuler,
            (Some(MethodName::Rk4), _) => Method::Rk4,
            (Some(MethodName::Dopri5), _) => Method::Dopri5,
        };
        let control = match self.tolerance {
            None => StepControl::Fixed { substeps: 1 },
            Some(tolerance) => StepControl::Adaptive(PidController::new(tolerance)),
        };
        Some(Integrator { method, control, adjoint: Adjoint::Discrete { checkpoints: 4096 } })
    }
}

fn parse_dims(text: &str) -> Result<(usize, usize), String> {
    let parts: Vec<&str> = text.split(',').collect();
    match parts[..] {
        [i, j] => match (i.trim().parse(), j.trim().parse()) {
            (Ok(i), Ok(j)) => Ok((i, j)),
            _ => Err("write two numbers, such as 0,1".into()),
        },
        _ => Err("write two numbers, such as 0,1".into()),
    }
}

//! The command line.

mod completions;
mod loss;
mod view;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use pullback_control::PLANNERS;
use pullback_control::planner::BuildPlanner;
use pullback_control::spline::{INTERPOLATIONS, Interpolation};
use pullback_core::integrator::{Adjoint, Integrator, METHODS, Method, PidController, StepControl};
use pullback_core::registry::Entry;
use pullback_learn::algorithm::{ALGORITHMS, AlgorithmSpec};
use pullback_optim::least_squares::{BuildFitMethod, FIT_METHODS};
use pullback_optim::methods::{self, BuildMethod};
use pullback_physics::articulated::{CONTACT_MODELS, ContactModel};
use pullback_tasks::environments::ENVIRONMENTS;
use pullback_tasks::files::{FileOptions, Package};
use pullback_tasks::identify::{IDENTIFICATIONS, TransformName};
use pullback_tasks::objectives::TASKS;
use pullback_tasks::planning::CONTROL_TASKS;
use pullback_tasks::scenes::SCENES;
use pullback_video::look::PictureSize;

use crate::bench::{BENCHMARKS, Benchmark};
use crate::commands::demo::{PARTS, Part};
use crate::commands::reproduce::{EXPERIMENTS, Experiment};
use crate::commands::train::PrecisionName;
use crate::names::{NameOrPath, OneOf};
use crate::version;

pub use completions::CompletionsOptions;
pub use view::ViewOptions;

pub use loss::LossOptions;

mod numbers;

use numbers::{count, count_u64, finite, not_negative, positive, thread_count};

/// A differentiable multiphysics engine: every function has its pullback.
#[derive(Debug, Parser)]
#[command(name = "pullback", version = version::version(), arg_required_else_help = true)]
pub struct Arguments {
    /// Print exactly one JSON object on standard output
    #[arg(long, global = true)]
    pub json: bool,
    /// Write files without a word: no text, no progress; errors and notes remain
    #[arg(long, short, global = true)]
    pub quiet: bool,
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
    /// Scenes, tasks, methods, benchmarks and reproductions that exist
    List(ListOptions),
    /// A short tour that ends in an HTML page with pictures
    Demo(DemoOptions),
    /// Run a scene: trajectory as CSV and NPZ, a picture of it, and for robots a page that plays it
    Simulate(SimulateOptions),
    /// Run a scene live in a browser: pull bodies, move sliders, see gradients; until Ctrl-C
    View(ViewOptions),
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
    /// Parameters from recordings of a motion, with error bars, and what the data cannot tell
    Identify(IdentifyOptions),
    /// Control by looking ahead: plan, apply, plan again; goes on where an interrupted run stopped
    Mpc(MpcOptions),
    /// Learn a policy in many environments; goes on where an interrupted run stopped
    Train(TrainArguments),
    /// Play the policy of a run: returns of whole episodes, and a page that shows one of them
    Play(PlayOptions),
    /// Training runs beside each other: curves, final values, and whether their seeds can tell them apart
    Compare(CompareOptions),
    /// A paper's result beside ours
    Reproduce(ReproduceOptions),
    /// Machine-readable figures of speed and memory
    Bench(BenchOptions),
    /// What a shell offers after the tab key; bash: pullback completions bash > /etc/bash_completion.d/pullback
    Completions(CompletionsOptions),
}

#[derive(Debug, Args)]
pub struct ListOptions {
    /// Only this scene, or that of a model file, with the names of its states, controls and parameters; or
    /// `all` with those of every scene
    #[arg(value_parser = NameOrPath(SCENES))]
    pub scene: Option<String>,
    /// Print a loss file to begin with, for --loss of optimize, landscape, doctor and gradcheck
    #[arg(long, requires = "scene")]
    pub loss_template: bool,
    #[command(flatten)]
    pub reading: ReadingOptions,
}

#[derive(Debug, Args)]
pub struct DemoOptions {
    /// Parts of the tour [default: all]
    #[arg(value_parser = OneOf(PARTS))]
    pub parts: Vec<&'static Entry<Part>>,
}

#[derive(Debug, Args)]
pub struct SimulateOptions {
    /// Name of a scene, or path of a model file
    #[arg(value_parser = NameOrPath(SCENES))]
    pub scene: String,
    /// Seconds to simulate [default: 5, or as long as the scene's episode]
    #[arg(long, allow_negative_numbers = true, value_parser = positive)]
    pub time: Option<f64>,
    /// Seconds per step [default: the scene's own]
    #[arg(long, allow_negative_numbers = true, value_parser = positive)]
    pub dt: Option<f64>,
    /// How one step is made [default: the scene's own]
    #[arg(long, value_parser = OneOf(METHODS))]
    pub method: Option<&'static Entry<Method>>,
    /// Adaptive inner steps with this tolerance (tsit5 and dopri5)
    #[arg(long, allow_negative_numbers = true, value_parser = positive)]
    pub tolerance: Option<f64>,
    /// Start from this keyframe of the model file, by name or number [default: the pose in the file]
    #[arg(long, value_name = "NAME|INDEX")]
    pub keyframe: Option<String>,
    #[command(flatten)]
    pub reading: ReadingOptions,
    /// Contact model of a model file [default: convex]
    #[arg(long, value_parser = OneOf(CONTACT_MODELS))]
    pub contact: Option<&'static Entry<ContactModel>>,
    /// Play a sequence of controls, a .csv or .npz file such as simulate and optimize write; start and parameters are
    /// those of the .npz file, where it has them
    #[arg(long, value_name = "FILE")]
    pub controls: Option<PathBuf>,
    /// Set an initial state, a constant control or a parameter, such as state.rate=0.5 or params.*.mass=2
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Choose features that touch softly over this length, m (model files)
    #[arg(long, default_value_t = 0.0, value_name = "LENGTH", allow_negative_numbers = true, value_parser = not_negative)]
    pub collision_softness: f64,
    #[command(flatten)]
    pub filming: FilmingOptions,
}

/// What is filmed, from where.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Pictures")]
pub struct FilmingOptions {
    /// Film the motion: FILE.gif, FILE.apng, FILE.mp4 or, for a folder of PNG files, FOLDER/
    #[arg(long, value_name = "FILE")]
    pub video: Option<PathBuf>,
    /// A picture of the last state, a PNG file
    #[arg(long, value_name = "FILE")]
    pub picture: Option<PathBuf>,
    /// A camera of the model file by name or number, or `free` [default: the file's choice, else free]
    #[arg(long, value_name = "NAME|INDEX|free")]
    pub camera: Option<String>,
    /// Direction of view of the free camera around z, from x, degrees
    #[arg(long, allow_negative_numbers = true, value_parser = finite)]
    pub azimuth: Option<f64>,
    /// Angle of its view above the ground, degrees; negative looks down
    #[arg(long, allow_negative_numbers = true, value_parser = finite)]
    pub elevation: Option<f64>,
    /// Distance from what it looks at, m
    #[arg(long, allow_negative_numbers = true, value_parser = positive)]
    pub distance: Option<f64>,
    /// What it looks at, m [default: the middle, following what floats]
    #[arg(long, value_name = "X,Y,Z", value_parser = parse_place, allow_hyphen_values = true)]
    pub lookat: Option<Place>,
    /// Pixels, such as 640x480 [default: the camera's, else 640x480]
    #[arg(long, value_name = "WIDTHxHEIGHT")]
    pub size: Option<PictureSize>,
    /// Frames per second of the video [default: 30]
    #[arg(long, allow_negative_numbers = true, value_parser = positive)]
    pub fps: Option<f64>,
    /// Seconds of the motion per second of the video, below 1 for slow motion [default: 1]
    #[arg(long, allow_negative_numbers = true, value_parser = positive)]
    pub speed: Option<f64>,
}

/// A place in the world, m.
#[derive(Clone, Copy, Debug)]
pub struct Place(pub [f64; 3]);

fn parse_place(text: &str) -> Result<Place, String> {
    let numbers: Option<Vec<f64>> = text.split(',').map(|x| x.trim().parse().ok()).collect();
    let numbers =
        numbers.and_then(|n| <[f64; 3]>::try_from(n).ok()).filter(|n| n.iter().all(|x| x.is_finite()));
    numbers.map(Place).ok_or_else(|| "write three numbers, such as 0,0,1".into())
}

#[derive(Debug, Args)]
pub struct InspectOptions {
    /// An MJCF or URDF file
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
    /// Activations of actuators that have one, separated by commas [default: zero]
    #[arg(long, allow_hyphen_values = true)]
    pub act: Option<String>,
    /// Controls, separated by commas [default: zero]
    #[arg(long, allow_hyphen_values = true)]
    pub ctrl: Option<String>,
    #[command(flatten)]
    pub reading: ReadingOptions,
    /// Contact model of a model file [default: convex]
    #[arg(long, value_parser = OneOf(CONTACT_MODELS))]
    pub contact: Option<&'static Entry<ContactModel>>,
}

/// How a model file is read.
#[derive(Debug, Args)]
pub struct ReadingOptions {
    /// Elements and attributes of a model file to overlook although they change the motion, such as
    /// `geom.adhesion`
    #[arg(long, value_delimiter = ',')]
    pub allow_ignored: Vec<String>,
    /// Let the root link of a URDF file float on a free joint [default: it is fixed to the world]
    #[arg(long)]
    pub floating_base: bool,
    /// Replace inertias of a URDF file that no body has by the nearest that one has, and give joints that
    /// move no mass or inertia 1 g and 1e-6 kg m² [default: they are errors]
    #[arg(long)]
    pub fix_inertia: bool,
    /// Refuse files that a model file names (includes, meshes, terrain) outside of its folder and of packages that are given:
    /// for models that one does not trust [default: they may be anywhere, as in MuJoCo]
    #[arg(long)]
    pub confined: bool,
    /// Folder of a package (`package://NAME/...`) that a URDF file names, or folder that holds packages; may
    /// be repeated
    #[arg(long = "package", value_name = "NAME=DIR|DIR")]
    pub packages: Vec<Package>,
}

impl ReadingOptions {
    /// With the contact model of files of this kind.
    pub fn file_options(&self) -> FileOptions {
        FileOptions {
            allow_ignored: self.allow_ignored.clone(),
            floating_base: self.floating_base,
            fix_inertia: self.fix_inertia,
            packages: self.packages.clone(),
            confined: self.confined,
            contact: None,
        }
    }

    /// What is asked for other than the defaults, to tell runs apart.
    pub fn words(&self) -> String {
        if self.given() { format!("{self:?}") } else { String::new() }
    }

    /// Whether something other than the defaults is asked for.
    pub fn given(&self) -> bool {
        let Self { allow_ignored, floating_base, fix_inertia, confined, packages } = self;
        *floating_base || *fix_inertia || *confined || !allow_ignored.is_empty() || !packages.is_empty()
    }
}

#[derive(Debug, Args)]
pub struct GradcheckOptions {
    /// Name of a scene, path of a model file, or `all`
    #[arg(value_parser = NameOrPath(SCENES))]
    pub scene: String,
    #[command(flatten)]
    pub goal: LossOptions,
    /// Largest accepted error against forward mode
    #[arg(long, default_value_t = 1e-8, allow_negative_numbers = true, value_parser = positive)]
    pub tolerance: f64,
    /// Steps of the rollout that is checked [default: 8, and 2 for large scenes]
    #[arg(long, allow_negative_numbers = true, value_parser = count)]
    pub steps: Option<usize>,
    #[command(flatten)]
    pub reading: ReadingOptions,
    /// Contact model of a model file [default: convex]
    #[arg(long, value_parser = OneOf(CONTACT_MODELS))]
    pub contact: Option<&'static Entry<ContactModel>>,
    /// Choose features that touch softly over this length, m (model files)
    #[arg(long, default_value_t = 0.0, value_name = "LENGTH", allow_negative_numbers = true, value_parser = not_negative)]
    pub collision_softness: f64,
    /// Let contacts act on the way back from this distance on, m; compared with forward mode alone (model files)
    #[arg(long, default_value_t = 0.0, value_name = "DISTANCE", allow_negative_numbers = true, value_parser = not_negative)]
    pub from_distance: f64,
    /// Every check with its entries [default: for `all` a line per scene]
    #[arg(long)]
    pub verbose: bool,
}

#[derive(Debug, Args)]
pub struct LandscapeOptions {
    /// Name of a task, or a scene or model file with --loss
    #[arg(value_parser = NameOrPath(TASKS))]
    pub task: String,
    /// The two variables to move
    #[arg(long, value_name = "I,J", default_value = "0,1", value_parser = parse_dims)]
    pub dims: (usize, usize),
    /// Grid points along each variable
    #[arg(long, default_value_t = 81, allow_negative_numbers = true, value_parser = count)]
    pub points: usize,
    #[command(flatten)]
    pub goal: LossOptions,
    #[command(flatten)]
    pub reading: ReadingOptions,
}

#[derive(Debug, Args)]
pub struct DoctorOptions {
    /// Name of a task, a scene or model file with --loss, or a model file with --target whose contacts are examined
    #[arg(value_parser = NameOrPath(TASKS))]
    pub task: String,
    #[command(flatten)]
    pub goal: LossOptions,
    #[command(flatten)]
    pub reading: ReadingOptions,
    /// State that should have a value at the end, such as `ball.position[0]=0.5`; may be repeated (model files)
    #[arg(long, value_name = "STATE=VALUE", value_parser = named_number)]
    pub target: Vec<(String, f64)>,
    /// Initial state that may change, and by how much [default: all velocities by 0.5] (model files)
    #[arg(long, value_name = "STATE=CHANGE", value_parser = named_number)]
    pub vary: Vec<(String, f64)>,
    /// Seconds simulated [default: 1] (model files)
    #[arg(long, allow_negative_numbers = true, value_parser = positive)]
    pub time: Option<f64>,
    /// Distance from which contacts may act on the way back, m [default: 0.1] (model files)
    #[arg(long, allow_negative_numbers = true, value_parser = positive)]
    pub distance: Option<f64>,
    /// Points at which gradients are judged
    #[arg(long, default_value_t = 48, allow_negative_numbers = true, value_parser = count)]
    pub points: usize,
    /// Lines across the box [default: 12] (tasks)
    #[arg(long, allow_negative_numbers = true, value_parser = count)]
    pub lines: Option<usize>,
}

#[derive(Debug, Args)]
pub struct OptimizeOptions {
    /// Name of a task, or a scene or model file with --loss
    #[arg(value_parser = NameOrPath(TASKS))]
    pub task: String,
    /// How to search
    #[arg(long, default_value = "bo-leap", value_parser = OneOf(methods::METHODS))]
    pub method: &'static Entry<BuildMethod>,
    /// Simulations to spend
    #[arg(long, default_value_t = 1000, allow_negative_numbers = true, value_parser = count)]
    pub budget: usize,
    /// Settings of the method other than its defaults, as a JSON object
    #[arg(long, value_name = "JSON")]
    pub settings: Option<String>,
    #[command(flatten)]
    pub goal: LossOptions,
    #[command(flatten)]
    pub reading: ReadingOptions,
}

#[derive(Debug, Args)]
pub struct IdentifyOptions {
    /// Name of a task with a made-up truth; with --data a scene or the path of a model file
    #[arg(value_parser = NameOrPath(IDENTIFICATIONS))]
    pub what: String,
    /// A recording as CSV with a column `time` (s) and columns named as `pullback list` names states, sensors and controls;
    /// empty cells are missing values; several files are several recordings
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub data: Vec<PathBuf>,
    /// What is seen of a task with a made-up truth: its state, or the pixels of a video
    #[arg(long, value_enum, default_value_t = Seen::State)]
    pub from: Seen,
    /// Leaves the pixels of a video as they are drawn, in place of rounding them to eight bits
    #[arg(long)]
    pub exact_pixels: bool,
    /// Parameters to find, such as 'link*.mass,joint*.damping'; NAME=PATTERNS gives all one value, NAME*=PATTERNS multiplies
    /// all by one factor; may be repeated
    #[arg(long, value_name = "PATTERNS")]
    pub fit: Vec<String>,
    /// Initial states to find too, for each recording, such as '*.v'; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub free: Vec<String>,
    /// Where a parameter starts [default: as in the scene]; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = named_number)]
    pub start: Vec<(String, f64)>,
    /// Bounds of a parameter [default: a twentieth to twenty times the start]; may be repeated
    #[arg(long, value_name = "NAME=LOW,HIGH", value_parser = named_range)]
    pub bounds: Vec<(String, (f64, f64))>,
    /// How parameters are searched: identity, log, softplus or box, for all or as NAME=log [default: log of what is
    /// positive]; may be repeated
    #[arg(long, value_name = "[NAME=]TRANSFORM", value_parser = named_transform)]
    pub transform: Vec<(String, TransformName)>,
    /// Standard deviation of a column, NAME=SIGMA or SIGMA for all [default: found from the residuals]; for a task with a
    /// made-up truth the noise that is added, as a part of the spread of each column [default: 0.01]; may be repeated
    #[arg(long, value_name = "[NAME=]SIGMA")]
    pub noise: Vec<String>,
    /// How to fit
    #[arg(long, default_value = "gauss-newton", value_parser = OneOf(FIT_METHODS))]
    pub method: &'static Entry<BuildFitMethod>,
    /// Settings of the method other than its defaults, as a JSON object
    #[arg(long, value_name = "JSON")]
    pub settings: Option<String>,
    /// Starts; all but the first are drawn at random between the bounds
    #[arg(long, default_value_t = 1, allow_negative_numbers = true, value_parser = count)]
    pub starts: usize,
    /// Simulations per start of methods other than gauss-newton
    #[arg(long, default_value_t = 1000, allow_negative_numbers = true, value_parser = count)]
    pub budget: usize,
    /// Threads; the result does not depend on them [default: 0, all]
    #[arg(long, default_value_t = 0, hide_default_value = true, value_parser = thread_count)]
    pub threads: usize,
    /// Seconds per step [default: the scene's own]
    #[arg(long, allow_negative_numbers = true, value_parser = positive)]
    pub dt: Option<f64>,
    /// State and control where the recording says nothing: a keyframe of the model file, by name or number
    #[arg(long, value_name = "NAME|INDEX")]
    pub keyframe: Option<String>,
    #[command(flatten)]
    pub reading: ReadingOptions,
    /// Contact model of a model file [default: convex]
    #[arg(long, value_parser = OneOf(CONTACT_MODELS))]
    pub contact: Option<&'static Entry<ContactModel>>,
}

/// What is seen of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Seen {
    /// Its state, measured with noise.
    #[default]
    State,
    /// A video of it.
    Video,
}

#[derive(Debug, Args)]
pub struct MpcOptions {
    /// Name of a control task, or path of a model file
    #[arg(value_parser = NameOrPath(CONTROL_TASKS))]
    pub task: String,
    /// How to plan
    #[arg(long, default_value = "hybrid", value_parser = OneOf(PLANNERS))]
    pub planner: &'static Entry<BuildPlanner>,
    /// Settings of the planner other than its defaults, as a JSON object
    #[arg(long, value_name = "JSON")]
    pub settings: Option<String>,
    /// Controls that are planned ahead [default: the task's]
    #[arg(long, allow_negative_numbers = true, value_parser = count)]
    pub horizon: Option<usize>,
    /// Controls that are applied of each plan [default: the task's]
    #[arg(long, allow_negative_numbers = true, value_parser = count)]
    pub apply: Option<usize>,
    /// Controls between knots of the plan; 1 for every control [default: the task's]
    #[arg(long, allow_negative_numbers = true, value_parser = count)]
    pub spacing: Option<usize>,
    /// What happens between knots [default: the task's]
    #[arg(long, value_parser = OneOf(INTERPOLATIONS))]
    pub interpolation: Option<&'static Entry<Interpolation>>,
    /// Seconds of the episode [default: the task's, or 2]
    #[arg(long, allow_negative_numbers = true, value_parser = positive)]
    pub time: Option<f64>,
    /// Threads; the result does not depend on them [default: 0, all]
    #[arg(long, default_value_t = 0, hide_default_value = true, value_parser = thread_count)]
    pub threads: usize,
    /// A state, site or body and where it should be, such as `hinge.q=0` or `tip=0,0,1`; may be repeated (model files)
    #[arg(long, value_name = "NAME=VALUE", value_parser = named_numbers)]
    pub target: Vec<(String, Vec<f64>)>,
    /// Start from this keyframe, by name or number [default: the first, or the pose in the file] (model files)
    #[arg(long, value_name = "NAME|INDEX")]
    pub keyframe: Option<String>,
    #[command(flatten)]
    pub reading: ReadingOptions,
    /// Contact model [default: convex] (model files)
    #[arg(long, value_parser = OneOf(CONTACT_MODELS))]
    pub contact: Option<&'static Entry<ContactModel>>,
    /// A model file in place of a task's own, such as MyoSuite's hand (`cargo xtask assets`) for in-hand-swap
    #[arg(long, value_name = "FILE")]
    pub model: Option<String>,
    /// Let contacts act on the way back from this distance on, m; 0 for not at all [default: the task's] (model files,
    /// and tasks about touching)
    #[arg(long, value_name = "DISTANCE", allow_negative_numbers = true, value_parser = not_negative)]
    pub from_distance: Option<f64>,
    /// Bounds, plus and minus, of controls that have none (model files)
    #[arg(long, value_name = "LIMIT", allow_negative_numbers = true, value_parser = positive)]
    pub bound: Option<f64>,
    /// Seconds that a control is held [default: 0.02] (model files)
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = positive)]
    pub control_step: Option<f64>,
    /// Weight of a control at the end of its range [default: 0.001] (model files)
    #[arg(long, allow_negative_numbers = true, value_parser = not_negative)]
    pub effort: Option<f64>,
    /// Every target is to be met to within this [default: 0.05] (model files)
    #[arg(long, allow_negative_numbers = true, value_parser = positive)]
    pub within: Option<f64>,
}

#[derive(Debug, Args)]
pub struct TrainArguments {
    /// Name of an environment
    #[arg(value_parser = NameOrPath(ENVIRONMENTS))]
    pub task: String,
    /// The algorithm
    #[arg(long, default_value = "sapo", value_parser = OneOf(ALGORITHMS))]
    pub algo: &'static Entry<AlgorithmSpec>,
    /// Settings of a paper by name [default: those of the task]
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// Settings that differ from the preset's, in a TOML or JSON file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Change one setting, such as critic.lr=0.001
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// What the physics computes with
    #[arg(long, value_enum, default_value_t)]
    pub precision: PrecisionName,
    /// Environments that one thread steps together
    #[arg(long, default_value_t = 16, allow_negative_numbers = true, value_parser = count)]
    pub shard: usize,
    /// Epochs between checkpoints
    #[arg(long, default_value_t = 50, value_name = "EPOCHS", allow_negative_numbers = true, value_parser = count)]
    pub checkpoint_every: usize,
    /// Stop after this epoch; the same command without it goes on
    #[arg(long, value_name = "EPOCH", allow_negative_numbers = true, value_parser = count)]
    pub stop_after: Option<usize>,
    /// Threads; results do not depend on it [default: all]
    #[arg(long, default_value_t = 0, hide_default_value = true, value_parser = thread_count)]
    pub threads: usize,
}

#[derive(Debug, Args)]
pub struct PlayOptions {
    /// Folder of a run of `train`
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Episodes
    #[arg(long, default_value_t = 128, allow_negative_numbers = true, value_parser = count)]
    pub episodes: usize,
    /// Which of them is shown
    #[arg(long, default_value_t = 0, value_name = "EPISODE")]
    pub watch: usize,
    /// Draw actions with noise in place of their means
    #[arg(long)]
    pub stochastic: bool,
    /// Threads; results do not depend on it [default: all]
    #[arg(long, default_value_t = 0, hide_default_value = true, value_parser = thread_count)]
    pub threads: usize,
}

#[derive(Debug, Args)]
pub struct CompareOptions {
    /// Folders of runs, or folders that hold them, one per seed
    #[arg(required = true, value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// Column of metrics.csv that is compared
    #[arg(long, default_value = "return_mean", value_name = "NAME")]
    pub metric: String,
    /// Small values of the metric are good
    #[arg(long)]
    pub lower_is_better: bool,
    /// Environment steps at which runs are judged [default: where the shortest run of each group ends]
    #[arg(long, value_name = "STEPS", allow_negative_numbers = true, value_parser = positive)]
    pub at: Option<f64>,
    /// Intervals by the bootstrap in place of Student's t (groups of five seeds and more)
    #[arg(long)]
    pub bootstrap: bool,
}

#[derive(Debug, Args)]
pub struct ReproduceOptions {
    /// Which result
    #[arg(value_parser = OneOf(EXPERIMENTS))]
    pub what: &'static Entry<Experiment>,
    /// Number of initial heights (diffmjx-toy)
    #[arg(long, default_value_t = 2000, allow_negative_numbers = true, value_parser = count)]
    pub points: usize,
    /// Fewer tasks, seeds, steps and simulations: less than a quarter of an hour (bo-leap), three minutes (diffmjx,
    /// diffmjx-mpc, articulated-adjoint), five minutes (articulated-learning), ten minutes (sapo,
    /// gradsim)
    #[arg(long)]
    pub quick: bool,
    /// Recorded tosses of a cube, a CSV file [default: simulated ones] (diffmjx)
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// Folder of MyoSuite's models [default: that of `cargo xtask assets`; our own models without it or if quick]
    /// (diffmjx-mpc)
    #[arg(long, value_name = "DIR")]
    pub models: Option<PathBuf>,
    /// Runs of each method on each task [default: 10, or 3 if quick (bo-leap); 2, or 1 if quick (diffmjx-mpc);
    /// 3 and 1, or 1 if quick (sapo); 1 (articulated-learning)]; instances and seeds of each experiment (gradsim)
    #[arg(long, allow_negative_numbers = true, value_parser = count_u64)]
    pub seeds: Option<u64>,
    /// Simulations per run [default: 1000, or 100 if quick] (bo-leap); epochs of a pendulum per link, of which the
    /// paper has 100, and a tenth of those of the ant [default: 10] (articulated-learning)
    #[arg(long, allow_negative_numbers = true, value_parser = count)]
    pub budget: Option<usize>,
    /// Only these tasks, separated by commas [default: all, or seven if quick (bo-leap); all (gradsim)]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub tasks: Vec<String>,
}

#[derive(Debug, Args)]
pub struct BenchOptions {
    /// Which benchmark
    #[arg(value_parser = OneOf(BENCHMARKS))]
    pub what: &'static Entry<Benchmark>,
    /// Steps of the checkpoint benchmark
    #[arg(long, default_value_t = 100_000, allow_negative_numbers = true, value_parser = count)]
    pub steps: usize,
}

/// A name and numbers, as in `tip=0,0,1`.
fn named_numbers(text: &str) -> Result<(String, Vec<f64>), String> {
    let (name, values) = text.split_once('=').ok_or("write it as NAME=NUMBER or NAME=X,Y,Z")?;
    let number = |value: &str| match value.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(format!("`{value}` is not a finite number")),
    };
    Ok((name.trim().to_owned(), values.split(',').map(number).collect::<Result<_, _>>()?))
}

/// A name and two numbers, as in `hip.damping=0.1,10`.
fn named_range(text: &str) -> Result<(String, (f64, f64)), String> {
    match named_numbers(text)? {
        (name, ends) if ends.len() == 2 => Ok((name, (ends[0], ends[1]))),
        _ => Err("write it as NAME=LOW,HIGH".into()),
    }
}

/// A transform, or a name and a transform.
fn named_transform(text: &str) -> Result<(String, TransformName), String> {
    let (name, transform) = text.split_once('=').unwrap_or(("*", text));
    let transform = match transform.trim() {
        "identity" => TransformName::Identity,
        "log" => TransformName::Log,
        "softplus" => TransformName::Softplus,
        "box" => TransformName::Box,
        other => return Err(format!("`{other}` is not one of identity, log, softplus, box")),
    };
    Ok((name.trim().to_owned(), transform))
}

/// A name and a number, as in `hip=0.3`.
fn named_number(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=NUMBER")?;
    let value: f64 = value.trim().parse().map_err(|_| format!("`{value}` is not a number"))?;
    if !value.is_finite() {
        return Err(format!("`{value}` is not a finite number"));
    }
    Ok((name.trim().to_owned(), value))
}

impl SimulateOptions {
    /// The integrator asked for, if any.
    pub fn integrator(&self) -> Option<Integrator> {
        let method = match (self.method, self.tolerance) {
            (None, None) => return None,
            (None, Some(_)) => Method::Tsit5,
            (Some(entry), _) => entry.value,
        };
        let control = match self.tolerance {
            None => StepControl::Fixed,
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

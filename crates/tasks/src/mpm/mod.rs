//! Scenes of the material point method: plasticine, dough, water, and tools and hands that move them.
//!
//! z is up here; the sources have y up, and their (x, y, z) becomes (x, 1 − z, y), lifted so that their floor
//! is ours. A step is one action: several substeps under one control. Controls are rates of the tools, in
//! natural units; their bounds are the source's largest displacement per action. Constants in *italics* are
//! ours because the source does not give them.
//!
//! | scene | material (E, ν, yield) | particles | tools (friction) | largest way per action | floor | gravity |
//! |---|---|---|---|---|---|---|
//! | `plb-move` | 5 kPa, 0.2, 200 Pa | 10,000, ball of radius 0.1025 m *at height 0.15* | 2 spheres 0.03 (0.9) | 0.01 | μ 1.5 | 30 |
//! | `plb-torus` | yield 50 | 10,000, 0.3 × 0.3 × 0.1 | torus 0.05, 0.03 (0.9) | 0.004 | sticky | 30 |
//! | `plb-rope` | yield 50 | 10,000, 0.6 × 0.06 × 0.06 | 2 spheres 0.03, fixed pole of radius 0.1 (*0.9*) | 0.01 | μ 0.3 | 30 |
//! | `plb-writer` | yield 50 | 10,000, 0.3 × 0.3 × 0.1 | capsule 0.03, 0.06 long (0), *starts above the dough* | 0.01 | sticky | 30 |
//! | `plb-pinch` | yield 50 | 6,000, 0.2³ | sphere 0.04 (*0.9*) | 0.02 | sticky | 30 |
//! | `plb-rollingpin` | yield 50 | 10,000, 0.3 × 0.3 × 0.1 | capsule 0.03, 0.3 long (*0.9*) | roll 0.6667 rad, yaw 0.0667 rad, 0.001 m | μ 1.5 | 30 |
//! | `plb-chopsticks` | yield 200 | 10,000, 0.04 × 0.6 × 0.04 | 2 capsules 0.02, 0.2 long, gap ≥ 0.06 (10) | 0.02 m, 0.04 rad, gap 0.02 | slips | 150 |
//! | `plb-table` | ν 0.05, yield 50 | 5 × 2,000: legs 0.04 × 0.04 × 0.1, top 0.2 × 0.2 × 0.05 | sphere 0.04 (*0.9*) | 0.03 level, 0 upright | μ 0.3 | 30 |
//! | `plb-triplemove` | yield 200 | 3 × 3,333, 0.1³ | 6 spheres 0.03 (*0.9*, *0.08 beside each box*) | 0.01 | μ 1.5 | 30 |
//! | `plb-assembly` | yield 100 | 6,000 in 0.16³ and 4,000 in a ball of radius 0.06 | 2 spheres 0.04 (*0.9*) | 0.009 | sticky | 30 |
//!
//! | `rolling-flat` | Hencky, 5 kPa, 0.2, 50 Pa | 2,592, 0.3 × 0.3 × 0.125 | two capsules 0.03 and 0.012 (0.9) | 0.01 m, 0.01 m, π/60 rad | sticky | 90 |
//! | `hand-flip` | Hencky, 4 kPa, 0.2, 130 Pa | 2,500, disc 0.1, 6 mm thick | *hand of 24 joints* (0.5) | 0.0264 rad | sticky | 90 |
//! | `fluid-move` | fluid, 100 kPa, 0.3, 1000 kg/m³ | 2,880, 0.16 × 0.2 × 0.094 | container of 5 slabs (0.5) | 0.01 | slips | 9.8 |
//! | `fluid-tank` | *syrup: fluid, 50 Pa, 0.3, 1 kg/m³, 0.14 deep; sugar: elastic, 200 Pa, 0.2, 1.3 kg/m³, 0.06³* | *16,000 and 400* | *ladle of boxes* (*0.3*) | *0.02* (2 m/s) | *slips* | *9.81* |
//!
//! PlasticineLab's scenes have 64³ nodes, 50 actions of 19 substeps of 10⁻⁴ s, and particles of 6.1·10⁻⁵ m³
//! and 1 kg/m³; those of Rewarped have 48³ nodes and 300 actions of 40 substeps of 5·10⁻⁵ s (`fluid-move`:
//! 5·10⁻⁴ s). `fluid-tank` has *26³ cells between its walls and 100 actions of 20 substeps of 5·10⁻⁴ s*.
//!
//! Tasks on coarse scenes run in `f32`, all else in `f64` ([`objectives`]).
//!
//! Each scene comes in three sizes ([`Size`]): as the table says; coarse, for optimizers that run thousands
//! of episodes; and small, where gradients are checked in every entry. The coarse version is checked along
//! random directions, a substep at a time.

mod blueprint;
mod dough;
mod hand;
pub mod objectives;
mod plasticine;
mod scene;
mod targets;
#[cfg(test)]
mod tests;
mod water;

use blueprint::{Blueprint, SourceFrame};
use pullback_core::ConfigError;
use pullback_core::registry::{Entry, Registry};
use pullback_core::sources::{BO_LEAP, REWARPED};
use pullback_physics::mpm::ActuatedMpm;

use crate::scene::About;
use crate::scenes::{BuiltScene, SceneEntry, SceneOptions, SceneSpec, about};

pub use blueprint::Size;
pub use plasticine::SCENES as PLASTICINE_SCENES;

/// Scenes of Rewarped and BO-Leap; those of PlasticineLab are [`PLASTICINE_SCENES`].
pub const SCENES: &[SceneEntry] = &[
    Entry::cited(
        "rolling-flat",
        "a pin rolls out dough",
        REWARPED.at("RollingFlat"),
        SceneSpec::Mpm(MpmSpec { actions: 300, action: dough::ACTION, blueprint: dough::build }),
    ),
    Entry::cited(
        "hand-flip",
        "a hand of 24 joints folds a disc of dough",
        REWARPED.at("HandFlip"),
        SceneSpec::Mpm(MpmSpec { actions: 300, action: dough::ACTION, blueprint: hand::build }),
    ),
    Entry::cited(
        "fluid-move",
        "a container of water is carried",
        REWARPED.at("FluidMove"),
        SceneSpec::Mpm(MpmSpec { actions: 300, action: water::MOVE_ACTION, blueprint: water::fluid_move }),
    ),
    Entry::cited(
        "fluid-tank",
        "a ladle lifts a cube of sugar out of syrup",
        BO_LEAP.at("Fluid"),
        SceneSpec::Mpm(MpmSpec { actions: 100, action: water::TANK_ACTION, blueprint: water::fluid_tank }),
    ),
];

/// All scenes of this folder.
const ALL: Registry<SceneSpec> = Registry::new("material point scene", &[SCENES, PLASTICINE_SCENES]);

/// How a material point scene is built, and how long its episodes are.
#[derive(Clone, Copy, Debug)]
pub struct MpmSpec {
    /// Actions per episode.
    actions: usize,
    /// Seconds per action.
    action: f64,
    /// What the scene of a name is made of, at a size.
    blueprint: fn(&str, Size) -> Result<Blueprint, ConfigError>,
}

impl MpmSpec {
    /// Seconds per episode.
    pub const fn horizon(&self) -> f64 {
        self.actions as f64 * self.action
    }

    /// The scene with its coarse and small versions.
    pub(crate) fn build(self, about: About, options: SceneOptions) -> BuiltScene {
        scene::build(about, self, options)
    }
}

/// A scene of Rewarped as environments take it.
pub(crate) struct SceneParts {
    /// The system whose step is one substep.
    pub system: ActuatedMpm,
    /// Substeps per action.
    pub substeps: usize,
    /// Height of the source's origin, m.
    pub lift: f64,
}

/// The parts of one of Rewarped's scenes at a size.
pub(crate) fn parts(name: &str, size: Size) -> Result<SceneParts, ConfigError> {
    let plan = (find(name)?.1.blueprint)(name, size)?;
    let lift = SourceFrame::new(&plan.grid, dough::FLOOR).lift;
    Ok(SceneParts { system: plan.system()?, substeps: plan.substeps, lift })
}

/// Names of the scenes.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.names()
}

/// A scene at one size, checked in every entry: for the small ones.
pub fn sized(name: &str, size: Size) -> BuiltScene {
    let (entry, spec) = find(name)?;
    scene::sized(about(entry), spec, size)
}

/// The scene called `name` and how it is built.
fn find(name: &str) -> Result<(&'static SceneEntry, MpmSpec), ConfigError> {
    let entry = ALL.find(name)?;
    match entry.value {
        SceneSpec::Mpm(spec) => Ok((entry, spec)),
        SceneSpec::Plain(_) | SceneSpec::Soft(_) | SceneSpec::Smoke(_) => Err(ALL.unknown(name).into()),
    }
}

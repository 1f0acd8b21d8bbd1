//! Particles as dots, and the tools among them.

use pullback_core::{Described, Point};
use pullback_physics::mpm::{Material, Mpm, ParticleGroup};
use pullback_replay::{Replay, ReplaySoft};

use super::{COLORS, Instant, Pace, RobotStage, Stage, WATER};

/// Particles and tools on a stage. Tools do not feel each other, so no contacts are marked.
pub(crate) struct MpmStage {
    mpm: Mpm,
    tools: RobotStage,
    tool_params: Vec<f64>,
}

impl MpmStage {
    pub(crate) fn new(mpm: Mpm) -> Self {
        let tools = RobotStage::new(mpm.robot().clone());
        let tool_params = mpm.robot().layout().params.defaults();
        MpmStage { mpm, tools, tool_params }
    }

    fn dots(&self, group: &ParticleGroup, rgba: [f32; 4]) -> ReplaySoft {
        ReplaySoft {
            name: group.name.clone(),
            dots: (0..group.count as u32).collect(),
            // Two particles along each edge of a cell leave no holes.
            dot_radius: 0.36 * self.mpm.grid().spacing,
            rgba,
            ..ReplaySoft::default()
        }
    }
}

impl Stage for MpmStage {
    fn shapes(&self, _params: &[f64]) -> Replay {
        let mut page = self.tools.shapes(&self.tool_params);
        // Fluids are blue; the other groups take their colors in turn.
        let mut colors = COLORS.into_iter().cycle();
        for group in &self.mpm.particles().groups {
            let fluid = matches!(group.material, Material::Fluid(_));
            let rgba = if fluid { WATER } else { colors.next().unwrap_or(WATER) };
            page.soft.push(self.dots(group, rgba));
        }
        page
    }

    fn instant(&mut self, at: Point<'_, f64>) -> Instant {
        let x = self.mpm.split(at.state).x;
        let soft = self.mpm.particles().groups.iter().map(|group| x[group.range()].to_vec()).collect();
        Instant { soft, ..self.tools.placed(&self.tool_params, at.state) }
    }

    fn pace(&self) -> Pace {
        Pace::Particles(self.mpm.particles().len())
    }
}

//! Pendula and points: dots, with lines for rods.

use std::ops::Range;

use pullback_core::Point;
use pullback_core::layout::{Layout, Section};
use pullback_replay::{Pose, Replay, ReplayGeom, ReplayShape, ReplaySoft};

use super::{COLORS, Instant, Pace, Stage};

/// Radius of a bob as a share of the reach of its pendulum, and that of a point, m.
const BOB: f64 = 0.08;

/// Where the only body is, the world.
const REST: Pose = ([0.0; 3], [1.0, 0.0, 0.0, 0.0]);

fn floor() -> ReplayGeom {
    ReplayGeom::new("floor", 0, ReplayShape::Plane { half_x: 0.0, half_y: 0.0 })
}

/// A chain of rods that swing in the plane y = 0, by the angle of each from the vertical.
#[derive(Clone)]
pub(crate) struct PendulumStage {
    angles: Range<usize>,
    /// Where the length of each rod lies in the parameters.
    lengths: Vec<usize>,
    reach: f64,
}

impl PendulumStage {
    /// Of the system with this layout, if it is a pendulum.
    pub(crate) fn new(layout: &Layout) -> Option<Self> {
        let lengths = entries_with(&layout.params, "length");
        let angles = entries_with(&layout.state, "angle");
        let defaults = layout.params.defaults();
        let reach = lengths.iter().map(|i| defaults[*i]).sum();
        let (first, last) = (*angles.first()?, *angles.last()?);
        (lengths.len() == angles.len()).then_some(PendulumStage { angles: first..last + 1, lengths, reach })
    }
}

fn entries_with(section: &Section, part: &str) -> Vec<usize> {
    let names = section.entry_names();
    names.iter().enumerate().filter(|(_, name)| name.contains(part)).map(|(i, _)| i).collect()
}

impl Stage for PendulumStage {
    fn shapes(&self, _params: &[f64]) -> Replay {
        let rods = self.lengths.len() as u32;
        let rod = ReplaySoft {
            name: "rods".into(),
            lines: (0..rods).map(|k| [k, k + 1]).collect(),
            rgba: COLORS[1],
            ..ReplaySoft::default()
        };
        let bobs = ReplaySoft {
            name: "bobs".into(),
            dots: (1..=rods).collect(),
            dot_radius: BOB * self.reach,
            rgba: COLORS[0],
            ..ReplaySoft::default()
        };
        let below = [0.0, 0.0, -(1.0 + 3.0 * BOB) * self.reach];
        let floor = ReplayGeom { position: below, ..floor() };
        Replay {
            bodies: vec!["world".into()],
            geoms: vec![floor],
            soft: vec![rod, bobs],
            ..Replay::default()
        }
    }

    fn instant(&mut self, at: Point<'_, f64>) -> Instant {
        let mut ends = vec![[0.0; 3]];
        for (angle, length) in at.state[self.angles.clone()].iter().zip(&self.lengths) {
            let [x, y, z] = ends[ends.len() - 1];
            let length = at.params[*length];
            ends.push([x + length * angle.sin(), y, z - length * angle.cos()]);
        }
        Instant { poses: vec![REST], contacts: Vec::new(), soft: vec![ends.clone(), ends] }
    }

    fn pace(&self) -> Pace {
        Pace::Screen
    }
}

/// A point at the height that a state begins with, over the surface at 0.
pub(crate) struct HeightStage;

impl Stage for HeightStage {
    fn shapes(&self, _params: &[f64]) -> Replay {
        let point = ReplaySoft {
            name: "point".into(),
            dots: vec![0],
            dot_radius: BOB,
            rgba: COLORS[0],
            ..ReplaySoft::default()
        };
        Replay { bodies: vec!["world".into()], geoms: vec![floor()], soft: vec![point], ..Replay::default() }
    }

    fn instant(&mut self, at: Point<'_, f64>) -> Instant {
        // The ball stands on the surface where the point touches it.
        let vertices = vec![[0.0, 0.0, at.state[0] + BOB]];
        Instant { poses: vec![REST], contacts: Vec::new(), soft: vec![vertices] }
    }

    fn pace(&self) -> Pace {
        Pace::Screen
    }
}

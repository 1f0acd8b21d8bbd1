//! A ball above the ground among shapes that stand still.

use pullback_replay::{Frame, Replay, ReplayGeom, ReplayShape};

use super::{COLORS, FRAMES_PER_SECOND, decimate};

/// The page of times and states; `place` is where the center of the ball is at a state.
pub(crate) fn ball_page(
    title: &str,
    radius: f64,
    mut still: Vec<ReplayGeom>,
    rows: &[(f64, Vec<f64>)],
    place: impl Fn(&[f64]) -> [f64; 3],
) -> Replay {
    let mut page = Replay::new(title, FRAMES_PER_SECOND);
    page.bodies = vec!["world".into(), "ball".into()];
    still.push(ReplayGeom::new("ground", 0, ReplayShape::Plane { half_x: 0.0, half_y: 0.0 }));
    let ball = ReplayGeom::new("ball", 1, ReplayShape::Sphere { radius });
    still.push(ReplayGeom { rgba: COLORS[0], ..ball });
    page.geoms = still;
    let upright = [1.0, 0.0, 0.0, 0.0];
    page.frames = decimate(rows, FRAMES_PER_SECOND)
        .into_iter()
        .map(|(time, state)| {
            let poses = vec![([0.0; 3], upright), (place(state), upright)];
            Frame { time: *time, poses, contacts: Vec::new() }
        })
        .collect();
    page
}

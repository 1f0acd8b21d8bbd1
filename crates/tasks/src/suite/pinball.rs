//! `pinball-2` and `pinball-16`: angles of bars that guide a falling ball to a target (BO-Leap A.1.2).
//!
//! The [`Board`] of 8 m × 10 m carries 1 × 2 or 4 × 4 bars; the ball falls from rest. A bar that the ball
//! does not touch has no influence at all: the loss is flat there and its gradient exactly zero. Where a
//! small turn decides whether a bar or the next wall is touched, the loss jumps or is as steep as one.

use std::f64::consts::FRAC_PI_2;

use pullback_core::{ConfigError, Described, Rollout, Schedule};

use super::board::{BALL, BOARD, Board, DT};
use super::losses::PointAt;
use crate::objectives::Built;
use pullback_core::input_map::{InputEntry, LinearMap, Variable};
use pullback_optim::RolloutObjective;

/// Seconds of an episode (ours).
pub const HORIZON: f64 = 3.0;
/// Where the ball starts, m from the middle of the board and from its floor (ours).
const FROM: [f64; 2] = [-0.9, 9.5];
/// Where it is to be: on the floor near the right wall, m (ours).
const TARGET: [f64; 2] = [3.0, BALL];
/// Half the length of a bar in parts of the distance between bars (ours).
const HALF_LENGTH: f64 = 0.35;
/// Angle of the two bars at the start of an optimization, rad (ours): falling to the right.
pub const START: f64 = -0.3;
/// Angle of the sixteen, rad (ours), from row to row to the right and to the left, so that the ball meets
/// every row.
const ZIGZAG: f64 = -0.56;

/// Two bars side by side.
pub(crate) fn pinball_2() -> Built {
    Ok(Box::new(task(1, 2)?))
}

/// Four rows of four bars.
pub(crate) fn pinball_16() -> Built {
    Ok(Box::new(task(4, 4)?))
}

fn task(rows: usize, columns: usize) -> Result<RolloutObjective<Board, PointAt<2>, LinearMap>, ConfigError> {
    let spacing = BOARD[0] / columns as f64;
    let place = |row: usize, column: usize| {
        let x = spacing * (column as f64 + 0.5) - 0.5 * BOARD[0];
        [x, BOARD[1] * (rows - row) as f64 / (rows + 1) as f64]
    };
    // Row by row from the top.
    let centers: Vec<_> = (0..rows).flat_map(|r| (0..columns).map(move |c| place(r, c))).collect();
    let bars = centers.len();
    let board = Board::new(centers, HALF_LENGTH * spacing, FROM)?;
    let rollout = Rollout::new(board, (HORIZON / DT).round() as usize, Schedule::StoreAll)?;
    let start = |k: usize| match rows {
        1 => START,
        _ if (k / columns).is_multiple_of(2) => ZIGZAG,
        _ => -ZIGZAG,
    };
    let variable = |k| Variable::new(format!("angle[{k}]"), "rad", (-FRAC_PI_2, FRAC_PI_2), start(k));
    let layout = rollout.system.layout();
    let angles = layout.params.slice("angle")?.range.clone();
    let map = LinearMap::direct((0..bars).map(variable).collect(), angles.map(InputEntry::Params));
    let loss = PointAt { entries: layout.state.slice("position")?.range.clone(), target: TARGET };
    Ok(RolloutObjective::new(rollout, loss, map).with_floor(0.0))
}

#[cfg(test)]
mod tests {
    use pullback_core::gradcheck::Options;
    use pullback_optim::Objective;

    use super::super::check;
    use super::*;

    #[test]
    fn gradients_are_exact_through_bounces() {
        let options = Options { difference_tolerance: 1e-5, ..Options::default() };
        let two = task(1, 2).unwrap();
        check::well_posed(&two, 2);
        // A side, then the other bar; the end of a bar; and a ball that comes to rest.
        for x in [[-0.3, 0.2], [-0.72, 0.1], [0.4, 0.0]] {
            check::smooth(&check::every_entry(&two, &x, &options));
        }
        let sixteen = task(4, 4).unwrap();
        check::well_posed(&sixteen, 16);
        for seed in [1, 2] {
            check::smooth(&check::every_entry(&sixteen, &check::random_point(&sixteen, seed), &options));
        }
    }

    #[test]
    fn a_bar_that_is_not_touched_has_no_gradient_at_all() {
        let task = task(1, 2).unwrap();
        let mut grad = [1.0; 2];
        // Both bars nearly upright: the ball falls past them.
        let value = task.value_grad(&[1.4, 1.2], &mut grad).unwrap();
        assert_eq!(grad, [0.0, 0.0]);
        assert_eq!(task.value(&[1.3, -1.0]).unwrap(), value, "the plateau is flat to the last bit");
        // The first bar sends it to the left, where the second one is not.
        task.value_grad(&[0.4, 0.7], &mut grad).unwrap();
        assert!(grad[0] != 0.0 && grad[1] == 0.0, "{grad:?}");
    }

    #[test]
    fn at_the_start_of_sixteen_bars_the_ball_meets_every_row() {
        let task = task(4, 4).unwrap();
        let mut grad = [0.0; 16];
        task.value_grad(&task.start(), &mut grad).unwrap();
        assert!(grad.chunks(4).all(|row| row.iter().any(|g| *g != 0.0)), "{grad:?}");
        assert!(grad.contains(&0.0), "{grad:?}");
    }

    #[test]
    fn the_ball_stays_on_the_board_and_outside_the_bars() {
        for (rows, columns) in [(1, 2), (4, 4)] {
            let task = task(rows, columns).unwrap();
            for seed in 0..30 {
                for s in task.states(&check::random_point(&task, seed)).unwrap() {
                    let inside =
                        s[0].abs() < 0.5 * BOARD[0] - BALL + 0.01 && s[1] > BALL - 0.01 && s[1] < BOARD[1];
                    assert!(inside, "seed {seed}: {s:?}");
                }
            }
        }
    }

    #[test]
    fn energy_never_grows() {
        let task = task(4, 4).unwrap();
        for seed in 0..10 {
            let states = task.states(&check::random_point(&task, seed)).unwrap();
            let energy = |s: &[f64]| 0.5 * (s[2] * s[2] + s[3] * s[3]) + super::super::board::GRAVITY * s[1];
            for w in states.windows(2) {
                // Setting a ball on a surface it has sunk into lifts it by less than a millimeter.
                assert!(energy(&w[1]) < energy(&w[0]) + 0.01, "seed {seed}: {:?} to {:?}", w[0], w[1]);
            }
        }
    }

    #[test]
    fn the_landscape_jumps() {
        let task = task(1, 2).unwrap();
        let values: Vec<f64> =
            (0..800).map(|i| task.value(&[-1.5 + i as f64 * 2e-3, 0.3]).unwrap()).collect();
        let steps = values.windows(2).map(|w| (w[1] - w[0]).abs());
        let (flat, steep) = (steps.clone().filter(|d| *d == 0.0).count(), steps.filter(|d| *d > 0.5).count());
        assert!(flat > 100 && steep >= 1, "{flat} flat, {steep} steep");
    }
}

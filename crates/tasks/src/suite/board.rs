//! A ball on a vertical board with bars: flight under gravity, and bounces at the exact time of impact.
//!
//! A bar is a segment with a round edge, so a ball touches it where its center is within R = ball radius +
//! bar radius of the segment: along two lines beside it and two arcs around its ends. Walls are lines. In
//! flight the path is an exact parabola. A step that would end inside an obstacle is split at the time of
//! impact t*: flight, bounce, flight for what is left. t* is found on plain numbers to round-off; one more
//! Newton step, t* = t₀ − gap(t₀)/gap′(t₀), gives it its derivative.
//!
//! The bounce has restitution e and Coulomb friction against the whole push, v_t′ = v_t max(0, 1 − μ (1 + e)
//! |v_n| / |v_t|); the ball does not spin. A ball that starts a step inside an obstacle and still approaches
//! it (at rest, or after a second impact in the step before) is set on the surface and bounces at once.
//!
//! Limits: one bounce per step; a graze that begins and ends within a step is not seen (at 14 m/s and 2.5 ms
//! up to 0.8 mm deep). What is hit is decided by branches, so lanes are refused at compile time.

use std::f64::consts::FRAC_PI_2;

use pullback_core::layout::{Layout, Slice};
use pullback_core::rollout::Inputs;
use pullback_core::{Bars, ConfigError, Described, Info, Point, StepError, System};
use pullback_math::{Real, Vec3, differentiable, select};
use pullback_replay::{Replay, ReplayGeom, ReplayShape};

use crate::motion::Visual;
use crate::recording::ball_page;

/// Gravity, m/s².
pub const GRAVITY: f64 = 9.81;
/// Restitution e of every bounce.
const RESTITUTION: f64 = 0.5;
/// Friction μ of every bounce: small, since a real ball rolls.
const FRICTION: f64 = 0.05;
/// Radius of the ball, m.
pub(crate) const BALL: f64 = 0.15;
/// Radius of a bar's edge, m.
const EDGE: f64 = 0.05;
/// Width and height of the board, m (the paper).
pub(crate) const BOARD: [f64; 2] = [8.0, 10.0];
/// Seconds per step.
pub const DT: f64 = 0.0025;

/// Distance of the ball's center from the segment of a bar it touches, m.
const REACH: f64 = BALL + EDGE;

/// Position and velocity after t seconds of flight; x right, z up, y = 0.
#[differentiable]
#[inline(always)]
pub fn flight<T: Real>(p: Vec3<T>, v: Vec3<T>, t: T) -> (Vec3<T>, Vec3<T>) {
    let g = Vec3::new(T::zero(), T::zero(), T::lit(-GRAVITY));
    // p + v t + ½ g t²,  v + g t
    (p + (v + g * (t * T::lit(0.5))) * t, v + g * t)
}

/// Velocity after a bounce off a surface with normal n.
#[differentiable]
#[inline(always)]
pub fn bounced<T: Real>(v: Vec3<T>, n: Vec3<T>) -> Vec3<T> {
    let approach = n.dot(v);
    let along = v - n * approach;
    let slip = along.norm();
    let safe = select(slip.gt(T::zero()), slip, T::one());
    // v_t max(0, 1 − μ (1 + e) |v_n| / |v_t|) − e v_n n
    let push = -approach * T::lit((1.0 + RESTITUTION) * FRICTION);
    let keep = (T::one() - push / safe).max(T::zero());
    along * keep - n * (approach * T::lit(RESTITUTION))
}

/// A step of `dt` with a bounce off the line n·p = offset after t₀ seconds, or at once if the ball is
/// `inside`.
#[differentiable]
#[inline(always)]
fn hit_line<T: Real>(
    p: Vec3<T>,
    v: Vec3<T>,
    n: Vec3<T>,
    offset: T,
    #[constant] t0: T,
    #[constant] inside: bool,
) -> (Vec3<T>, Vec3<T>) {
    if inside {
        flight(p - n * (n.dot(p) - offset), bounced(v, n), T::lit(DT))
    } else {
        let (near, falling) = flight(p, v, t0);
        let t = t0 - (n.dot(near) - offset) / n.dot(falling);
        let (at, arriving) = flight(p, v, t);
        flight(at, bounced(arriving, n), T::lit(DT) - t)
    }
}

/// The same off the circle around `center` on which the ball touches the end of a bar.
#[differentiable]
#[inline(always)]
fn hit_round<T: Real>(
    p: Vec3<T>,
    v: Vec3<T>,
    center: Vec3<T>,
    #[constant] t0: T,
    #[constant] inside: bool,
) -> (Vec3<T>, Vec3<T>) {
    if inside {
        let n = (p - center).normalize();
        flight(center + n * T::lit(REACH), bounced(v, n), T::lit(DT))
    } else {
        let (near, falling) = flight(p, v, t0);
        let out = near - center;
        let t = t0 - (out.norm() - T::lit(REACH)) / out.normalize().dot(falling);
        let (at, arriving) = flight(p, v, t);
        flight(at, bounced(arriving, (at - center).normalize()), T::lit(DT) - t)
    }
}

/// Normal and offset of one side (±1) of a bar.
#[differentiable]
#[inline(always)]
fn bar_side<T: Real>(angle: T, #[constant] center: Vec3<T>, #[constant] side: T) -> (Vec3<T>, T) {
    let (sin, cos) = angle.sin_cos();
    let n = Vec3::new(-(sin * side), T::zero(), cos * side);
    (n, n.dot(center) + T::lit(REACH))
}

/// Center of the round end (±half length) of a bar.
#[differentiable]
#[inline(always)]
fn bar_end<T: Real>(angle: T, #[constant] center: Vec3<T>, #[constant] end: T) -> Vec3<T> {
    let (sin, cos) = angle.sin_cos();
    center + Vec3::new(cos * end, T::zero(), sin * end)
}

/// What a ball can touch.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Obstacle {
    /// A wall by its number.
    Wall(usize),
    /// One side (±1) of a bar.
    Side(usize, f64),
    /// An end (±half length) of a bar.
    End(usize, f64),
}

/// A bounce to come within a step.
#[derive(Clone, Copy, Debug)]
struct Impact {
    obstacle: Obstacle,
    /// Seconds into the step.
    time: f64,
    inside: bool,
}

/// Normal (x, z) and offset of the walls for the ball's center: left, right, floor, ceiling.
const WALLS: [([f64; 2], f64); 4] = [
    ([1.0, 0.0], BALL - 0.5 * BOARD[0]),
    ([-1.0, 0.0], BALL - 0.5 * BOARD[0]),
    ([0.0, 1.0], BALL),
    ([0.0, -1.0], BALL - BOARD[1]),
];

/// The board. State: position and velocity (x, z); parameters: the angle of each bar, which stands still.
#[derive(Clone, Debug)]
pub(crate) struct Board {
    layout: Layout,
    centers: Vec<[f64; 2]>,
    half_length: f64,
}

impl Board {
    /// A ball at rest at `from` above bars of 2 `half_length` m.
    pub fn new(centers: Vec<[f64; 2]>, half_length: f64, from: [f64; 2]) -> Result<Self, ConfigError> {
        let layout = Layout::builder()
            .state(Slice::new("position", 2, "m").default(&from))
            .state(Slice::new("velocity", 2, "m/s"))
            .param(Slice::new("angle", centers.len(), "rad"))
            .build()?;
        Ok(Board { layout, centers, half_length })
    }

    /// Nearest point of a bar's segment to p, from its center along the bar.
    fn along(&self, bar: usize, angle: f64, p: [f64; 2]) -> f64 {
        let ([cx, cz], (sin, cos)) = (self.centers[bar], angle.sin_cos());
        ((p[0] - cx) * cos + (p[1] - cz) * sin).clamp(-self.half_length, self.half_length)
    }

    /// Distance of the ball from touching a bar, and the direction out of it.
    fn bar_gap(&self, bar: usize, angle: f64, p: [f64; 2]) -> (f64, [f64; 2]) {
        let ([cx, cz], (sin, cos), s) = (self.centers[bar], angle.sin_cos(), self.along(bar, angle, p));
        let out = [p[0] - cx - s * cos, p[1] - cz - s * sin];
        let distance = out[0].hypot(out[1]);
        (distance - REACH, [out[0] / distance, out[1] / distance])
    }

    /// Which part of a bar is touched at p.
    fn feature(&self, bar: usize, angle: f64, p: [f64; 2]) -> Obstacle {
        let s = self.along(bar, angle, p);
        if s.abs() == self.half_length {
            return Obstacle::End(bar, s);
        }
        let ([cx, cz], (sin, cos)) = (self.centers[bar], angle.sin_cos());
        Obstacle::Side(bar, ((p[1] - cz) * cos - (p[0] - cx) * sin).signum())
    }

    /// The first impact of a step, on plain numbers.
    fn first_impact(&self, angle: impl Fn(usize) -> f64, p: [f64; 2], v: [f64; 2]) -> Option<Impact> {
        let at = |t: f64| [p[0] + v[0] * t, p[1] + v[1] * t - 0.5 * GRAVITY * t * t];
        let end = at(DT);
        let mut first: Option<Impact> = None;
        let mut offer = |gap: &dyn Fn([f64; 2]) -> (f64, [f64; 2]),
                         feature: &dyn Fn([f64; 2]) -> Obstacle| {
            let (gap_now, out) = gap(p);
            let inside = gap_now <= 0.0;
            if (inside && out[0] * v[0] + out[1] * v[1] >= 0.0) || (!inside && gap(end).0 >= 0.0) {
                return;
            }
            let time = if inside { 0.0 } else { root(|t| gap(at(t)).0) };
            if first.is_none_or(|known| time < known.time) {
                first = Some(Impact { obstacle: feature(at(time)), time, inside });
            }
        };
        for (k, (n, offset)) in WALLS.iter().enumerate() {
            offer(&|p| (n[0] * p[0] + n[1] * p[1] - offset, *n), &|_| Obstacle::Wall(k));
        }
        let far = self.half_length + REACH + 0.5;
        for (bar, c) in self.centers.iter().enumerate() {
            if (p[0] - c[0]).abs() < far && (p[1] - c[1]).abs() < far {
                let angle = angle(bar);
                offer(&|p| self.bar_gap(bar, angle, p), &|p| self.feature(bar, angle, p));
            }
        }
        first
    }

    fn impact<T: Real>(&self, params: &[T], state: &[T]) -> Option<Impact> {
        const { assert!(T::LANES == 1, "a ball on a board branches on what it hits: run it on plain numbers") };
        let plain = |i: usize| state[i].lane(0);
        self.first_impact(|bar| params[bar].lane(0), [plain(0), plain(1)], [plain(2), plain(3)])
    }

    fn center<T: Real>(&self, bar: usize) -> Vec3<T> {
        let [x, z] = self.centers[bar];
        Vec3::new(T::lit(x), T::zero(), T::lit(z))
    }
}

/// Where a function that is positive at 0 and negative at [`DT`] crosses zero, by bisection to round-off.
fn root(gap: impl Fn(f64) -> f64) -> f64 {
    let (mut outside, mut inside) = (0.0, DT);
    for _ in 0..50 {
        let middle = 0.5 * (outside + inside);
        if gap(middle) > 0.0 { outside = middle } else { inside = middle }
    }
    outside
}

fn wall<T: Real>(k: usize) -> (Vec3<T>, T) {
    let (n, offset) = WALLS[k];
    (Vec3::new(T::lit(n[0]), T::zero(), T::lit(n[1])), T::lit(offset))
}

fn ball<T: Real>(x: &[T]) -> (Vec3<T>, Vec3<T>) {
    (Vec3::new(x[0], T::zero(), x[1]), Vec3::new(x[2], T::zero(), x[3]))
}

impl Described for Board {
    fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl Visual for Board {
    fn seconds(&self) -> f64 {
        DT
    }
    fn page(&self, inputs: &Inputs<f64>, _dt: f64, rows: &[(f64, Vec<f64>)]) -> Option<Replay> {
        let bars = self.centers.iter().zip(&inputs.params).enumerate().map(|(k, ([x, z], angle))| {
            // Turns z into the direction of the bar, about y.
            let half = 0.5 * (FRAC_PI_2 - angle);
            let shape = ReplayShape::Capsule { radius: EDGE, half_length: self.half_length };
            ReplayGeom {
                position: [*x, 0.0, *z],
                orientation: [half.cos(), 0.0, half.sin(), 0.0],
                ..ReplayGeom::new(format!("bar {k}"), 0, shape)
            }
        });
        let place = |state: &[f64]| [state[0], 0.0, state[1]];
        Some(ball_page("pinball", BALL, bars.collect(), rows, place))
    }
}

impl<T: Real> System<T> for Board {
    type Workspace = ();
    fn workspace(&self) {}

    fn step(&self, _ws: &mut (), at: Point<'_, T>, next: &mut [T]) -> Result<Info, StepError> {
        let Point { params, state, .. } = at;
        let (p, v) = ball(state);
        let impact = self.impact(params, state);
        let t0 = T::lit(impact.map_or(0.0, |i| i.time));
        let inside = impact.is_some_and(|i| i.inside);
        let (p, v) = match impact.map(|i| i.obstacle) {
            None => flight(p, v, T::lit(DT)),
            Some(Obstacle::Wall(k)) => {
                let (n, offset) = wall(k);
                hit_line(p, v, n, offset, t0, inside)
            }
            Some(Obstacle::Side(bar, side)) => {
                let (n, offset) = bar_side(params[bar], self.center(bar), T::lit(side));
                hit_line(p, v, n, offset, t0, inside)
            }
            Some(Obstacle::End(bar, end)) => {
                hit_round(p, v, bar_end(params[bar], self.center(bar), T::lit(end)), t0, inside)
            }
        };
        next.copy_from_slice(&[p.x, p.z, v.x, v.z]);
        Ok(Info::one())
    }

    fn step_vjp(
        &self,
        _ws: &mut (),
        at: Point<'_, T>,
        next_bar: &[T],
        bars: Bars<'_, T>,
    ) -> Result<(), StepError> {
        let Point { params, state, .. } = at;
        let Bars { params: params_bar, state: state_bar, .. } = bars;
        let (p, v) = ball(state);
        let out_bar = ball(next_bar);
        let impact = self.impact(params, state);
        let t0 = T::lit(impact.map_or(0.0, |i| i.time));
        let inside = impact.is_some_and(|i| i.inside);
        let (p_bar, v_bar) = match impact.map(|i| i.obstacle) {
            None => {
                let (p_bar, v_bar, _) = flight_vjp(p, v, T::lit(DT), out_bar);
                (p_bar, v_bar)
            }
            Some(Obstacle::Wall(k)) => {
                let (n, offset) = wall(k);
                let (p_bar, v_bar, ..) = hit_line_vjp(p, v, n, offset, t0, inside, out_bar);
                (p_bar, v_bar)
            }
            Some(Obstacle::Side(bar, side)) => {
                let (center, side) = (self.center(bar), T::lit(side));
                let (n, offset) = bar_side(params[bar], center, side);
                let (p_bar, v_bar, n_bar, offset_bar, (), ()) =
                    hit_line_vjp(p, v, n, offset, t0, inside, out_bar);
                params_bar[bar] += bar_side_vjp(params[bar], center, side, (n_bar, offset_bar)).0;
                (p_bar, v_bar)
            }
            Some(Obstacle::End(bar, end)) => {
                let (center, end) = (self.center(bar), T::lit(end));
                let tip = bar_end(params[bar], center, end);
                let (p_bar, v_bar, tip_bar, (), ()) = hit_round_vjp(p, v, tip, t0, inside, out_bar);
                params_bar[bar] += bar_end_vjp(params[bar], center, end, tip_bar).0;
                (p_bar, v_bar)
            }
        };
        for (bar, x) in state_bar.iter_mut().zip([p_bar.x, p_bar.z, v_bar.x, v_bar.z]) {
            *bar += x;
        }
        Ok(())
    }
}

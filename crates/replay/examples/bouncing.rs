//! A stage on which every shape moves by formula: a trotting robot, a bouncing ball, a swinging chain, a
//! turning knot.
//!
//! `cargo run -p pullback-replay --example bouncing -- bouncing.html`

use pullback_replay::{ContactMark, Frame, Pose, Replay, ReplayError, ReplayGeom, ReplayShape};
use std::f64::consts::{PI, TAU};
use std::path::PathBuf;

/// Everything repeats after this long, s.
const PERIOD: f64 = 8.0;
const FPS: f64 = 50.0;
const GRAVITY: f64 = 9.81;
const STRIDE: f64 = 0.5;
const FOOT: f64 = 0.028;
const LINK: f64 = 0.23;
const CHAIN_TOP: [f64; 3] = [-1.19, 1.46, 1.7];

const INK: [f32; 4] = [0.20, 0.23, 0.29, 1.0];
const SAND: [f32; 4] = [0.93, 0.72, 0.33, 1.0];
const TEAL: [f32; 4] = [0.13, 0.60, 0.60, 1.0];
const CORAL: [f32; 4] = [0.91, 0.40, 0.31, 1.0];
const BLUE: [f32; 4] = [0.25, 0.46, 0.82, 1.0];
const CHALK: [f32; 4] = [0.88, 0.88, 0.86, 1.0];

fn main() -> Result<(), ReplayError> {
    let path = std::env::args().nth(1).map_or_else(|| PathBuf::from("bouncing.html"), PathBuf::from);
    let replay = bouncing();
    replay.save(&path)?;
    println!("{} frames of {} bodies in {}", replay.frames.len(), replay.bodies.len(), path.display());
    Ok(())
}

/// The whole recording.
pub fn bouncing() -> Replay {
    let mut replay = Replay::new("Pullback: a stage of moving shapes", FPS);
    build_stage(&mut replay);
    build_robot(&mut replay);
    build_toys(&mut replay);
    replay.frames = (0..(PERIOD * FPS) as usize).map(|k| frame_at(k as f64 / FPS)).collect();
    let trunk = replay.bodies.iter().position(|name| name == "trunk").unwrap_or(0);
    let ball = replay.bodies.iter().position(|name| name == "ball").unwrap_or(0);
    let height = |body: usize| replay.frames.iter().map(|f| f.poses[body].0[2]).collect::<Vec<_>>();
    let load = |f: &Frame| f.contacts.iter().map(|c| c.force[2]).sum::<f64>();
    replay.series = vec![
        ("ball height, m".into(), height(ball)),
        ("trunk height, m".into(), height(trunk)),
        ("ground force, N".into(), replay.frames.iter().map(load).collect()),
    ];
    replay
}

fn body(replay: &mut Replay, name: &str) -> usize {
    replay.bodies.push(name.into());
    replay.bodies.len() - 1
}

fn geom(replay: &mut Replay, body: usize, shape: ReplayShape, position: [f64; 3], rgba: [f32; 4]) {
    let name = format!("{} {}", replay.bodies[body], replay.geoms.len());
    replay.geoms.push(ReplayGeom { position, rgba, ..ReplayGeom::new(name, body, shape) });
}

fn build_stage(replay: &mut Replay) {
    let world = body(replay, "world");
    geom(replay, world, ReplayShape::Plane { half_x: 0.0, half_y: 0.0 }, [0.0; 3], [0.5, 0.5, 0.5, 1.0]);
    geom(replay, world, ReplayShape::Cylinder { radius: 0.34, half_length: 0.2 }, [0.0, 0.0, 0.2], CHALK);
    geom(replay, world, ReplayShape::Cylinder { radius: 0.045, half_length: 0.85 }, [-1.75, 0.9, 0.85], INK);
    geom(replay, world, ReplayShape::Sphere { radius: 0.06 }, [-1.75, 0.9, 1.7], INK);
    // The arm from which the chain hangs.
    let (position, orientation) = between([-1.75, 0.9, 1.7], CHAIN_TOP);
    let arm = ReplayShape::Capsule { radius: 0.035, half_length: 0.4 };
    replay.geoms.push(ReplayGeom { position, orientation, rgba: INK, ..ReplayGeom::new("arm", world, arm) });
    for (k, rgba) in [BLUE, CHALK, SAND].into_iter().enumerate() {
        let half = 0.2 - 0.045 * k as f64;
        let below: f64 = (0..k).map(|j| 2.0 * (0.2 - 0.045 * j as f64)).sum();
        geom(replay, world, ReplayShape::Box { half: [half; 3] }, [1.3, 1.55, below + half], rgba);
    }
}

fn build_robot(replay: &mut Replay) {
    let trunk = body(replay, "trunk");
    geom(replay, trunk, ReplayShape::Box { half: [0.30, 0.105, 0.06] }, [0.0; 3], CHALK);
    geom(replay, trunk, ReplayShape::Box { half: [0.16, 0.085, 0.03] }, [-0.04, 0.0, 0.075], INK);
    geom(replay, trunk, ReplayShape::Ellipsoid { radii: [0.11, 0.075, 0.06] }, [0.36, 0.0, 0.05], INK);
    for side in [-0.028, 0.028] {
        geom(replay, trunk, ReplayShape::Sphere { radius: 0.018 }, [0.452, side, 0.068], TEAL);
    }
    for name in ["front left", "front right", "hind left", "hind right"] {
        let thigh = body(replay, &format!("{name} thigh"));
        geom(replay, thigh, ReplayShape::Capsule { radius: 0.04, half_length: LINK / 2.0 }, [0.0; 3], SAND);
        let shank = body(replay, &format!("{name} shank"));
        geom(replay, shank, ReplayShape::Capsule { radius: 0.025, half_length: LINK / 2.0 }, [0.0; 3], INK);
        geom(replay, shank, ReplayShape::Sphere { radius: FOOT }, [0.0, 0.0, LINK / 2.0], CORAL);
    }
}

fn build_toys(replay: &mut Replay) {
    let ball = body(replay, "ball");
    geom(replay, ball, ReplayShape::Sphere { radius: 0.16 }, [0.0; 3], CORAL);
    let knot = body(replay, "knot");
    geom(replay, knot, knot_mesh(), [0.0; 3], TEAL);
    let spinner = body(replay, "spinner");
    geom(replay, spinner, ReplayShape::Ellipsoid { radii: [0.26, 0.14, 0.09] }, [0.0; 3], BLUE);
    let bubble = body(replay, "bubble");
    geom(replay, bubble, ReplayShape::Sphere { radius: 0.2 }, [0.0; 3], [0.45, 0.65, 0.95, 0.35]);
    for link in 1..=5 {
        let index = body(replay, &format!("link {link}"));
        let rgba = if link % 2 == 0 { CHALK } else { SAND };
        geom(replay, index, ReplayShape::Capsule { radius: 0.04, half_length: 0.12 }, [0.0; 3], rgba);
    }
}

fn frame_at(time: f64) -> Frame {
    let mut frame = Frame { time, ..Frame::default() };
    frame.poses.push(([0.0; 3], [1.0, 0.0, 0.0, 0.0]));
    move_robot(&mut frame);
    move_toys(&mut frame);
    frame
}

/// Position of the trunk and its heading, rad, on a circle.
fn trunk_at(time: f64) -> ([f64; 3], f64) {
    let angle = TAU * time / PERIOD;
    let height = 0.43 + 0.012 * (2.0 * TAU * time / STRIDE).cos();
    ([1.15 * angle.cos(), 1.15 * angle.sin(), height], angle + PI / 2.0)
}

fn hip_at(time: f64, [x, y]: [f64; 2]) -> [f64; 3] {
    let (p, heading) = trunk_at(time);
    let (s, c) = heading.sin_cos();
    [p[0] + c * x - s * y, p[1] + s * x + c * y, p[2] - 0.02]
}

/// A trot: diagonal feet stand together, each where its hip passes at the middle of the stance.
fn move_robot(frame: &mut Frame) {
    let (position, heading) = trunk_at(frame.time);
    let (s, c) = (0.5 * heading).sin_cos();
    frame.poses.push((position, [c, 0.0, 0.0, s]));
    let legs = [([0.23, 0.15], 0.0), ([0.23, -0.15], 0.5), ([-0.23, 0.15], 0.5), ([-0.23, -0.15], 0.0)];
    for (at, offset) in legs {
        let steps = frame.time / STRIDE + offset;
        let (count, phase) = (steps.floor(), steps.fract());
        let stance = |n: f64| hip_at((n + 0.25 - offset) * STRIDE, at);
        let (from, to) = (stance(count), stance(count + 1.0));
        let u = ((phase - 0.5) / 0.5).max(0.0);
        let ease = u * u * (3.0 - 2.0 * u);
        let foot = [
            from[0] + (to[0] - from[0]) * ease,
            from[1] + (to[1] - from[1]) * ease,
            FOOT + 0.1 * (PI * u).sin(),
        ];
        push_leg(frame, hip_at(frame.time, at), foot, heading);
        if phase < 0.5 {
            let push = (TAU * phase).sin();
            let lean = 14.0 * (TAU * phase * 2.0).sin();
            frame.contacts.push(ContactMark {
                position: [foot[0], foot[1], 0.0],
                normal: [0.0, 0.0, 1.0],
                force: [-lean * heading.cos(), -lean * heading.sin(), 92.0 * push],
                distance: -0.001 * push,
            });
        }
    }
}

/// Thigh and shank from hip to foot, the knee pointing back.
fn push_leg(frame: &mut Frame, hip: [f64; 3], foot: [f64; 3], heading: f64) {
    let reach = sub(foot, hip);
    let distance = norm(reach).min(2.0 * LINK - 1e-6);
    let along = scaled(reach, 1.0 / norm(reach));
    let back = [-heading.cos(), -heading.sin(), 0.0];
    let across = sub(back, scaled(along, dot(back, along)));
    let bend = (LINK * LINK - 0.25 * distance * distance).sqrt() / norm(across);
    let knee = add(add(hip, scaled(along, 0.5 * distance)), scaled(across, bend));
    frame.poses.push(between(hip, knee));
    frame.poses.push(between(knee, foot));
}

fn move_toys(frame: &mut Frame) {
    let time = frame.time;
    // One bounce per second.
    let flight = time.fract();
    let place = [-1.3, -1.2];
    let height = 0.16 + 0.5 * GRAVITY * flight * (1.0 - flight);
    frame.poses.push(([place[0], place[1], height], turn([0.3, 0.8, 0.2], TAU * time / 2.0)));
    if !(0.035..=0.965).contains(&flight) {
        let position = [place[0], place[1], 0.0];
        let (normal, force) = ([0.0, 0.0, 1.0], [0.0, 0.0, 150.0]);
        frame.contacts.push(ContactMark { position, normal, force, distance: -0.002 });
    }
    frame.poses.push(([0.0, 0.0, 0.78], turn([0.0, 0.0, 1.0], TAU * time / PERIOD * 2.0)));
    let spin = turn([0.12 * (TAU * time).cos(), 0.12 * (TAU * time).sin(), 1.0], TAU * time);
    frame.poses.push(([0.15, 1.95, 0.115], spin));
    let drift = TAU * time / PERIOD;
    frame
        .poses
        .push(([1.3 + 0.1 * drift.cos(), -1.2, 0.62 + 0.18 * (2.0 * drift).sin()], [1.0, 0.0, 0.0, 0.0]));
    // A wave runs down the chain.
    let mut top = CHAIN_TOP;
    for link in 0..5 {
        let angle = 0.55 * (TAU * time / 2.0 - 0.55 * link as f64).sin() * (0.5 + 0.18 * link as f64);
        let swing = 0.25 * (TAU * time / 4.0 - 0.3 * link as f64).cos();
        let direction = [angle.sin() * 0.7 + 0.12, -angle.sin() * 0.7 + swing, -angle.cos()];
        let bottom = add(top, scaled(direction, 0.27 / norm(direction)));
        frame.poses.push(between(top, bottom));
        top = bottom;
    }
}

/// A tube around a trefoil knot.
fn knot_mesh() -> ReplayShape {
    const AROUND: u32 = 160;
    const ACROSS: u32 = 20;
    let line = |u: f64| {
        let a = TAU * u;
        scaled([a.sin() + 2.0 * (2.0 * a).sin(), -(3.0 * a).sin(), a.cos() - 2.0 * (2.0 * a).cos()], 0.115)
    };
    let mut vertices = Vec::new();
    let mut triangles = Vec::new();
    for i in 0..AROUND {
        let u = f64::from(i) / f64::from(AROUND);
        let center = line(u);
        let tangent = unit(sub(line(u + 1e-4), line(u - 1e-4)));
        let outward = unit(sub(center, scaled(tangent, dot(center, tangent))));
        let side = cross(tangent, outward);
        for j in 0..ACROSS {
            let (s, c) = (TAU * f64::from(j) / f64::from(ACROSS)).sin_cos();
            vertices.push(add(center, scaled(add(scaled(outward, c), scaled(side, s)), 0.055)));
            let at = |i: u32, j: u32| (i % AROUND) * ACROSS + j % ACROSS;
            triangles.push([at(i, j), at(i + 1, j + 1), at(i + 1, j)]);
            triangles.push([at(i, j), at(i, j + 1), at(i + 1, j + 1)]);
        }
    }
    ReplayShape::Mesh { vertices, triangles }
}

/// The pose in the middle of a segment whose z runs along it.
fn between(a: [f64; 3], b: [f64; 3]) -> Pose {
    let d = unit(sub(b, a));
    let q = if d[2] < -0.999_999 { [0.0, 1.0, 0.0, 0.0] } else { [1.0 + d[2], -d[1], d[0], 0.0] };
    (scaled(add(a, b), 0.5), q)
}

fn turn(axis: [f64; 3], angle: f64) -> [f64; 4] {
    let [x, y, z] = scaled(unit(axis), (0.5 * angle).sin());
    [(0.5 * angle).cos(), x, y, z]
}

fn add(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

fn sub(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    add(a, scaled(b, -1.0))
}

fn scaled(a: [f64; 3], s: f64) -> [f64; 3] {
    a.map(|c| c * s)
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn norm(a: [f64; 3]) -> f64 {
    dot(a, a).sqrt()
}

fn unit(a: [f64; 3]) -> [f64; 3] {
    scaled(a, 1.0 / norm(a))
}

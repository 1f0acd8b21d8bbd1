//! Recorded motion of robots, soft bodies and particles as a page that plays in a browser.

use pullback_core::rollout::Inputs;
use pullback_core::{Described, Point, VectorField};
use pullback_math::{Quat, Vec3};
use pullback_physics::articulated::contact::ContactForce;
use pullback_physics::articulated::{Articulated, ContactModel, Geom, Model, Shape};
use pullback_physics::mpm::{Material, Mpm, ParticleGroup};
use pullback_physics::soft::Part;
use pullback_physics::world::World;
use pullback_replay::{ContactMark, Frame, Replay, ReplayGeom, ReplayShape, ReplaySoft};

use crate::depict::rooms;

/// At most this many frames per second of motion are kept: more than a screen shows.
const FRAMES_PER_SECOND: f64 = 60.0;

/// At most this many soft vertices are kept over all frames: 4.8 MB.
const MOST_VERTICES: f64 = 6e5;

/// At most this many particles are kept over all frames: 8 MB.
const MOST_PARTICLES: usize = 1_000_000;

/// The page of times and states of a robot that moved under inputs, with a control for each so many seconds; the
/// last one holds on.
pub fn replay(robot: &Articulated, (inputs, dt): (&Inputs<f64>, f64), rows: &[(f64, Vec<f64>)]) -> Replay {
    let mut page = Replay::new(robot.model().name.clone(), FRAMES_PER_SECOND);
    let rows = decimate(rows, FRAMES_PER_SECOND);
    let nu = robot.layout().control.len();
    let last = (inputs.controls.len() / nu.max(1)).saturating_sub(1);
    let driven = |(time, state): &&(f64, Vec<f64>)| {
        let step = ((time / dt).round() as usize).min(last);
        Driven { time: *time, state: state.clone(), control: inputs.controls[step * nu..][..nu].to_vec() }
    };
    fill(&mut page, robot, &inputs.params, rows.iter().map(driven), Marks::Contacts);
    page
}

/// The page of times and states of a world, soft bodies included. Of contacts between geoms those of the penalty
/// model have forces; others depend on what particles push, which is not recorded.
pub(crate) fn world_replay(
    world: &World,
    title: &str,
    inputs: &Inputs<f64>,
    rows: &[(f64, Vec<f64>)],
) -> Replay {
    let body = world.soft().body();
    let seconds = rows.last().map_or(0.0, |(time, _)| *time).max(0.1);
    let rate = (MOST_VERTICES / (seconds * body.particles().max(1) as f64)).clamp(10.0, FRAMES_PER_SECOND);
    let rows = decimate(rows, rate);
    let mut page = Replay::new(title, rate);
    let penalty = world.robot().model().options.contact_model == ContactModel::Penalty;
    let marks = if penalty { Marks::Contacts } else { Marks::None };
    let params = &inputs.params[..world.robot().layout().params.len()];
    let driven = rows.iter().map(|(time, state)| undriven(world.robot(), *time, world.robot_state(state)));
    fill(&mut page, world.robot(), params, driven, marks);
    page.soft = (0..body.parts.len()).map(|part| soft(world, part, &rows)).collect();
    page
}

/// The page of times and states of particles and the tools among them. Actions take milliseconds: frames are
/// kept as long as there is room for them.
pub(crate) fn mpm_replay(mpm: &Mpm, title: &str, rows: &[(f64, Vec<f64>)]) -> Replay {
    let particles = mpm.particles().len().max(1);
    let keep = rows.len().div_ceil((MOST_PARTICLES / particles).max(2)).max(1);
    let rows: Vec<&(f64, Vec<f64>)> = rows.iter().step_by(keep).collect();
    let seconds = rows.last().map_or(0.0, |(time, _)| *time).max(1e-3);
    let mut page = Replay::new(title, rows.len() as f64 / seconds);
    let params = mpm.robot().layout().params.defaults();
    let driven = rows.iter().map(|(time, state)| undriven(mpm.robot(), *time, state.clone()));
    fill(&mut page, mpm.robot(), &params, driven, Marks::None);
    // Fluids are blue; the other groups take their colors in turn.
    let mut colors = COLORS.into_iter().cycle();
    for group in &mpm.particles().groups {
        let fluid = matches!(group.material, Material::Fluid(_));
        let rgba = if fluid { WATER } else { colors.next().unwrap_or(WATER) };
        page.soft.push(dots(mpm, group, rgba, &rows));
    }
    page
}

/// The page of a ball above the ground among shapes that stand still.
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

/// The particles of a group.
fn dots(mpm: &Mpm, group: &ParticleGroup, rgba: [f32; 4], rows: &[&(f64, Vec<f64>)]) -> ReplaySoft {
    ReplaySoft {
        name: group.name.clone(),
        dots: (0..group.count as u32).collect(),
        // Two particles along each edge of a cell leave no holes.
        dot_radius: 0.36 * mpm.grid().spacing,
        rgba,
        vertices: rows.iter().map(|(_, state)| mpm.split(state).x[group.range()].to_vec()).collect(),
        ..ReplaySoft::default()
    }
}

/// Rows at most `rate` times a second.
fn decimate(rows: &[(f64, Vec<f64>)], rate: f64) -> Vec<&(f64, Vec<f64>)> {
    let mut due = f64::NEG_INFINITY;
    let mut kept = Vec::new();
    for row in rows {
        if row.0 >= due {
            due = row.0 + 1.0 / rate - 1e-9;
            kept.push(row);
        }
    }
    kept
}

/// Which contacts are marked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Marks {
    /// Those between geoms.
    Contacts,
    /// None: tools do not feel each other.
    None,
}

/// A robot at a time.
struct Driven {
    time: f64,
    state: Vec<f64>,
    control: Vec<f64>,
}

/// A robot that its controls do not move.
fn undriven(robot: &Articulated, time: f64, state: Vec<f64>) -> Driven {
    Driven { time, state, control: robot.layout().control.defaults() }
}

/// Bodies, geoms and frames.
fn fill(
    page: &mut Replay,
    robot: &Articulated,
    params: &[f64],
    rows: impl Iterator<Item = Driven>,
    marks: Marks,
) {
    let model = robot.model();
    page.bodies = model.bodies.iter().map(|b| b.name.clone()).collect();
    let rooms = rooms(robot, params);
    let shown = model.geoms.iter().enumerate().filter(|(i, _)| !rooms.contains(i));
    page.geoms = shown.map(|(_, g)| geom(model, g)).collect();

    let mut ws = VectorField::<f64>::workspace(robot);
    for Driven { time, state, control } in rows {
        let mut contacts = Vec::new();
        if marks == Marks::Contacts {
            robot.accelerations(&mut ws, Point { params, state: &state, control: &control });
            let mark = |found: ContactForce| ContactMark {
                position: array(found.contact.position),
                normal: array(found.contact.normal),
                force: array(found.force),
                distance: found.contact.distance,
            };
            contacts = robot.contact_forces(&ws, params).into_iter().map(mark).collect();
        } else {
            robot.update_kinematics(&mut ws, params, &state);
        }
        let poses = ws.kinematics.world_from_body.iter();
        let poses = poses.map(|pose| (array(pose.translation), quaternion(Quat::from_mat3(pose.rotation))));
        page.frames.push(Frame { time, poses: poses.collect(), contacts });
    }
}

/// Color of fluids.
pub(crate) const WATER: [f32; 4] = [0.20, 0.50, 0.82, 1.0];

/// Colors of soft parts, in turn.
pub(crate) const COLORS: [[f32; 4]; 4] =
    [[0.86, 0.48, 0.25, 1.0], [0.25, 0.52, 0.78, 1.0], [0.42, 0.66, 0.36, 1.0], [0.72, 0.42, 0.66, 1.0]];

/// A part's surface, springs, and the particles that belong to neither.
fn soft(world: &World, part: usize, rows: &[&(f64, Vec<f64>)]) -> ReplaySoft {
    let body = world.soft().body();
    let Part { name, first, count, surface, .. } = &body.parts[part];
    let springs = body.springs.corners.iter().zip(&body.springs.parts).filter(|(_, of)| **of == part);
    let springs: Vec<[usize; 2]> = springs.map(|(ends, _)| *ends).collect();

    // What a solid hides inside is left out.
    let mut shown = vec![surface.is_empty(); *count];
    surface.iter().flatten().chain(springs.iter().flatten()).for_each(|i| shown[i - first] = true);
    let particles: Vec<usize> = (*first..first + count).filter(|i| shown[i - first]).collect();
    let place = |i: &usize| particles.partition_point(|p| p < i) as u32;
    let joined: Vec<usize> = surface.iter().flatten().chain(springs.iter().flatten()).copied().collect();
    let lone = particles.iter().filter(|i| surface.is_empty() && !joined.contains(i));
    ReplaySoft {
        name: name.clone(),
        triangles: surface.iter().map(|t| t.map(|i| place(&i))).collect(),
        lines: springs.iter().map(|ends| ends.map(|i| place(&i))).collect(),
        dots: lone.map(place).collect(),
        dot_radius: body.contact.radius,
        rgba: COLORS[part % COLORS.len()],
        vertices: rows
            .iter()
            .map(|(_, state)| {
                let x = world.particle_positions(state);
                particles.iter().map(|i| x[*i]).collect()
            })
            .collect(),
    }
}

fn geom(model: &Model, geom: &Geom) -> ReplayGeom {
    let shape = match geom.shape {
        Shape::Plane => ReplayShape::Plane { half_x: 0.0, half_y: 0.0 },
        Shape::Sphere { radius } => ReplayShape::Sphere { radius },
        Shape::Capsule { radius, half_length } => ReplayShape::Capsule { radius, half_length },
        Shape::Cylinder { radius, half_length } => ReplayShape::Cylinder { radius, half_length },
        Shape::Ellipsoid { radii } => ReplayShape::Ellipsoid { radii: array(radii) },
        Shape::Box { half } => ReplayShape::Box { half: array(half) },
        Shape::Torus { ring, tube } => ReplayShape::Torus { ring, tube },
        Shape::Mesh { mesh } => triangles(&model.meshes[mesh].vertices, &model.meshes[mesh].triangles),
        Shape::Heightfield { field } => {
            let (corners, surface) = model.heightfields[field].surface();
            triangles(&corners, &surface)
        }
    };
    ReplayGeom {
        name: geom.name.clone(),
        body: geom.body,
        shape,
        position: array(geom.position),
        orientation: quaternion(geom.orientation),
        rgba: geom.rgba,
    }
}

fn triangles(vertices: &[Vec3<f64>], triangles: &[[usize; 3]]) -> ReplayShape {
    ReplayShape::Mesh {
        vertices: vertices.iter().map(|v| array(*v)).collect(),
        triangles: triangles.iter().map(|t| t.map(|i| i as u32)).collect(),
    }
}

fn array(v: Vec3<f64>) -> [f64; 3] {
    [v.x, v.y, v.z]
}

fn quaternion(q: Quat<f64>) -> [f64; 4] {
    [q.w, q.x, q.y, q.z]
}

//! The quadruped of Qiao et al. (ICML 2021): forward and backward steps of ours beside Pinocchio's ABA and
//! its derivatives, in the same run.

use std::fmt::Write as _;
use std::hint::black_box;

use pullback_core::{Bars, Described, Point, VectorField};
use pullback_math::{Real, f32x16, f64x8};
use pullback_physics::articulated::{Articulated, JointKind, Model};
use pullback_tasks::files::random_state;
use pullback_tasks::{Goal, Results};

use super::{own_model, peer, standing};
use crate::output::{CliError, Output};
use crate::progress;
use crate::timing::{Contender, race};

const QUADRUPED: &str = pullback_models::LAIKAGO;
const ROUNDS: usize = 60;

pub fn run(output: &Output) -> Result<Results, CliError> {
    let on_the_ground = own_model(QUADRUPED)?;
    let mut model = on_the_ground.clone();
    model.options.contact = false;
    let robot = Articulated::new(model)?;
    let kinematic = robot.clone().with_kinematic_params()?;
    let mut results = Results::new("articulated");

    let bar = progress::bar(ROUNDS, "quadruped");
    let mut contenders = Vec::new();
    add::<f64>(&mut contenders, "f64", &robot);
    add::<f64x8>(&mut contenders, "f64x8", &robot);
    add::<f32x16>(&mut contenders, "f32x16", &robot);
    add::<f64>(&mut contenders, "f64 kinematic", &kinematic);
    race(&mut contenders, ROUNDS, || bar.inc(1));
    bar.finish_and_clear();
    let best = |name: &str| contenders.iter().find(|c| c.name == name).map_or(f64::NAN, |c| c.best);
    for (scalar, lanes) in [("f64", 1.0), ("f64x8", 8.0), ("f32x16", 16.0)] {
        let case = format!("{} dof, {scalar}", robot.model().nv);
        for what in ["forward dynamics", "pullback"] {
            let name = format!("{scalar} {what}");
            results.row(&case, &format!("{what} per robot"), best(&name) / lanes / 1e3, "us");
        }
    }
    let case = format!("{} dof, f64, kinematic parameters", robot.model().nv);
    results.row(&case, "pullback per robot", best("f64 kinematic pullback") / 1e3, "us");
    let (forward, backward) = (best("f64 forward dynamics"), best("f64 pullback"));
    let gain = |what: &str| best(&format!("f64 {what}")) / (best(&format!("f64x8 {what}")) / 8.0);
    results.goals.push(Goal::at_least("lanes f64x8 over f64, forward", gain("forward dynamics"), 4.0));
    results.goals.push(Goal::at_least("lanes f64x8 over f64, pullback", gain("pullback"), 4.0));

    standing::run(&on_the_ground, &mut results)?;

    let exported = export(robot.model());
    let peer = exported.and_then(|text| {
        peer::run(output, ("bench-articulated", "pinocchio"), ("quadruped.txt", &text), &[])
    });
    match peer {
        Ok(peer) => {
            let name = peer["version"].as_str().unwrap_or("Pinocchio").to_owned();
            let seconds = |key: &str| peer[key].as_f64().unwrap_or(f64::NAN) * 1e9;
            for key in ["aba", "aba_derivatives", "rnea", "crba"] {
                results.row(&name, key, seconds(key) / 1e3, "us");
            }
            results.goals.push(Goal::at_most("forward over Pinocchio's ABA", forward / seconds("aba"), 1.0));
            results.goals.push(Goal::at_most(
                "pullback over Pinocchio's computeABADerivatives",
                backward / seconds("aba_derivatives"),
                0.8,
            ));
        }
        Err(why) => results.notes.push(format!("Pinocchio was not measured: {why}")),
    }
    results.notes.push(
        "forward dynamics: accelerations without contact; pullback: of those, with respect to state, control and every \
         parameter (body poses, joint axes and anchors only where named), the forward pass included; best of 60 \
         interleaved repetitions; standing: time per step and robot, recomputed steps counted as backward"
            .into(),
    );
    Ok(results)
}

fn add<'a, T: Real>(contenders: &mut Vec<Contender<'a>>, scalar: &str, robot: &'a Articulated) {
    let lift = |x: Vec<f64>| x.into_iter().map(T::lit).collect::<Vec<T>>();
    let (state, params) = (lift(random_state(robot, 0)), lift(robot.layout().params.defaults()));
    let control = vec![T::lit(0.1); robot.layout().control.len()];
    let nv = robot.model().nv;

    let (x, p, u) = (state.clone(), params.clone(), control.clone());
    let mut ws = VectorField::<T>::workspace(robot);
    let mut rate = vec![T::zero(); 2 * nv];
    contenders.push(Contender::new(format!("{scalar} forward dynamics"), move |calls| {
        for _ in 0..calls {
            robot.eval(
                &mut ws,
                Point { params: &p, state: black_box(&x), control: &u },
                T::zero(),
                &mut rate,
            );
            black_box(&mut rate);
        }
    }));

    let mut ws = VectorField::<T>::workspace(robot);
    let (mut rate, rate_bar) = (vec![T::zero(); 2 * nv], vec![T::lit(0.3); 2 * nv]);
    let (mut state_bar, mut control_bar) = (vec![T::zero(); state.len()], vec![T::zero(); control.len()]);
    let mut params_bar = vec![T::zero(); params.len()];
    contenders.push(Contender::new(format!("{scalar} pullback"), move |calls| {
        for _ in 0..calls {
            let at = Point { params: &params, state: black_box(&state), control: &control };
            let bars = Bars { params: &mut params_bar, state: &mut state_bar, control: &mut control_bar };
            robot.eval(&mut ws, at, T::zero(), &mut rate);
            robot.eval_vjp(&mut ws, at, T::zero(), black_box(&rate_bar), bars);
            black_box(&mut state_bar);
        }
    }));
}

/// The model in the plain format that `bench/pinocchio/main.cpp` reads.
fn export(model: &Model) -> Result<String, String> {
    let mut text = format!("{}\n", model.joints.len());
    for joint in &model.joints {
        let body = &model.bodies[joint.body];
        if model.joints_of(joint.body).count() != 1 || joint.anchor.norm() > 0.0 || joint.reference != 0.0 {
            return Err("the export knows one centered joint per body".into());
        }
        let kind = match joint.kind {
            JointKind::Free => "F",
            JointKind::Hinge => "R",
            _ => return Err("the export knows free and hinge joints".into()),
        };
        // Bodies and joints are one to one, so the parent's joint has the parent's number.
        let r = body.orientation.to_mat3();
        let rows = (0..3).flat_map(|i| [r.row(i).x, r.row(i).y, r.row(i).z]);
        let (a, p, c, i) = (joint.axis, body.position, body.com, body.inertia);
        let numbers =
            [a.x, a.y, a.z].into_iter().chain(rows).chain([p.x, p.y, p.z, body.mass, c.x, c.y, c.z]);
        let numbers = numbers.chain([i.xx, i.xy, i.yy, i.xz, i.yz, i.zz]);
        let numbers: Vec<String> = numbers.map(|x| x.to_string()).collect();
        let _ = writeln!(text, "{} {kind} {} {}", body.parent, numbers.join(" "), joint.name);
    }
    Ok(text)
}

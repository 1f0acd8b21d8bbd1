//! Laws that contacts and equalities of the convex model obey: weight, Coulomb's cone, momentum, energy.

use crate::moving::{Acting, Moving, try_parse};
use pullback_articulated::{ContactModel, FrictionDirections};
use pullback_core::{Point, VectorField};
use pullback_math::Vec3;

const G: f64 = 9.81;
/// Reference stiffness and damping of the default `solref`, 0.02 s and critically damped, with impedance 0.95.
const STIFFNESS: f64 = 1.0 / (0.95 * 0.02 * 0.95 * 0.02);
const DAMPING: f64 = 2.0 / (0.95 * 0.02);

/// Force over depth of one contact with impedance 0.95 at any depth, per unit of mass: from f = D a_ref with
/// D = d/(1 − d) m and a_ref = k d r.
const PUSH: f64 = 0.95 / 0.05 * STIFFNESS * 0.95;

fn settled(text: &str, steps: usize) -> Moving {
    let mut moving = Moving::new(text);
    (0..steps).for_each(|_| moving.step());
    assert!(moving.evaluate().converged);
    moving
}

/// A body on a floor under a gravity that leans, as an incline does.
fn on_incline(cone: &str, degrees: f64, friction: f64, extra: &str) -> String {
    let angle = degrees.to_radians();
    let (x, z) = (G * angle.sin(), -G * angle.cos());
    format!(
        "<mujoco><option cone=\"{cone}\" gravity=\"{x} 0 {z}\" timestep=\"0.001\"/>
         <default><geom friction=\"{friction}\" solimp=\"0.95 0.95 0\" {extra}/></default>
         <worldbody><geom type=\"plane\" size=\"0 0 1\"/>
         <body pos=\"0 0 0.05\"><freejoint/><geom type=\"box\" size=\"0.2 0.2 0.05\" mass=\"3\"/></body>
         </worldbody></mujoco>"
    )
}

#[test]
fn bodies_at_rest_are_carried_by_their_weight_at_the_depth_that_softness_gives() {
    for (shape, height, count) in [("sphere", 0.1, 1), ("box", 0.1, 4)] {
        for options in ["condim=\"1\"", "condim=\"3\"", "condim=\"6\""] {
            let size = if shape == "box" { "0.2 0.15 0.1" } else { "0.1" };
            let text = format!(
                "<mujoco><option cone=\"elliptic\" timestep=\"0.001\"/>
                 <default><geom solimp=\"0.95 0.95 0\" {options}/></default>
                 <worldbody><geom type=\"plane\" size=\"0 0 1\"/><body pos=\"0 0 {height}\"><freejoint/>
                 <geom type=\"{shape}\" size=\"{size}\" mass=\"3\"/></body></worldbody></mujoco>"
            );
            let moving = settled(&text, 1500);
            let contacts = moving.contacts();
            assert_eq!(contacts.len(), count);
            let total = contacts.iter().fold(Vec3::zero(), |sum, c| sum + c.push());
            assert!((total - Vec3::new(0.0, 0.0, 3.0 * G)).norm() < 1e-9, "{shape} {options}: {total:?}");
            for contact in &contacts {
                let depth = G / count as f64 / PUSH;
                assert!((contact.distance + depth).abs() < 1e-10 * depth.max(1.0), "{shape}: {contact:?}");
            }
        }
    }
}

/// Largest |f_t| / (μ f_n), by the norm that the cone has, over contacts that carry weight; must not pass one.
fn cone_use(cone: &str, contacts: &[Acting]) -> f64 {
    let mut most = 0.0_f64;
    for c in contacts.iter().filter(|c| c.force[0] > 1e-9) {
        let parts: Vec<f64> = c.force[1..].iter().zip(&c.friction).map(|(f, mu)| f / mu).collect();
        let tangential = match cone {
            "elliptic" => parts.iter().map(|x| x * x).sum::<f64>().sqrt(),
            _ => parts.iter().map(|x| x.abs()).sum(),
        };
        most = most.max(tangential / c.force[0]);
    }
    most
}

#[test]
fn forces_of_friction_stay_in_the_cone_and_oppose_sliding() {
    for cone in ["elliptic", "pyramidal"] {
        for condim in [3, 4, 6] {
            for degrees in [5.0, 11.0, 20.0, 40.0] {
                let friction = 0.3;
                let extra = format!("condim=\"{condim}\"");
                let mut moving = Moving::new(&on_incline(cone, degrees, friction, &extra));
                let slides = degrees.to_radians().tan() > friction;
                let (mut most, mut farthest) = (0.0_f64, 0.0_f64);
                for _ in 0..600 {
                    assert!(moving.evaluate().converged);
                    let contacts = moving.contacts();
                    most = most.max(cone_use(cone, &contacts));
                    if moving.v()[0] > 0.05 {
                        let dragged = contacts.iter().fold(0.0, |sum, c| sum + c.push().x);
                        assert!(dragged <= 0.0);
                        farthest = farthest.max(cone_use(cone, &contacts));
                    }
                    moving.step();
                }
                let what = format!("{cone} {condim} at {degrees} degrees: {most}, {farthest}");
                assert!(most <= 1.0 + 1e-6, "{what}");
                assert_eq!(moving.v()[0] > 0.05, slides, "{what}");
                // What slides is at the edge of the cone.
                assert!(!slides || (farthest - 1.0).abs() < 1e-6, "{what}");
            }
        }
    }
}

#[test]
fn a_block_that_sticks_creeps_at_the_rate_of_its_softness() {
    // m g sin = 4 D b v with D = d/(1 − d) m
    let moving = settled(&on_incline("elliptic", 20.0, 1.0, ""), 1500);
    let rate = G * 20f64.to_radians().sin() * 0.05 / 0.95 / (4.0 * DAMPING);
    assert!((moving.v()[0] - rate).abs() < 1e-9 * rate, "{} against {rate}", moving.v()[0]);
}

#[test]
fn a_block_that_slides_accelerates_by_gravity_less_friction() {
    let expected = |degrees: f64| G * (degrees.to_radians().sin() - 0.2 * degrees.to_radians().cos());
    // Slowly enough to stay in contact.
    let soft = on_incline("elliptic", 11.6, 0.2, "").replace("0.95 0.95 0", "0.5 0.5 0");
    let moving = settled(&soft, 900);
    let (acceleration, law) = (moving.ws.constrained[0], expected(11.6));
    assert!((acceleration - law).abs() < 1e-6 * law, "{acceleration} against {law}");
    // The faster a body slides, the higher its soft contact lifts it. A fast one chatters, in MuJoCo as here, and
    // the law holds on average.
    let moving = settled(&on_incline("elliptic", 20.0, 0.2, ""), 2000);
    let (mean, law) = (moving.v()[0] / 2.0, expected(20.0));
    assert!((mean - law).abs() < 3e-3 * law, "{mean} against {law}");
}

#[test]
fn spheres_that_collide_keep_momentum_and_lose_energy() {
    for cone in ["elliptic", "pyramidal"] {
        let mut moving = Moving::new(&format!(
            "<mujoco><option cone=\"{cone}\" gravity=\"0 0 0\" timestep=\"0.001\"/>
             <default><geom condim=\"6\" friction=\"0.8 0.1 0.05\"/></default><worldbody>
             <body><freejoint/><geom size=\"0.1\" mass=\"2\"/></body>
             <body pos=\"0.25 0.08 0.03\"><freejoint/><geom size=\"0.12\" mass=\"0.7\"/></body>
             </worldbody></mujoco>"
        ));
        let nq = moving.nq();
        let start = [0.5, 0.0, 0.1, 3.0, -2.0, 1.0, -0.8, -0.1, 0.0, 0.0, 5.0, -4.0];
        moving.state[nq..].copy_from_slice(&start);
        moving.evaluate();
        let (before, energy) = (moving.momentum(), moving.energy());
        let mut touched = 0;
        for _ in 0..400 {
            moving.evaluate();
            touched += moving.contacts().len();
            moving.step();
        }
        moving.evaluate();
        let after = moving.momentum();
        assert!(touched > 10 && moving.contacts().is_empty(), "{touched}");
        assert!((after.0 - before.0).norm() < 1e-10, "{cone}: {before:?}, {after:?}");
        assert!((after.1 - before.1).norm() < 1e-10, "{cone}: {before:?}, {after:?}");
        assert!(moving.energy() < 0.95 * energy);
    }
}

/// Total force and torque about the origin that constraints put on free bodies.
fn total_wrench(moving: &Moving) -> (Vec3<f64>, Vec3<f64>, f64) {
    let force = moving.robot().constraint_force(&moving.ws);
    let (mut linear, mut angular, mut size) = (Vec3::zero(), Vec3::zero(), 0.0_f64);
    for (i, f) in force.chunks(6).enumerate() {
        let pose = moving.ws.kinematics.world_from_body[i + 1];
        let push = Vec3::new(f[0], f[1], f[2]);
        linear += push;
        angular += pose.translation.cross(push) + pose.rotation * Vec3::new(f[3], f[4], f[5]);
        size = size.max(push.norm());
    }
    (linear, angular, size)
}

#[test]
fn constraints_between_free_bodies_exert_no_total_force_and_contacts_no_total_torque() {
    let bodies = |equality: &str| {
        format!(
            "<mujoco><option gravity=\"0 0 0\" cone=\"elliptic\"/><worldbody>
             <body name=\"a\" pos=\"0 0 0.1\" euler=\"10 20 30\"><freejoint/>
             <geom type=\"box\" size=\"0.1 0.2 0.15\" condim=\"6\"/></body>
             <body name=\"b\" pos=\"0.15 0.2 0.1\" euler=\"50 0 10\"><freejoint/>
             <geom type=\"capsule\" size=\"0.1 0.2\" condim=\"4\"/></body>
             </worldbody><equality>{equality}</equality></mujoco>"
        )
    };
    let connect = "<connect body1=\"a\" body2=\"b\" anchor=\"0.1 0.2 0\"/>";
    let weld = "<weld body1=\"a\" body2=\"b\" torquescale=\"0.7\"/>";
    for equality in ["", connect, weld, &format!("{connect}{weld}")] {
        let mut moving = Moving::new(&bodies(equality));
        let nq = moving.nq();
        for (i, v) in moving.state[nq..].iter_mut().enumerate() {
            *v = (1.0 + 0.7 * i as f64).sin();
        }
        let mut seen = 0.0_f64;
        for step in 0..60 {
            assert!(moving.evaluate().converged);
            let (force, torque, size) = total_wrench(&moving);
            seen = seen.max(size);
            assert!(force.norm() <= 1e-10 * size.max(1.0), "{equality} {step}: {force:?} of {size}");
            // Equalities that are violated pull at two points, which turns the pair.
            if equality.is_empty() {
                assert!(torque.norm() <= 1e-10 * size.max(1.0), "{step}: {torque:?} of {size}");
            }
            moving.step();
        }
        assert!(seen > 1.0, "{equality} {seen}");
    }
}

#[test]
fn a_passive_pile_never_has_more_energy_than_at_first() {
    for cone in ["elliptic", "pyramidal"] {
        let mut text = format!(
            "<mujoco><option cone=\"{cone}\" timestep=\"0.0005\"/><worldbody><geom type=\"plane\" size=\"0 0 1\"/>"
        );
        for i in 0..9 {
            let (x, y, z) = (0.05 * (i % 3) as f64, 0.04 * (i % 2) as f64, 0.3 + 0.3 * i as f64);
            let shape = [
                "type=\"sphere\" size=\"0.1\"",
                "type=\"box\" size=\"0.1 0.08 0.06\"",
                "type=\"capsule\" size=\"0.06 0.08\"",
            ][i % 3];
            text += &format!(
                "<body pos=\"{x} {y} {z}\" euler=\"{} 20 0\"><freejoint/><geom {shape} condim=\"3\"/></body>",
                10 * i
            );
        }
        text += "</worldbody></mujoco>";
        let mut moving = Moving::new(&text);
        moving.evaluate();
        let first = moving.energy();
        let (mut last, mut largest, mut touched) = (first, 0.0_f64, 0);
        for step in 0..2000 {
            moving.step();
            assert!(moving.evaluate().converged);
            let energy = moving.energy();
            touched = touched.max(moving.contacts().len());
            assert!(energy <= first * (1.0 + 1e-6), "{cone} {step}: {energy} J of {first} J");
            largest = largest.max((energy - last) / first);
            last = energy;
        }
        println!(
            "{cone}: {first} J to {last} J, at most {largest:e} of it gained in a step, {touched} contacts"
        );
        assert!(touched > 10 && last < 0.6 * first);
        assert!(largest < 1e-3, "{largest}");
    }
}

#[test]
fn contact_forces_are_what_a_body_feels() {
    for model in [ContactModel::Convex, ContactModel::Penalty, ContactModel::Complementarity] {
        // A box that slides, beside a ball in the air.
        let text = "<mujoco><option timestep=\"0.001\"/><worldbody><geom type=\"plane\" size=\"0 0 1\"/>
            <body pos=\"0 0 0.049\"><freejoint/><geom type=\"box\" size=\"0.2 0.2 0.05\" mass=\"3\"/></body>
            <body pos=\"0 0 2\"><freejoint/><geom size=\"0.1\"/></body></worldbody></mujoco>";
        let mut description = try_parse(text).expect("a model");
        description.options.contact_model = model;
        description.options.complementarity.friction = FrictionDirections::Two;
        let nq = description.nq;
        let mut moving = Moving::from_model(description);
        (moving.state[nq], moving.state[nq + 1]) = (0.5, -0.2);
        let Moving { params, state, control, .. } = &moving;
        let mut ws = VectorField::<f64>::workspace(moving.robot());
        moving.robot().accelerations(&mut ws, Point { params, state, control });
        let forces = moving.robot().contact_forces(&ws, params);
        assert_eq!(forces.len(), 4, "{model:?}");
        let total = forces.iter().fold(Vec3::zero(), |sum, f| sum + f.force);
        // f = m (v̇ − g)
        let a = &ws.constrained;
        let expected = Vec3::new(a[0], a[1], a[2] + G) * 3.0;
        assert!((total - expected).norm() < 1e-9 * expected.norm(), "{model:?}: {total:?}, {expected:?}");
        assert!(total.x < 0.0 && total.y > 0.0 && total.z > 0.0, "{model:?}: {total:?}");
    }
}

#[test]
fn without_multiccd_iterated_pairs_have_one_contact() {
    for (flag, cylinder) in [("enable", 4), ("disable", 1)] {
        // A cylinder on a box, and a box on a plane, which is no matter of the flag.
        let text = format!(
            "<mujoco><option><flag multiccd=\"{flag}\"/></option><worldbody>
             <geom type=\"plane\" size=\"0 0 1\"/>
             <body pos=\"0 0 0.099\"><freejoint/><geom type=\"box\" size=\"0.3 0.3 0.1\"/></body>
             <body pos=\"0.01 0.02 0.297\"><freejoint/><geom type=\"cylinder\" size=\"0.1 0.1\"/></body>
             </worldbody></mujoco>"
        );
        let mut moving = Moving::new(&text);
        assert!(moving.evaluate().converged);
        let found = moving.found();
        let count =
            |pair: (usize, usize)| found.iter().filter(|(a, b, _)| (*a.min(b), *a.max(b)) == pair).count();
        assert_eq!((count((0, 1)), count((1, 2))), (4, cylinder), "{flag}: {found:?}");
        // The pullback reads as many slots.
        assert!(moving.step_vjp().iter().all(|bar| bar.is_finite()), "{flag}");
    }
}

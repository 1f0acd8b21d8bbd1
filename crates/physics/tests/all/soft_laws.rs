//! Laws that soft bodies hold: forces from energies, momentum, energy, the patch test, the beam of Euler and
//! Bernoulli.

use crate::soft::{cloth, shaken, small_box, small_cloth, solid};
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::{Described, Point, System, VectorField};
use pullback_math::{Dual, Mat3, Real, Vec3};
use pullback_physics::soft::mesh::{Split, beam, box_grid, solid_icosphere};
use pullback_physics::soft::{Placement, SoftBody, Solid, SolidLaw, SpringMaterial};
use pullback_physics::world::World;

const LAWS: [SolidLaw; 3] = [SolidLaw::NeoHookean, SolidLaw::StVenantKirchhoff, SolidLaw::Corotated];

/// Worlds of every kind of element.
fn worlds() -> Vec<World> {
    let mut bodies: Vec<SoftBody> = LAWS.iter().map(|law| solid(*law, Placement::default())).collect();
    bodies.push(cloth(Placement::default()));
    let mut net = SoftBody::new();
    let mesh = small_cloth();
    let part = net
        .add_particles("net", &mesh.positions, &vec![0.1; mesh.positions.len()], Placement::default())
        .unwrap();
    net.add_springs(part, &mesh.edges(), SpringMaterial { stiffness: 300.0, damping: 0.5 }).unwrap();
    bodies.push(net);
    bodies.into_iter().map(|b| World::empty(b).unwrap()).collect()
}

fn forces<T: Real>(world: &World, params: &[T], state: &[T], control: &[T]) -> Vec<[T; 3]> {
    let mut ws = world.workspace();
    let mut rate = vec![T::zero(); state.len()];
    world.eval(&mut ws, Point { params, state, control }, T::zero(), &mut rate);
    ws.force
}

#[test]
fn forces_at_rest_are_the_gradient_of_the_energy() {
    for world in worlds() {
        let (mut state, control, params) = shaken(&world, 1, 0.01);
        let half = state.len() / 2;
        state[half..].fill(0.0);
        let wind = world.layout().params.slice("wind").unwrap().range.clone();
        let mut params = params;
        params[wind].fill(0.0);
        let force = forces(&world, &params, &state, &control);
        let lift = |x: &[f64]| x.iter().map(|x| Dual::fixed(*x)).collect::<Vec<Dual<f64>>>();
        let (params, control) = (lift(&params), lift(&control));
        let largest = force.iter().flatten().fold(0.0, |m: f64, f| m.max(f.abs()));
        for i in 0..half {
            let mut moved = lift(&state);
            moved[i].tangent = 1.0;
            let slope = world.particle_energy(&params, &moved, &control).elastic.tangent;
            let error = (force[i / 3][i % 3] + slope).abs();
            assert!(error < 1e-12 * largest, "entry {i}: {error:e} of {largest:e}");
        }
    }
}

#[test]
fn inner_forces_change_neither_momentum_nor_elastic_ones_angular_momentum() {
    for world in worlds() {
        let (moving, control, mut params) = shaken(&world, 2, 0.01);
        let mut still = moving.clone();
        still[moving.len() / 2..].fill(0.0);
        // Air pushes from outside.
        let outside: Vec<usize> =
            (0..params.len()).filter(|i| world.layout().params.entry_name(*i).contains(".air.")).collect();
        outside.iter().for_each(|i| params[*i] = 0.0);
        for state in [moving, still] {
            let force = forces(&world, &params, &state, &control);
            let (mut sum, mut torque, mut size) = (Vec3::zero(), Vec3::zero(), 0.0);
            for (f, x) in force.iter().zip(world.particle_positions(&state)) {
                let (f, x) = (Vec3::new(f[0], f[1], f[2]), Vec3::new(x[0], x[1], x[2]));
                sum += f;
                torque += x.cross(f);
                size += f.norm();
            }
            assert!(sum.norm() < 1e-14 * size, "momentum {sum:?} of {size}");
            // Damping of F resists turning as well.
            let damped = state[state.len() / 2] != 0.0;
            assert!(damped || torque.norm() < 1e-14 * size, "angular momentum {torque:?} of {size}");
        }
    }
}

#[test]
fn uniform_strain_leaves_inner_particles_at_rest() {
    let mesh = box_grid(3, 3, 3, Vec3::new(0.3, 0.3, 0.3), Split::Five).unwrap();
    let strain = Mat3::new(1.1, 0.05, -0.02, 0.03, 0.95, 0.04, 0.0, -0.06, 1.02);
    for law in LAWS {
        let mut body = SoftBody::new();
        body.add_solid("block", &mesh, Solid { law, ..Solid::default() }, Placement::default()).unwrap();
        let world = World::empty(body).unwrap();
        let mut state = world.layout().state.defaults();
        for (x, rest) in state.as_chunks_mut::<3>().0.iter_mut().zip(&mesh.positions) {
            let moved = strain * *rest;
            *x = [moved.x, moved.y, moved.z];
        }
        let force = forces(&world, &world.layout().params.defaults(), &state, &[]);
        let inner = |x: &Vec3<f64>| x.x.abs().max(x.y.abs()).max(x.z.abs()) < 0.14;
        let (mut checked, mut outer) = (0, 0.0f64);
        for (f, x) in force.iter().zip(&mesh.positions) {
            let size = f.iter().map(|c| c.abs()).fold(0.0, f64::max);
            if inner(x) {
                assert!(size < 1e-12, "{law:?}: a particle inside feels {f:?}");
                checked += 1;
            } else {
                outer = outer.max(size);
            }
        }
        assert!(checked == 8 && outer > 0.1, "{checked} particles inside, {outer} N at the surface");
    }
}

/// Largest change of total energy of an undamped, stretched ball over one second, relative to what it stores.
fn energy_drift(dt: f64) -> f64 {
    let mesh = solid_icosphere(2, 0.5).unwrap();
    let mut body = SoftBody::new();
    body.add_solid("ball", &mesh, Solid { damping: 0.0, ..Solid::default() }, Placement::default()).unwrap();
    let world = World::empty(body).unwrap();
    let mut params = world.layout().params.defaults();
    let gravity = world.layout().params.slice("gravity").unwrap().range.clone();
    params[gravity].fill(0.0);
    let mut state = world.layout().state.defaults();
    for (x, rest) in state.as_chunks_mut::<3>().0.iter_mut().zip(&mesh.positions) {
        *x = [rest.x * 1.1, rest.y * 0.95, rest.z * 0.95];
    }
    let start = world.particle_energy(&params, &state, &[]).total();
    let system = Integrated::new(world.clone(), dt, Integrator::fixed(Method::SemiImplicitEuler)).unwrap();
    let mut ws = system.workspace();
    let mut next = state.clone();
    let mut drift = 0.0f64;
    for _ in 0..(1.0 / dt).round() as usize {
        system.step(&mut ws, Point { params: &params, state: &state, control: &[] }, &mut next).unwrap();
        std::mem::swap(&mut state, &mut next);
        drift = drift.max((world.particle_energy(&params, &state, &[]).total() - start).abs() / start);
    }
    drift
}

#[test]
fn a_free_ball_keeps_its_energy_to_the_order_of_the_integrator() {
    let (coarse, fine) = (energy_drift(2e-3), energy_drift(1e-3));
    assert!(coarse < 0.2, "{coarse}");
    let order = (coarse / fine).log2();
    assert!((0.8..1.4).contains(&order), "{coarse} {fine}: order {order}");
}

#[test]
fn an_element_turned_inside_out_comes_back() {
    for law in [SolidLaw::NeoHookean, SolidLaw::Corotated] {
        let mut body = SoftBody::new();
        let mesh = small_box();
        let material = Solid { law, damping: 5.0, density: 100.0, ..Solid::default() };
        body.add_solid("block", &mesh, material, Placement::default()).unwrap();
        let world = World::empty(body).unwrap();
        let mut params = world.layout().params.defaults();
        let gravity = world.layout().params.slice("gravity").unwrap().range.clone();
        params[gravity].fill(0.0);
        let mut state = world.layout().state.defaults();
        // One corner is pushed through the block.
        let center =
            mesh.positions.iter().fold(Vec3::zero(), |s, x| s + *x) * (1.0 / mesh.positions.len() as f64);
        for (c, center) in [center.x, center.y, center.z].into_iter().enumerate() {
            state[c] = 1.8 * center - 0.8 * state[c];
        }
        let euler = Integrator::fixed(Method::SemiImplicitEuler);
        let system = Integrated::new(world.clone(), 2e-4, euler).unwrap();
        let mut ws = system.workspace();
        let mut next = state.clone();
        for _ in 0..20_000 {
            system.step(&mut ws, Point { params: &params, state: &state, control: &[] }, &mut next).unwrap();
            std::mem::swap(&mut state, &mut next);
        }
        let x = world.particle_positions(&state);
        for tet in &mesh.tets {
            let [a, b, c, d] = tet.map(|i| Vec3::new(x[i][0], x[i][1], x[i][2]));
            assert!((b - a).cross(c - a).dot(d - a) > 0.0, "{law:?} leaves {tet:?} inside out");
        }
        let energy = world.particle_energy(&params, &state, &[]);
        assert!(energy.elastic + energy.kinetic < 1e-6, "{law:?} keeps {energy:?}");
    }
}

/// Tip deflection of a clamped beam under its weight, over Euler and Bernoulli's ρ g A L⁴/(8 E I), with `n`
/// cells through its thickness.
fn deflection_ratio(n: usize) -> f64 {
    let (length, side, modulus, density) = (1.0, 0.1, 1e6, 1000.0);
    let mesh = beam(10 * n, n, n, Vec3::new(length, side, side), Split::Five).unwrap();
    let mut body = SoftBody::new();
    let material = Solid { density, damping: 0.0, ..Solid::default() }.young(modulus, 0.0);
    let part = body.add_solid("beam", &mesh, material, Placement::default()).unwrap();
    let left = mesh.positions.iter().map(|x| x.x).fold(f64::INFINITY, f64::min);
    let held = body.fix(part, |x| x.x < left + 1e-9);
    assert_eq!(held, (n + 1) * (n + 1));
    let gravity = 0.01;
    let world = World::empty(body).unwrap();
    let layout = &world.layout().params;
    let mut params = layout.defaults();
    params[layout.index_of("gravity[2]").unwrap()] = -gravity;

    // K u = m g by conjugate gradients; K p is the derivative of the forces along p, by dual numbers.
    let state = world.layout().state.defaults();
    let dofs = state.len() / 2;
    let fixed = &world.soft().body().fixed;
    let dual_params: Vec<Dual<f64>> = params.iter().map(|p| Dual::fixed(*p)).collect();
    let mut ws = VectorField::<Dual<f64>>::workspace(&world);
    let mut rate = vec![Dual::fixed(0.0); state.len()];
    let mut stiffness_times = |p: &[f64]| -> Vec<f64> {
        let tangent = |i: usize| if i < dofs { p[i] } else { 0.0 };
        let moved: Vec<_> = state.iter().enumerate().map(|(i, x)| Dual::new(*x, tangent(i))).collect();
        world.eval(
            &mut ws,
            Point { params: &dual_params, state: &moved, control: &[] },
            Dual::fixed(0.0),
            &mut rate,
        );
        let force = ws.force.iter().flatten().enumerate();
        force.map(|(i, f)| if fixed[i / 3] { 0.0 } else { -f.tangent }).collect()
    };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let masses = &world.soft().body().masses;
    let mut r: Vec<f64> =
        (0..dofs).map(|i| if i % 3 == 2 && !fixed[i / 3] { -masses[i / 3] * gravity } else { 0.0 }).collect();
    let mut u = vec![0.0; dofs];
    let mut p = r.clone();
    let (mut rr, target) = (dot(&r, &r), dot(&r, &r) * 1e-14);
    for _ in 0..4000 {
        let kp = stiffness_times(&p);
        let alpha = rr / dot(&p, &kp);
        for i in 0..dofs {
            u[i] += alpha * p[i];
            r[i] -= alpha * kp[i];
        }
        let next = dot(&r, &r);
        if next < target {
            break;
        }
        for i in 0..dofs {
            p[i] = r[i] + next / rr * p[i];
        }
        rr = next;
    }
    let right = mesh.positions.iter().map(|x| x.x).fold(f64::NEG_INFINITY, f64::max);
    let tip: Vec<f64> = mesh
        .positions
        .iter()
        .enumerate()
        .filter(|(_, x)| x.x > right - 1e-9)
        .map(|(i, _)| u[3 * i + 2])
        .collect();
    let tip = -tip.iter().sum::<f64>() / tip.len() as f64;
    let (area, inertia) = (side * side, side.powi(4) / 12.0);
    tip / (density * gravity * area * length.powi(4) / (8.0 * modulus * inertia))
}

#[test]
fn a_slender_beam_bends_as_euler_and_bernoulli_say() {
    let ratios: Vec<f64> = [1, 2, 4, 8].iter().map(|n| deflection_ratio(*n)).collect();
    println!("{ratios:?}");
    let errors: Vec<f64> = ratios.iter().map(|r| (r - 1.0).abs()).collect();
    assert!(errors.windows(2).all(|e| e[1] < 0.6 * e[0]), "{ratios:?}");
    assert!(errors[3] < 0.05, "{ratios:?}");
}

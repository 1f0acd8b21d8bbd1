//! Laws of the material point method as a whole: what it conserves, hydrostatic pressure, the frequency of a
//! bar, yield.

use std::f64::consts::PI;

use pullback_articulated::Shape;
use pullback_core::Described;
use pullback_core::random::Random;
use pullback_math::{Flat, Mat3, SymMat3, Vec3};
use pullback_mpm::material::lame::lame;
use pullback_mpm::material::{ConstitutiveModel, Plasticine, Sand, VonMises};
use pullback_mpm::particles::random_box;
use pullback_mpm::{Elastic, Elastoplastic, Floor, Granular, Grid, Material, Mpm, Particles};

use crate::common::{MATERIALS, Run, block, empty, lattice, line, sliding, v3};

/// Shaken particles far from all walls.
fn shaken(material: Material, flat: bool, gravity: Vec3<f64>) -> Mpm {
    let grid = if flat { Grid::square(20) } else { Grid::cube(20) };
    let mut particles = Particles::default();
    let positions = random_box(90, v3(0.5, 0.5, 0.5), v3(0.2, 0.25, 0.15), 5);
    particles.add("block", material, 2.0, 2e-5, &positions, v3(0.4, -0.3, 0.2)).unwrap();
    Mpm::new(grid, particles, empty(gravity), 1e-4).unwrap()
}

fn shake(run: &mut Run<'_>) {
    let mut random = Random::new(9);
    for (what, by) in [(".velocity", 0.8), (".affine", 5.0), (".deformation", 0.08)] {
        let of = run.entries(what);
        run.state[of].iter_mut().for_each(|x| *x += by * random.normal());
    }
}

/// Σ v, Σ x × v + h²/4 axial(C): momenta per mass of a particle, all particles being alike.
fn momenta(run: &Run<'_>) -> (Vec3<f64>, Vec3<f64>) {
    let quarter = run.mpm.grid().spacing.powi(2) / 4.0;
    let (mut linear, mut angular) = (Vec3::zero(), Vec3::zero());
    for p in 0..run.at().x.len() {
        let ((x, v), c) = (run.particle(p), Mat3::<f64>::read(&run.at().c[p]));
        linear += v;
        let axial = v3(c.c1.z - c.c2.y, c.c2.x - c.c0.z, c.c0.y - c.c1.x);
        angular += x.cross(v) + axial * quarter;
    }
    (linear, angular)
}

#[test]
fn linear_and_angular_momentum_are_kept_to_round_off() {
    for material in MATERIALS {
        for flat in [false, true] {
            let mpm = shaken(material, flat, Vec3::zero());
            let mut run = Run::new(&mpm);
            shake(&mut run);
            let ((linear, angular), before) = (momenta(&run), run.particle(0).1);
            run.steps(100);
            let (linear_after, angular_after) = momenta(&run);
            let scale = 90.0;
            let of_linear = (linear_after - linear).norm() / scale;
            let mut turned = angular_after - angular;
            if flat {
                // The plane knows turning about z only.
                (turned.x, turned.y) = (0.0, 0.0);
            }
            println!(
                "{material:?}, flat {flat}: linear {of_linear:.1e}, angular {:.1e}",
                turned.norm() / scale
            );
            assert!(of_linear < 1e-13, "{material:?}, flat {flat}: {of_linear:e}");
            assert!(turned.norm() / scale < 1e-13, "{material:?}, flat {flat}: {turned:?}");
            assert!((run.particle(0).1 - before).norm() > 0.1, "nothing happened");
        }
    }
}

#[test]
fn the_nodes_weigh_what_the_particles_weigh() {
    // Each node gains m g Δt, so the momentum gained in all is the mass on the nodes times g Δt.
    for flat in [false, true] {
        let gravity = v3(30.0, -50.0, if flat { 0.0 } else { 20.0 });
        let mpm = shaken(Material::Fluid(Elastic { young: 5e3, poisson: 0.3 }), flat, gravity);
        let mut run = Run::new(&mpm);
        shake(&mut run);
        // Particles of unlike mass.
        let density = mpm.layout().params.slice("block.density").unwrap().range.clone();
        for (i, rho) in run.params[density.clone()].iter_mut().enumerate() {
            *rho *= 1.0 + 0.01 * i as f64;
        }
        let masses: Vec<f64> = run.params[density].iter().map(|rho| rho * 2e-5).collect();
        let momentum = |run: &Run<'_>| {
            masses.iter().enumerate().fold(Vec3::zero(), |sum, (p, m)| sum + run.particle(p).1 * *m)
        };
        let before = momentum(&run);
        run.steps(1);
        let gained = (momentum(&run) - before).dot(gravity) / (gravity.norm_squared() * mpm.dt());
        let mass: f64 = masses.iter().sum();
        println!("flat {flat}: mass {mass} and {gained}");
        assert!((gained / mass - 1.0).abs() < 1e-10, "{gained} and {mass}");
    }
}

/// A column of fluid, 5 cells wide and 16 high, in a box as wide (walls hold from their innermost node on):
/// slope of pressure over height as a part of −ρg, and where it vanishes as a part of the column's height.
/// Fitted over particles a cell or more off the walls and three off floor and surface, where the stencil
/// holds fluid only.
fn column(flat: bool) -> (f64, f64) {
    let (h, rho, g) = (0.05, 1000.0, 9.8);
    let (young, poisson) = (6.8e5, 0.3);
    let lambda = lame(young, poisson).1;
    let (nodes, cells, gravity) = if flat {
        ([10, 26, 4], [5, 16, 0], v3(0.0, -g, 0.0))
    } else {
        ([10, 10, 26], [5, 5, 16], v3(0.0, 0.0, -g))
    };
    let grid = Grid { nodes, spacing: h, flat, floor: Floor::Friction, ..Grid::cube(10) };
    let low = v3(2.0 * h, 2.0 * h, 2.0 * h);
    let mpm = block(
        grid,
        Material::Fluid(Elastic { young, poisson }),
        rho,
        &lattice(low, cells, h),
        empty(gravity),
        6e-4,
    );
    let mut run = Run::new(&mpm);
    run.dragged(900, 0.04);
    // Pressure over one period of the slowest sound wave, without drag.
    let (up, rounds) = (if flat { 1 } else { 2 }, 27);
    let (mut fit, mut top) = (Vec::new(), 0.0f64);
    for _ in 0..rounds {
        run.steps(10);
        let at = run.at();
        let highest = at.x.iter().fold(0.0f64, |m, x| m.max(x[up]));
        top += highest / rounds as f64;
        for (x, f) in at.x.iter().zip(at.f) {
            let wide = (0..3).filter(|a| *a != up && !(flat && *a == 2));
            let inside = wide.clone().all(|a| (3.5 * h..5.5 * h).contains(&x[a]));
            if inside && (5.0 * h..highest - 3.0 * h).contains(&x[up]) {
                // p = −τ/J = −λ (J − 1)
                let j = Mat3::read(f).determinant();
                fit.push((x[up], -lambda * (j - 1.0)));
            }
        }
    }
    let (slope, at_zero) = line(&fit);
    let level = -at_zero / slope;
    (slope / (-rho * g), (level - 2.0 * h) / (top - 2.0 * h))
}

#[test]
fn a_settled_fluid_carries_its_weight() {
    for flat in [true, false] {
        let (slope, level) = column(flat);
        println!("flat {flat}: slope {slope:.4} of -rho g, surface at {level:.4} of the height");
        assert!((slope - 1.0).abs() < 0.05, "flat {flat}: {slope}");
        assert!((level - 1.0).abs() < 0.05, "flat {flat}: {level}");
    }
}

/// Frequency of the first stretching mode of a free bar, as a part of √(E/ρ)/(2L).
fn bar(material: Material, young: f64, flat: bool) -> f64 {
    let (h, rho): (f64, f64) = (0.02, 10.0);
    let speed = (young / rho).sqrt();
    let (nodes, cells) = if flat { ([38, 14, 4], [24, 4, 0]) } else { ([34, 14, 14], [20, 2, 2]) };
    let grid = Grid { nodes, spacing: h, flat, ..Grid::cube(10) };
    let positions = lattice(v3(7.0 * h, 6.0 * h, 6.0 * h), cells, h);
    let mpm = block(grid, material, rho, &positions, empty(Vec3::zero()), 0.25 * h / speed);
    let length = cells[0] as f64 * h;
    let shape: Vec<f64> = positions.iter().map(|x| (PI * (x.x - 7.0 * h) / length).cos()).collect();
    let mut run = Run::new(&mpm);
    let v = run.entries(".velocity");
    for (v, s) in run.state[v].chunks_mut(3).zip(&shape) {
        v[0] = 1e-3 * speed * s;
    }
    let amplitude = |run: &Run<'_>| run.at().v.iter().zip(&shape).map(|(v, s)| v[0] * s).sum::<f64>();
    // Times at which the mode stands still, half a period apart.
    let (mut crossings, mut last) = (Vec::new(), amplitude(&run));
    let steps = (9.2 * cells[0] as f64) as usize;
    for i in 0..steps {
        run.steps(1);
        let now = amplitude(&run);
        if now * last < 0.0 {
            crossings.push(i as f64 + last / (last - now));
        }
        last = now;
    }
    let halves = crossings.len() - 1;
    assert!(halves >= 1, "{crossings:?}");
    let period = 2.0 * (crossings[halves] - crossings[0]) / halves as f64 * mpm.dt();
    (1.0 / period) / (speed / (2.0 * length))
}

#[test]
fn an_elastic_bar_rings_at_its_frequency() {
    for flat in [true, false] {
        for material in [
            Material::FixedCorotated(Elastic { young: 1e4, poisson: 0.0 }),
            Material::NeoHookean(Elastic { young: 1e4, poisson: 0.0 }),
        ] {
            let ratio = bar(material, 1e4, flat);
            println!("{material:?}, flat {flat}: {ratio:.4} of the analytic frequency");
            assert!((ratio - 1.0).abs() < 0.05, "{material:?}, flat {flat}: {ratio}");
        }
    }
}

fn deviator(tau: SymMat3<f64>) -> f64 {
    (tau - SymMat3::identity() * (tau.trace() / 3.0)).to_mat3().frobenius_squared().sqrt()
}

/// Stress over strain of a block between a smooth floor and a smooth plate that comes down: (compression
/// ln(l₀/l), −τ_zz, |dev τ|) of the particles inside, the strain from their places alone, the stress from
/// their F. The plate is soft over about a cell, so that it does not come down node by node.
fn pressed(material: Material, stress: impl Fn(Mat3<f64>) -> SymMat3<f64>) -> Vec<[f64; 3]> {
    let (h, cells) = (0.05, [4, 4, 6]);
    let grid =
        Grid { nodes: [14, 14, 18], spacing: h, floor: Floor::Friction, softness: 40.0, ..Grid::cube(10) };
    let low = v3(5.0 * h, 5.0 * h, 2.0 * h);
    let positions = lattice(low, cells, h);
    let plate = Shape::Box { half: v3(0.4, 0.4, 2.0 * h) };
    let model = sliding(plate, v3(7.0 * h, 7.0 * h, 9.99 * h), v3(0.0, 0.0, 1.0), 0.0, Vec3::zero());
    let mpm = block(grid, material, 10.0, &positions, model, 3e-4);
    let inside: Vec<usize> = (0..positions.len())
        .filter(|p| {
            let x = (positions[*p] - low) * (1.0 / h);
            (1.0..3.0).contains(&x.x) && (1.0..3.0).contains(&x.y) && (2.0..4.0).contains(&x.z)
        })
        .collect();
    let mut run = Run::new(&mpm);
    // A third of its height in 2500 substeps: 0.4 % of the speed of sound.
    run.control[0] = -2.5 * h / (2500.0 * mpm.dt());
    let mut curve = Vec::new();
    for _ in 0..250 {
        run.steps(10);
        let at = run.at();
        let heights: Vec<(f64, f64)> = inside.iter().map(|p| (positions[*p].z, at.x[*p][2])).collect();
        let n = inside.len() as f64;
        let (mut axial, mut shear) = (0.0, 0.0);
        for p in &inside {
            let tau = stress(Mat3::<f64>::read(&at.f[*p]));
            axial -= tau.zz / n;
            shear += deviator(tau) / n;
        }
        curve.push([-line(&heights).0.ln(), axial, shear]);
    }
    curve
}

#[test]
fn a_pressed_block_yields_at_a_plateau() {
    let (young, poisson, limit) = (1e4, 0.3, 300.0);
    let params = Elastoplastic { young, poisson, yield_stress: limit };
    type Stress<'a> = &'a dyn Fn(Mat3<f64>) -> SymMat3<f64>;
    let cases: [(Material, Stress, f64); 2] = [
        (Material::VonMises(params), &|f| VonMises::update(f, params).1, 0.02),
        // Its stress is that of its strain to first order only.
        (Material::Plasticine(params), &|f| Plasticine::update(f, params).1, 0.08),
    ];
    for (material, stress, tolerance) in cases {
        let curve = pressed(material, stress);
        let within = |low: f64, high: f64, i: usize| -> Vec<(f64, f64)> {
            curve.iter().filter(|c| (low..high).contains(&c[0])).map(|c| (c[0], c[i])).collect()
        };
        let mean = |points: &[(f64, f64)]| points.iter().map(|p| p.1).sum::<f64>() / points.len() as f64;
        // τ = E ϵ up to ϵ = √(3/2) σ_y/E = 0.037; the slope of the line through 0
        let rising = within(0.006, 0.03, 1);
        let (xy, xx) = rising.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x * y, b + x * x));
        let elastic = xy / xx / young;
        // |dev τ| = σ_y, hence |τ_zz| = √(3/2) σ_y
        let flowing = within(0.06, 0.2, 2);
        let (shear, axial) = (mean(&flowing) / limit, mean(&within(0.06, 0.2, 1)) / (1.5f64.sqrt() * limit));
        let rise = line(&flowing).0 / young;
        println!(
            "{material:?}: slope {elastic:.3} E, then |dev tau| {shear:.4} of the yield stress, axial {axial:.4}, rise {rise:.4} E, {} points",
            flowing.len()
        );
        assert!((elastic - 1.0).abs() < 0.05, "{material:?}: slope {elastic}");
        assert!((shear - 1.0).abs() < tolerance, "{material:?}: plateau {shear}");
        // What has flowed keeps some stress across, which counts here.
        assert!((axial - 1.0).abs() < 0.12, "{material:?}: axial stress {axial}");
        assert!(rise.abs() < 0.03 && flowing.len() > 10, "{material:?}: rises by {rise} E");
    }
}

/// F of particles after substeps in which all of them are made to flow with the velocity gradient `c`.
fn driven(run: &mut Run<'_>, c: Mat3<f64>, steps: usize) -> Mat3<f64> {
    let columns = [c.c0, c.c1, c.c2].map(|c| [c.x, c.y, c.z]).concat();
    let (of_x, of_v, of_c) = (run.entries(".position"), run.entries(".velocity"), run.entries(".affine"));
    let positions = run.mpm.layout().state.defaults()[of_x.clone()].to_vec();
    for _ in 0..steps {
        run.state[of_x.clone()].copy_from_slice(&positions);
        run.state[of_v.clone()].fill(0.0);
        run.state[of_c.clone()].chunks_mut(9).for_each(|to| to.copy_from_slice(&columns));
        run.steps(1);
    }
    let at = run.at();
    let first = Mat3::<f64>::read(&at.f[0]);
    assert!(at.f.iter().all(|f| (Mat3::read(f) - first).frobenius_squared() < 1e-24), "all deform alike");
    first
}

#[test]
fn sheared_sand_slides_at_its_friction_angle() {
    for angle in [0.3f64, 0.6] {
        let params = Granular { young: 5e3, poisson: 0.3, friction_angle: angle };
        let (grid, material) = (Grid::cube(16), Material::Sand(params));
        let positions = lattice(v3(0.45, 0.45, 0.45), [1, 1, 1], grid.spacing);
        let mpm = block(grid, material, 1.0, &positions, empty(Vec3::zero()), 1e-4);
        let mut run = Run::new(&mpm);
        // Pressed together by 3 % of its volume, then squeezed upright at that volume: the triaxial test.
        driven(&mut run, Mat3::identity() * -1.0, 100);
        let mut last = 0.0;
        for round in 0..40 {
            let f = driven(&mut run, Mat3::diagonal(v3(0.5, 0.5, -1.0)), 50);
            let tau = Sand::update(f, params).1;
            // (σ₁ − σ₃)/(σ₁ + σ₃) = sin φ where it fails (Mohr and Coulomb).
            let mobilized = (tau.xx - tau.zz) / -(tau.xx + tau.zz);
            assert!(mobilized >= last - 1e-9 && mobilized < angle.sin() + 1e-9, "{mobilized}");
            assert!(tau.trace() < 0.0 && (round > 0 || mobilized < 0.9 * angle.sin()));
            last = mobilized;
        }
        println!("friction angle {angle}: slides at sin {last:.6}, sin of it {:.6}", angle.sin());
        assert!((last / angle.sin() - 1.0).abs() < 1e-6, "{last} and {}", angle.sin());
    }
}

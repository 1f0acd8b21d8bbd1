//! How scenes of the material point method behave: at rest, on slopes, in boxes, in the plane and in space.

use std::f64::consts::FRAC_PI_2;

use pullback_articulated::Shape;
use pullback_math::{Quat, Vec3};
use pullback_mpm::{Elastic, Floor, Granular, Grid, Material};

use crate::common::{MATERIALS, Run, block, empty, fixed, lattice, line, sliding, v3};

#[test]
fn a_block_rests_on_a_sticky_floor() {
    let (h, rho, g, young) = (1.0 / 16.0, 1000.0, 9.8, 2e5);
    let grid = Grid::cube(16);
    // Bottom at the uppermost node that sticks.
    let positions = lattice(v3(6.0 * h, 6.0 * h, 2.0 * h), [4, 4, 8], h);
    let model = empty(v3(0.5, 0.0, -g));
    let mpm =
        block(grid, Material::FixedCorotated(Elastic { young, poisson: 0.0 }), rho, &positions, model, 1e-3);
    let mut run = Run::new(&mpm);
    run.dragged(1200, 0.02);
    let rested: Vec<Vec3<f64>> = (0..positions.len()).map(|p| run.particle(p).0).collect();
    run.steps(200);
    let fastest = (0..positions.len()).fold(0.0f64, |m, p| m.max(run.particle(p).1.norm()));
    let crept = (0..positions.len()).fold(0.0f64, |m, p| m.max((run.particle(p).0 - rested[p]).norm()));
    // A column under its own weight has the stress −ρ g (H − z), here −E (F_zz − 1); fitted two cells off
    // floor and top.
    let inside = (0..positions.len()).filter(|p| (4.0 * h..8.0 * h).contains(&positions[*p].z));
    let stress: Vec<_> = inside.map(|p| (rested[p].z, young * (run.at().f[p][8] - 1.0))).collect();
    let weight = line(&stress).0 / (rho * g);
    // Gravity pulls it sideways as well, and still its foot does not slide.
    let foot = (0..positions.len())
        .filter(|p| positions[*p].z < 2.5 * h)
        .fold(0.0f64, |m, p| m.max((run.particle(p).0 - positions[p]).x.abs()));
    println!(
        "fastest {fastest:.1e} m/s, crept {:.1e} h, weight {weight:.3} of rho g, foot {:.1e} h",
        crept / h,
        foot / h
    );
    assert!(fastest < 2e-3 && crept < 0.01 * h, "{fastest} {crept}");
    assert!((weight - 1.0).abs() < 0.05, "{weight}");
    assert!(foot < 0.02 * h, "{foot}");
}

/// Acceleration down a plane tilted by θ of a block on it in the plane, and its speed at the end, m/s² and
/// m/s.
fn down_the_slope(tilt: f64, friction: f64) -> (f64, f64) {
    let (h, g) = (1.0 / 32.0, 9.8);
    let (along, up) = (v3(tilt.cos(), -tilt.sin(), 0.0), v3(tilt.sin(), tilt.cos(), 0.0));
    let corner = v3(0.25, 0.55, 0.0);
    // z of the geom is the plane's normal.
    let turn = Quat::from_axis_angle(v3(0.0, 0.0, 1.0), -tilt)
        * Quat::from_axis_angle(v3(1.0, 0.0, 0.0), -FRAC_PI_2);
    let model = fixed(Shape::Plane, corner, turn, friction, v3(0.0, -g, 0.0));
    let positions: Vec<Vec3<f64>> =
        lattice(Vec3::zero(), [6, 4, 0], h).iter().map(|x| corner + along * x.x + up * x.y).collect();
    let mpm = block(
        Grid::square(32),
        Material::FixedCorotated(Elastic { young: 1e5, poisson: 0.2 }),
        100.0,
        &positions,
        model,
        2e-4,
    );
    let mut run = Run::new(&mpm);
    let speed = |run: &Run<'_>| {
        let sum: f64 = (0..positions.len()).map(|p| run.particle(p).1.dot(along)).sum();
        sum / positions.len() as f64
    };
    let mut curve = Vec::new();
    for i in 0..100 {
        run.steps(10);
        if i >= 30 {
            curve.push((run.mpm.dt() * 10.0 * (i + 1) as f64, speed(&run)));
        }
    }
    (line(&curve).0, speed(&run))
}

#[test]
fn a_block_on_a_slope_slides_outside_the_cone_of_friction_only() {
    let (tilt, g) = (0.4f64, 9.8);
    for friction in [0.0, 0.1, 0.25] {
        let (acceleration, _) = down_the_slope(tilt, friction);
        let theory = g * (tilt.sin() - friction * tilt.cos());
        println!("friction {friction}: {acceleration:.3} m/s^2, theory {theory:.3}");
        assert!((acceleration / theory - 1.0).abs() < 0.05, "{acceleration} and {theory}");
    }
    // tan 0.4 = 0.42
    let (acceleration, speed) = down_the_slope(tilt, 0.6);
    println!("friction 0.6: {acceleration:.4} m/s^2, {speed:.5} m/s");
    assert!(acceleration.abs() < 0.05 && speed.abs() < 0.02, "{acceleration} {speed}");
}

#[test]
fn a_fluid_spreads_over_its_box_and_stays_inside() {
    let (h, g, rho) = (1.0 / 24.0, 9.8, 1000.0);
    let cases = [
        (true, [24, 24, 4], [6, 10, 0], v3(0.0, -g, 0.0)),
        (false, [24, 10, 24], [6, 4, 10], v3(0.0, 0.0, -g)),
    ];
    for (flat, nodes, cells, gravity) in cases {
        let grid = Grid { nodes, flat, floor: Floor::Friction, ..Grid::cube(24) };
        let positions = lattice(v3(3.0 * h, 3.0 * h, 3.0 * h), cells, h);
        let mpm = block(
            grid,
            Material::Fluid(Elastic { young: 5e4, poisson: 0.3 }),
            rho,
            &positions,
            empty(gravity),
            8e-4,
        );
        let mut run = Run::new(&mpm);
        let energy = |run: &Run<'_>| {
            (0..positions.len())
                .map(|p| (0.5 * run.particle(p).1.norm_squared()) - gravity.dot(run.particle(p).0))
                .sum::<f64>()
        };
        let (start, mut farthest) = (energy(&run), 0.0f64);
        for _ in 0..40 {
            run.steps(25);
            assert!(energy(&run) < start * (1.0 + 1e-3), "it gained energy");
            for p in 0..positions.len() {
                let x = run.particle(p).0;
                farthest = farthest.max(x.x);
                // Walls act from the third node of each face on; a particle sinks in by a cell at most.
                for (a, x) in [x.x, x.y, x.z].into_iter().enumerate().filter(|(a, _)| !(flat && *a == 2)) {
                    let high = (nodes[a] as f64 - 2.0) * h;
                    assert!(x > 1.0 * h && x < high, "flat {flat}, axis {a}: {x}");
                }
            }
        }
        let mean = (0..positions.len()).map(|p| run.particle(p).0.x).sum::<f64>() / positions.len() as f64;
        println!(
            "flat {flat}: reached {farthest:.3}, mean x {mean:.3} from {:.3}, energy {:.3} of its start",
            6.0 * h,
            energy(&run) / start
        );
        assert!(farthest > 19.0 * h, "it did not reach the far wall: {farthest}");
        assert!(mean > 8.5 * h, "it did not spread: {mean}");
    }
}

/// A block that flies into a corner of the grid at `speed` along each axis, for some substeps; no particle
/// may leave.
fn fly(material: Material, flat: bool, speed: f64, steps: usize) {
    let grid = if flat { Grid::square(12) } else { Grid::cube(12) };
    let h = grid.spacing;
    let positions = lattice(v3(0.4, 0.4, 0.4), [2, 2, if flat { 0 } else { 2 }], h);
    let mpm = block(grid, material, 1.0, &positions, empty(Vec3::zero()), 1e-4);
    let mut run = Run::new(&mpm);
    let v = run.entries(".velocity");
    run.state[v].fill(speed);
    let mut at_walls = false;
    for _ in 0..steps {
        run.steps(1);
        for p in 0..positions.len() {
            let (x, v) = run.particle(p);
            assert!(x.norm().is_finite() && v.norm().is_finite(), "{material:?}: {x:?} {v:?}");
            let axes = [x.x, x.y, x.z].into_iter().take(if flat { 2 } else { 3 });
            for x in axes {
                assert!((h..=10.0 * h).contains(&x), "{material:?}: {x}");
                at_walls |= !(2.5 * h..8.5 * h).contains(&x);
            }
        }
    }
    assert!(at_walls, "{material:?}: nothing came to a wall");
}

#[test]
fn no_particle_leaves_the_grid() {
    for material in MATERIALS {
        for flat in [false, true] {
            for way in [1.0, -1.0] {
                fly(material, flat, way * 100.0, 120);
                // Farther than the grid in one substep.
                fly(material, flat, way * 1e5, 1);
            }
        }
    }
}

/// Places after 200 substeps of a block that falls to the wall below while a bar pushes it, as a plane or as
/// a slab one cell thick between smooth walls; the bar is smooth as well, since friction would see the speed
/// along z that the walls take away after it. There every node is walled in from both sides, so nothing moves
/// along z: plane strain.
fn plane_or_slab(material: Material, flat: bool) -> Vec<Vec3<f64>> {
    let h = 1.0 / 16.0;
    let grid = Grid { nodes: [16, 16, 4], flat, floor: Floor::Friction, ..Grid::cube(16) };
    let positions = lattice(v3(5.0 * h, 2.5 * h, 1.5 * h), [4, 4, 0], h);
    let bar = Shape::Box { half: v3(0.05, 0.3, 1.0) };
    let model = sliding(bar, v3(4.0 * h - 0.05, 0.4, 0.0), v3(1.0, 0.0, 0.0), 0.0, v3(0.0, -50.0, 0.0));
    let mut particles = pullback_mpm::Particles::default();
    particles.add("block", material, 10.0, 1e-3, &positions, v3(0.0, -1.0, 0.0)).unwrap();
    let mpm = pullback_mpm::Mpm::new(grid, particles, model, 2e-4).unwrap();
    let mut run = Run::new(&mpm);
    run.control[0] = 3.0;
    run.steps(200);
    (0..positions.len()).map(|p| run.particle(p).0).collect()
}

#[test]
fn the_plane_agrees_with_a_slab_in_plane_strain() {
    for material in MATERIALS {
        let (plane, slab) = (plane_or_slab(material, true), plane_or_slab(material, false));
        let error = plane.iter().zip(&slab).fold(0.0f64, |m, (a, b)| m.max((*a - *b).norm()));
        let wide = plane.iter().map(|x| x.x).fold(0.0, f64::max);
        println!("{material:?}: {error:.1e} m apart, farthest at {wide:.3}");
        assert!(error < 1e-9, "{material:?}: {error:e}");
        assert!(wide > 9.3 / 16.0, "{material:?}: nothing pushed it, {wide}");
    }
}

/// Steepness of a heap of sand on rough ground at first and after a second, rad, and the mean speed then. A
/// triangle of height a and half width b has the means a/3 and b/3 of y and |x|.
fn heap(start: f64, angle: f64) -> (f64, f64, f64) {
    let (h, g) = (1.0 / 40.0, 9.8);
    let ground = 4.0 * h;
    let height = 0.2;
    let turn = Quat::from_axis_angle(v3(1.0, 0.0, 0.0), -FRAC_PI_2);
    let model = fixed(Shape::Plane, v3(0.5, ground, 0.0), turn, 2.0, v3(0.0, -g, 0.0));
    let inside = |x: &Vec3<f64>| x.y - ground < height - start.tan() * (x.x - 0.5).abs();
    let positions: Vec<Vec3<f64>> =
        lattice(v3(4.0 * h, ground, 0.0), [32, 8, 0], h).into_iter().filter(inside).collect();
    let mpm = block(
        Grid::square(40),
        Material::Sand(Granular { young: 4e5, poisson: 0.3, friction_angle: angle }),
        1000.0,
        &positions,
        model,
        2.5e-4,
    );
    let mut run = Run::new(&mpm);
    let slope = |run: &Run<'_>| {
        let n = positions.len() as f64;
        let (wide, tall) = (0..positions.len()).fold((0.0, 0.0), |(w, t), p| {
            let x = run.particle(p).0;
            (w + (x.x - 0.5).abs() / n, t + (x.y - ground) / n)
        });
        (tall / wide).atan()
    };
    let before = slope(&run);
    run.steps(4000);
    let speed = (0..positions.len()).map(|p| run.particle(p).1.norm()).sum::<f64>() / positions.len() as f64;
    (before, slope(&run), speed)
}

#[test]
fn heaps_of_sand_keep_an_angle_of_repose() {
    for (start, friction) in [(25f64, 25f64), (60.0, 25.0), (60.0, 15.0)] {
        let (before, slope, speed) = heap(start.to_radians(), friction.to_radians());
        let (before, slope) = (before.to_degrees(), slope.to_degrees());
        let sin = friction.to_radians().sin();
        // In plane strain |dev τ| = −α tr τ, with the stress across half way between the other two: sin = 3α/√2.
        let plane = (3.0 / 2f64.sqrt() * (2.0f64 / 3.0).sqrt() * 2.0 * sin / (3.0 - sin)).asin().to_degrees();
        println!(
            "from {before:.1} deg, friction {friction} deg ({plane:.1} in plane strain): {slope:.1} deg, {speed:.4} m/s"
        );
        if before < plane {
            assert!((slope - before).abs() < 1.0, "{before} moved to {slope}");
        } else {
            // The grid holds particles together over a cell, an eighth of the height; so it stays steeper
            // than its grains would.
            assert!((plane..plane + 10.0).contains(&slope), "{slope} and {plane}");
        }
        assert!(speed < 0.02, "still moving at {speed}");
    }
}

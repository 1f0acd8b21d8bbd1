//! Water: `fluid-move`, a container that is carried (Rewarped, FluidMove), and `fluid-tank`, a ladle that
//! fishes a cube of sugar out of syrup (BO-Leap, A.2.1).

use std::fmt::Write;

use pullback_core::ConfigError;
use pullback_math::Vec3;
use pullback_physics::mpm::particles::random_box;
use pullback_physics::mpm::{Elastic, Floor, Grid, Material, Particles};

use super::blueprint::{Blueprint, GLASS, Size, SourceFrame, ToolBuilder, cube};
use super::dough::FLOOR;

/// Seconds per action of `fluid-move`: 40 substeps of 5 · 10⁻⁴ s.
pub(super) const MOVE_ACTION: f64 = 0.02;

/// Slabs of the container: half extents and place, in the source's axes.
const SLABS: [([f64; 3], [f64; 3]); 5] = [
    ([0.14, 0.025, 0.16], [0.0, -0.105, 0.0]),
    ([0.025, 0.105, 0.16], [0.115, -0.025, 0.0]),
    ([0.025, 0.105, 0.16], [-0.115, -0.025, 0.0]),
    ([0.14, 0.105, 0.025], [0.0, -0.025, 0.135]),
    ([0.14, 0.105, 0.025], [0.0, -0.025, -0.135]),
];

/// Water in a container of five slabs.
pub(super) fn fluid_move(name: &str, size: Size) -> Result<Blueprint, ConfigError> {
    let grid = cube(size.pick(48, 32, 16), 48, size, 0.0);
    let frame = SourceFrame::new(&grid, FLOOR);
    let count = size.pick(2880, 900, 6);
    let (center, edges) = (frame.at(0.5, 0.15, 0.5), Vec3::new(0.16, 0.2, 0.094));
    let volume = edges.x * edges.y * edges.z / count as f64;
    let mut particles = Particles::default();
    let positions = random_box(count, center, edges, 0);
    let water = Material::Fluid(Elastic { young: 1e5, poisson: 0.3 });
    particles.add("water", water, 1e3, volume, &positions, Vec3::zero())?;

    let mut builder = ToolBuilder::new(MOVE_ACTION, 0.5);
    builder.rgba = GLASS;
    let mut slabs = String::new();
    for ([hx, hy, hz], [x, y, z]) in SLABS {
        let _ = write!(slabs, "<geom type='box' size='{hx} {hz} {hy}' pos='{x} {} {y}'/>", -z);
    }
    // The source starts one centimeter below its own lowest height and jumps; ours may stay there.
    let ranges = [(0.18, 0.82), (0.22, 0.78), (0.15 + frame.lift, 0.84 + frame.lift)];
    builder.slider("container", center, &slabs, [0.01; 3], ranges);
    let (dt, substeps) =
        size.pick((MOVE_ACTION / 40.0, 40), (MOVE_ACTION / 25.0, 25), (MOVE_ACTION / 20.0, 1));
    Ok(Blueprint {
        tools: builder.finish(name, 9.8, FLOOR + frame.lift)?,
        grid,
        particles,
        dt,
        substeps,
        // Up and away, faster than the water likes.
        demonstration: vec![
            vec![0.0, 0.0, 0.1],
            vec![0.2, 0.0, 0.4],
            vec![0.3, 0.1, 0.2],
            vec![0.0, 0.3, 0.0],
            vec![-0.9, 0.0, 0.0],
            vec![0.8, -0.2, 0.0],
        ],
    })
}

/// Edge of the tank, m.
pub(super) const TANK: f64 = 0.4;
/// Height of the tank's walls, m: to be lifted above.
pub(super) const WALL: f64 = 0.2;
/// Depth of the syrup, m.
const DEPTH: f64 = 0.14;
/// Edge of the cube of sugar, m.
const SUGAR: f64 = 0.06;
/// Seconds per action of `fluid-tank`.
pub(super) const TANK_ACTION: f64 = 0.01;
/// Largest speed of the ladle, m/s.
const LADLE_SPEED: f64 = 2.0;

/// Where the tank's lowest corner is: the margin of the grid, m.
pub(super) fn tank_corner(grid: &Grid) -> f64 {
    grid.margin as f64 * grid.spacing
}

/// A tank of syrup, a cube of sugar in it, and a ladle that moves along x and up and down.
pub(super) fn fluid_tank(name: &str, size: Size) -> Result<Blueprint, ConfigError> {
    // The walls of the tank are the margins of the grid; they are drawn lower than they reach.
    let cells = size.pick(26, 12, 4);
    let spacing = TANK / cells as f64;
    let grid = Grid {
        nodes: [cells + 6; 3],
        spacing,
        floor: Floor::Friction,
        floor_friction: 0.0,
        softness: size.pick(666.0, 300.0, 20.0),
        ..Grid::cube(cells + 6)
    };
    let corner = tank_corner(&grid);
    let at = |x: f64, y: f64, z: f64| Vec3::new(x + corner, y + corner, z + corner);
    let middle = 0.5 * TANK;
    let (cube, edge) = (at(middle, middle, 0.09), Vec3::new(SUGAR, SUGAR, SUGAR));
    let wet = Vec3::new(TANK - spacing, TANK - spacing, DEPTH);
    // Syrup everywhere but in the cube.
    let drops = random_box(size.pick(16_000, 1_600, 8), at(middle, middle, 0.5 * DEPTH), wet, 1);
    let beside = |x: &Vec3<f64>| {
        let d = *x - cube;
        [d.x, d.y, d.z].iter().any(|d| d.abs() > 0.5 * SUGAR)
    };
    let volume = wet.x * wet.y * wet.z / drops.len() as f64;
    let drops: Vec<_> = drops.into_iter().filter(beside).collect();
    let mut particles = Particles::default();
    let syrup = Material::Fluid(Elastic { young: 50.0, poisson: 0.3 });
    particles.add("syrup", syrup, 1.0, volume, &drops, Vec3::zero())?;
    let count = size.pick(400, 60, 3);
    let grains = random_box(count, cube, edge, 2);
    let sugar = Material::FixedCorotated(Elastic { young: 200.0, poisson: 0.2 });
    particles.add("sugar", sugar, 1.3, SUGAR.powi(3) / count as f64, &grains, Vec3::zero())?;

    let mut builder = ToolBuilder::new(TANK_ACTION, 0.3);
    builder.rgba = GLASS;
    let (half, high) = (0.5 * TANK, 0.5 * WALL);
    for (x, y, hx, hy) in [
        (0.0, middle, 0.002, half),
        (TANK, middle, 0.002, half),
        (middle, 0.0, half, 0.002),
        (middle, TANK, half, 0.002),
    ] {
        let Vec3 { x, y, z } = at(x, y, high);
        let wall = format!(
            "<geom type='box' contype='0' conaffinity='0' size='{hx} {hy} {high}' pos='{x} {y} {z}'/>"
        );
        builder.add(&builder.geoms(&wall));
    }
    ladle(&mut builder, at(0.1, middle, 0.03), corner);
    let (dt, substeps) = size.pick((5e-4, 20), (1e-3, 10), (1e-3, 1));
    Ok(Blueprint {
        tools: builder.finish(name, 9.81, corner)?,
        grid,
        particles,
        dt,
        substeps,
        // Below the cube, up, and out.
        demonstration: vec![
            vec![0.35, 0.0],
            vec![0.2, 0.0],
            vec![0.0, 0.3],
            vec![-0.1, 0.35],
            vec![-0.1, 0.0],
        ],
    })
}

/// A scoop with a bottom, three walls, a low lip in front, and a handle. Its bottom is two cells thick:
/// thinner ones leak.
fn ladle(builder: &mut ToolBuilder, at: Vec3<f64>, corner: f64) {
    builder.rgba = "0.78 0.8 0.83 0.6";
    let bowl = builder.geoms(
        "<geom type='box' size='0.07 0.07 0.018' pos='0 0 -0.01'/>
         <geom type='box' size='0.012 0.07 0.03' pos='-0.06 0 0.03'/>
         <geom type='box' size='0.07 0.012 0.03' pos='0 -0.06 0.03'/>
         <geom type='box' size='0.07 0.012 0.03' pos='0 0.06 0.03'/>
         <geom type='box' size='0.012 0.07 0.012' pos='0.06 0 0.012'/>
         <geom type='capsule' fromto='-0.065 0 0.05 -0.09 0 0.32' size='0.008'/>",
    );
    let Vec3 { x, y, z } = at;
    let [left, right, low, high] = [0.08, TANK - 0.08, 0.03, 0.3].map(|d| d + corner);
    builder.add(&format!(
        "<body name='ladle' pos='{x} {y} {z}'>
          <joint name='ladle_x' type='slide' axis='1 0 0' ref='{x}' range='{left} {right}'/>
          <joint name='ladle_z' type='slide' axis='0 0 1' ref='{z}' range='{low} {high}'/>
          {bowl}
        </body>"
    ));
    builder.transmission("ladle.x.rate", "m/s", LADLE_SPEED * TANK_ACTION, &[("ladle_x.rate", 1.0)]);
    builder.transmission("ladle.z.rate", "m/s", LADLE_SPEED * TANK_ACTION, &[("ladle_z.rate", 1.0)]);
}

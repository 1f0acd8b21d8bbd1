//! The largest stable step that is told lies within a factor of two of where motions truly blow up, and a
//! simulation that exceeds it says so.

use pullback_core::integrator::Method;
use pullback_core::rollout::{Inputs, Rollout};
use pullback_core::stability::largest_stable_step;
use pullback_core::{ConfigError, Described, Integrated, Integrator, Point, Schedule, System};
use pullback_math::{Dual, Vec3};
use pullback_physics::articulated::{ContactModel, Model};
use pullback_physics::mpm::{Elastic, Grid, Material, Mpm, Particles};
use pullback_physics::soft::mesh::{Diagonals, Split, beam, cloth_grid};
use pullback_physics::soft::{Cloth, Placement, SoftBody, Solid, SpringMaterial};
use pullback_physics::world::World;
use pullback_scene::mjcf::{ImportOptions, parse_mjcf};
use pullback_tasks::files::{self, robot_scene};
use pullback_tasks::scenes::SceneOptions;
use pullback_tasks::stability::{Energy, StepLimitOf, energy_growth, step_limit, warnings};

/// Where a motion blows up, by bisection around a step; `steps` steps are taken, and it has blown up when a
/// velocity or place leaves `most`.
fn blow_up<S: System<f64>>(
    system_of: &impl Fn(f64) -> Result<S, ConfigError>,
    state: &[f64],
    (steps, most): (usize, f64),
    around: f64,
) -> f64 {
    let blows = |step: f64| {
        // A step that is refused is one that no motion survives.
        let Ok(system) = system_of(step) else { return true };
        let rollout = Rollout::new(system, steps, Schedule::Revolve { slots: 1 }).unwrap();
        let mut inputs = Inputs::defaults(&rollout.system, steps);
        inputs.state.copy_from_slice(state);
        let mut worst: f64 = 0.0;
        let run = rollout.simulate(&mut rollout.workspace::<f64>(), &inputs, |at| {
            worst = at.state.iter().fold(worst, |worst, x| worst.max(x.abs()));
        });
        run.is_err() || worst > most
    };
    let (mut low, mut high) = (around / 8.0, around * 8.0);
    assert!(!blows(low), "it blows up at an eighth of what was told, {around:e} s");
    assert!(blows(high), "it holds at eight times what was told, {around:e} s");
    while high > 1.05 * low {
        let middle = (low * high).sqrt();
        *(if blows(middle) { &mut high } else { &mut low }) = middle;
    }
    low
}

/// What is told and what is true, from one state.
fn compare<S: System<f64> + System<Dual<f64>>>(
    what: &str,
    system_of: impl Fn(f64) -> Result<S, ConfigError>,
    state: &[f64],
    run: (usize, f64),
    around: f64,
) {
    let system = system_of(around).unwrap();
    let (params, control) = (system.layout().params.defaults(), system.layout().control.defaults());
    let at = Point { params: &params, state, control: &control };
    let told = largest_stable_step(&system_of, at, around).unwrap();
    let truth = blow_up(&system_of, state, run, told.seconds);
    let ratio = told.seconds / truth;
    println!(
        "{what}: told {:.3e} s, true {truth:.3e} s, ratio {ratio:.3}, {}",
        told.seconds,
        system.layout().state.entry_name(told.entry)
    );
    assert!((0.5..=2.0).contains(&ratio), "{what}: told {:e} s, true {truth:e} s", told.seconds);
}

/// A world by semi-implicit Euler, from a state slightly off rest.
fn compare_world(what: &str, world: World) {
    let mut state = world.layout().state.defaults();
    state.iter_mut().enumerate().for_each(|(i, x)| *x += 1e-6 * ((i * 7919) % 13) as f64);
    let system_of =
        |step: f64| Integrated::new(world.clone(), step, Integrator::fixed(Method::SemiImplicitEuler));
    compare(what, system_of, &state, (1500, 1e3), 1e-3);
}

#[test]
fn springs_cloth_and_solids_blow_up_where_it_is_told() {
    let mut chain = SoftBody::new();
    let places: Vec<Vec3<f64>> = (0..6).map(|k| Vec3::new(0.1 * k as f64, 0.0, 0.0)).collect();
    let part = chain
        .add_particles("chain", &places, &[0.1, 0.02, 0.1, 0.1, 0.3, 0.1], Placement::default())
        .unwrap();
    let ends: Vec<[usize; 2]> = (1..6).map(|k| [k - 1, k]).collect();
    chain.add_springs(part, &ends, SpringMaterial { stiffness: 500.0, damping: 0.1 }).unwrap();
    chain.fix(part, |x| x.x < 0.01);
    compare_world("chain of springs", World::empty(chain).unwrap());

    let mut sheet = SoftBody::new();
    let mesh = cloth_grid(5, 5, 0.5, 0.5, Diagonals::Alternating).unwrap();
    let material =
        Cloth { density: 0.3, mu: 150.0, lambda: 150.0, damping: 0.02, bending: 1e-3, ..Cloth::default() };
    let part = sheet.add_cloth("sheet", &mesh, material, Placement::default()).unwrap();
    sheet.fix(part, |x| x.x < -0.24);
    compare_world("cloth", World::empty(sheet).unwrap());

    let mut solid = SoftBody::new();
    let mesh = beam(4, 1, 1, Vec3::new(0.4, 0.1, 0.1), Split::Five).unwrap();
    let material = Solid { density: 100.0, damping: 0.5, ..Solid::default() }.young(1e4, 0.3);
    let part = solid.add_solid("beam", &mesh, material, Placement::default()).unwrap();
    solid.fix(part, |x| x.x < 1e-6);
    compare_world("beam of tetrahedra", World::empty(solid).unwrap());
}

/// Two balls and a box, each of another weight, on a compliant ground.
const PILE: &str = "<mujoco><option timestep='0.0005'/><worldbody>
    <geom name='ground' type='plane' size='5 5 1'/>
    <body name='light' pos='0 0 0.1'><freejoint name='light'/><geom size='0.1' mass='0.2'/></body>
    <body name='heavy' pos='1 0 0.1'><freejoint name='heavy'/><geom size='0.1' mass='2'/></body>
    <body name='box' pos='2 0 0.1'><freejoint name='box'/><geom type='box' size='0.1 0.1 0.1' mass='1'/></body>
</worldbody></mujoco>";

fn penalty(text: &str) -> Model {
    let mut model = parse_mjcf(text, None, &ImportOptions::default()).unwrap();
    model.options.contact_model = ContactModel::Penalty;
    model
}

#[test]
fn robots_on_a_compliant_ground_blow_up_where_it_is_told() {
    let ant = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/ant.xml")).unwrap();
    for (what, model) in [("balls and a box", penalty(PILE)), ("ant", penalty(&ant))] {
        let robot = pullback_physics::articulated::Articulated::new(model).unwrap();
        let system_of =
            |step: f64| files::system(robot.clone(), SceneOptions { dt: Some(step), ..Default::default() });
        // At rest on the ground: contacts bear the weight.
        let steps = 20_000;
        let rollout = Rollout::new(system_of(1e-4).unwrap(), steps, Schedule::Revolve { slots: 1 }).unwrap();
        let mut ws = rollout.workspace::<f64>();
        let mut rest = Vec::new();
        let inputs = Inputs::defaults(&rollout.system, steps);
        rollout.simulate(&mut ws, &inputs, |at| rest = at.state.to_vec()).unwrap();
        rest.iter_mut().skip(rollout.system.field().coordinates().nq).for_each(|v| *v += 1e-4);
        let (params, control) = (inputs.params, robot.layout().control.defaults());
        let at = Point { params: &params, state: &rest, control: &control };
        let told = StepLimitOf::of_robot(robot.clone(), &SceneOptions::default()).unwrap().find(at).unwrap();
        let truth = blow_up(&system_of, &rest, (3000, 50.0), told.largest);
        let ratio = told.largest / truth;
        println!("{what}: told {:.3e} s, true {truth:.3e} s, ratio {ratio:.3}, {}", told.largest, told.what);
        assert!((0.5..=2.0).contains(&ratio), "{what}: told {:e} s, true {truth:e} s", told.largest);
    }
}

#[test]
fn material_points_blow_up_where_it_is_told() {
    for (young, poisson, fluid) in [(1e4, 0.2, false), (1e5, 0.4, false), (2e3, 0.3, true)] {
        let grid = Grid::cube(16);
        let mut particles = Particles::default();
        // Two particles along each edge of a cell.
        let (spacing, side) = (0.5 * grid.spacing, 8);
        let corner = 0.5 - 0.5 * side as f64 * spacing;
        let place = |k: usize| corner + (k as f64 + 0.5) * spacing;
        let cells = (0..side * side * side).map(|i| [i % side, i / side % side, i / side / side]);
        let places: Vec<Vec3<f64>> = cells.map(|[i, j, k]| Vec3::new(place(i), place(j), place(k))).collect();
        let elastic = Elastic { young, poisson };
        let material = if fluid { Material::Fluid(elastic) } else { Material::FixedCorotated(elastic) };
        particles.add("block", material, 1000.0, spacing.powi(3), &places, Vec3::zero()).unwrap();
        let mut model = Model::new("nothing");
        model.options.gravity = Vec3::zero();
        let model = model.compile().unwrap();
        let system_of = |step: f64| Mpm::new(grid, particles.clone(), model.clone(), step);
        let mpm = system_of(1e-4).unwrap();
        let (params, mut state) = (mpm.layout().params.defaults(), mpm.layout().state.defaults());
        let n = 3 * places.len();
        for (i, v) in state[n..2 * n].iter_mut().enumerate() {
            *v = 1e-3 * (((i * 7919) % 13) as f64 - 6.0);
        }
        let told = mpm.stable_substep(&params, &state).seconds;
        let truth = blow_up(&system_of, &state, (600, 5.0), told);
        let ratio = told / truth;
        let linear =
            largest_stable_step(&system_of, Point { params: &params, state: &state, control: &[] }, told);
        // Not told where it tries steps that are refused.
        let linear = linear.map_or(f64::NAN, |linear| linear.seconds / truth);
        println!(
            "E {young} ν {poisson}: told {told:.3e} s, true {truth:.3e} s, ratio {ratio:.3}, linearized {linear:.3}"
        );
        assert!((0.5..=2.0).contains(&ratio), "E {young}: told {told:e} s, true {truth:e} s");
        // A particle that crosses cells bounds the substep as well.
        state[n] = 1e3;
        let fast = mpm.stable_substep(&params, &state);
        assert!((fast.seconds * 1e3 / grid.spacing - 1.0).abs() < 1e-6 && fast.particle == 0, "{fast:?}");
    }
}

#[test]
fn a_simulation_above_its_limit_says_so_and_how_to_mend_it() {
    // A hanging mass on a spring of 10⁴ N/m: 2/ω is 0.02 s.
    let text =
        "<mujoco><option timestep='0.001' integrator='Euler'/><worldbody><body name='load' pos='0 0 1'>
        <joint name='spring' type='slide' axis='0 0 1' stiffness='10000'/><geom size='0.1' mass='1'/></body>
        </worldbody></mujoco>";
    let scene = |dt: f64| {
        let model = parse_mjcf(text, None, &ImportOptions::default()).unwrap();
        robot_scene("load".into(), model, SceneOptions { dt: Some(dt), ..SceneOptions::default() }).unwrap()
    };
    let said = |dt: f64| {
        let (scene, steps) = (scene(dt), (1.0 / dt) as usize);
        let (state, params) = (scene.layout().state.defaults(), scene.layout().params.defaults());
        let (inputs, mut rows) = (Inputs { state, controls: Vec::new(), params }, Vec::new());
        let run =
            scene.simulate(&inputs, steps, &mut |at| rows.push((at.step as f64 * dt, at.state.to_vec())));
        let limit = step_limit(scene.as_ref(), &inputs, &rows).unwrap().unwrap().1;
        assert!((limit.largest / 0.02 - 1.0).abs() < 0.05, "{limit:?}");
        warnings(scene.as_ref(), &inputs, &rows, run.as_ref().err())
    };
    assert_eq!(said(0.001), Vec::<String>::new());
    assert_eq!(said(0.015), Vec::<String>::new());
    let above = said(0.0205);
    assert!(
        above[0].contains("above the largest stable one, about 2.0") || above[0].contains("about 1.9"),
        "{above:?}"
    );
    assert!(above[0].contains("set by `spring.v`: give --dt 1.8e-2"), "{above:?}");
    assert!(above[1].starts_with("energy grows though nothing drives the scene"), "{above:?}");
}

#[test]
fn energy_that_is_let_loose_at_the_start_does_not_grow() {
    let rows = |kinetic: &dyn Fn(f64) -> f64| -> Vec<(f64, Energy)> {
        let row = |k: usize| (0.01 * k as f64, Energy { kinetic: kinetic(0.01 * k as f64), potential: -1.0 });
        (0..100).map(row).collect()
    };
    assert!(
        energy_growth(&rows(&|t| (20.0 * t).min(1.0))).is_none(),
        "parts that overlap push each other away"
    );
    assert!(energy_growth(&rows(&|t| 1.0 + 0.02 * (50.0 * t).sin())).is_none(), "steps err to and fro");
    let grows = energy_growth(&rows(&|t| (3.0 * t).exp())).unwrap();
    assert!(grows.start == 0.0 && grows.highest > 15.0 && grows.time > 0.2, "{grows:?}");
    assert!(energy_growth(&[]).is_none());
}

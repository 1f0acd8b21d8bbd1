//! Soft bodies on one thread and on several: the same bits, forward and backward.

use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::random::Random;
use pullback_core::rollout::{FinalState, Inputs};
use pullback_core::{Described, Rollout, Schedule};
use pullback_math::{Real, Vec3};
use pullback_physics::soft::mesh::{Diagonals, Split, beam, cloth_grid};
use pullback_physics::soft::{Cloth, Placement, SoftBody, Solid, SolidLaw, SpringMaterial};
use pullback_physics::world::World;

const STEPS: usize = 8;

/// Every kind of element, of the solids and cloth more than a few tasks' worth of particles and packs.
fn everything() -> SoftBody {
    let mut body = SoftBody::new();
    let block = beam(8, 5, 5, Vec3::new(0.8, 0.5, 0.5), Split::Five).unwrap();
    for (name, law) in [
        ("neo", SolidLaw::NeoHookean),
        ("saint", SolidLaw::StVenantKirchhoff),
        ("corotated", SolidLaw::Corotated),
    ] {
        let material = Solid { law, density: 1e3, mu: 1e4, lambda: 1e4, damping: 1.0 };
        let part = body.add_solid(name, &block, material, Placement::default()).unwrap();
        body.fix(part, |x| x.x < 0.01);
        body.actuate(part, |k| k % 7);
    }
    let mesh = cloth_grid(24, 20, 2.4, 2.0, Diagonals::Alternating).unwrap();
    let material = Cloth {
        density: 10.0,
        bending: 0.5,
        bending_damping: 0.01,
        lift: 1.0,
        drag: 1.0,
        ..Cloth::default()
    };
    let cloth = body.add_cloth("cloth", &mesh, material, Placement::at(0.0, 0.0, 2.0)).unwrap();
    let ends: Vec<[usize; 2]> = (0..500).map(|i| [i, i + 25]).collect();
    body.add_springs(cloth, &ends, SpringMaterial { stiffness: 50.0, damping: 0.1 }).unwrap();
    body
}

/// Final state, loss and all gradients of a rollout.
fn outcome<T: Real>(world: World) -> Vec<T> {
    let euler = Integrator::fixed(Method::SemiImplicitEuler);
    let system = Integrated::new(world, 1e-3, euler).unwrap();
    let rollout = Rollout::new(&system, STEPS, Schedule::StoreAll).unwrap();
    let mut at = Inputs::<T>::defaults(&system, STEPS);
    let mut random = Random::new(3);
    at.state.iter_mut().for_each(|x| *x += T::lit(0.005 * random.normal()));
    at.controls.iter_mut().for_each(|u| *u = T::lit(0.02 * random.normal()));
    let loss =
        FinalState { weights: (0..system.layout().state.len()).map(|i| (i as f64 * 0.7).sin()).collect() };
    let mut ws = rollout.workspace::<T>();
    let mut all = Vec::new();
    let keep = |moment: pullback_core::rollout::Sample<'_, T>| {
        if moment.last() {
            all.extend_from_slice(moment.state);
        }
    };
    rollout.simulate(&mut ws, &at, keep).unwrap();
    rollout.gradient(&mut ws, &at, &loss).unwrap();
    let g = &ws.gradient;
    all.push(g.loss);
    [&g.state, &g.control, &g.params].iter().for_each(|part| all.extend_from_slice(part));
    all
}

/// How many entries differ in their bits between one thread and `threads`; also how many there are.
fn differing<T: Real>(threads: usize, bits: impl Fn(T) -> u64) -> (usize, usize) {
    let world = World::empty(everything()).unwrap();
    let one = outcome::<T>(world.clone());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let many = pool.install(|| outcome::<T>(world.with_threads(true)));
    assert_eq!(one.len(), many.len());
    let moved = one.iter().filter(|x| bits(**x) << 1 != 0).count();
    assert!(moved > one.len() / 2, "only {moved} of {} entries are not zero", one.len());
    (one.iter().zip(&many).filter(|(a, b)| bits(**a) != bits(**b)).count(), one.len())
}

#[test]
fn threads_do_not_change_a_bit_of_states_and_gradients() {
    for threads in [2, 3] {
        let (off, n) = differing::<f64>(threads, f64::to_bits);
        assert_eq!(off, 0, "of {n} entries at f64 on {threads} threads");
        let (off, n) = differing::<f32>(threads, |x| u64::from(x.to_bits()));
        assert_eq!(off, 0, "of {n} entries at f32 on {threads} threads");
    }
}

//! Steps of constrained robots allocate nothing once they have met their contacts. A program of its own, since a
//! program has one global allocator, which only `unsafe` code can be.
#![allow(unsafe_code)]

#[allow(dead_code)]
#[path = "../all/moving.rs"]
mod moving;

use std::alloc::{GlobalAlloc, Layout, System as SystemAllocator};
use std::cell::Cell;
use std::path::Path;

use moving::Moving;
use pullback_articulated::{ContactModel, ModelIntegrator};
use pullback_core::rollout::FinalState;
use pullback_core::{Described, Inputs, Point, Rollout, Schedule, VectorField};
use pullback_math::{Real, f64x8};
use pullback_scene::mesh::MeshFiles;
use pullback_scene::mjcf::{ImportOptions, read_mjcf};

struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        unsafe { SystemAllocator.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { SystemAllocator.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        unsafe { SystemAllocator.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Allocations of this thread during `work`.
fn allocations(work: impl FnOnce()) -> usize {
    let before = COUNT.with(Cell::get);
    work();
    COUNT.with(Cell::get) - before
}

/// The ant, flat on the ground.
fn ant(contact: ContactModel) -> Moving {
    let options =
        ImportOptions { mesh_loader: Some(std::sync::Arc::new(MeshFiles)), ..ImportOptions::default() };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/ant.xml");
    let mut model = read_mjcf(&file, &options).expect("the ant");
    model.options.contact_model = contact;
    if contact == ContactModel::Complementarity {
        model.options.integrator = ModelIntegrator::Euler;
    }
    let mut ant = Moving::from_model(model);
    ant.state[2] = 0.07;
    ant
}

/// The ant and a pile of all shapes with limits and dry friction, under the complementarity model.
fn complementarity() -> [(&'static str, Moving); 2] {
    let mut text = "<mujoco><worldbody><geom type=\"plane\" size=\"0 0 1\"/>".to_owned();
    for i in 0..6 {
        let kind = ["sphere", "capsule", "box", "cylinder", "ellipsoid"][i % 5];
        let (x, z) = (0.03 * i as f64, 0.08 + 0.05 * i as f64);
        text += &format!(
            "<body pos=\"{x} 0 {z}\" euler=\"{} 0 0\"><freejoint/>\
             <geom type=\"{kind}\" size=\"0.1 0.08 0.06\"/></body>",
            20 * i
        );
    }
    text += "<body pos=\"0 1 1\"><joint name=\"j\" range=\"20 40\" frictionloss=\"0.1\"/><geom size=\"0.1\"/>\
             </body></worldbody></mujoco>";
    let mut model = moving::try_parse(&text).expect("the pile");
    model.options.contact_model = ContactModel::Complementarity;
    [
        ("impulses on the ant", ant(ContactModel::Complementarity)),
        ("impulses in a pile", Moving::from_model(model)),
    ]
}

/// The ant on the ground, and a pile of all shapes with equalities, limits and dry friction.
fn convex() -> [(&'static str, Moving); 3] {
    let pile = |cone: &str| {
        let mut text =
            format!("<mujoco><option cone=\"{cone}\"/><worldbody><geom type=\"plane\" size=\"0 0 1\"/>");
        for i in 0..10 {
            let kind = ["sphere", "capsule", "box", "cylinder", "ellipsoid"][i % 5];
            let (x, z) = (0.03 * i as f64, 0.08 + 0.05 * i as f64);
            text += &format!(
                "<body name=\"b{i}\" pos=\"{x} 0 {z}\" euler=\"{} 0 0\"><freejoint/>\
                 <geom type=\"{kind}\" size=\"0.1 0.08 0.06\" condim=\"{}\"/></body>",
                20 * i,
                [1, 3, 4, 6][i % 4]
            );
        }
        text += "<body pos=\"0 1 1\"><joint name=\"j\" range=\"20 40\" frictionloss=\"0.1\"/><geom size=\"0.1\"/>\
                 </body></worldbody><equality><connect body1=\"b0\" body2=\"b1\" anchor=\"0 0 0\"/>\
                 <weld body1=\"b2\" body2=\"b3\"/></equality></mujoco>";
        Moving::new(&text)
    };
    [
        ("ant", ant(ContactModel::Convex)),
        ("pyramidal pile", pile("pyramidal")),
        ("elliptic pile", pile("elliptic")),
    ]
}

/// Allocations of the second value and the second gradient of a rollout.
fn counts<T: Real>(moving: &Moving) -> [usize; 2] {
    let steps = 25;
    let layout = moving.system.layout();
    let wide = |x: &[f64]| x.iter().map(|x| T::lit(*x)).collect::<Vec<T>>();
    let control = wide(&moving.control);
    let inputs = Inputs {
        state: wide(&moving.state),
        controls: control.iter().copied().cycle().take(steps * control.len()).collect(),
        params: wide(&moving.params),
    };
    let loss = FinalState { weights: vec![1.0; layout.state.len()] };
    let rollout = Rollout::new(&moving.system, steps, Schedule::Every(6)).unwrap();
    let mut ws = rollout.workspace::<T>();
    rollout.gradient(&mut ws, &inputs, &loss).unwrap();
    let value = allocations(|| {
        rollout.value(&mut ws, &inputs, &loss).unwrap();
    });
    [value, allocations(|| rollout.gradient(&mut ws, &inputs, &loss).unwrap())]
}

#[test]
fn steps_and_gradients_of_constrained_robots_allocate_nothing_the_second_time() {
    for (name, moving) in &mut convex() {
        moving.evaluate();
        assert!(moving.contacts().len() > 3, "{name}: {}", moving.contacts().len());
    }
    for (name, moving) in &mut complementarity() {
        let at = Point { params: &moving.params, state: &moving.state, control: &moving.control };
        moving.system.field().accelerations(&mut moving.ws, at);
        let rows = VectorField::<f64>::solver_info(moving.system.field(), &moving.ws).active;
        assert!(rows > 9, "{name}: {rows}");
    }
    for (name, moving) in convex().into_iter().chain(complementarity()) {
        assert_eq!(counts::<f64>(&moving), [0, 0], "{name}");
        assert_eq!(counts::<f64x8>(&moving), [0, 0], "{name} on lanes");
    }
}

#[test]
fn a_step_allocates_nothing_after_the_first() {
    for (name, mut moving) in convex().into_iter().chain(complementarity()) {
        moving.step();
        let first = allocations(|| moving.step());
        let more = allocations(|| (0..20).for_each(|_| moving.step()));
        println!("{name}: {first} then {more}");
        assert_eq!((first, more), (0, 0), "{name}");
    }
}

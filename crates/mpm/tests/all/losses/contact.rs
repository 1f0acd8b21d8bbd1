//! The distance of tools from particles: its exact pullback in coordinates, places and sizes, and its value.

use pullback_articulated::Shape;
use pullback_core::Described;
use pullback_core::random::Random;
use pullback_math::{Quat, Scalar, Vec3};
use pullback_mpm::Mpm;
use pullback_mpm::losses::contact::{
    ContactInputBars, ContactInputs, ContactScratch, contact_distance, contact_distance_vjp,
};
use pullback_mpm::losses::{ContactDistance, Tools};

use super::common::{Function, arm, assert_judged, check, flat, scene};

/// The contact distance as a function of coordinates, positions and all parameters.
struct Contacts {
    mpm: Mpm,
    tools: Tools,
}

impl Function for Contacts {
    fn inputs(&self) -> Vec<(&'static str, usize)> {
        let layout = self.mpm.layout();
        vec![("q", 3), ("x", 3 * self.mpm.particles().len()), ("params", layout.params.len())]
    }
    fn eval<T: Scalar>(&self, x: &[T], y: &mut [T]) {
        let (q, rest) = x.split_at(3);
        let (x, params) = rest.split_at(3 * self.mpm.particles().len());
        let mut scratch = ContactScratch::new(&self.mpm);
        let inputs = ContactInputs { params, q, x: x.as_chunks().0 };
        y[0] = contact_distance(&self.mpm, &self.tools, &mut scratch, inputs);
    }
    fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) {
        let (q, rest) = x.split_at(3);
        let (x, params) = rest.split_at(3 * self.mpm.particles().len());
        let (q_bar, rest) = x_bar.split_at_mut(3);
        let (x_bar, params_bar) = rest.split_at_mut(x.len());
        let (mut scratch, x_bar) = (ContactScratch::new(&self.mpm), x_bar.as_chunks_mut().0);
        let inputs = ContactInputs { params, q, x: x.as_chunks().0 };
        let bars = ContactInputBars { params: params_bar, q: q_bar, x: x_bar };
        contact_distance_vjp(&self.mpm, &self.tools, &mut scratch, inputs, y_bar[0], bars);
    }
}

impl Contacts {
    fn inputs_at(&self, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        let layout = self.mpm.layout();
        let q = (0..3).map(|_| 0.1 * random.normal()).collect::<Vec<_>>();
        [q, flat(&self.mpm.particles().positions), layout.params.defaults()].concat()
    }
}

#[test]
fn contact_distance_has_the_exact_pullback_in_coordinates_places_and_sizes() {
    let sphere = Shape::Sphere { radius: 0.04 };
    let capsule = Shape::Capsule { radius: 0.03, half_length: 0.05 };
    let cylinder = Shape::Cylinder { radius: 0.03, half_length: 0.05 };
    let cuboid = Shape::Box { half: Vec3::new(0.03, 0.05, 0.02) };
    for (i, shapes) in [[sphere, capsule, cuboid], [cuboid, sphere, cylinder], [capsule, cylinder, sphere]]
        .into_iter()
        .enumerate()
    {
        for kind in [ContactDistance::Hard, ContactDistance::Soft] {
            let mpm = scene(arm(shapes));
            let tools = Tools::movable(&mpm, kind);
            assert_eq!(tools.groups(), [vec![0], vec![1, 2]]);
            let contacts = Contacts { mpm, tools };
            let report = check(&contacts, &contacts.inputs_at(i as u64));
            assert_judged(&report, 0.95);
            // Coordinates, places and sizes all count.
            let largest = |stem: &str| {
                let of = report.entries.iter().filter(|e| e.name.starts_with(stem));
                of.fold(0.0, |m: f64, e| m.max(e.adjoint.abs()))
            };
            assert!(["q", "x", "params"].iter().all(|s| largest(s) > 1e-3), "{report}");
        }
    }
}

#[test]
fn contact_distance_is_that_of_the_closest_particle() {
    let sphere = Shape::Sphere { radius: 0.04 };
    let mpm = scene(arm([sphere; 3]));
    let params = mpm.layout().params.defaults();
    let x: Vec<[f64; 3]> = mpm.particles().positions.iter().map(|x| [x.x, x.y, x.z]).collect();
    let value = |tools: &Tools, x: &[[f64; 3]]| {
        contact_distance(
            &mpm,
            tools,
            &mut ContactScratch::new(&mpm),
            ContactInputs { params: &params, q: &[0.0; 3], x },
        )
    };
    // The upper body's sphere is at its frame's (0, 0.02, 0.01).
    let turn = Quat::from_axis_angle(Vec3::new(0.0, 0.6, 0.8), 0.3);
    let center = Vec3::new(0.5, 0.45, 0.7) + turn.rotate(Vec3::new(0.0, 0.02, 0.01));
    let gaps = |x: &[[f64; 3]]| {
        let gap = |[a, b, c]: &[f64; 3]| ((Vec3::new(*a, *b, *c) - center).norm() - 0.04).max(0.0);
        x.iter().map(gap).collect::<Vec<f64>>()
    };
    let hard = Tools::named(&mpm, &[&["geom0"]], ContactDistance::Hard).unwrap();
    let closest = gaps(&x).into_iter().fold(f64::INFINITY, f64::min);
    assert!((value(&hard, &x) - closest * closest).abs() < 1e-14);
    let soft = Tools::named(&mpm, &[&["geom0"]], ContactDistance::Soft).unwrap();
    let weighted = gaps(&x).into_iter().map(|d| (d / (1.0 + 1e4 * d * d), 1.0 / (1.0 + 1e4 * d * d)));
    let (sum, weight) = weighted.fold((0.0, 0.0), |(a, b), (c, d)| (a + c, b + d));
    assert!((value(&soft, &x) - (sum / weight).powi(2)).abs() < 1e-14);
    // A particle inside: touched.
    let mut inside = x.clone();
    inside[5] = [center.x, center.y + 0.01, center.z];
    assert_eq!(value(&hard, &inside), 0.0);
    assert!(Tools::named(&mpm, &[&["nothing"]], ContactDistance::Hard).is_err());
    assert!(Tools::new(&mpm, vec![vec![99]], ContactDistance::Hard).is_err());
    assert!(Tools::new(&mpm, vec![vec![]], ContactDistance::Hard).is_err());
    let mut model = arm([sphere; 3]);
    model.options.contact = false;
    let none = scene(model);
    assert!(Tools::new(&none, vec![vec![0]], ContactDistance::Hard).is_err());
    assert!(Tools::movable(&none, ContactDistance::Hard).groups().is_empty());
}

//! The largest stable step is where motions begin to grow without bound, and natural growth is not taken for it.

use pullback_core::doc_example::oscillator;
use pullback_core::integrator::{Integrated, Integrator, Method};
use pullback_core::stability::{growth, largest_stable_step};
use pullback_core::{Described, Point};

#[test]
fn each_method_has_the_limit_of_the_books() {
    // ω = 10: semi-implicit Euler up to 2/ω, Rk4 up to √8/ω.
    let at = Point { params: &[100.0], state: &[1.0, 0.0], control: &[] };
    for (method, limit) in [(Method::SemiImplicitEuler, 0.2), (Method::Rk4, 0.1 * 8f64.sqrt())] {
        let system =
            |step: f64| Integrated::new(oscillator(step).field().clone(), step, Integrator::fixed(method));
        for around in [1e-4, 0.1, 3.0] {
            let found = largest_stable_step(system, at, around).unwrap();
            assert!((found.seconds / limit - 1.0).abs() < 0.04, "{method:?} from {around}: {found:?}");
            let name = oscillator(0.1).layout().state.entry_name(found.entry);
            assert_eq!(name, "velocity", "the mode moves fast");
        }
    }
}

#[test]
fn what_grows_by_nature_is_resolved_by_the_step() {
    // A spring that pushes away: e-fold in 0.1 s.
    let at = Point { params: &[-100.0], state: &[1.0, 0.0], control: &[] };
    let slow = growth(&oscillator(1e-3), at).unwrap();
    assert!(!slow.unstable() && slow.turn > 0.99, "{slow:?}");
    for step in [1e-2, 0.03] {
        let found = growth(&oscillator(step), at).unwrap();
        assert!((found.per_step / (10.0 * step) - 1.0).abs() < 0.1, "{step}: {found:?}");
        assert!(!found.unstable() && found.turn > 0.99, "{step}: {found:?}");
    }
    assert!(growth(&oscillator(0.3), at).unwrap().unstable(), "it triples within a step");
}

//! What every method of search must keep: its budget, its seed, its log; and what it must reach.

use pullback_optim::least_squares::build_fit_method;
use pullback_optim::methods::{METHODS, build};
use pullback_optim::test_functions::Shape;
use pullback_optim::{Run, RunLog, RunName, TestFunction, optimize};
use serde_json::{Value, json};

/// All losses of a run.
fn losses(name: &str, options: &Value, function: &TestFunction, budget: usize, seed: u64) -> Vec<f64> {
    let mut run = Run::new(function, budget, RunLog::none()).unwrap();
    optimize(build(name, options).unwrap().as_ref(), &mut run, seed).unwrap();
    run.losses().to_vec()
}

fn best(losses: &[f64]) -> f64 {
    losses.iter().copied().fold(f64::INFINITY, f64::min)
}

/// The median over five seeds of the lowest loss.
fn median(name: &str, options: &Value, shape: Shape, dim: usize, budget: usize) -> f64 {
    let function = TestFunction::new(shape, dim);
    let mut ends: Vec<f64> =
        (0..5).map(|seed| best(&losses(name, options, &function, budget, seed))).collect();
    ends.sort_by(f64::total_cmp);
    ends[2]
}

fn names() -> impl Iterator<Item = &'static str> {
    METHODS.names()
}

#[test]
fn no_method_exceeds_its_budget_or_leaves_the_box() {
    for name in names() {
        for budget in [1, 2, 7, 33] {
            let function = TestFunction::new(Shape::Ackley, 3);
            let mut run = Run::new(&function, budget, RunLog::none()).unwrap();
            optimize(build(name, &Value::Null).unwrap().as_ref(), &mut run, 1).unwrap();
            assert!(run.losses().len() <= budget && !run.losses().is_empty(), "{name}");
            let (low, high) = Shape::Ackley.bounds();
            assert!(run.best().unwrap().x.iter().all(|x| (low..=high).contains(x)), "{name}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bits() {
    let function = TestFunction::new(Shape::Rastrigin, 4);
    for name in names() {
        let bits = |seed| losses(name, &Value::Null, &function, 60, seed);
        assert_eq!(bits(5), bits(5), "{name}");
        // Descents from the objective's own start have nothing random in them.
        if !["descent", "adam", "sgd", "lbfgs"].contains(&name) {
            assert_ne!(bits(5), bits(6), "{name}");
        } else {
            let anywhere = json!({"start": "anywhere"});
            let apart = |seed| losses(name, &anywhere, &function, 60, seed);
            assert_ne!(apart(5), apart(6), "{name}");
        }
    }
}

#[test]
fn a_search_cut_anywhere_ends_as_if_uncut() {
    let folder = std::env::temp_dir().join(format!("pullback-methods-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let function = TestFunction::new(Shape::Griewank, 3);
    let with_gradients = json!({"model": {"gradients": 8}});
    let cases = names().map(|name| (name, name, &Value::Null));
    for (label, name, options) in cases.chain([("bo and gradients", "bo", &with_gradients)]) {
        let method = build(name, options).unwrap();
        let path = folder.join(format!("{label}.jsonl"));
        let log = RunName::new("griewank", method.settings(), 9);
        let search = || {
            let mut run = Run::new(&function, 50, RunLog::open(&path, &log).unwrap()).unwrap();
            optimize(method.as_ref(), &mut run, 9).unwrap();
            (run.losses().to_vec(), run.best().cloned())
        };
        let whole = search();
        let bytes = std::fs::read(&path).unwrap();
        for part in [1, 3, 5, 7] {
            std::fs::write(&path, &bytes[..bytes.len() * part / 8]).unwrap();
            assert_eq!(search(), whole, "{label}, cut after {part}/8");
            assert_eq!(std::fs::read(&path).unwrap(), bytes, "{label}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn wrong_names_and_settings_are_errors_that_say_so() {
    let said = |name: &str, options: Value| build(name, &options).err().unwrap().to_string();
    assert!(said("cmaes", Value::Null).contains("cma-es"));
    assert!(said("adam", json!({"speed": 1.0})).contains("rate"));
    assert!(said("cma-es", json!({"sigma": -1.0})).contains("sigma"));
}

/// Each of these ran for ever, ended in a panic, or was taken for something else.
#[test]
fn settings_out_of_their_ranges_are_refused_by_name() {
    let refused = [
        ("random", json!({"batch": 0}), "`batch` is 0; it must be from 1 to 1000000"),
        ("random", json!({"batch": 1e9 as u64}), "`batch` is 1000000000"),
        ("random", json!({"batch": "many"}), "`batch`: invalid type"),
        ("random", json!([]), "settings are an object such as {\"steps\": 20}, not []"),
        ("adam", json!([0.1]), "not [0.1]"),
        ("adam", json!({"beta1": 1.0}), "`beta1` is 1; it must be at least 0 and below 1"),
        ("adam", json!({"rate": 0.0}), "`rate` is 0; it must be above 0"),
        ("sgd", json!({"momentum": 1.5}), "`momentum` is 1.5"),
        ("lbfgs", json!({"gradient_tolerance": 2.0}), "`gradient_tolerance` is 2"),
        ("lbfgs", json!({"trials": 0}), "`trials` is 0"),
        ("descent", json!({"descent": {"tolerance": 2.0}}), "`tolerance` is 2"),
        ("rand-descents", json!({"descent": {"max_steps": 0}}), "`max_steps` is 0"),
        ("rand-descents", json!({"descent": [1]}), "`descent` is a list; it must be an object"),
        (
            "cma-es",
            json!({"step_tolerance": 2.0}),
            "`step_tolerance` is 2; it must be at least 0 and below 1",
        ),
        ("cma-es", json!({"population": 1}), "`population` is 1; it must be from 2"),
        ("cma-es", json!({"population": -3}), "`population` is -3"),
        ("cma-es", json!({"restart_growth": 1e6 as u64}), "`restart_growth` is 1000000"),
        ("sep-cma-es", json!({"sigma": 0.0}), "`sigma` is 0"),
        ("bo", json!({"model": {"fit": {"noise_floor": 11.0}}}), "`noise_floor` is 11; it must be above 0"),
        ("bo", json!({"model": {"exact_limit": 1e6 as u64}}), "`exact_limit` is 1000000"),
        ("bo-descents", json!({"model": {"refit_growth": 0.5}}), "`refit_growth` is 0.5"),
        ("bo-leap", json!({"local_steps": 0}), "`local_steps` is 0"),
        ("bo-leap", json!({"tries": 0}), "`tries` is 0"),
    ];
    for (name, options, words) in refused {
        let message = build(name, &options).err().unwrap_or_else(|| panic!("{name} {options}")).to_string();
        assert!(message.starts_with(name) && message.contains(words), "{options}: {message}");
    }
    for (options, words) in [
        (json!({"damping": 0.0}), "`damping` is 0"),
        (json!({"cost_tolerance": 2.0}), "`cost_tolerance` is 2"),
        (json!({"steps": 0}), "`steps` is 0"),
        (json!([3]), "not [3]"),
    ] {
        let message = build_fit_method("gauss-newton", &options).err().unwrap().to_string();
        assert!(message.starts_with("gauss-newton") && message.contains(words), "{options}: {message}");
    }
}

#[test]
fn sizes_that_need_too_much_memory_are_refused_with_their_bytes() {
    let function = TestFunction::new(Shape::Griewank, 40_000);
    for (name, options, words) in [
        ("random", json!({"batch": 200_000}), "`batch` needs 64000000000 bytes"),
        ("cma-es", Value::Null, "(sep-cma-es needs less): `the covariance` needs 51200000000 bytes"),
        ("sep-cma-es", json!({"population": 1_000_000}), "`population` needs 320000000000 bytes"),
        ("bo", json!({"model": {"candidates": 1_000_000}}), "`candidates` needs 320000000000 bytes"),
    ] {
        let mut run = Run::new(&function, 5, RunLog::none()).unwrap();
        let method = build(name, &options).unwrap();
        let message = optimize(method.as_ref(), &mut run, 0).unwrap_err().to_string();
        assert!(message.contains(words), "{name}: {message}");
    }
}

/// Lowest losses that each method must reach, as medians over five seeds.
#[test]
fn methods_reach_what_they_are_known_to_reach() {
    let anywhere = json!({"start": "anywhere"});
    let with_gradients = json!({"model": {"gradients": 20}});
    let newton = json!({"descent": {"rule": "quasi_newton"}});
    let cases = [
        ("random", &Value::Null, Shape::Rastrigin, 2, 2000, 3.0),
        ("descent", &anywhere, Shape::Griewank, 10, 1000, 0.5),
        ("adam", &anywhere, Shape::Griewank, 10, 1000, 0.5),
        ("lbfgs", &anywhere, Shape::Rosenbrock, 10, 500, 1e-12),
        ("rand-descents", &Value::Null, Shape::Rastrigin, 2, 500, 1.1),
        ("rand-descents", &Value::Null, Shape::Levy, 5, 1000, 1.0),
        ("rand-descents", &newton, Shape::Rosenbrock, 10, 500, 1e-6),
        ("cma-es", &Value::Null, Shape::Rastrigin, 5, 16_000, 1.1),
        ("cma-es", &Value::Null, Shape::Ackley, 10, 3000, 1e-5),
        ("cma-es", &Value::Null, Shape::Griewank, 10, 3000, 1.5e-2),
        ("cma-es", &Value::Null, Shape::Levy, 10, 3000, 1e-5),
        ("cma-es", &Value::Null, Shape::Rosenbrock, 10, 12_000, 1e-10),
        ("bo", &Value::Null, Shape::Levy, 2, 50, 0.3),
        ("bo", &with_gradients, Shape::Ackley, 5, 60, 2.2),
        ("bo", &with_gradients, Shape::Rosenbrock, 5, 60, 300.0),
        ("bo-descents", &Value::Null, Shape::Levy, 2, 100, 0.3),
        ("bo-leap", &Value::Null, Shape::Levy, 2, 200, 1e-3),
        ("bo-leap", &Value::Null, Shape::Griewank, 10, 500, 0.5),
    ];
    let mut failed = Vec::new();
    for (name, options, shape, dim, budget, limit) in cases {
        let reached = median(name, options, shape, dim, budget);
        println!("{name} on {shape:?}, {dim} variables, {budget} episodes: {reached:e}");
        if reached > limit {
            failed.push(format!("{name} on {shape:?}: {reached:e} instead of at most {limit:e}"));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn hundreds_of_variables_are_no_obstacle() {
    let function = TestFunction::new(Shape::Levy, 400);
    let ends = |name| {
        let all = losses(name, &Value::Null, &function, 600, 3);
        (all[0], best(&all))
    };
    let (_, random) = ends("random");
    let (first, cma) = ends("cma-es");
    assert!(cma < 0.9 * random && cma < first, "{first} {cma}, random {random}");
    let (first, lbfgs) = ends("lbfgs");
    assert!(lbfgs < 0.2 * first, "{first} {lbfgs}");
}

//! Losses described in files: gradients are exact, both formats are equal, and what does not fit is refused by
//! name.

use std::path::Path;

use pullback_core::directions::{Direction, gradcheck_along};
use pullback_core::gradcheck::{Options, gradcheck};
use pullback_core::random::Random;
use pullback_optim::{BfgsConfig, Objective, bfgs};
use pullback_tasks::goal::{Goal, InputVector, LossFile, Quantity, Term, Vary, template};
use pullback_tasks::motion::Shown;
use pullback_tasks::scenes::{self, SceneOptions};

fn models(file: &str) -> String {
    format!("{}/../../models/{file}", env!("CARGO_MANIFEST_DIR"))
}

fn goal(scene: &str, loss: &str) -> Goal {
    let scene = if scene.ends_with(".xml") { models(scene) } else { scene.to_owned() };
    Goal::read(&scene, models(&format!("losses/{loss}")).as_ref(), SceneOptions::default()).unwrap()
}

/// The start, moved by a tenth of the bounds.
fn moved(goal: &Goal, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    let some = |(x, (low, high)): (f64, (f64, f64))| {
        (x + 0.1 * (high - low) * random.uniform(-0.5, 0.5)).clamp(low, high)
    };
    goal.start().into_iter().zip(goal.bounds()).map(some).collect()
}

#[test]
fn gradients_of_the_examples_are_exact() {
    let options = Options { difference_tolerance: 1e-4, probes: 1, ..Options::default() };
    for (scene, loss) in
        [("arm9.xml", "reach.toml"), ("ant.xml", "stand.toml"), ("pendulum", "pendulum.toml")]
    {
        let goal = goal(scene, loss);
        let x = moved(&goal, 1);
        let report = gradcheck(goal.objective(), &x, &options);
        assert!(report.passed(), "{loss}: {report}");
    }
    for (scene, loss) in [("cartpole.xml", "swing-up.json"), ("robot-cloth", "lift.toml")] {
        let goal = goal(scene, loss);
        let x = moved(&goal, 2);
        let mut random = Random::new(3);
        let entries = x.iter().map(|_| random.normal()).collect();
        let directions = [Direction { name: "along".to_owned(), entries }];
        let report = gradcheck_along(goal.objective(), &x, &directions, &options);
        assert!(report.passed(), "{loss}: {report}");
    }
}

#[test]
fn parameters_count_in_what_is_measured() {
    // A foot below a longer shin is elsewhere though nothing has moved: the loss of the start depends on the
    // place of a body directly.
    let text = r#"
        seconds = 0.002
        dt = 0.001
        term = [
            { site = "grip", target = [0.3, 0.1, 0.5], running = 3.0, final = 1.0 },
            { center_of_mass = "world", target = [0.1, 0.0, 0.6], norm = "smooth", within = 0.1 },
        ]
        vary = [
            { params = "link_5.mass, link_4.com, link_2.inertia", bounds = [-10.0, 10.0] },
            { params = "*.body_position", bounds = [-2.0, 2.0] },
        ]"#;
    let options = SceneOptions::default();
    let scene =
        |file: &LossFile| scenes::build(&models("arm9.xml"), file.scene_options(options.clone())).unwrap();
    let mut file = LossFile::from_toml("direct.toml", text).unwrap();
    let names = scene(&file).layout().params.slices().iter().map(|s| s.name.clone()).collect::<Vec<_>>();
    // Names of kinematic parameters as the layout has them.
    let places: Vec<&String> = names.iter().filter(|n| n.contains("link_7") && n.contains("pos")).collect();
    assert!(!places.is_empty(), "{names:?}");
    file.vary[1].pattern = places[0].clone();
    let goal = Goal::new(scene(&file), &file).unwrap();
    let settings = Options { difference_tolerance: 1e-4, probes: 1, ..Options::default() };
    let report = gradcheck(goal.objective(), &goal.start(), &settings);
    assert!(report.passed(), "{report}");
    let mut gradient = goal.start();
    goal.value_grad(&goal.start(), &mut gradient).unwrap();
    let mass = goal.names().iter().position(|name| name == "params.link_5.mass").unwrap();
    assert!(gradient[mass].abs() > 1e-4, "the center of mass moves with a mass: {}", gradient[mass]);
}

#[test]
fn toml_and_json_say_the_same() {
    let toml = std::fs::read_to_string(models("losses/reach.toml")).unwrap();
    let value: serde_json::Value = toml::from_str(&toml).unwrap();
    let from_toml = LossFile::from_toml("a loss", &toml).unwrap();
    assert_eq!(from_toml, LossFile::from_json("a loss", &value.to_string()).unwrap());
    assert_eq!(from_toml.terms[0].quantity, Quantity::Site("grip".into()));
}

#[test]
fn a_goal_made_in_rust_is_that_of_a_file() {
    let file = LossFile {
        name: "ours".into(),
        seconds: Some(0.2),
        keyframe: Some("home".into()),
        terms: vec![Term { target: vec![0.4, 0.0, 0.6], ..Term::new(Quantity::Site("grip".into())) }],
        vary: vec![Vary { knots: Some(2), ..Vary::new(InputVector::Control, "joint_1, joint_2") }],
        ..LossFile::default()
    };
    let text = "seconds = 0.2\nkeyframe = \"home\"\n[[term]]\nsite = \"grip\"\ntarget = [0.4, 0.0, 0.6]\n\
                [[vary]]\ncontrol = \"joint_1, joint_2\"\nknots = 2\n";
    assert_eq!(file, LossFile::from_toml("ours", text).unwrap());
    let scene = scenes::build(&models("arm9.xml"), file.scene_options(SceneOptions::default())).unwrap();
    let goal = Goal::new(scene, &file).unwrap();
    let knots = [
        "control.joint_1[knot 0]",
        "control.joint_1[knot 1]",
        "control.joint_2[knot 0]",
        "control.joint_2[knot 1]",
    ];
    assert_eq!(goal.names(), knots);
    assert_eq!(goal.bounds()[0], (-87.0, 87.0), "bounds are those of the layout");
}

#[test]
fn an_optimum_moves_as_it_was_evaluated() {
    let goal = goal("arm9.xml", "reach.toml");
    let way = bfgs(&goal, &goal.start(), &BfgsConfig { max_steps: 12, ..BfgsConfig::default() }).unwrap();
    let (first, best) = (way.path[0].value, way.best());
    assert!(best.value < first, "{first} to {}", best.value);
    // The motion of single steps ends where the objective's own states end, to the last bit.
    let motion = goal.motion(&best.x).unwrap().unwrap();
    let states = goal.objective().states(&best.x).unwrap();
    let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&motion.rows.last().unwrap().1), bits(states.last().unwrap()));
    assert_eq!(motion.inputs.controls.len(), (motion.rows.len() - 1) * motion.layout.control.len());
    assert!(motion.replay.is_some_and(|page| page.frames.len() > 10));
}

#[test]
fn cubics_stay_between_the_bounds() {
    let goal = goal("arm9.xml", "reach.toml");
    // Knots that jump from one end to the other overshoot between.
    let ends = goal.bounds();
    let x: Vec<f64> =
        ends.iter().enumerate().map(|(i, (low, high))| if i % 2 == 0 { *low } else { *high }).collect();
    let motion = goal.motion(&x).unwrap().unwrap();
    for row in motion.inputs.controls.chunks(motion.layout.control.len()) {
        motion.layout.control.check("a cubic", row).unwrap();
    }
    let inside: Vec<f64> = x.iter().map(|x| 0.98 * x).collect();
    let options = Options { difference_tolerance: 1e-3, probes: 1, ..Options::default() };
    let along = Direction { name: "inward".into(), entries: inside.iter().map(|x| -x).collect() };
    let report = gradcheck_along(goal.objective(), &inside, &[along], &options);
    assert!(report.passed(), "{report}");
}

#[test]
fn templates_hold_as_they_stand() {
    for name in ["arm9.xml", "ant.xml", "cartpole.xml", "muscle_arm.xml"] {
        holds(&models(name));
    }
    for name in ["pendulum", "robot-cloth", "elastic-ball", "plb-torus", "smoke-plume-2d"] {
        holds(name);
    }
}

fn holds(name: &str) {
    let scene = scenes::build(name, SceneOptions::default()).unwrap();
    let text = template(scene.as_ref(), name);
    let file = LossFile::from_toml("template.toml", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let goal = Goal::new(scene, &file).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
    assert!(!goal.names().is_empty(), "{name}");
    // What is a comment holds too, but for the one alternative that needs a name.
    let all = text.replace("# axes", "axes").replace("# norm", "norm").replace("# final", "final");
    LossFile::from_toml("template.toml", &all).unwrap_or_else(|e| panic!("{e}\n{all}"));
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let term = "[[term]]\nsite = \"grip\"\n";
    let vary = "[[vary]]\ncontrol = \"joint_1\"\n";
    let message = |text: &str| {
        let built = LossFile::from_toml("l.toml", text).and_then(|file| {
            Goal::new(scenes::build(&models("arm9.xml"), file.scene_options(SceneOptions::default()))?, &file)
        });
        built.err().unwrap_or_else(|| panic!("accepted:\n{text}")).to_string()
    };
    for (text, says) in [
        (format!("secnds = 1\n{term}{vary}"), "nothing is called `secnds` (did you mean `seconds`?)"),
        (format!("{term}tarjet = 1\n{vary}"), "term 1: nothing is called `tarjet` (did you mean `target`?)"),
        (format!("{term}{vary}knot = 1\n"), "vary 1: nothing is called `knot` (did you mean `knots`?)"),
        (format!("seconds = -1\n{term}{vary}"), "`seconds` is -1; a number above 0"),
        (format!("seconds = nan\n{term}{vary}"), "`seconds`"),
        (format!("seconds = 0.0031\n{term}{vary}"), "a motion of 0.0031 s must be a whole number of 0.002 s"),
        (format!("control_step = 0.003\n{term}{vary}"), "a control step of 0.003 s"),
        (vary.to_owned(), "at least one [[term]]"),
        (term.to_owned(), "at least one [[vary]]"),
        (format!("[[term]]\ntarget = 0\n{vary}"), "term 1: exactly one of body, site"),
        (format!("{term}state = \"*\"\n{vary}"), "term 1: exactly one of"),
        (format!("[[term]]\nsite = \"grap\"\n{vary}"), "no site is called `grap` (did you mean `grip`?)"),
        (format!("[[term]]\nbody = \"link_9\"\n{vary}"), "no body is called `link_9`"),
        (format!("[[term]]\nsensor = \"s\"\n{vary}"), "no sensor is called `s`; there is none"),
        (
            format!("[[term]]\nstate = \"joint_1.w\"\n{vary}"),
            "no state is called `joint_1.w` (did you mean `joint_1.",
        ),
        (format!("[[term]]\nparticles = \"cloth\"\n{vary}"), "no part of particles is called `cloth`"),
        (format!("{term}target = [1, 2]\n{vary}"), "2 target values for 3 entries"),
        (format!("{term}relative_to = \"gripp\"\n{vary}"), "no site, body or geom is called `gripp`"),
        (format!("{term}norm = \"sqare\"\n{vary}"), "`norm` is `sqare` (did you mean `square`?)"),
        (format!("{term}within = 0.1\n{vary}"), "`within` belongs to norm"),
        (format!("{term}final = 0\n{vary}"), "it has no weight"),
        (format!("{term}running = -1\n{vary}"), "a number that is not negative"),
        (format!("[[term]]\ncontrol = \"*\"\nfinal = 1\n{vary}"), "no control acts at the end"),
        (format!("[[term]]\nstate = \"joint_1.q\"\naxes = [1, 0, 0]\n{vary}"), "`axes` is for places"),
        (
            format!("{term}[[vary]]\ncontrol = \"joint_8\"\n"),
            "no control is called `joint_8` (did you mean `joint_",
        ),
        (format!("{term}[[vary]]\nparams = \"*.mass\"\nknots = 2\n"), "`knots` is for controls"),
        (format!("{term}{vary}knots = 0\n"), "`knots` is 0"),
        (format!("seconds = 0.01\n{term}{vary}knots = 9\n"), "9 knots for 5 control steps"),
        (format!("{term}{vary}bounds = [1, -1]\n"), "leave nothing between"),
        (format!("{term}{vary}start = 100\n"), "its start 100 is outside its bounds -87 and 87"),
        (format!("{term}{vary}transform = \"log\"\n"), "log needs one above 0"),
        (format!("{term}{vary}tied = true\nfactor = true\n"), "choose"),
        (format!("{term}{vary}{vary}"), "`control.joint_1` is set by two of [[vary]]"),
        (format!("keyframe = \"hone\"\n{term}{vary}"), "no keyframe is called `hone`"),
        (format!("integrator = \"rk5\"\n{term}{vary}"), "did you mean `rk4`?"),
        (
            format!("set = {{ \"params.gravty\" = 1 }}\n{term}{vary}"),
            "no params is called `gravty` (did you mean `gravity`?)",
        ),
        (format!("set = {{ \"joint_1.q\" = 1 }}\n{term}{vary}"), "is not one of state, control, params"),
        ("term = 3\n".to_owned(), "a list of tables is expected"),
        ("seconds = \n".to_owned(), "l.toml:1:"),
    ] {
        let message = message(&text);
        assert!(message.contains(says) && message.starts_with("l.toml"), "{says}\n{message}");
        assert!(!message.contains('\n'), "{message}");
    }
    let error = LossFile::read(Path::new("no/such.toml")).unwrap_err().to_string();
    assert!(error.contains("cannot read no/such.toml"), "{error}");
    let error = LossFile::from_json("l.json", "{").unwrap_err().to_string();
    assert!(error.starts_with("l.json: "), "{error}");
}

//! A loss file to begin with, with the names of a scene.

use std::fmt::Write;

use pullback_core::Described;
use pullback_math::Vec3;
use pullback_physics::articulated::Chain;

use crate::scene::Scene;

/// Names of a kind that are listed in a comment.
const LISTED: usize = 12;

/// A commented loss file of a scene as TOML: it can be read as it stands. `name` is what `pullback list` takes.
pub fn template(scene: &dyn Scene, name: &str) -> String {
    let layout = scene.layout();
    let steps = (scene.horizon().min(1.0) / scene.dt()).round().max(1.0);
    let mut text = format!(
        "# A loss for {name}: pullback optimize {name} --loss FILE.toml\n\
         # Everything after # is a comment; `pullback list {name}` has all names. The same names in JSON mean the same.\n\n\
         seconds = {}                 # simulated\n\
         # dt = {}                    # seconds per step\n\
         # control_step = 0.02          # seconds that a control is held, and between samples of running terms\n\
         # integrator = \"semi-implicit-euler\"   # or rk4, tsit5, dopri5\n",
        steps * scene.dt(),
        scene.dt()
    );
    if scene.robot().is_some_and(|part| part.is_whole()) {
        text += "# contact = \"convex\"           # or penalty, complementarity\n\
                 # from_distance = 0.05         # m, from which contacts act on the way back\n";
    }
    if let [first, ..] = scene.keyframes() {
        let _ = writeln!(text, "# keyframe = \"{}\"              # to start from", first.name);
    }
    text += "# set = { \"params.*.friction\" = 0.5 }   # values in place of the scene's own\n\n\
             # What should be: any number of terms; the loss is their sum.\n";
    terms(&mut text, scene);
    text += "\n# What may change: any number of lists of variables.\n";
    let vary = if !layout.control.is_empty() {
        "control = \"*\"                  # patterns of names, separated by commas\n\
         knots = 5                      # of the whole motion; without it every control step has its own\n\
         # interpolation = \"linear\"     # zero, linear or cubic\n"
    } else if !layout.params.is_empty() {
        "params = \"*\"                   # patterns of names, separated by commas\n"
    } else {
        "state = \"*\"                    # patterns of names, separated by commas\n"
    };
    let _ = write!(
        text,
        "[[vary]]\n{vary}\
         # bounds = [-1.0, 1.0]         # those of `pullback list` unless given; searches need them\n\
         # start = 0.0                  # one for all, or a list\n\
         # tied = true                  # one value for all; `factor = true` multiplies all by one factor\n\
         # transform = \"log\"            # identity, log, softplus or box\n\n\
         # [[vary]]\n# params = \"*.mass\"\n# factor = true\n# bounds = [0.5, 2.0]\n# transform = \"log\"\n"
    );
    comment(&mut text, "states", &names(layout.state.slices().iter().map(|s| s.name.clone())));
    comment(&mut text, "controls", &names(layout.control.slices().iter().map(|s| s.name.clone())));
    text
}

/// The terms: one that holds, the others as comments.
fn terms(text: &mut String, scene: &dyn Scene) {
    let layout = scene.layout();
    let mut named = false;
    if let Some(part) = scene.robot() {
        let (robot, model) = (&part.robot, part.robot.model());
        let sites = model.sites.iter().map(|s| ("site", s.name.clone(), s.body, s.position));
        let bodies = model.bodies.iter().enumerate().skip(1).rev();
        let bodies = bodies.map(|(b, body)| ("body", body.name.clone(), b, Vec3::zero()));
        let state = robot.layout().state.defaults();
        let place = |(kind, name, body, point): (&'static str, String, usize, Vec3<f64>)| {
            let at = Chain::new(robot, body, point).ok()?.position(&state);
            (!name.is_empty() && !name.contains('"')).then_some((kind, name, at))
        };
        if let Some((kind, name, at)) = sites.chain(bodies).find_map(place) {
            named = true;
            let _ = write!(
                text,
                "[[term]]\n{kind} = {name:?}   # or body, site, geom, center_of_mass, with the name of one\n\
                 target = [{:.3}, {:.3}, {:.3}]     # m; this is where it starts\n\
                 # axes = [1, 1, 0]             # multiplies the error along x, y, z; 0 leaves an axis out\n\
                 # relative_to = \"...\"          # seen from another site, body or geom\n",
                at.x, at.y, at.z
            );
        }
        comment(text, "sites", &names(model.sites.iter().map(|s| s.name.clone())));
        comment(text, "bodies", &names(model.bodies.iter().skip(1).map(|b| b.name.clone())));
    }
    let (hash, state) = match layout.state.slices().first() {
        Some(slice) => (if named { "# " } else { "" }, slice.name.clone()),
        None => return,
    };
    let _ = write!(
        text,
        "{hash}[[term]]\n\
         {hash}state = {state:?}          # entries of the state by pattern; particles = \"PART\" is their mean place\n\
         {hash}target = 0.0                   # one for all, or a list\n\
         # norm = \"square\"              # square: x²; smooth: |x| rounded off `within`; cosine: 1 − cos x, for angles\n\
         # final = 1.0                  # weight at the end; alone unless `running` is given\n\
         # running = 0.0                # weight per second along the way\n"
    );
    if let Some(first) = scene.sensing().and_then(|s| s.readings().first()) {
        let _ = write!(text, "\n# [[term]]\n# sensor = {:?}\n# target = 0.0\n", first.name);
    }
    if !layout.control.is_empty() {
        *text += "\n# [[term]]\n# control = \"*\"                # effort: how far controls are from their start\n\
                  # running = 0.001\n";
    }
}

fn names(all: impl Iterator<Item = String>) -> Vec<String> {
    all.filter(|name| !name.is_empty()).collect()
}

/// Names of a kind in a comment.
fn comment(text: &mut String, kind: &str, names: &[String]) {
    if names.is_empty() {
        return;
    }
    let more =
        if names.len() > LISTED { format!(", and {} more", names.len() - LISTED) } else { String::new() };
    let _ = writeln!(text, "# {kind}: {}{more}", names[..names.len().min(LISTED)].join(", "));
}

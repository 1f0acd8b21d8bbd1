//! `pullback list`: everything that has a name, from the tables alone; `pullback list SCENE` builds the scene
//! and names its states, controls and parameters.

use pullback_control::PLANNERS;
use pullback_control::spline::INTERPOLATIONS;
use pullback_core::ConfigError;
use pullback_core::integrator;
use pullback_core::layout::{Section, Slice};
use pullback_core::registry::{Entry, Registry};
use pullback_core::sources::{Citation, SOURCES};
use pullback_learn::algorithm::{ALGORITHMS, PRESETS};
use pullback_optim::least_squares::FIT_METHODS;
use pullback_optim::methods;
use pullback_physics::articulated::CONTACT_MODELS;
use pullback_tasks::environments::ENVIRONMENTS;
use pullback_tasks::identify::{IDENTIFICATIONS, sensor_names};
use pullback_tasks::objectives::TASKS;
use pullback_tasks::planning::CONTROL_TASKS;
use pullback_tasks::scenes::{SCENES, SceneEntry, SceneOptions, build};
use serde::{Serialize, Serializer};

use super::demo::PARTS;
use super::reproduce::EXPERIMENTS;
use crate::args::{ListOptions, ReadingOptions};
use crate::bench::BENCHMARKS;
use crate::output::{CliError, Output, print_notes};

/// Kinds of entries, in order.
struct Listing(Vec<Kind>);

/// All entries of one kind.
struct Kind {
    /// Key in JSON, title in text.
    key: &'static str,
    /// Commands that take the names.
    commands: &'static str,
    entries: Vec<Named>,
}

/// An entry of a registry.
#[derive(Serialize)]
struct Named {
    name: String,
    summary: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<Citation>,
    #[serde(flatten)]
    scene: Option<SceneFacts>,
}

/// What is known of a scene.
#[derive(Serialize)]
struct SceneFacts {
    /// Seconds that `simulate` runs unless told otherwise.
    horizon: f64,
    /// Whether there is a version with few entries, in which gradients are checked one by one.
    small_version: bool,
    #[serde(flatten)]
    layout: Option<Layout>,
}

/// What only a scene that was built tells: the names of its entries.
#[derive(Serialize)]
struct Layout {
    /// Seconds per step.
    dt: f64,
    state: Vec<String>,
    control: Vec<String>,
    params: Vec<String>,
    /// What the sensors of a robot read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sensors: Vec<String>,
}

pub fn run(options: &ListOptions, output: &Output) -> Result<bool, CliError> {
    let reading = &options.reading;
    if options.loss_template {
        return print_template(options, output);
    }
    let listing = match options.scene.as_deref() {
        None if reading.given() => {
            return Err(ConfigError::new("how a file is read belongs to a model file: name it").into());
        }
        None => everything(SCENES.entries().map(listed).collect()),
        Some("all") => everything(SCENES.names().map(|name| built(name, reading)).collect::<Result<_, _>>()?),
        Some(name) => Listing(vec![scenes(vec![built(name, reading)?])]),
    };
    output.print(&listing, || listing.text())?;
    Ok(true)
}

/// A loss file to begin with.
#[derive(Serialize)]
struct Template {
    template: String,
}

fn print_template(options: &ListOptions, output: &Output) -> Result<bool, CliError> {
    let name = options.scene.as_deref().unwrap_or_default();
    if name == "all" {
        return Err(ConfigError::new("--loss-template is for one scene: name it").into());
    }
    let scene =
        build(name, SceneOptions { file: options.reading.file_options(), ..SceneOptions::default() })?;
    let template = Template { template: pullback_tasks::goal::template(scene.as_ref(), name) };
    output.print(&template, || template.template.clone())?;
    Ok(true)
}

/// The kind of scenes.
fn scenes(entries: Vec<Named>) -> Kind {
    Kind { key: "scenes", commands: "simulate, gradcheck", entries }
}

/// These scenes, and every entry of every other registry.
fn everything(all_scenes: Vec<Named>) -> Listing {
    fn kind<V>(key: &'static str, commands: &'static str, registry: Registry<V>) -> Kind {
        Kind { key, commands, entries: registry.entries().map(named).collect() }
    }
    Listing(vec![
        scenes(all_scenes),
        kind("tasks", "landscape, doctor, optimize", TASKS),
        kind("methods", "optimize --method", methods::METHODS),
        kind("identifications", "identify", IDENTIFICATIONS),
        kind("fit_methods", "identify --method", FIT_METHODS),
        kind("environments", "train", ENVIRONMENTS),
        kind("algorithms", "train", ALGORITHMS),
        kind("presets", "train", PRESETS),
        kind("control_tasks", "mpc", CONTROL_TASKS),
        kind("planners", "mpc --planner", PLANNERS),
        kind("interpolations", "mpc --interpolation", INTERPOLATIONS),
        kind("integrators", "simulate --method", integrator::METHODS),
        kind("contact_models", "simulate, inspect, gradcheck --contact", CONTACT_MODELS),
        kind("reproductions", "reproduce", EXPERIMENTS),
        kind("benchmarks", "bench", BENCHMARKS),
        kind("parts", "demo", PARTS),
    ])
}

fn named<V>(entry: &Entry<V>) -> Named {
    Named { name: entry.name.into(), summary: entry.summary.into(), source: entry.source, scene: None }
}

/// A scene as its table knows it.
fn listed(entry: &'static SceneEntry) -> Named {
    let (horizon, small_version) = (entry.value.horizon(), entry.value.has_small_version());
    Named { scene: Some(SceneFacts { horizon, small_version, layout: None }), ..named(entry) }
}

/// A scene, or that of a model file, with its layout.
fn built(name: &str, reading: &ReadingOptions) -> Result<Named, ConfigError> {
    let scene = build(name, SceneOptions { file: reading.file_options(), ..SceneOptions::default() })?;
    print_notes(scene.notes());
    let layout = scene.layout();
    Ok(Named {
        name: scene.name().into(),
        summary: scene.summary().into(),
        source: SCENES.find(name).ok().and_then(|entry| entry.source),
        scene: Some(SceneFacts {
            horizon: scene.horizon(),
            small_version: scene.small_version().is_some(),
            layout: Some(Layout {
                dt: scene.dt(),
                state: names(&layout.state),
                control: names(&layout.control),
                params: names(&layout.params),
                sensors: sensor_names(scene.sensing()),
            }),
        }),
    })
}

/// Names of all entries; of a long slice only its name with the number of entries.
fn names(section: &Section) -> Vec<String> {
    let of = |slice: &Slice| match slice.len() {
        n if n > LONG => vec![format!("{}[0..{n}]", slice.name)],
        n => (0..n).map(|i| slice.entry_name(i)).collect(),
    };
    section.slices().iter().flat_map(of).collect()
}

/// Slices longer than this are listed by name alone.
const LONG: usize = 16;
/// More names than this are listed by patterns.
const MANY: usize = 64;

/// Names for people: of many the patterns that match them, with how many owners each has: `*.com[0..3] (9)`.
fn readable(names: &[String]) -> String {
    if names.len() <= MANY {
        return names.join(", ");
    }
    // Pattern, names that have it, and the largest index.
    let mut patterns: Vec<(String, usize, Option<usize>)> = Vec::new();
    for name in names {
        let (owner, last) = name.rsplit_once('.').map_or(("", name.as_str()), |(owner, last)| (owner, last));
        let indexed = last.strip_suffix(']').and_then(|s| s.rsplit_once('['));
        let (last, index) = match indexed.map(|(s, i)| (s, i.parse::<usize>())) {
            Some((s, Ok(i))) => (s, Some(i)),
            _ => (last, None),
        };
        let pattern = if owner.is_empty() { last.to_owned() } else { format!("*.{last}") };
        match patterns.iter_mut().find(|(known, ..)| *known == pattern) {
            Some((_, count, largest)) => {
                *count += usize::from(index.unwrap_or(0) == 0);
                *largest = (*largest).max(index);
            }
            None => patterns.push((pattern, 1, index)),
        }
    }
    let one = |(pattern, count, largest): &(String, usize, Option<usize>)| {
        let range = largest.map_or(String::new(), |i| format!("[0..{}]", i + 1));
        let owners = if pattern.starts_with('*') { format!(" ({count})") } else { String::new() };
        format!("{pattern}{range}{owners}")
    };
    let patterns: Vec<String> = patterns.iter().map(one).collect();
    format!("{} names: {}; --json lists them all", names.len(), patterns.join(", "))
}

impl Serialize for Listing {
    /// An object with one key per kind.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|kind| (kind.key, &kind.entries)))
    }
}

impl Listing {
    fn text(&self) -> String {
        let mut text = String::new();
        for Kind { key, commands, entries } in &self.0 {
            text += &format!("{key:14} ({commands})\n");
            entries.iter().for_each(|entry| text += &entry.text());
            text.push('\n');
        }
        let cited = |key: &str| {
            self.0
                .iter()
                .flat_map(|kind| &kind.entries)
                .any(|e| e.source.is_some_and(|s| s.source.key == key))
        };
        let sources = SOURCES.iter().filter(|source| cited(source.key));
        let sources: String = sources.map(|s| format!("  {:28} {}\n", s.name, s.citation)).collect();
        if !sources.is_empty() {
            text += &format!("{:14} (REFERENCES.md)\n{sources}", "sources");
        }
        text
    }
}

impl Named {
    fn text(&self) -> String {
        let source = self.source.map_or(String::new(), |source| format!(" ({source})"));
        let mut text = format!("  {:28} {}{source}\n", self.name, self.summary);
        if let Some(Layout { dt, state, control, params, sensors }) =
            self.scene.as_ref().and_then(|s| s.layout.as_ref())
        {
            text += &format!("    {:12} {dt} s\n", "step");
            for (vector, names) in
                [("state", state), ("control", control), ("params", params), ("sensors", sensors)]
            {
                if vector == "sensors" && names.is_empty() {
                    continue;
                }
                text += &format!("    {vector:12} {}\n", readable(names));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_are_patterns() {
        let few = ["a.mass".to_owned(), "b.mass".to_owned()];
        assert_eq!(readable(&few), "a.mass, b.mass");
        let body = |i: usize| {
            let com = (0..3).map(move |k| format!("body_{i}.com[{k}]"));
            com.chain([format!("body_{i}.mass")])
        };
        let mut names: Vec<String> = vec!["gravity[0]".into(), "gravity[1]".into(), "impratio".into()];
        names.extend((0..30).flat_map(body));
        assert_eq!(
            readable(&names),
            "123 names: gravity[0..2], impratio, *.com[0..3] (30), *.mass (30); --json lists them all"
        );
    }
}

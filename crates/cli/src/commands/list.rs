//! `pullback list`: everything that has a name.

use clap::ValueEnum;
use pullback_core::layout::{Section, Slice};
use pullback_tasks::scenes::{self, SceneOptions};
use serde::Serialize;

use crate::args::{Benchmark, MethodName, Reproduction};
use crate::output::{CliError, Output};

#[derive(Serialize)]
struct Named {
    name: String,
    summary: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    state: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    control: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    params: Vec<String>,
}

#[derive(Serialize)]
struct Listing {
    scenes: Vec<Named>,
    tasks: Vec<Named>,
    methods: Vec<Named>,
    integrators: Vec<Named>,
    reproductions: Vec<Named>,
    benchmarks: Vec<Named>,
}

pub fn run(output: &Output) -> Result<bool, CliError> {
    let mut scenes = Vec::new();
    for name in scenes::names() {
        let scene = scenes::build(name, SceneOptions::default())?;
        let layout = scene.layout();
        scenes.push(Named {
            name: scene.name().into(),
            summary: scene.summary().into(),
            state: names(&layout.state),
            control: names(&layout.control),
            params: names(&layout.params),
        });
    }
    let tasks = pullback_tasks::objectives::tasks().map(|task| plain(task.name, task.summary)).collect();
    let listing = Listing {
        scenes,
        tasks,
        methods: pullback_optim::methods::NAMES.iter().map(|(name, summary)| plain(name, summary)).collect(),
        integrators: choices::<MethodName>(),
        reproductions: choices::<Reproduction>(),
        benchmarks: choices::<Benchmark>(),
    };
    output.print(&listing, || {
        let mut text = String::new();
        for (title, entries) in [
            ("scenes         (simulate, gradcheck)", &listing.scenes),
            ("tasks          (landscape, doctor, optimize)", &listing.tasks),
            ("methods        (optimize --method)", &listing.methods),
            ("integrators    (simulate --method)", &listing.integrators),
            ("reproductions  (reproduce)", &listing.reproductions),
            ("benchmarks     (bench)", &listing.benchmarks),
        ] {
            text += &format!("{title}\n");
            for entry in entries {
                text += &format!("  {:28} {}\n", entry.name, entry.summary);
            }
            text += "\n";
        }
        text
    })?;
    Ok(true)
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

fn plain(name: &str, summary: &str) -> Named {
    let none = Vec::new;
    Named { name: name.into(), summary: summary.into(), state: none(), control: none(), params: none() }
}

/// The values of a command-line choice with their help texts.
fn choices<V: ValueEnum>() -> Vec<Named> {
    let entry = |value: &V| {
        let value = value.to_possible_value()?;
        let help = value.get_help().map(|h| h.to_string()).unwrap_or_default();
        Some(plain(value.get_name(), &help))
    };
    V::value_variants().iter().filter_map(entry).collect()
}

//! Everything else that is read: arrays, tables, logs, settings, weights and checkpoints.

use std::collections::BTreeMap;

use pullback_control::build_planner;
use pullback_core::random::Random;
use pullback_core::registry::Entry;
use pullback_learn::algorithm::table::overlay;
use pullback_learn::algorithm::{ALGORITHMS, Algorithm, PRESETS};
use pullback_learn::env::Spaces;
use pullback_learn::nn::Weights;
use pullback_learn::run::{Checkpoint, MetricsTable, TensorData};
use pullback_optim::test_functions::Shape;
use pullback_optim::{LineLog, Run, RunLog, RunName, TestFunction, build_method};
use pullback_scene::npy::read_target;
use pullback_tasks::diffmjx::cube::read_tosses;
use pullback_tasks::identify::Table;
use serde::Deserialize;
use serde_json::Value;

use crate::mutate::Structure::{Binary, SealedLines, Text};
use crate::target::{Scratch, Target, answer};

pub const TABLE: &[Entry<Target>] = &[
    Entry::new("npy", "NumPy arrays of targets", Target::new(Binary, npy)),
    Entry::new("csv", "recordings, tosses and metrics as tables", Target::new(Text, tables)),
    Entry::new("corners", "corners of a sheet over time", Target::new(Text, corners)),
    Entry::new("log", "logs of searches, gone on with", Target::new(SealedLines, log)),
    Entry::new("settings", "settings of methods and planners as JSON", Target::new(Text, settings)),
    Entry::new("training-toml", "settings of training as TOML", Target::new(Text, training_toml)),
    Entry::new("training-json", "settings of training as JSON", Target::new(Text, training_json)),
    Entry::new("weights", "weights of policies as safetensors", Target::new(Binary, weights)),
    Entry::new("checkpoint", "checkpoints of training as safetensors", Target::new(Binary, checkpoint)),
    Entry::new("tensors", "tensors of checkpoints, gone on with", Target::new(Text, tensors).made(saved)),
];

fn npy(input: &[u8], scratch: &mut Scratch) -> String {
    answer(read_target(&scratch.file("target.npy", input), 0.1, 1e-4))
}

fn tables(input: &[u8], scratch: &mut Scratch) -> String {
    let text = String::from_utf8_lossy(input);
    let path = scratch.file("table.csv", input);
    let recording = answer(Table::parse("table.csv", &text));
    format!("{recording}; {}; {}", answer(read_tosses(&path)), answer(MetricsTable::read(&path)))
}

fn corners(input: &[u8], scratch: &mut Scratch) -> String {
    let path = scratch.file("corners.csv", input);
    answer(pullback_tasks::objectives::build(&format!("cloth-lift:{}", path.display())))
}

/// Opens the log under the name in its first line, and goes on with the search.
fn log(input: &[u8], scratch: &mut Scratch) -> String {
    #[derive(Deserialize)]
    struct First {
        line: RunName,
    }
    let path = scratch.file("run.jsonl", input);
    let first = input.split(|b| *b == b'\n').next().unwrap_or_default();
    let name = serde_json::from_slice(first).map_or(RunName::new("sphere", "", 0), |First { line }| line);
    let others = answer(LineLog::open::<Value>(&path, &name));
    scratch.file("run.jsonl", input);
    let log = match RunLog::open(&path, &name) {
        Ok(log) => log,
        Err(error) => return format!("{others}; {error}"),
    };
    let sphere = TestFunction::new(Shape::Griewank, 2);
    let gone_on = Run::new(&sphere, 6, log).map(|mut run| {
        let mut random = Random::new(name.seed);
        build_method("adam", &Value::Null).map(|method| {
            method.search(&mut run, &mut random).map_or_else(|stop| stop.to_string(), |()| "searched".into())
        })
    });
    match gone_on {
        Ok(Ok(said)) => said,
        Ok(Err(error)) | Err(error) => error.to_string(),
    }
}

/// `{"method": NAME, "settings": {...}}`, and the same for planners.
fn settings(input: &[u8], _: &mut Scratch) -> String {
    /// Variables of the search.
    const DIM: usize = 10;
    let value: Value = match serde_json::from_slice(input) {
        Ok(value) => value,
        Err(error) => return error.to_string(),
    };
    let name = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let method = build_method(&name("method"), &value["settings"]);
    let method = method.and_then(|method| method.check(DIM));
    let planner = build_planner(&name("planner"), &value["settings"]);
    format!("{}; {}", answer(method), answer(planner))
}

/// What a policy sees and does here.
const SPACES: Spaces = Spaces { points: 0, vector: 3, actions: 2 };

/// An algorithm by the name in `algorithm`, with the preset of a task changed by all other entries.
fn algorithm(mut changes: Value) -> Result<Box<dyn Algorithm>, String> {
    let name = changes.as_object_mut().and_then(|map| map.remove("algorithm"));
    let name = name.as_ref().and_then(Value::as_str).unwrap_or("sapo");
    let spec = ALGORITHMS.find(name).map_err(|e| e.to_string())?.value;
    let preset = PRESETS.entries().next().ok_or("there is no preset")?.value;
    let mut settings = (spec.settings)(&preset);
    overlay(&mut settings, &changes, "").map_err(|e| e.to_string())?;
    (spec.build)(&settings, SPACES, 0).map_err(|e| e.to_string())
}

fn training_toml(input: &[u8], _: &mut Scratch) -> String {
    match toml::from_str(&String::from_utf8_lossy(input)) {
        Ok(changes) => answer(algorithm(changes)),
        Err(error) => error.message().to_owned(),
    }
}

fn training_json(input: &[u8], _: &mut Scratch) -> String {
    match serde_json::from_slice(input) {
        Ok(changes) => answer(algorithm(changes)),
        Err(error) => error.to_string(),
    }
}

fn weights(input: &[u8], _: &mut Scratch) -> String {
    answer(Weights::decode(input))
}

fn checkpoint(input: &[u8], _: &mut Scratch) -> String {
    answer(Checkpoint::from_bytes(input))
}

/// Checkpoints of small algorithms before they learn, as [`tensors`] takes them.
fn saved() -> Vec<Vec<u8>> {
    let small = serde_json::json!({"hidden": [4]});
    let settings = [
        serde_json::json!({"algorithm": "sapo", "envs": 4, "actor": {"network": small}, "critic": {"network": small}}),
        serde_json::json!({"algorithm": "trajopt", "envs": 4}),
    ];
    let content = |settings: &Value| {
        let mut checkpoint = Checkpoint::new(1);
        algorithm(settings.clone()).ok()?.save(&mut checkpoint);
        let tensors = checkpoint.tensors.iter().map(|(name, (shape, data))| {
            let (kind, values): (&str, Vec<f64>) = match data {
                TensorData::F32(values) => ("f32", values.iter().map(|x| f64::from(*x)).collect()),
                TensorData::F64(values) => ("f64", values.clone()),
                TensorData::U64(values) => ("u64", values.iter().map(|x| *x as f64).collect()),
            };
            (name.clone(), serde_json::json!([shape, kind, values]))
        });
        let tensors: serde_json::Map<String, Value> = tensors.collect();
        let (epoch, meta) = (checkpoint.epoch, &checkpoint.meta);
        let whole =
            serde_json::json!({"settings": settings, "epoch": epoch, "meta": meta, "tensors": tensors});
        Some(whole.to_string().into_bytes())
    };
    settings.iter().filter_map(content).collect()
}

/// The content of a checkpoint as JSON, made a file with a right checksum and loaded.
fn tensors(input: &[u8], _: &mut Scratch) -> String {
    #[derive(Deserialize)]
    struct Content {
        settings: Value,
        epoch: u64,
        meta: Value,
        tensors: BTreeMap<String, (Vec<usize>, String, Vec<f64>)>,
    }
    let content: Content = match serde_json::from_slice(input) {
        Ok(content) => content,
        Err(error) => return error.to_string(),
    };
    let mut made = Checkpoint::new(content.epoch).with_meta(content.meta);
    for (name, (shape, kind, values)) in content.tensors {
        if shape.iter().try_fold(1usize, |n, axis| n.checked_mul(*axis)) != Some(values.len()) {
            return "a shape that no file has".into();
        }
        let data = match kind.as_str() {
            "f32" => TensorData::F32(values.iter().map(|x| *x as f32).collect()),
            "u64" => TensorData::U64(values.iter().map(|x| *x as u64).collect()),
            _ => TensorData::F64(values),
        };
        made = made.with_tensor(name, &shape, data);
    }
    let read = made.to_bytes().and_then(|bytes| Checkpoint::from_bytes(&bytes));
    match (read, algorithm(content.settings)) {
        (Ok(checkpoint), Ok(mut algorithm)) => answer(algorithm.load(&checkpoint)),
        (Err(error), _) | (_, Err(error)) => error,
    }
}

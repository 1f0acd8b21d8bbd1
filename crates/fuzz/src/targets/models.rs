//! Robots: MJCF and URDF, from the text to two steps of the motion; and the pictures that terrain is made of.

use std::sync::Arc;

use pullback_articulated::{Articulated, Model};
use pullback_core::registry::Entry;
use pullback_core::rollout::Inputs;
use pullback_core::{Rollout, Schedule};
use pullback_scene::mesh::MeshFiles;
use pullback_scene::mjcf::{ImportOptions, parse_mjcf};
use pullback_scene::robot::{Stepping, system};
use pullback_scene::urdf::{self, UrdfOptions};
use pullback_video::look::read_png;

use crate::corpus;
use crate::mutate::Structure::{Binary, Png, Xml};
use crate::target::{Scratch, Target, answer};

pub const TABLE: &[Entry<Target>] = &[
    Entry::new("mjcf", "MJCF text, its assets, and two steps", Target::new(Xml, mjcf).beside(MODELS)),
    Entry::new("urdf", "URDF text and two steps", Target::new(Xml, urdf_text).beside(ROBOTS)),
    Entry::new("png", "a PNG picture, as a texture and as terrain", Target::new(Png, picture)),
    Entry::new("hfield", "MuJoCo's binary terrain", Target::new(Binary, terrain)),
];

const MODELS: &[(&str, &str)] = &[
    ("crates/scene/tests/models", ".xml"),
    ("crates/scene/tests/models/varied", ".xml"),
    ("models", ".xml"),
];
const ROBOTS: &[(&str, &str)] = &[("crates/scene/tests/models", ".urdf")];

/// Steps that are taken of a model that reads.
const STEPS: usize = 2;
/// Larger models are set up, not stepped: that would measure the speed of test builds.
const MOST_VELOCITIES: usize = 200;

/// Two steps of a model.
fn step(model: Model) -> String {
    if model.nv > MOST_VELOCITIES {
        return answer(Articulated::new(model));
    }
    let stepped =
        Articulated::new(model).and_then(|robot| system(robot, Stepping::default())).and_then(|system| {
            let rollout = Rollout::new(&system, STEPS, Schedule::StoreAll)?;
            let inputs = Inputs::<f64>::defaults(&system, STEPS);
            let mut ws = rollout.workspace::<f64>();
            Ok(rollout.simulate(&mut ws, &inputs, |_| ()))
        });
    match stepped {
        Ok(Ok(_)) => "stepped".into(),
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    }
}

fn mjcf_options() -> ImportOptions {
    ImportOptions { mesh_loader: Some(Arc::new(MeshFiles)), ..ImportOptions::default() }
}

fn mjcf(input: &[u8], _: &mut Scratch) -> String {
    let assets = corpus::folder().join("mjcf/assets");
    let text = String::from_utf8_lossy(input);
    match parse_mjcf(&text, Some(&assets), &mjcf_options()) {
        Ok(model) => step(model),
        Err(error) => error.to_string(),
    }
}

fn urdf_text(input: &[u8], _: &mut Scratch) -> String {
    let folder = corpus::folder().join("mjcf/assets");
    let text = String::from_utf8_lossy(input);
    let floating = UrdfOptions { floating_base: true, fix_inertia: true, ..UrdfOptions::default() };
    let options = if input.len().is_multiple_of(2) { UrdfOptions::default() } else { floating };
    match urdf::parse(&text, "input.urdf", &folder, &options) {
        Ok(model) => step(model),
        Err(error) => error.to_string(),
    }
}

fn picture(input: &[u8], scratch: &mut Scratch) -> String {
    let path = scratch.file("field.png", input);
    format!("{}; {}", answer(read_png(&path)), with_terrain("field.png", scratch))
}

fn terrain(input: &[u8], scratch: &mut Scratch) -> String {
    scratch.file("field.bin", input);
    with_terrain("field.bin", scratch)
}

/// A ball on the terrain of a file.
fn with_terrain(file: &str, scratch: &Scratch) -> String {
    let text = format!(
        "<mujoco><asset><hfield name='h' file='{file}' size='1 1 0.2 0.1'/></asset><worldbody>
         <geom type='hfield' hfield='h'/><body pos='0 0 0.2'><freejoint/><geom size='0.1'/></body></worldbody></mujoco>"
    );
    match parse_mjcf(&text, Some(scratch.folder()), &mjcf_options()) {
        Ok(model) => step(model),
        Err(error) => error.to_string(),
    }
}

//! Options of `pullback view`.

use clap::Args;
use pullback_core::registry::Entry;
use pullback_physics::articulated::{CONTACT_MODELS, ContactModel};
use pullback_tasks::scenes::SCENES;

use super::ReadingOptions;
use crate::names::{NameOrPath, OneOf};

#[derive(Debug, Args)]
pub struct ViewOptions {
    /// Name of a scene, or path of a model file
    #[arg(value_parser = NameOrPath(SCENES))]
    pub scene: String,
    /// Port of 127.0.0.1 [default: one that is free]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub port: u16,
    /// Open the page in the browser
    #[arg(long)]
    pub open: bool,
    /// Start from this keyframe of the model file, by name or number [default: the pose in the file]
    #[arg(long, value_name = "NAME|INDEX")]
    pub keyframe: Option<String>,
    /// Seconds per step [default: the scene's own]
    #[arg(long, allow_negative_numbers = true)]
    pub dt: Option<f64>,
    #[command(flatten)]
    pub reading: ReadingOptions,
    /// Contact model of a model file [default: convex]
    #[arg(long, value_parser = OneOf(CONTACT_MODELS))]
    pub contact: Option<&'static Entry<ContactModel>>,
}

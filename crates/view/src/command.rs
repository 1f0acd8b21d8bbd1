//! What the page may ask of the simulation.

use serde::{Deserialize, Serialize};

use crate::gradient::GradientRequest;

/// A request of the page, as a JSON object such as `{"do": "step", "steps": 10}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Run at the rate of the clock.
    Play,
    /// Stand still.
    Pause,
    /// Take steps, then stand still.
    Step {
        /// How many.
        #[serde(default = "one")]
        steps: usize,
    },
    /// Start anew, from a keyframe of the model file or as at first.
    Reset {
        /// Name or number of the keyframe.
        #[serde(default)]
        keyframe: Option<String>,
    },
    /// Simulated seconds per second of the clock.
    Speed {
        /// At least 0.001, at most 100.
        value: f64,
    },
    /// Set entries of a vector.
    Set {
        /// Which vector.
        vector: Vector,
        /// Names, with `*` and `?` as in [`Section::select`](pullback_core::layout::Section::select).
        name: String,
        /// The value of each.
        value: f64,
    },
    /// Let controls follow the scene again.
    FreeControls,
    /// Pull a point of a body.
    Drag {
        /// Name of the body.
        body: String,
        /// The point in the body's frame, m.
        point: [f64; 3],
        /// Where it is pulled, m.
        target: [f64; 3],
    },
    /// Let go.
    Release,
    /// Compute the gradient of a quantity from now on; nothing stops that.
    Gradient {
        /// Of what.
        #[serde(default)]
        of: Option<GradientRequest>,
    },
}

fn one() -> usize {
    1
}

/// One of the vectors of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Vector {
    /// The state.
    State,
    /// The control.
    Control,
    /// The parameters.
    Params,
}

//! Tests of videos, a file per topic.

mod gradients;
mod support;

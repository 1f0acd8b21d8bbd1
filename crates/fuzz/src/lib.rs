//! Fuzzing of everything that reads files, on stable Rust: a target per format, mutations of a stored corpus, and a driver
//! that keeps what breaks a reader.
//!
//! `corpus/TARGET/` holds small files of our own, sound ones and such as once broke a reader. [`mutate`] damages them; the
//! random numbers depend on the seed and the number of the input alone. An input whose answer is a new one (the message
//! without its numbers and names) joins the corpus of the running process: error messages stand for the branches that a
//! coverage tool would see. A [`worker`] is a process of its own, so that aborts and endless loops are found as well as
//! panics; the [`driver`] starts one after the other.

pub mod corpus;
pub mod driver;
pub mod mutate;
pub mod target;
mod targets;
pub mod worker;

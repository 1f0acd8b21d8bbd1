//! Runs of training: a folder with metrics, events and checkpoints that other programs read.

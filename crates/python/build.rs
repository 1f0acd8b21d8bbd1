//! Hands on which features of processors the module is compiled for, so that Python can say what a machine lacks.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let features = std::env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    println!("cargo::rustc-env=PULLBACK_TARGET_FEATURES={features}");
}

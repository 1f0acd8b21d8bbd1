use pullback_core::Workspace;

#[derive(Workspace)]
struct Scratch {
    rows: Vec<Vec<f64>>,
}

fn main() {}

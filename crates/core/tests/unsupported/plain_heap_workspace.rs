use pullback_core::Workspace;

#[derive(Workspace)]
struct Scratch {
    #[workspace(plain)]
    rates: Vec<f64>,
}

fn main() {}

use pullback_core::Workspace;

#[derive(Workspace)]
struct Scratch {
    #[workspace(skip)]
    steps: usize,
}

fn main() {}

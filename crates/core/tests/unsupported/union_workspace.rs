use pullback_core::Workspace;

#[derive(Workspace)]
union Scratch {
    bits: u64,
    value: f64,
}

fn main() {}

//! Golden expansions: each `tests/expansions/NAME.rs` holds a function, `NAME.expanded.rs` the pullback
//! written for it. `UPDATE_EXPANSIONS=1 cargo test -p pullback-macros` rewrites the latter; read the
//! difference before committing.

use std::path::Path;

use quote::quote;

use crate::emit::pullback;

fn expand(source: &str) -> String {
    let function = syn::parse_str(source).expect("the input is a function");
    let written = pullback(&function, &quote!(::pullback_math)).expect("the input is in the subset");
    prettyplease::unparse(&syn::parse2(quote!(#written)).expect("the expansion is Rust"))
}

#[test]
fn expansions_are_as_reviewed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expansions");
    let update = std::env::var_os("UPDATE_EXPANSIONS").is_some();
    let mut compared = 0;
    for entry in std::fs::read_dir(&folder).expect("the folder of expansions") {
        let input = entry.expect("a file").path();
        let name = input.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".expanded.rs") {
            continue;
        }
        let written = expand(&std::fs::read_to_string(&input).expect("readable"));
        let golden = input.with_extension("expanded.rs");
        if update {
            std::fs::write(&golden, &written).expect("writable");
        }
        let reviewed = std::fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(written, reviewed, "{name}: the expansion changed (UPDATE_EXPANSIONS=1 rewrites it)");
        compared += 1;
    }
    assert!(compared >= 5, "expansions are missing");
}

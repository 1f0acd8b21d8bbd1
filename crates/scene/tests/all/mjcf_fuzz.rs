//! Damaged files: whatever happens to a model file, the reader answers and never panics.

use std::path::Path;
use std::sync::OnceLock;

use proptest::prelude::*;
use pullback_scene::mjcf::{ImportOptions, parse_mjcf};

/// Our models and those kept from the fuzzer, read once.
fn models() -> &'static [String] {
    static MODELS: OnceLock<Vec<String>> = OnceLock::new();
    MODELS.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models");
        let listed = |folder: &Path| std::fs::read_dir(folder).expect("models");
        let files = listed(&folder).chain(listed(&folder.join("varied")));
        let mut paths: Vec<_> = files.map(|f| f.expect("a file").path()).filter(|p| p.is_file()).collect();
        paths.sort();
        paths.iter().map(|p| std::fs::read_to_string(p).expect("text")).collect()
    })
}

/// Fragments that are likely to hit a rule.
const FRAGMENTS: [&str; 16] = [
    "<",
    ">",
    "\"",
    "/",
    "-",
    "nan",
    "1e308",
    "1e-320",
    "<body>",
    "</body>",
    "<joint/>",
    "<freejoint/>",
    "0 0 0",
    "\u{e9}",
    "=",
    "type",
];

/// Replaces a stretch of the text by a fragment, at character boundaries.
fn damage(text: &str, at: usize, length: usize, fragment: &str) -> String {
    let boundary = |mut i: usize| {
        while !text.is_char_boundary(i) {
            i -= 1;
        }
        i
    };
    let start = boundary(at % (text.len() + 1));
    let end = boundary((start + length).min(text.len())).max(start);
    format!("{}{fragment}{}", &text[..start], &text[end..])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn truncated_files_are_errors(which in 0usize..4096, at in any::<usize>()) {
        let models = models();
        let text = models[which % models.len()].trim_end();
        let cut = damage(text, at % text.len(), usize::MAX / 2, "");
        prop_assert!(parse_mjcf(&cut, None, &ImportOptions::default()).is_err());
    }

    #[test]
    fn damaged_files_never_panic(
        which in 0usize..4096,
        wounds in prop::collection::vec((any::<usize>(), 0usize..12, 0usize..FRAGMENTS.len()), 1..4),
    ) {
        let models = models();
        let mut text = models[which % models.len()].clone();
        for (at, length, fragment) in wounds {
            text = damage(&text, at, length, FRAGMENTS[fragment]);
        }
        // A model that still reads is sound.
        if let Ok(model) = parse_mjcf(&text, None, &ImportOptions::default()) {
            prop_assert!(model.bodies.iter().all(|b| b.mass.is_finite() && b.inertia.trace().is_finite()));
        }
    }
}

//! Completions, the version, and text that stays readable.

use std::process::{Command, Output};

fn pullback(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pullback")).args(arguments).output().unwrap()
}

fn text(arguments: &[&str]) -> String {
    let output = pullback(arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn shells_complete_commands_options_and_names() {
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let script = text(&["completions", shell]);
        for name in ["simulate", "keyframe"] {
            assert!(script.contains(name), "{shell}: {name}");
        }
        // Scripts of the other two have values of options, not of arguments.
        let arguments = ["bash", "zsh"].contains(&shell);
        for name in ["robot-cloth", "plb-rope", "bo-leap", "cartpole-swing-up", "hopper"] {
            assert!(script.contains(name) || !arguments, "{shell}: {name}");
        }
    }
    let refused = pullback(&["completions", "tcsh"]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn the_version_says_what_it_was_built_for() {
    let version = text(&["--version"]);
    let expected = format!("pullback {} ({}-", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH);
    assert!(version.starts_with(&expected) && version.contains("lanes f64x4"), "{version}");
    assert_eq!(version.lines().count(), 1);
}

#[test]
fn large_states_are_summed_up() {
    let folder = std::env::temp_dir().join(format!("pullback-manners-{}", std::process::id()));
    let out = folder.to_str().unwrap();
    let printed = text(&["simulate", "cloth-64", "--time", "0.05", "--out", out]);
    let _ = std::fs::remove_dir_all(&folder);
    assert!(printed.contains(" numbers from "), "{printed}");
    assert!(printed.lines().count() < 20, "{printed}");
    assert!(!printed.contains('\x1b'), "colors belong to terminals");
}

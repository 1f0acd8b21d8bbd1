//! Whether a build uses what the processor can do.
//!
//! Lanes are registers that are chosen when a program is compiled. Without `target-cpu` the compiler assumes the oldest
//! processor of a kind, so that a program which depends on the engine runs several times slower than it could. The first
//! workspace on lanes says so, once, on standard error; the environment variable `PULLBACK_CPU_NOTE=off` keeps it silent.

use std::sync::Once;

use pullback_math::Real;

/// The environment variable that keeps the note silent.
pub const NOTE_VARIABLE: &str = "PULLBACK_CPU_NOTE";

/// Says once what a build leaves unused, if `T` has lanes.
pub fn note_lost_speed<T: Real>() {
    static ONCE: Once = Once::new();
    if T::LANES > 1 {
        ONCE.call_once(|| {
            let silent = std::env::var_os(NOTE_VARIABLE).is_some_and(|value| value == "off");
            if let Some(note) = note(&unused()).filter(|_| !silent) {
                eprintln!("{note}");
            }
        });
    }
}

/// Registers and operations that the processor has and this build does not use.
#[cfg(target_arch = "x86_64")]
pub fn unused() -> Vec<&'static str> {
    let features = [
        ("avx2", cfg!(target_feature = "avx2"), std::arch::is_x86_feature_detected!("avx2")),
        ("fma", cfg!(target_feature = "fma"), std::arch::is_x86_feature_detected!("fma")),
        ("avx512f", cfg!(target_feature = "avx512f"), std::arch::is_x86_feature_detected!("avx512f")),
    ];
    features.into_iter().filter(|(_, built, there)| *there && !built).map(|(name, ..)| name).collect()
}

/// Elsewhere the registers of the oldest processor are those of all.
#[cfg(not(target_arch = "x86_64"))]
pub fn unused() -> Vec<&'static str> {
    Vec::new()
}

fn note(unused: &[&str]) -> Option<String> {
    if unused.is_empty() {
        return None;
    }
    Some(format!(
        "note: this program is built without {} of this processor, and batches on lanes run about three times slower: put \
         `[build] rustflags = [\"-C\", \"target-cpu=native\"]` into .cargo/config.toml ({NOTE_VARIABLE}=off silences this)",
        unused.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_for_this_processor_has_nothing_to_note() {
        // The workspace is built with `target-cpu=native`.
        assert_eq!(note(&unused()), None);
        let words = note(&["avx2", "fma"]).unwrap();
        assert!(
            words.contains("without avx2, fma of this processor") && words.contains("target-cpu=native"),
            "{words}"
        );
        note_lost_speed::<pullback_math::f64x4>();
    }
}

//! What `--version` says: the version, the machine it was built for, and how wide its registers are.

use std::sync::LazyLock;

/// Version, architecture, instruction sets that the program needs, lanes.
pub fn version() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let sets = [
            ("sse4.2", cfg!(target_feature = "sse4.2")),
            ("avx", cfg!(target_feature = "avx")),
            ("avx2", cfg!(target_feature = "avx2")),
            ("fma", cfg!(target_feature = "fma")),
            ("avx512f", cfg!(target_feature = "avx512f")),
            ("neon", cfg!(target_feature = "neon")),
        ];
        let sets: Vec<&str> = sets.iter().filter(|(_, built)| *built).map(|(name, _)| *name).collect();
        let sets = if sets.is_empty() { "no vector instructions".to_owned() } else { sets.join(" ") };
        let (version, arch, os) = (env!("CARGO_PKG_VERSION"), std::env::consts::ARCH, std::env::consts::OS);
        let video = if cfg!(feature = "mp4") { "; mp4" } else { "" };
        format!("{version} ({arch}-{os}; {sets}; lanes f64x4 f64x8 f32x8 f32x16{video})")
    });
    &TEXT
}

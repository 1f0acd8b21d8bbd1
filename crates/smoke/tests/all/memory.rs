//! Memory known before, and settings that cannot be.

use pullback_core::{ConfigError, Rollout, Schedule, Workspace};
use pullback_smoke::{Grid, Settings, Smoke};

#[test]
fn workspaces_know_their_size() {
    let smoke = Smoke::new(Grid::new([32, 32], 0.1), Settings::default(), 0.1).unwrap();
    let rollout = Rollout::new(&smoke, 4, Schedule::StoreAll).unwrap();
    let (ws, predicted) = (rollout.workspace::<f64>(), rollout.predict_bytes::<f64>());
    let held = ws.heap_bytes();
    assert!((held as f64 / predicted as f64 - 1.0).abs() < 0.01, "{held} {predicted}");
    // 34² numbers of 8 bytes per array with a halo.
    assert!(held < 72 * 34 * 34 * 8, "{held}");
}

#[test]
fn errors_say_what_to_do() {
    let message = |built: Result<Smoke<2>, ConfigError>| built.unwrap_err().to_string();
    let grid = || Grid::new([8, 8], 0.1);
    assert!(
        message(Smoke::new(Grid::new([8, 2], 0.1), Settings::default(), 0.1)).contains("4 cells or more")
    );
    assert!(message(Smoke::new(grid(), Settings::default(), 0.0)).contains("positive time"));
    let viscous = Settings { viscosity: Some(1.0), ..Settings::default() };
    assert!(message(Smoke::new(grid(), viscous, 0.1)).contains("viscosity = 1 is outside [0, 0.025"));
    assert!(
        message(Smoke::with_source(grid(), Settings::default(), 0.1, vec![1.0], 1.0)).contains("64, not 1")
    );
    let covered = grid().with_obstacle(|_| true);
    assert!(message(Smoke::new(covered, Settings::default(), 0.1)).contains("leave room"));
}

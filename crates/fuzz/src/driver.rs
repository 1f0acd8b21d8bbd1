//! All targets in turn: a worker process for each, and what breaks it kept as a file.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use pullback_core::files::crc32c::crc32c;
use pullback_core::registry::Entry;

use crate::target::Target;
use crate::worker::{self, Amount, PANICKED, TOOK_TOO_LONG};

/// What is asked of a run.
pub struct Plan {
    /// In this order.
    pub targets: Vec<&'static Entry<Target>>,
    /// For all targets together in seconds, or for each in inputs.
    pub amount: Amount,
    /// Of all mutations.
    pub seed: u64,
    /// Where inputs that break a target are kept.
    pub out: PathBuf,
}

/// An input that broke a target.
#[derive(Debug)]
pub struct Crash {
    /// The target.
    pub target: &'static str,
    /// How it broke.
    pub why: String,
    /// The input.
    pub file: PathBuf,
}

/// Runs all targets; the inputs that broke them.
pub fn run(plan: &Plan) -> io::Result<Vec<Crash>> {
    fs::create_dir_all(&plan.out)?;
    let mut crashes = Vec::new();
    for target in &plan.targets {
        let amount = match plan.amount {
            Amount::Seconds(seconds) => Amount::Seconds(seconds / plan.targets.len() as f64),
            inputs => inputs,
        };
        crashes.extend(run_target(plan, target, amount)?);
    }
    Ok(crashes)
}

/// Workers one after another until the amount is spent: each ends at the first input that breaks the target.
fn run_target(plan: &Plan, target: &'static Entry<Target>, amount: Amount) -> io::Result<Vec<Crash>> {
    let folder = plan.out.join(format!("work-{}-{}", target.name, std::process::id()));
    fs::create_dir_all(&folder)?;
    let start = Instant::now();
    let mut crashes = Vec::new();
    let mut known = BTreeSet::new();
    for round in 0.. {
        let left = match amount {
            Amount::Seconds(seconds) => Amount::Seconds(seconds - start.elapsed().as_secs_f64()),
            inputs => inputs,
        };
        let seed = plan.seed.wrapping_add(round << 32);
        let Some((place, why)) = work(target, seed, left, &folder)? else { break };
        // One place is told once.
        if known.insert(place) {
            let input = fs::read(worker::current(&folder))?;
            let file = plan.out.join(format!("{}-{:08x}", target.name, crc32c(&input)));
            fs::write(&file, &input)?;
            eprintln!(
                "{}: {why}\n  repeat it: cargo xtask fuzz --repeat {} {}",
                target.name,
                target.name,
                file.display()
            );
            crashes.push(Crash { target: target.name, why, file });
        }
        let spent = match amount {
            Amount::Seconds(seconds) => start.elapsed().as_secs_f64() >= seconds,
            Amount::Inputs(_) => true,
        };
        if spent {
            break;
        }
    }
    fs::remove_dir_all(&folder)?;
    Ok(crashes)
}

/// One worker; where and why it ended early, if it did.
fn work(
    target: &Entry<Target>,
    seed: u64,
    amount: Amount,
    folder: &Path,
) -> io::Result<Option<(String, String)>> {
    let amount = match amount {
        Amount::Seconds(seconds) => ["--seconds".to_owned(), seconds.max(0.0).to_string()],
        Amount::Inputs(count) => ["--inputs".to_owned(), count.to_string()],
    };
    let start = Instant::now();
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--work", target.name, "--seed", &seed.to_string()]).args(amount).arg("--out").arg(folder);
    let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output()?;
    if output.status.success() {
        let counts = String::from_utf8_lossy(&output.stdout);
        eprintln!("{:10} {} in {:.1} s", target.name, counts.trim(), start.elapsed().as_secs_f64());
        return Ok(None);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().last().unwrap_or_default();
    // The number of the thread differs from run to run.
    let mut panic = said.lines().filter_map(|line| line.split_once("panicked at ")).map(|(_, place)| place);
    Ok(Some(match (output.status.code(), panic.next()) {
        (Some(PANICKED), Some(place)) => {
            let message = said.lines().skip_while(|line| !line.ends_with(place)).nth(1);
            (place.to_owned(), format!("panicked at {place} {}", message.unwrap_or_default()))
        }
        (Some(TOOK_TOO_LONG), _) => (last.to_owned(), last.to_owned()),
        _ => {
            let status = output.status.to_string();
            let first = said.lines().find(|line| !line.is_empty()).unwrap_or_default();
            (status.clone(), format!("{status}: {first}"))
        }
    }))
}

//! The process that feeds one target: it ends at the first input that breaks the target, and leaves it behind.
//!
//! An input is in the file `current` before it is fed, so that it outlives whatever happens to the process: a panic, an
//! abort, too much memory (the allocator refuses it) or too much time (a watch ends the process).

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::exit;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use pullback_core::memory;
use pullback_core::random::Random;
use pullback_core::registry::Entry;

use crate::corpus;
use crate::mutate::{below, mutated};
use crate::target::{Scratch, Target};

/// Bytes that a reader may hold for inputs of at most 64 KiB: 1 GiB.
pub const MOST_MEMORY: usize = 1 << 30;
/// Seconds that an input may take, with the small optimization of test builds.
pub const MOST_SECONDS: u64 = 5;
/// Bytes of the stack that readers run on: that of threads of the standard library.
const STACK: usize = 2 << 20;
/// Inputs kept because a reader answered as never before.
const MOST_KEPT: usize = 2048;
/// Exit code of a worker whose reader panicked.
pub const PANICKED: i32 = 3;
/// Exit code of a worker whose reader took too long.
pub const TOOK_TOO_LONG: i32 = 4;

/// How long a worker works.
#[derive(Clone, Copy, Debug)]
pub enum Amount {
    /// Seconds.
    Seconds(f64),
    /// Inputs.
    Inputs(u64),
}

/// What a worker is asked for.
pub struct Work {
    /// The target.
    pub target: &'static Entry<Target>,
    /// Of all mutations.
    pub seed: u64,
    /// How much of it.
    pub amount: Amount,
    /// A folder of its own.
    pub folder: PathBuf,
}

/// The file that holds the input being fed.
pub fn current(folder: &Path) -> PathBuf {
    folder.join("current")
}

/// Feeds damaged files until the work is done; the number of inputs, and of different answers.
pub fn run(work: Work) -> io::Result<(u64, usize)> {
    let stacked = thread::Builder::new().stack_size(STACK).spawn(move || feed_all(&work))?;
    match stacked.join() {
        Ok(result) => result,
        // The message is on standard error.
        Err(_) => exit(PANICKED),
    }
}

/// Feeds one input, under the same bounds.
pub fn repeat(target: &'static Entry<Target>, input: Vec<u8>, folder: PathBuf) -> io::Result<String> {
    let stacked = thread::Builder::new().stack_size(STACK).spawn(move || {
        watch();
        memory::refuse_beyond(MOST_MEMORY);
        BEGUN.store(now(), Relaxed);
        let mut scratch = Scratch::new(folder);
        (target.value.feed)(&input, &mut scratch)
    })?;
    stacked.join().map_err(|_| io::Error::other("the reader panicked"))
}

fn feed_all(work: &Work) -> io::Result<(u64, usize)> {
    let target = &work.target.value;
    let mut seeds = corpus::read(work.target)?;
    let stored = seeds.len();
    let mut scratch = Scratch::new(work.folder.clone());
    let mut current =
        OpenOptions::new().create(true).truncate(true).write(true).open(current(&work.folder))?;
    watch();
    memory::refuse_beyond(MOST_MEMORY);
    let mut answers = std::collections::HashSet::new();
    let start = Instant::now();
    let mut fed = 0;
    loop {
        let over = match work.amount {
            Amount::Seconds(seconds) => start.elapsed().as_secs_f64() >= seconds,
            Amount::Inputs(count) => fed >= count,
        };
        if over {
            return Ok((fed, answers.len()));
        }
        // The stored files themselves, then damaged ones.
        let input = match seeds.get(fed as usize).filter(|_| (fed as usize) < stored) {
            Some(file) => file.clone(),
            None => mutated(target.structure, &seeds, &mut Random::stream(work.seed, &[fed])),
        };
        keep_current(&mut current, &input)?;
        BEGUN.store(now(), Relaxed);
        let answer = (target.feed)(&input, &mut scratch);
        BEGUN.store(IDLE, Relaxed);
        if answers.insert(shape(&answer)) && fed as usize >= stored {
            let mut random = Random::stream(!work.seed, &[fed]);
            match seeds.len() < stored + MOST_KEPT {
                true => seeds.push(input),
                false => {
                    let place = stored + below(&mut random, MOST_KEPT);
                    seeds[place] = input;
                }
            }
        }
        fed += 1;
    }
}

fn keep_current(file: &mut File, input: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    file.write_all(input)?;
    file.set_len(input.len() as u64)
}

/// An answer without its numbers and names: what is left tells which rule gave it.
fn shape(answer: &str) -> String {
    let mut shape = String::new();
    let mut quoted = false;
    for c in answer.chars() {
        match c {
            '`' => quoted = !quoted,
            _ if quoted || c.is_ascii_digit() => {}
            _ => shape.push(c),
        }
    }
    shape
}

/// When the input being fed was begun, ms since the first question; [`IDLE`] between inputs.
static BEGUN: AtomicU64 = AtomicU64::new(IDLE);
const IDLE: u64 = u64::MAX;

fn now() -> u64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_millis() as u64
}

/// Ends the process when an input takes too long.
fn watch() {
    thread::spawn(|| {
        loop {
            thread::sleep(Duration::from_millis(50));
            let begun = BEGUN.load(Relaxed);
            if begun != IDLE && now().saturating_sub(begun) > 1000 * MOST_SECONDS {
                eprintln!("took more than {MOST_SECONDS} s");
                exit(TOOK_TOO_LONG);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_one_rule_have_one_shape() {
        let a = shape("a.xml:3:7: <geom> `size`: holds 2 numbers where 3 belong");
        assert_eq!(a, shape("a.xml:12:1: <geom> `fromto`: holds 5 numbers where 6 belong"));
        assert_ne!(a, shape("a.xml:12:1: <geom> `fromto`: is missing"));
    }
}

//! `cargo xtask fuzz`: damaged files for every reader, for as long as asked.

use std::path::PathBuf;
use std::process::ExitCode;

use pullback_core::memory::Counting;
use pullback_fuzz::driver::{self, Plan};
use pullback_fuzz::target::{TARGETS, WITH_BROKEN};
use pullback_fuzz::worker::{self, Amount, Work};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const USAGE: &str = "\
usage: cargo xtask fuzz [--seconds N | --inputs N] [--seed N] [--out DIR] [TARGET...]
       cargo xtask fuzz --repeat TARGET FILE

  --seconds N   time of all targets together [default: 600]
  --inputs N    inputs of each target, in place of a time: the same every time
  --seed N      seed of the mutations [default: 0]
  --out DIR     where inputs that break a reader are kept [default: out/fuzz]
  --repeat      feeds one file again

An input fails if its reader panics, aborts, holds more than 1 GiB or takes more than 5 s. Targets:";

/// What the command line asks for.
#[derive(Default)]
struct Asked {
    seconds: Option<f64>,
    inputs: Option<u64>,
    seed: u64,
    out: Option<PathBuf>,
    repeat: bool,
    /// A target that this process feeds itself.
    work: Option<String>,
    names: Vec<String>,
}

fn main() -> ExitCode {
    let asked = match parse(std::env::args().skip(1)) {
        Ok(asked) => asked,
        Err(message) => {
            eprintln!("{message}\n{USAGE}");
            TARGETS.entries().for_each(|target| eprintln!("  {:14} {}", target.name, target.summary));
            return ExitCode::from(2);
        }
    };
    match run(asked) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("fuzz: {message}");
            ExitCode::from(2)
        }
    }
}

fn parse(arguments: impl Iterator<Item = String>) -> Result<Asked, String> {
    let mut asked = Asked::default();
    let mut arguments = arguments.peekable();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        let wrong = |text: String| format!("`{text}` is no number");
        match argument.as_str() {
            "--seconds" => {
                let text = value()?;
                let seconds = text.parse().ok().filter(|s: &f64| *s >= 0.0 && s.is_finite());
                asked.seconds = Some(seconds.ok_or(wrong(text))?);
            }
            "--inputs" => {
                asked.inputs = Some(value().and_then(|text| text.parse().map_err(|_| wrong(text)))?)
            }
            "--seed" => asked.seed = value().and_then(|text| text.parse().map_err(|_| wrong(text)))?,
            "--out" => asked.out = Some(value()?.into()),
            "--work" => asked.work = Some(value()?),
            "--repeat" => asked.repeat = true,
            other if other.starts_with('-') => return Err(format!("there is no option {other}")),
            name => asked.names.push(name.to_owned()),
        }
    }
    match (asked.repeat, asked.names.len()) {
        (true, n) if n != 2 => Err("--repeat needs a target and a file".into()),
        _ => Ok(asked),
    }
}

/// Whether no reader broke.
fn run(asked: Asked) -> Result<bool, String> {
    let told = |e: std::io::Error| e.to_string();
    let find = |name: &String| WITH_BROKEN.find(name).map_err(|e| e.to_string());
    let out = asked.out.unwrap_or_else(|| "out/fuzz".into());
    std::fs::create_dir_all(&out).map_err(told)?;
    if let (true, [name, file]) = (asked.repeat, asked.names.as_slice()) {
        let input = std::fs::read(file).map_err(|e| format!("{file}: {e}"))?;
        println!("{}", worker::repeat(find(name)?, input, out).map_err(told)?);
        return Ok(true);
    }
    let amount = match (asked.inputs, asked.seconds) {
        (Some(inputs), _) => Amount::Inputs(inputs),
        (None, seconds) => Amount::Seconds(seconds.unwrap_or(600.0)),
    };
    if let Some(name) = &asked.work {
        let work = Work { target: find(name)?, seed: asked.seed, amount, folder: out };
        let (inputs, answers) = worker::run(work).map_err(told)?;
        println!("{inputs} inputs, {answers} different answers");
        return Ok(true);
    }
    let targets = match asked.names.as_slice() {
        [] => TARGETS.entries().collect(),
        names => names.iter().map(find).collect::<Result<_, _>>()?,
    };
    let crashes = driver::run(&Plan { targets, amount, seed: asked.seed, out }).map_err(told)?;
    eprintln!(
        "{}",
        if crashes.is_empty() { "no reader broke".into() } else { format!("{} failures", crashes.len()) }
    );
    Ok(crashes.is_empty())
}

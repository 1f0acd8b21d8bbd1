//! `pullback reproduce diffmjx`: tosses, integrators, hovering, billiard and the side of a cube.
//!
//! Results are written down one by one; a run that was killed goes on from them.

mod figures;
mod identify;

use std::path::{Path, PathBuf};

use pullback_core::ConfigError;
use pullback_core::files::{Fingerprint, InputFile};
use pullback_core::integrator::{Integrator, Method};
use pullback_core::rollout::Inputs;
use pullback_optim::RunName;
use pullback_physics::articulated::Articulated;
use pullback_plot::{Figure, Report, Section, Stat, Tone};
use pullback_tasks::diffmjx::billiard::{self, Game, Gradients};
use pullback_tasks::diffmjx::toss::{self, SHAPES, Toss, Tosses};
use pullback_tasks::diffmjx::{cube, hover};
use pullback_tasks::part_log::PartLog;
use pullback_tasks::{Results, recording};

use super::Summary;
use crate::args::ReproduceOptions;
use crate::output::{CliError, Output};
use crate::progress;

/// How much is computed.
#[derive(Debug)]
struct Size {
    quick: bool,
    velocities: usize,
    pushes: usize,
    segments: usize,
    adam_steps: usize,
    fit_segments: usize,
    fit_steps: usize,
    /// Parts of the tosses that are fitted one by one.
    parts: usize,
}

const FULL: Size = Size {
    quick: false,
    velocities: 200,
    pushes: 81,
    segments: 256,
    adam_steps: 60,
    fit_segments: 384,
    fit_steps: 25,
    parts: 8,
};
const QUICK: Size = Size {
    quick: true,
    velocities: 12,
    pushes: 17,
    segments: 48,
    adam_steps: 45,
    fit_segments: 48,
    fit_steps: 10,
    parts: 2,
};

/// What is made on the way.
struct Page {
    folder: PathBuf,
    report: Report,
    results: Results,
    files: Vec<PathBuf>,
}

impl Page {
    /// Saves a figure beside the page, and adds it to a section.
    fn figure(
        &mut self,
        section: Section,
        name: &str,
        figure: &Figure,
        (caption, alt): (&str, &str),
    ) -> Result<Section, CliError> {
        let picture = self.folder.join(format!("{name}.png"));
        figure.save_png(&picture)?;
        self.files.push(picture);
        Ok(section.figure(figure, caption, alt)?)
    }

    /// Saves a motion as a page that plays; returns the link to it.
    fn replay(
        &mut self,
        name: &str,
        text: &str,
        robot: &Articulated,
        rows: &[(f64, Vec<f64>)],
    ) -> Result<(String, String), CliError> {
        let page = self.folder.join(format!("{name}.html"));
        let inputs = Inputs::defaults(robot, 1);
        let saved = recording::replay(robot, (&inputs, 1.0), rows).save(&page);
        saved.map_err(|e| ConfigError::new(format!("{}: {e}", page.display())))?;
        self.files.push(page);
        Ok((text.to_owned(), format!("{name}.html")))
    }
}

pub fn run(options: &ReproduceOptions, output: &Output) -> Result<bool, CliError> {
    let size = if options.quick { QUICK } else { FULL };
    let recorded = match &options.data {
        Some(path) => cube::read_tosses(path)?,
        None => cube::made_tosses(40, 0)?,
    };
    if recorded.len() < 2 * size.parts {
        let least = 2 * size.parts;
        return Err(ConfigError::new(format!("too few tosses: give at least {least}")).into());
    }
    let (folder, _lock) = output.run_folder("reproduce-diffmjx")?;
    let log_file = folder.join(if size.quick { "run-quick.jsonl" } else { "run.jsonl" });
    let log = open_log(&log_file, &size, &recorded)?;
    let mut page = Page {
        folder,
        report: Report::new(
            "Hard contacts with soft gradients",
            "DiffMJX (Paulus, Geist et al. 2025) on our own simulator",
        ),
        results: Results::new("diffmjx"),
        files: Vec::new(),
    };
    if options.data.is_none() {
        let note = "Tosses of the cube are simulated; --data names a file of recorded ones.";
        page.results.notes.push(note.into());
    }
    let tosses = toss_section(&mut page, &size, &log)?;
    integrator_section(&mut page, &size, &log)?;
    hover_section(&mut page)?;
    let games = billiard_section(&mut page, &size, &log)?;
    let found = identify::identify(&recorded, &size, &log, &mut page.results)?;
    cube_section(&mut page, &found)?;
    if log.resumed() > 0 {
        let (parts, file) = (log.resumed(), log_file.display());
        let note = format!("{parts} results are from {file}; remove it to compute them anew.");
        page.results.notes.push(note);
    }

    let Page { folder, mut report, results, mut files } = page;
    let glance = Section::new("At a glance").stats(stats(&tosses, &games, &found));
    report.sections.insert(0, glance);
    report.footer = results.notes.join(" ");
    let index = folder.join("index.html");
    report.save(&index)?;
    files.insert(0, index);
    let data = folder.join("results.json");
    output.write(&data, serde_json::to_string_pretty(&results)?.as_bytes())?;
    files.extend([data, log_file]);
    Summary { results, files }.print(output)
}

/// The log of a run of this size on these tosses.
fn open_log(path: &Path, size: &Size, tosses: &[cube::Toss]) -> Result<PartLog, CliError> {
    let mut hash = Fingerprint::default();
    for toss in tosses {
        hash = hash.numbers(&[toss.len() as f64]).numbers(toss.as_flattened());
    }
    let recorded = InputFile::new(format!("{} tosses", tosses.len()), hash);
    let name = RunName::new("diffmjx", format!("{size:?}, {SHAPES:?}"), 0).with_inputs([recorded]);
    Ok(PartLog::open(path, &name).map_err(pullback_tasks::diffmjx::ExperimentError::from)?)
}

fn toss_section(page: &mut Page, size: &Size, log: &PartLog) -> Result<Tosses, CliError> {
    let bar = progress::bar(SHAPES.len() * size.velocities, "tosses");
    let tosses = toss::run(size.velocities, log, || bar.inc(1))?;
    bar.finish_and_clear();
    tosses.add_results(&mut page.results);
    let mut section = Section::new("Tosses of five shapes");
    section = page.figure(
        section,
        "tosses",
        &figures::toss(&tosses),
        (
            "How far a shape has gone after 1 s against the velocity it was thrown with, and the derivative by the \
             adjoint beside central differences. A gradient is right within 1 % of the difference.",
            "Per shape: loss, gradients of adaptive steps on the curve of differences, gradients of fixed steps off it.",
        ),
    )?;
    let mut links = Vec::new();
    for shape in &SHAPES {
        let toss = Toss::new(shape, Integrator::fixed(Method::Rk4), Some(1e-4))?;
        let (name, text) = (format!("toss-{}", shape.name), format!("the {}, played", shape.name));
        links.push(page.replay(&name, &text, toss.robot(), &toss.motion(-2.0)?)?);
    }
    page.report.sections.push(section.links(links));
    Ok(tosses)
}

fn integrator_section(page: &mut Page, size: &Size, log: &PartLog) -> Result<(), CliError> {
    let bar = progress::bar(if size.quick { 18 } else { 45 }, "integrators");
    let timings = toss::integrators(size.quick, log, || bar.inc(1))?;
    bar.finish_and_clear();
    let section = page.figure(
        Section::new("Error against run time"),
        "integrators",
        &figures::timing(&timings),
        (
            "Toss of the cube at −2 m/s: error of loss and gradient against the seconds that both take.",
            "Errors fall with run time; adaptive methods are lowest.",
        ),
    )?;
    page.report.sections.push(section);
    Ok(())
}

fn hover_section(page: &mut Page) -> Result<(), CliError> {
    let hover = hover::run()?;
    hover.add_results(&mut page.results);
    let section = page.figure(
        Section::new("Hovering"),
        "hover",
        &figures::hover(&hover),
        (
            "Contacts from distance in the motion lift a quadruped; on the way back alone they leave it where it is.",
            "Height of the trunk over time: hovering above, the two others on one curve.",
        ),
    )?;
    let links = vec![
        page.replay("quadruped-plain", "the quadruped, played", &hover.robot, &hover.plain)?,
        page.replay("quadruped-hovering", "the same, hovering", &hover.robot, &hover.hovering)?,
    ];
    page.report.sections.push(section.links(links));
    Ok(())
}

fn billiard_section(page: &mut Page, size: &Size, log: &PartLog) -> Result<Vec<Game>, CliError> {
    let tables = [billiard::Table::Flat, billiard::Table::None];
    let bar = progress::bar(5 * size.pushes + 2 * (billiard::ITERATIONS + 1), "billiard");
    let games: Vec<Game> = (tables.into_iter())
        .map(|table| billiard::run(table, size.pushes, log, || bar.inc(1)))
        .collect::<Result<_, _>>()?;
    bar.finish_and_clear();
    games.iter().for_each(|game| game.add_results(&mut page.results));
    let section = page.figure(
        Section::new("Billiard"),
        "billiard",
        &figures::billiard(&games),
        (
            "Loss and gradient against the push, with a table above and without one below, and the search by Adam.",
            "Gradients are zero where the balls miss, unless contacts act from distance.",
        ),
    )?;
    let mut links = Vec::new();
    for (name, text, push) in [
        ("billiard-first", "the first push, played", billiard::START),
        ("billiard-last", "the last push, played", last_push(&games[0])),
    ] {
        let billiard = billiard::Billiard::new(billiard::Table::Flat, Gradients::Plain, 1e-6)?;
        links.push(page.replay(name, text, billiard.robot(), &billiard.motion(push)?)?);
    }
    page.report.sections.push(section.links(links));
    Ok(games)
}

fn last_push(game: &Game) -> f64 {
    let trace = game.searches.last().map_or(&[][..], |(_, trace)| &trace[..]);
    trace.last().map_or(billiard::START, |(push, _)| *push)
}

fn cube_section(page: &mut Page, found: &identify::Identified) -> Result<(), CliError> {
    let section = page.figure(
        Section::new("The side of a cube"),
        "cube",
        &figures::cube(&found.descents),
        (
            "Side of the cube against steps of Adam, from three starts.",
            "With contacts from distance all starts end at one side.",
        ),
    )?;
    let section = section.table(identify::fit_table(found)).table(identify::parts_table(&found.parts));
    page.report.sections.push(section);
    Ok(())
}

/// Key figures.
fn stats(tosses: &Tosses, games: &[Game], found: &identify::Identified) -> Vec<Stat> {
    let tone = |met: bool| if met { Tone::Good } else { Tone::Bad };
    let shares = |of: fn(&toss::Throws) -> &[toss::Throw]| -> (f64, f64) {
        let shares = tosses.shapes.iter().map(|shape| shape.right(of(shape)));
        shares.fold((1.0, 0.0), |(least, most), x| (x.min(least), x.max(most)))
    };
    let (least, _) = shares(|shape| &shape.adaptive);
    let (_, most) = shares(|shape| &shape.fixed);
    let solved = games.iter().find_map(|game| game.steps_to_solve());
    let side = found.fit.estimates[0];
    let error = identify::spread(&found.parts, cube::Quantity::Side);
    let error = error.map_or(String::new(), |e| format!(" ± {:.1}", 1e3 * e));
    vec![
        Stat {
            tone: tone(least >= 0.99),
            ..Stat::new(
                "gradients of tosses right",
                format!("{:.1} %", 100.0 * least),
                format!("the worst of five shapes; {:.1} % at most with steps of 0.01 s", 100.0 * most),
            )
        },
        Stat {
            tone: tone(solved.is_some()),
            ..Stat::new(
                "billiard solved",
                solved.map_or("not solved".into(), |n| format!("{n} steps of Adam")),
                "with contacts from distance; 30 at most",
            )
        },
        Stat::new(
            "side of the cube",
            format!("{:.1}{error} mm", 1e3 * side.value),
            format!("by Gauss-Newton; published {:.1} mm", 1e3 * cube::SIDE),
        ),
    ]
}

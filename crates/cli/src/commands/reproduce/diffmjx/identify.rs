//! What the tosses of a cube tell of it: its side by Adam, all that can be told by Gauss-Newton, and how much both
//! depend on which tosses are taken.

use pullback_core::ConfigError;
use pullback_plot::Table;
use pullback_tasks::diffmjx::ExperimentError;
use pullback_tasks::diffmjx::cube::{self, Cube, Descent, Fit, Quantity, Simulator, Toss, Way};
use pullback_tasks::part_log::PartLog;
use pullback_tasks::{Goal, Results};

use super::Size;
use crate::output::CliError;
use crate::progress;

/// Sides at which the search begins, m.
const STARTS: [f64; 3] = [0.06, 0.1, 0.14];
/// Error of the side that the paper reports, relative.
const PAPER_ERROR: f64 = 0.05;
/// Tolerances of adaptive steps: Adam, Gauss-Newton.
const TOLERANCES: (f64, f64) = (1e-5, 1e-7);
/// What Gauss-Newton fits.
const FITTED: [Quantity; 6] = [
    Quantity::Side,
    Quantity::Inertia,
    Quantity::Mass,
    Quantity::Friction,
    Quantity::TimeConstant,
    Quantity::DampingRatio,
];

/// What was found.
pub struct Identified {
    /// The side by Adam: one list per way to compute gradients, an entry per start.
    pub descents: Vec<Vec<Descent>>,
    /// All quantities, from the first three quarters of the tosses, judged by the rest.
    pub fit: Fit,
    /// The side by Adam and all quantities, from each part of the tosses, judged by the tosses of the next.
    pub parts: Vec<(f64, Fit)>,
}

/// Identifies the cube; adds rows and goals.
pub fn identify(
    tosses: &[Toss],
    size: &Size,
    log: &PartLog,
    results: &mut Results,
) -> Result<Identified, CliError> {
    let part = (3 * tosses.len()).div_ceil(4).min(tosses.len() - 1).max(1);
    let (train, rest) = tosses.split_at(part);
    let bar = progress::bar(cube::WAYS.len() * STARTS.len() + 1 + size.parts, "cube");
    let mut descents = Vec::new();
    for way in cube::WAYS {
        let mut of_way = Vec::new();
        for start in STARTS {
            let descent = descend(way, "", train, start, size, log)?;
            let side = last(&descent);
            let case = format!("cube, {}, from {:.0} mm", way.name(), 1e3 * start);
            results.row(&case, "side after Adam", 1e3 * side, "mm");
            if way == Way::AdaptiveDistant {
                let name = format!("{case}: relative error of the side");
                results.goals.push(Goal::at_most(name, error(side), PAPER_ERROR));
            }
            of_way.push(descent);
            bar.inc(1);
        }
        descents.push(of_way);
    }
    let fit = fit("", (train, rest), size, log)?;
    bar.inc(1);
    add_fit(&fit, results);
    // Each part by itself.
    let part_of = |k: usize| &tosses[k * tosses.len() / size.parts..(k + 1) * tosses.len() / size.parts];
    let mut parts = Vec::new();
    for k in 0..size.parts {
        let (these, others) = (part_of(k), part_of((k + 1) % size.parts));
        let name = format!("part {k}");
        let side = last(&descend(Way::AdaptiveDistant, &name, these, STARTS[1], size, log)?);
        parts.push((side, self::fit(&name, (these, others), size, log)?));
        bar.inc(1);
    }
    bar.finish_and_clear();
    add_parts(&parts, results);
    Ok(Identified { descents, fit, parts })
}

fn last(descent: &Descent) -> f64 {
    descent.sides.last().copied().unwrap_or(f64::NAN)
}

/// Relative error of a side.
fn error(side: f64) -> f64 {
    (side / cube::SIDE - 1.0).abs()
}

fn some_segments(tosses: &[Toss], count: usize, seed: u64) -> Result<Vec<cube::Segment>, ConfigError> {
    let segments = cube::segments(tosses, count, seed);
    if segments.is_empty() {
        return Err(ConfigError::new("too few tosses that touch the floor: give more of them"));
    }
    Ok(segments)
}

fn descend(
    way: Way,
    part: &str,
    tosses: &[Toss],
    start: f64,
    size: &Size,
    log: &PartLog,
) -> Result<Descent, CliError> {
    let segments = some_segments(tosses, size.segments, 0)?;
    let simulator = Simulator::new(way, TOLERANCES.0)?;
    Ok(cube::descend((&simulator, way, part), &segments, start, size.adam_steps, log)?)
}

fn fit(part: &str, (train, rest): (&[Toss], &[Toss]), size: &Size, log: &PartLog) -> Result<Fit, CliError> {
    let train = some_segments(train, size.fit_segments, 0)?;
    let rest = some_segments(rest, size.fit_segments, 1)?;
    Ok(log.part(&format!("fit {part}"), || {
        let simulator = Simulator::new(Way::Adaptive, TOLERANCES.1)?;
        let found = cube::fit(&simulator, (&train, &rest), Cube::default(), &FITTED, size.fit_steps)?;
        Ok::<Fit, ExperimentError>(found)
    })?)
}

fn add_fit(fit: &Fit, results: &mut Results) {
    let case = "cube by Gauss-Newton";
    for estimate in &fit.estimates {
        let (name, unit) = estimate.quantity.name();
        results.row(case, name, estimate.value, unit);
        match estimate.error {
            Some(error) => results.row(case, &format!("standard error of {name}"), error, unit),
            None => results.notes.push(format!("The motion does not tell the {name}.")),
        }
    }
    let [before, after, held_back] = fit.misfits;
    results.row(case, "root mean square of residuals at the start", 1e3 * before, "mm");
    results.row(case, "root mean square of residuals", 1e3 * after, "mm");
    results.row(case, "the same on tosses held back", 1e3 * held_back, "mm");
    let side = fit.cube.values[0];
    results.goals.push(Goal::at_most(
        "cube by Gauss-Newton: relative error of the side",
        error(side),
        PAPER_ERROR,
    ));
    results.goals.push(Goal::at_most(
        "cube by Gauss-Newton: misfit on tosses held back over that at the start",
        held_back / before,
        1.0,
    ));
}

fn add_parts(parts: &[(f64, Fit)], results: &mut Results) {
    for quantity in FITTED {
        if let Some(error) = spread(parts, quantity) {
            let (name, unit) = quantity.name();
            let metric = format!("standard error of {name} from the spread of parts");
            results.row("cube by Gauss-Newton", &metric, error, unit);
        }
    }
    let case = format!("cube, each of {} parts of the tosses", parts.len());
    let by_adam = |part: &(f64, Fit)| part.0;
    let by_fit = |part: &(f64, Fit)| part.1.cube.values[0];
    for (name, sides) in [
        ("Adam", parts.iter().map(by_adam).collect::<Vec<_>>()),
        ("Gauss-Newton", parts.iter().map(by_fit).collect()),
    ] {
        let least = sides.iter().copied().fold(f64::INFINITY, f64::min);
        let most = sides.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        results.row(&case, &format!("least side by {name}"), 1e3 * least, "mm");
        results.row(&case, &format!("largest side by {name}"), 1e3 * most, "mm");
        let worst = sides.iter().map(|side| error(*side)).fold(0.0, f64::max);
        let goal = format!("{case}: largest relative error of the side by {name}");
        results.goals.push(Goal::at_most(goal, worst, PAPER_ERROR));
    }
}

/// Standard error of a quantity from the spread of the parts, each a fit to other tosses: their standard deviation
/// over the root of how many there are.
pub fn spread(parts: &[(f64, Fit)], quantity: Quantity) -> Option<f64> {
    let told =
        |fit: &Fit| fit.estimates.iter().find(|e| e.quantity == quantity && e.error.is_some()).copied();
    let values: Vec<f64> = parts.iter().filter_map(|part| Some(told(&part.1)?.value)).collect();
    if values.len() < 2 {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let square = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    Some((square / n).sqrt())
}

/// Values and standard errors.
pub fn fit_table(Identified { fit, parts, .. }: &Identified) -> Table {
    let row = |e: &cube::Estimate| {
        let (name, unit) = e.quantity.name();
        let text = |error: Option<f64>| error.map_or("cannot be told".into(), |error| format!("{error:.2e}"));
        let errors = (text(e.error), text(spread(parts, e.quantity)));
        vec![name.into(), format!("{:.5}", e.value), errors.0, errors.1, unit.into()]
    };
    Table {
        caption: format!(
            "All quantities by Gauss-Newton, from {} tosses. Standard errors are given twice. By clusters: from the \
             residuals as they are, correlated within a toss, and their derivatives; for the side this one is far \
             smaller than the fits to parts differ, perhaps by large derivatives where a corner grazes the floor. By parts: \
             from how much fits to {} parts of the tosses differ, with no such assumption. Neither holds what is \
             wrong with the model itself, a rigid cube with soft contacts of one law.",
            fit.tosses,
            parts.len()
        ),
        header: ["quantity", "value", "error by clusters", "error by parts", "unit"]
            .map(String::from)
            .to_vec(),
        rows: fit.estimates.iter().map(row).collect(),
    }
}

/// The side and the friction from each part of the tosses.
pub fn parts_table(parts: &[(f64, Fit)]) -> Table {
    let row = |(k, (adam, fit)): (usize, &(f64, Fit))| {
        let of = |quantity: Quantity, digits: usize, scale: f64| {
            let found = fit.estimates.iter().find(|e| e.quantity == quantity);
            found.map_or(String::new(), |e| format!("{:.digits$}", scale * e.value))
        };
        vec![
            format!("{} of {}", k + 1, parts.len()),
            fit.tosses.to_string(),
            format!("{:.1}", 1e3 * adam),
            of(Quantity::Side, 1, 1e3),
            of(Quantity::Friction, 3, 1.0),
            format!("{:.2}", 1e3 * fit.misfits[1]),
            format!("{:.2}", 1e3 * fit.misfits[2]),
        ]
    };
    let header =
        ["part", "tosses", "Adam (mm)", "Gauss-Newton (mm)", "friction", "misfit (mm)", "on the next (mm)"];
    Table {
        caption: "Side, friction and misfit from each part of the tosses by itself, and its misfit on the next part."
            .into(),
        header: header.map(String::from).to_vec(),
        rows: parts.iter().enumerate().map(row).collect(),
    }
}

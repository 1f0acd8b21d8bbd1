//! Parameters of a system from recordings of its motion.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pullback::search::RunName;
use pullback::search::least_squares::FIT_METHODS;
use pullback::tasks::files::find_keyframe;
use pullback::tasks::identify::{Asked, Question, RunSettings, Setup, Table, TransformName, identify as fit};
use pyo3::prelude::*;
use serde_json::json;

use crate::arrays::{Numbers, numbers};
use crate::error::{Error, detached, refuse};
use crate::objective::parsed;
use crate::system::System;

/// What is asked, by the names of `System.identify`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Asking {
    fit: Vec<String>,
    free: Vec<String>,
    start: BTreeMap<String, f64>,
    bounds: BTreeMap<String, (f64, f64)>,
    transform: BTreeMap<String, String>,
    noise: BTreeMap<String, f64>,
    keyframe: Option<String>,
    method: String,
    settings: String,
    starts: usize,
    budget: usize,
    seed: u64,
    threads: usize,
    folder: Option<PathBuf>,
}

/// A recording: its name, the names of its columns, times, and rows of values, NaN where nothing was measured.
pub type Recording<'py> = (String, Vec<String>, Numbers<'py>, Numbers<'py>);

/// The quantities with their errors, and how well the recordings are met, as JSON.
#[pyfunction]
pub fn identify(
    py: Python<'_>,
    system: &System,
    recordings: Vec<Recording<'_>>,
    asking: Asking,
) -> PyResult<String> {
    let tables = recordings.iter().map(table).collect::<Result<Vec<_>, _>>()?;
    if tables.is_empty() {
        return Err(refuse("give at least one recording").into());
    }
    let scene = system.0.scene.as_ref();
    let transform = |(name, how): (String, String)| match transform_called(&how) {
        Some(how) => Ok((name, how)),
        None => {
            Err(refuse(format!("transform of {name}: `{how}` is not one of identity, log, softplus, box")))
        }
    };
    let asked = Asked {
        fit: asking.fit,
        start: asking.start.into_iter().collect(),
        bounds: asking.bounds.into_iter().collect(),
        transform: asking.transform.into_iter().map(transform).collect::<Result<_, _>>()?,
    };
    let from = asking.keyframe.map(|wanted| find_keyframe(scene.keyframes(), &wanted));
    let from = from.transpose().map_err(Error::from)?.map(|key| (key.state(), key.controls()));
    let question = Question { asked, free: asking.free, noise: asking.noise.into_iter().collect(), from };
    let method =
        FIT_METHODS.find(&asking.method).map_err(pullback::core::ConfigError::from).map_err(Error::from)?;
    let method = (method.value)(&parsed(&asking.settings)?).map_err(Error::from)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(asking.threads).build();
    let pool = pool.map_err(|e| refuse(format!("cannot start {} threads: {e}", asking.threads)))?;
    let (starts, seed, budget) = (asking.starts, asking.seed, asking.budget);
    let found = detached(py, || -> Result<_, Error> {
        let setup = Setup::new(scene, scene.name(), &tables, &question)?;
        let log = asking.folder.map(|folder| {
            let settings = format!("{question:?}, {starts} starts, budget {budget}");
            (folder, RunName::new(scene.name(), settings, seed))
        });
        let settings = RunSettings { method: &method, starts, seed, budget, log };
        let found = pool.install(|| fit(scene, &setup, &settings, &|_, _, _, _| {}));
        let found = found.map_err(|e| refuse(e.to_string()))?;
        let laplace = &found.fitted.laplace;
        Ok(json!({
            "quantities": laplace.estimates,
            "correlations": laplace.correlations,
            "untold": laplace.untold,
            "residuals": laplace.residuals,
            "mean_square": laplace.variance,
            "channels": found.channels,
            "starts": found.fitted.starts,
            "best_start": found.fitted.best,
            "resumed": found.fitted.resumed,
        }))
    })?;
    Ok(found.to_string())
}

/// A recording as the engine has it.
fn table((name, header, times, values): &Recording<'_>) -> Result<Table, Error> {
    let (times, values) = (numbers("time", times)?, numbers("values", values)?);
    if times.is_empty() || values.len() != times.len() * header.len() {
        let wanted = times.len() * header.len();
        return Err(refuse(format!("{name}: {} values where {wanted} are needed", values.len())));
    }
    if let Some(i) = (1..times.len()).find(|i| times[*i] <= times[i - 1]) {
        return Err(refuse(format!(
            "{name}: times must increase, and {} follows {}",
            times[i],
            times[i - 1]
        )));
    }
    if let Some(time) = times.iter().find(|time| !time.is_finite()) {
        return Err(refuse(format!("{name}: a time is {time}")));
    }
    let cell = |x: &f64| (!x.is_nan()).then_some(*x);
    let rows = values.chunks(header.len().max(1)).map(|row| row.iter().map(cell).collect()).collect();
    Ok(Table { name: name.clone(), header: header.clone(), times: times.to_vec(), rows })
}

fn transform_called(name: &str) -> Option<TransformName> {
    match name {
        "identity" => Some(TransformName::Identity),
        "log" => Some(TransformName::Log),
        "softplus" => Some(TransformName::Softplus),
        "box" => Some(TransformName::Box),
        _ => None,
    }
}

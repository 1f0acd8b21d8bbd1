//! [`Experiment`]: a function from a [`Setting`] to an [`Exhibit`].

use pullback_core::{ConfigError, StepError};
use pullback_optim::LogError;
use pullback_optim::search::SearchError;
use pullback_plot::{Figure, PlotError, Section};
use pullback_render::RenderError;
use pullback_tasks::part_log::PartLog;
use pullback_tasks::results::Row;
use pullback_tasks::{Goal, Results};
use pullback_video::VideoError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::sheet::Sheet;

/// How an experiment is run.
pub type Experiment = fn(&Setting<'_>) -> Result<Exhibit, ExperimentError>;

/// An experiment that cannot be run.
#[derive(Debug, Error)]
pub enum ExperimentError {
    /// A scene or a setting is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A motion cannot be simulated.
    #[error(transparent)]
    Step(#[from] StepError),
    /// A picture cannot be drawn.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// A video cannot be made or compared.
    #[error(transparent)]
    Video(#[from] VideoError),
    /// A figure cannot be drawn.
    #[error(transparent)]
    Plot(#[from] PlotError),
    /// Results cannot be written down.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A search failed.
    #[error(transparent)]
    Search(#[from] SearchError),
}

/// What an experiment is given.
pub struct Setting<'a> {
    /// Whether it is to take a minute at most.
    pub quick: bool,
    /// Instances or seeds, in place of its own number.
    pub seeds: Option<usize>,
    /// What a killed run goes on from.
    pub log: &'a PartLog,
    /// Hears what is being computed.
    pub progress: &'a (dyn Fn(&str) + Sync),
}

impl Setting<'_> {
    /// One of two sizes.
    pub fn size<X>(&self, full: X, quick: X) -> X {
        if self.quick { quick } else { full }
    }

    /// Number of instances or seeds.
    pub fn seeds(&self, full: usize, quick: usize) -> usize {
        self.seeds.unwrap_or(self.size(full, quick)).max(1)
    }

    /// A part of the experiment: read back from the log, or computed and written down. Its name says all that it depends
    /// on.
    pub fn part<R: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        compute: impl FnOnce() -> Result<R, ExperimentError>,
    ) -> Result<R, ExperimentError> {
        (self.progress)(name);
        self.log.part(name, compute)
    }
}

/// A picture to be saved beside the page.
#[derive(Clone, Debug)]
pub struct NamedPicture {
    /// Name of the file without its ending.
    pub name: String,
    /// The encoded picture.
    pub png: Vec<u8>,
}

/// What an experiment shows: figures beside the paper's, goals, and the parts of its page.
#[derive(Clone, Debug, Default)]
pub struct Exhibit {
    /// Figures, goals and notes.
    pub results: Results,
    /// The page.
    pub sections: Vec<Section>,
    /// Pictures beside the page.
    pub pictures: Vec<NamedPicture>,
}

impl Exhibit {
    /// Adds a figure, with the paper's beside it if there is one.
    pub fn row(&mut self, case: &str, metric: &str, (value, unit): (f64, &str), paper: Option<f64>) {
        self.results.rows.push(Row {
            case: case.into(),
            metric: metric.into(),
            value,
            unit: unit.into(),
            peer: paper,
            peer_name: paper.map(|_| "paper".into()),
        });
    }

    /// Adds a goal.
    pub fn goal(&mut self, goal: Goal) {
        self.results.goals.push(goal);
    }

    /// Adds what a reader must know.
    pub fn note(&mut self, note: impl Into<String>) {
        self.results.notes.push(note.into());
    }

    /// Adds a part of the page.
    pub fn section(&mut self, section: Section) {
        self.sections.push(section);
    }

    /// Adds a drawn figure to a section, and keeps it as a file.
    pub fn figure(
        &mut self,
        section: Section,
        name: &str,
        figure: &Figure,
        (caption, alt): (&str, &str),
    ) -> Result<Section, ExperimentError> {
        let png = figure.to_png_bytes()?;
        Ok(self.picture(section, name, png, (caption, alt)))
    }

    /// Adds rows of pictures to a section, and keeps them as a file.
    pub fn sheet(
        &mut self,
        section: Section,
        name: &str,
        sheet: &Sheet,
        (caption, alt): (&str, &str),
    ) -> Result<Section, ExperimentError> {
        let png = sheet.to_png()?;
        Ok(self.picture(section, name, png, (caption, alt)))
    }

    fn picture(
        &mut self,
        section: Section,
        name: &str,
        png: Vec<u8>,
        (caption, alt): (&str, &str),
    ) -> Section {
        self.pictures.push(NamedPicture { name: name.into(), png: png.clone() });
        section.image(png, caption, alt)
    }
}

//! What shading and texture add to gradient descent on the mass (gradSim Fig. 7).

use pullback_math::Vec3;
use pullback_plot::{Figure, LinePanel, Section, Series};
use pullback_render::shapes::SHAPES;
use pullback_render::{Light, Material, Paint, Texture};
use pullback_tasks::Goal;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::mass::{Flight, Range};
use super::object::{COLOR, MASS};
use crate::deformable::filmed::loss;
use crate::experiment::{Exhibit, ExperimentError, Setting};
use crate::sheet::Sheet;
use crate::{AdamRate, descend};

/// How the surface looks.
#[derive(Clone, Copy, Debug)]
enum Look {
    /// One color everywhere.
    Color,
    /// Lit, with highlights.
    Shading,
    /// Lit and checkered.
    Texture,
}

const LOOKS: [(Look, &str); 3] =
    [(Look::Color, "only color"), (Look::Shading, "shading"), (Look::Texture, "texture")];
/// Steps of Adam, and their rate in the logarithm of the mass.
const STEPS: usize = 60;
const RATE: AdamRate = AdamRate { rate: 0.08, fall: 0.02 };
/// A search has converged at this relative error.
const CONVERGED: f64 = 0.01;
/// Every how many frames one is compared.
const SPARSE: usize = 5;

/// Relative errors and losses over the steps.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Path {
    errors: Vec<f64>,
    losses: Vec<f64>,
}

impl Look {
    fn on(self, flight: &Flight) -> Result<super::object::Thrown, ExperimentError> {
        let mut thrown = flight.thrown()?;
        let gray = |x: f64| Vec3::new(x, x, x);
        let dark = COLOR * 0.25;
        let (paint, material) = match self {
            Look::Color => (Paint::Uniform(COLOR), Material::unlit()),
            Look::Shading => (Paint::Uniform(COLOR), Material::shiny(0.4, 20.0)),
            Look::Texture => {
                (Paint::Texture(Texture::checkerboard(4, 4, [COLOR, dark])), Material::shiny(0.4, 20.0))
            }
        };
        let sun = Light::directional(Vec3::new(-0.5, -1.0, 1.0).normalize(), gray(0.7));
        let lights = vec![Light::ambient(gray(0.3)), sun];
        thrown.filmed.visible = thrown.filmed.visible.with_look(paint, material, lights, Vec3::zero());
        Ok(thrown)
    }

    fn descend(self, flight: &Flight) -> Result<Path, ExperimentError> {
        let thrown = self.on(flight)?;
        let truth = flight.truth();
        let video = thrown.filmed.film(&thrown.inputs(&[MASS], &[truth])?)?;
        let sparse: Vec<_> = video.into_iter().skip(SPARSE - 1).step_by(SPARSE).collect();
        let problem = thrown.problem(&[MASS], &sparse)?;
        let mut errors = Vec::new();
        let start = [flight.guess().ln()];
        let found = descend(&loss(&problem), &start, (RATE, STEPS), |_, x, _| {
            errors.push((x[0].exp() / truth - 1.0).abs());
        })?;
        Ok(Path { errors, losses: found.losses })
    }
}

pub fn run(setting: &Setting<'_>) -> Result<Exhibit, ExperimentError> {
    let count = setting.seeds(8, 3);
    // Boxes, whose sides each show a whole texture.
    let flights: Vec<Flight> =
        (0..count).map(|k| Flight::draw(Range::Usual, SHAPES.len() * k)).collect::<Result<_, _>>()?;
    let (mut exhibit, mut means, mut sheet) = (Exhibit::default(), Vec::new(), Sheet::new());
    for (look, name) in LOOKS {
        let one = |k: usize| setting.part(&format!("{name}, box {k}"), || look.descend(&flights[k]));
        let paths = (0..count).into_par_iter().map(one).collect::<Result<Vec<_>, ExperimentError>>()?;
        let at = |t: usize| paths.iter().map(|p| p.errors[t]).sum::<f64>() / count as f64;
        let mean: Vec<f64> = (0..=STEPS).map(at).collect();
        let case = format!("mass by descent, {name}");
        exhibit.row(&case, &format!("mean relative error after {STEPS} steps"), (mean[STEPS], "1"), None);
        let area = mean.iter().map(|x| x.log10()).sum::<f64>() / mean.len() as f64;
        exhibit.row(&case, "mean over all steps of log10 of the error", (area, "1"), None);
        let converged = mean.iter().position(|x| *x <= CONVERGED);
        if let Some(steps) = converged {
            let metric = format!("steps until the mean error is {CONVERGED}");
            exhibit.row(&case, &metric, (steps as f64, "1"), None);
        }
        let mut thrown = look.on(&flights[0])?;
        thrown.filmed.frames = super::mass::shown();
        let video = thrown.filmed.film(&thrown.inputs(&[MASS], &[flights[0].truth()])?)?;
        sheet = sheet.with_row(video.iter().map(|frame| &frame.image));
        means.push((name, mean, converged));
    }
    let never = STEPS as f64 + 1.0;
    let steps = |i: usize| means[i].2.map_or(never, |n| n as f64);
    let name = "cues: steps with shading over those with only color";
    exhibit.goal(Goal::at_most(name, steps(1) / steps(0), 1.0));
    exhibit.goal(Goal::at_most("cues: steps with texture over those with only color", steps(2) / steps(0), 1.0));

    let section = Section::new("Cues of shading and texture");
    let caption = "The same box with only color, shading and texture.";
    let section = exhibit.sheet(section, "cues", &sheet, (caption, "Three rows of frames."))?;
    let curve = |(i, (name, mean, _)): (usize, &(&str, Vec<f64>, Option<usize>))| {
        Series::new(*name, i, mean.iter().enumerate().map(|(t, x)| (t as f64, *x)).collect())
    };
    let panel = LinePanel {
        x_label: "step".into(),
        y_label: "mean relative error of mass".into(),
        series: means.iter().enumerate().map(curve).collect(),
        log_y: true,
        ..LinePanel::default()
    };
    let caption = "Gradient descent on the mass with each look.";
    let figure = Figure::single(panel.into());
    let section = exhibit.figure(section, "cues-descent", &figure, (caption, "Curves that fall."))?;
    exhibit.section(section);
    exhibit.note(format!(
        "Cues: {count} boxes of Table 1's ranges, {STEPS} steps of Adam from a rate of {} falling to {} in the logarithm of \
         the mass, every fifth of 60 frames. The paper shows curves without figures.",
        RATE.rate,
        RATE.rate * RATE.fall,
    ));
    Ok(exhibit)
}

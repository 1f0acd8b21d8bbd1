//! `pullback identify TASK --from video`: parameters from pixels alone; a page with the video given beside that of what was
//! found.

use pullback_core::ConfigError;
use pullback_gradsim::Sheet;
use pullback_optim::RunName;
use pullback_plot::{Report, Section, compact};
use pullback_tasks::files::is_file_name;
use pullback_tasks::identify::{FromVideo, IDENTIFICATIONS, MadeFilm, RunSettings, identify_from_video};

use super::{Summary, method, page, quantities, remarks, text};
use crate::args::IdentifyOptions;
use crate::output::{CliError, Output};
use crate::progress;

/// Frames that are shown of each video.
const SHOWN: usize = 8;

pub fn run(options: &IdentifyOptions, seed: u64, output: &Output) -> Result<bool, CliError> {
    let what = &options.what;
    if !options.data.is_empty() || is_file_name(what) {
        let why =
            "--from video is for tasks with a made-up truth, of which `pullback identify --help` has a list";
        return Err(ConfigError::new(format!("{what}: {why}")).into());
    }
    let own = [
        options.fit.is_empty(),
        options.free.is_empty(),
        options.start.is_empty(),
        options.bounds.is_empty(),
        options.transform.is_empty(),
        options.noise.is_empty(),
        options.keyframe.is_none(),
        options.dt.is_none(),
        options.contact.is_none(),
        !options.reading.given(),
    ];
    if own.contains(&false) {
        let why = "--fit, --free, --start, --bounds, --transform, --noise, --keyframe, --dt, --contact and how a file is read \
                   do not go with --from video; a task has its own";
        return Err(ConfigError::new(format!("{what}: {why}")).into());
    }
    let entry = IDENTIFICATIONS.find(what).map_err(ConfigError::from)?;
    let film = entry.value.film(entry.name, seed, !options.exact_pixels)?;
    let method = method(options)?;
    let (folder, _lock) =
        output.run_folder(&format!("identify-{what}-video-{}-{seed}", options.method.name))?;
    let settings = format!(
        "from video, {} starts, budget {}, exact pixels {}",
        options.starts, options.budget, options.exact_pixels
    );
    let settings = RunSettings {
        method: &method,
        starts: options.starts,
        seed,
        budget: options.budget,
        log: Some((folder.clone(), RunName::new(what, settings, seed))),
    };
    let bar = progress::bar(options.starts, what);
    let watch = |stage: usize, start: usize, steps: usize, cost: f64| {
        bar.set_message(format!(
            "{what}: stage {}, start {}, step {steps}, {}",
            stage + 1,
            start + 1,
            compact(cost, 4)
        ));
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(options.threads).build();
    let pool =
        pool.map_err(|e| ConfigError::new(format!("cannot start {} threads: {e}", options.threads)))?;
    let found = pool.install(|| identify_from_video(&film, &settings, &watch))?;
    bar.finish_and_clear();

    let (page_file, data) = (folder.join("index.html"), folder.join("result.json"));
    let mut summary = summary(options, seed, &film, &found);
    summary.method = method.settings();
    let mut report = Report::new(format!("Identification of {what} from video"), page::subtitle(&summary));
    let mut section = Section::new("Video and fit");
    summary.files = vec![page_file.clone(), data.clone()];
    for number in 0..film.videos.len() {
        let png = sheet(&film, &found, number).to_png()?;
        let file = folder.join(format!("video-{}.png", number + 1));
        output.write(&file, &png)?;
        summary.files.push(file);
        let caption = format!(
            "Video {}: given (top), of the start (middle), of what was found (bottom); frames in the order of time.",
            number + 1
        );
        let alt = "Three rows of frames; the first and the last are alike.";
        section = section.image(png, caption, alt);
    }
    report.sections = vec![page::glance(&summary, None), section];
    report.footer = format!("pullback identify {what} --from video; {}; seed {seed}", summary.method);
    report.save(&page_file)?;
    output.write(&data, serde_json::to_string_pretty(&summary)?.as_bytes())?;
    output.print(&summary, || text(&summary))?;
    Ok(summary.off.is_empty())
}

fn sheet(film: &MadeFilm, found: &FromVideo, number: usize) -> Sheet {
    let stride = film.frames.len().div_ceil(SHOWN).max(1);
    [&film.videos[number], &found.start[number], &found.found[number]]
        .into_iter()
        .fold(Sheet::new(), |sheet, video| {
            sheet.with_row(video.iter().step_by(stride).map(|frame| &frame.image))
        })
}

fn summary(options: &IdentifyOptions, seed: u64, film: &MadeFilm, found: &FromVideo) -> Summary {
    let laplace = &found.fitted.laplace;
    let (quantities, off) = quantities(&found.fitted, Some(&film.truth));
    Summary {
        what: options.what.clone(),
        recordings: (1..=film.videos.len()).map(|i| format!("video {i}")).collect(),
        method: String::new(),
        seed,
        correlations: laplace.correlations.clone(),
        untold: laplace.untold.clone(),
        remarks: remarks(&found.fitted, &[], quantities.len()),
        quantities,
        channels: Vec::new(),
        residuals: laplace.residuals,
        mean_square: laplace.variance,
        starts: found.fitted.starts.clone(),
        best_start: found.fitted.best,
        resumed: found.fitted.resumed,
        off,
        files: Vec::new(),
    }
}

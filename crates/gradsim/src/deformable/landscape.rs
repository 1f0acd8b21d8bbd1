//! The loss of a beam's video over both Lamé parameters (gradSim Fig. 4 right, Fig. 11a).

use pullback_plot::{Figure, HeatmapPanel, Section};
use pullback_tasks::Goal;
use rayon::prelude::*;

use super::materials::BEAM;
use super::pictures::square;
use crate::experiment::{Exhibit, ExperimentError, Setting};

/// True values, Pa.
const TRUTH: [f64; 2] = [1e3, 1e3];
/// Range of both, Pa; the truth is in the middle of a grid with an odd number of points.
const RANGE: (f64, f64) = (400.0, 1600.0);

pub fn run(setting: &Setting<'_>) -> Result<Exhibit, ExperimentError> {
    let points = setting.size(25, 13);
    let filmed = BEAM.filmed()?;
    let target = filmed.film(&BEAM.inputs(&filmed, &TRUTH)?)?;
    let place = |i: usize| RANGE.0 + (RANGE.1 - RANGE.0) * i as f64 / (points - 1) as f64;
    let losses = setting.part(&format!("landscape of {points} x {points}"), || {
        let one = |k: usize| {
            let values = [place(k % points), place(k / points)];
            let video = filmed.film(&BEAM.inputs(&filmed, &values)?)?;
            let pairs = video.iter().zip(&target);
            Ok(pairs.map(|(a, b)| square(&a.image, &b.image)).sum::<f64>() / target.len() as f64)
        };
        (0..points * points).into_par_iter().map(one).collect::<Result<Vec<f64>, ExperimentError>>()
    })?;

    let (mut exhibit, case) = (Exhibit::default(), "landscape of μ and λ");

    // A narrow valley that runs across a grid looks like several minima: descents tell them apart.
    let lowest = minima(&losses, points);
    let ends = lowest.iter().map(|k| {
        setting.part(&format!("landscape of {points} x {points}, descent from {k}"), || {
            BEAM.descend(&filmed, &target, [place(k % points), place(k / points)])
        })
    });
    let ends = ends.collect::<Result<Vec<[f64; 2]>, _>>()?;
    let off = |end: &[f64; 2]| (end[0] / TRUTH[0] - 1.0).abs().max((end[1] / TRUTH[1] - 1.0).abs());
    let elsewhere = ends.iter().filter(|end| off(end) > 1e-3).count();
    exhibit.row(case, "points of the grid below all neighbors", (lowest.len() as f64, "1"), None);
    exhibit.row(case, "minima elsewhere than the truth", (elsewhere as f64, "1"), Some(0.0));
    let off = ends.iter().map(off).fold(0.0, f64::max);
    exhibit.row(case, "largest relative distance of the ends of descents from the truth", (off, "1"), None);
    exhibit.goal(Goal::at_most(format!("{case}: minima elsewhere than the truth"), elsewhere as f64, 0.0));
    // The loss of the truth is zero, which has no logarithm.
    let least = losses.iter().copied().filter(|x| *x > 0.0).fold(f64::INFINITY, f64::min);
    let panel = HeatmapPanel {
        x_label: "μ (Pa)".into(),
        y_label: "λ (Pa)".into(),
        x_range: RANGE,
        y_range: RANGE,
        values: losses.chunks(points).map(|row| row.iter().map(|x| x.max(0.3 * least)).collect()).collect(),
        value_label: "mean square of pixels".into(),
        log_values: true,
        smooth: true,
        contours: 9,
        markers: vec![(TRUTH[0], TRUTH[1], "truth".into())],
        ..HeatmapPanel::default()
    };
    let caption = "Mean square of the pixels of a sagging beam's video over both Lamé parameters.";
    let section = Section::new("The landscape of elasticity");
    let alt = "A valley with one lowest point.";
    let section = exhibit.figure(section, "landscape-lame", &Figure::single(panel.into()), (caption, alt))?;
    exhibit.section(section);
    Ok(exhibit)
}

/// Points of a square grid that are lower than all their neighbors.
fn minima(losses: &[f64], points: usize) -> Vec<usize> {
    let near = |i: usize| i.saturating_sub(1)..(i + 2).min(points);
    let lowest = |k: &usize| {
        let (i, j) = (k % points, k / points);
        let mut around = near(j).flat_map(|b| near(i).map(move |a| b * points + a));
        around.all(|other| other == *k || losses[other] > losses[*k])
    };
    (0..losses.len()).filter(lowest).collect()
}

#[cfg(test)]
mod tests {
    use super::minima;

    #[test]
    fn minima_are_lower_than_all_neighbors() {
        #[rustfmt::skip]
        let losses = [
            0.0, 2.0, 3.0,
            2.0, 1.5, 3.0,
            3.0, 3.0, 1.0,
        ];
        assert_eq!(minima(&losses, 3), [0, 8]);
    }
}

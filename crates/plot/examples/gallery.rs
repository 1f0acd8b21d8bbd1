//! Renders one of everything into a folder, to be looked at:
//! `cargo run -p pullback-plot --example gallery -- DIR`.

use std::path::{Path, PathBuf};

use pullback_plot::{
    BarSeries, BarsPanel, Colormap, Figure, HeatmapPanel, LinePanel, Panel, PlotError, Report, Section,
    Series, Stat, Table, Tone, compact,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).map_or_else(|| PathBuf::from("gallery"), PathBuf::from);
    std::fs::create_dir_all(&folder)?;
    let figures = [
        ("sawtooth", Figure::single(sawtooth().into())),
        ("grid", Figure::grid("Gradients of six contact models against drop height", 3, six_models())),
        ("landscape", Figure::single(landscape(true).into()).sized(6.4, 4.8)),
        ("bars", Figure::single(bars().into())),
        ("bars_long", Figure::single(long_names().into())),
        ("log", Figure::single(convergence().into())),
        ("many", Figure::single(many_series().into())),
        ("mixed", Figure::grid("", 2, mixed())),
        ("edge", Figure::grid("Edge cases", 3, edge_cases())),
    ];
    for (name, figure) in &figures {
        figure.save_png(&folder.join(format!("{name}.png")))?;
    }
    report(&folder)?;
    Ok(())
}

fn curve(n: usize, (a, b): (f64, f64), f: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    (0..n).map(|i| a + (b - a) * i as f64 / (n - 1) as f64).map(|x| (x, f(x))).collect()
}

// A cheap, repeatable noise in [-1, 1].
fn noise(i: usize, salt: u64) -> f64 {
    let mut z = (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ salt.wrapping_mul(0xD1B5_4A32_D192_ED03);
    z = (z ^ (z >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z ^= z >> 29;
    (z % 100_000) as f64 / 50_000.0 - 1.0
}

fn sawtooth() -> LinePanel {
    let fixed = |h: f64| 1.0 - 2.0 * ((h * 9.0).fract());
    LinePanel {
        title: "A fixed step turns the gradient into a sawtooth".into(),
        x_label: "drop height h (m)".into(),
        y_label: "∂v_{out} / ∂h (s^{-1})".into(),
        series: vec![
            Series::new("time stepping", 1, curve(900, (0.5, 2.0), |h| 0.9 * fixed(h) - 0.35)),
            Series::new("event-located impact", 0, curve(200, (0.5, 2.0), |h| -0.45 / h.sqrt())),
            Series::new("closed form", 7, curve(40, (0.5, 2.0), |h| -0.45 / h.sqrt())).dashed(),
        ],
        y_range: Some((-1.6, 1.4)),
        ..Default::default()
    }
}

fn six_models() -> Vec<Panel> {
    let names =
        ["Penalty", "Complementarity", "Convex (SAP)", "Position based", "Impulse", "Compliant, implicit"];
    let panel = |(k, name): (usize, &&str)| {
        let saw = |h: f64| 0.2 * k as f64 * (0.5 - (h * (4.0 + k as f64)).fract());
        LinePanel {
            title: format!("({}) {name}", (b'a' + k as u8) as char),
            x_label: if k >= 3 { "height (m)".into() } else { String::new() },
            y_label: if k % 3 == 0 { "dx/dh".into() } else { String::new() },
            series: vec![
                Series::new(
                    if k == 0 { "adjoint" } else { "" },
                    0,
                    curve(400, (0.0, 1.0), |h| h.sin() + saw(h)),
                ),
                Series::new(if k == 0 { "analytic" } else { "" }, 1, curve(50, (0.0, 1.0), f64::sin))
                    .dashed(),
            ],
            y_range: Some((-0.6, 1.4)),
            ..Default::default()
        }
        .into()
    };
    names.iter().enumerate().map(panel).collect()
}

fn landscape(arrows: bool) -> HeatmapPanel {
    let loss =
        |x: f64, y: f64| (x * x + y - 1.1).powi(2) + 0.4 * (x + y * y - 0.7).powi(2) + 0.2 * (3.0 * x).sin();
    let at = |i: usize, n: usize| -2.0 + 4.0 * i as f64 / (n - 1) as f64;
    let n = 81;
    let values = (0..n).map(|r| (0..n).map(|c| loss(at(c, n), at(r, n))).collect()).collect();
    let h = 1e-5;
    let slope = |x: f64, y: f64| {
        let (gx, gy) = (loss(x + h, y) - loss(x - h, y), loss(x, y + h) - loss(x, y - h));
        (x, y, -gx, -gy)
    };
    let m = 13;
    let spread = |i: usize| -1.85 + 3.7 * i as f64 / (m - 1) as f64;
    let mut path = vec![(1.7, 1.75)];
    for _ in 0..300 {
        let (x, y) = path[path.len() - 1];
        let (_, _, dx, dy) = slope(x, y);
        path.push((x + 0.012 * dx / (2.0 * h), y + 0.012 * dy / (2.0 * h)));
    }
    let end = path[path.len() - 1];
    HeatmapPanel {
        title: "Loss over two launch parameters, with descent directions".into(),
        x_label: "launch angle θ (rad)".into(),
        y_label: "launch speed v_{0} (m s^{-1})".into(),
        x_range: (-2.0, 2.0),
        y_range: (-2.0, 2.0),
        values,
        value_label: "loss (m^{2})".into(),
        smooth: true,
        contours: 12,
        arrows: if arrows {
            (0..m * m).map(|i| slope(spread(i % m), spread(i / m))).collect()
        } else {
            vec![]
        },
        overlays: vec![Series::new("gradient descent", 1, path)],
        markers: vec![(1.7, 1.75, "start".into()), (end.0, end.1, "end".into())],
        ..Default::default()
    }
}

fn bars() -> BarsPanel {
    BarsPanel {
        title: "Success rate over ten seeds, 95 % intervals".into(),
        y_label: "success rate (%)".into(),
        categories: ["Reach", "Push", "Flip", "Walk", "Throw"].map(String::from).to_vec(),
        series: vec![
            BarSeries {
                label: "first-order".into(),
                values: vec![98.0, 91.5, 62.0, 74.2, 55.0],
                intervals: vec![(96.0, 99.5), (88.0, 95.0), (54.0, 70.0), (69.0, 79.0), (43.0, 66.0)],
                color: 0,
            },
            BarSeries {
                label: "zeroth-order".into(),
                values: vec![90.0, 64.0, 48.0, 33.0, f64::NAN],
                intervals: vec![(85.0, 95.0), (56.0, 72.0), (37.0, 59.0), (26.0, 40.0), (f64::NAN, f64::NAN)],
                color: 1,
            },
        ],
        show_values: true,
        ..Default::default()
    }
}

fn long_names() -> BarsPanel {
    let names = [
        "articulated body, forward",
        "articulated body, adjoint",
        "contact, pyramidal cone",
        "contact, elliptic cone",
        "cloth, implicit Euler",
        "material point method",
        "rigid-fluid coupling",
        "soft_body_neo_hookean",
        "finite differences",
    ];
    let values: Vec<f64> = (0..9).map(|i| 2.0 * 3.1f64.powi(i) * 1e-6).collect();
    let intervals = values.iter().map(|v| (0.7 * v, 1.4 * v)).collect();
    BarsPanel {
        title: "Time per step".into(),
        y_label: "time (s)".into(),
        log_y: true,
        ..BarsPanel::simple(names.map(String::from).to_vec(), values, intervals)
    }
}

fn convergence() -> LinePanel {
    let run = |rate: f64, salt: u64| {
        move |i: usize| {
            (1.0 + i as f64 * 3.0, 30.0 * (-(rate * i as f64)).exp() * (1.0 + 0.3 * noise(i, salt)) + 1e-7)
        }
    };
    let points = |rate, salt| (0..220).map(run(rate, salt)).collect::<Vec<_>>();
    let band = |p: &[(f64, f64)]| p.iter().map(|&(x, y)| (x, 0.5 * y, 2.1 * y)).collect::<Vec<_>>();
    let series = |label: &str, color, rate, salt| {
        let p = points(rate, salt);
        Series::new(label, color, p.clone()).with_band(band(&p))
    };
    LinePanel {
        title: "Trajectory optimization, median and quartiles over 20 seeds".into(),
        x_label: "simulated steps".into(),
        y_label: "loss − optimum (m^{2})".into(),
        series: vec![
            series("Gauss–Newton", 0, 0.16, 1),
            series("Adam through the adjoint", 2, 0.06, 2),
            series("CMA-ES", 1, 0.018, 3),
        ],
        log_x: true,
        log_y: true,
        ..Default::default()
    }
}

fn many_series() -> LinePanel {
    let wave =
        |k: usize| curve(300, (0.0, 10.0), move |t| (t * (0.6 + 0.13 * k as f64)).sin() + 0.15 * k as f64);
    let series = |k: usize| {
        let s = Series::new(format!("joint {} (stiffness {} N m)", k + 1, 10 * (k + 1)), k, wave(k));
        if k >= 8 { s.dashed() } else { s }
    };
    LinePanel {
        title: "Ten joints at once".into(),
        x_label: "time (s)".into(),
        y_label: "angle (rad)".into(),
        series: (0..10).map(series).collect(),
        ..Default::default()
    }
}

fn edge_cases() -> Vec<Panel> {
    let gaps =
        curve(200, (0.0, 6.0), |x| if (2.0..2.6).contains(&x) { f64::NAN } else { 1e-5 * (x.sin() + 2.0) });
    let cloud = (0..600).map(|i| (noise(i, 7) * 1e6, noise(i, 8) + noise(i, 9))).collect();
    let field = |r: usize, c: usize| {
        if r == 3 && c > 6 { f64::NAN } else { (c as f64 * 0.8).sin() * (r as f64 - 3.5) }
    };
    vec![
        LinePanel {
            title: "A gap, and values near 10^{-5}".into(),
            x_label: "time (s)".into(),
            y_label: "penetration depth (m)".into(),
            series: vec![Series::new("depth", 0, gaps)],
            ..Default::default()
        }
        .into(),
        LinePanel {
            title: "A cloud of 600 points with a title long enough to need a second line".into(),
            x_label: "stiffness (N m^{-1}) of the contact model, on a long label".into(),
            y_label: "a vertical label that is much too long for the height of one panel".into(),
            series: vec![Series::new("samples", 3, cloud).dots()],
            ..Default::default()
        }
        .into(),
        HeatmapPanel {
            title: "Adjoint minus finite differences".into(),
            x_label: "column".into(),
            y_label: "row".into(),
            x_range: (0.0, 11.0),
            y_range: (0.0, 7.0),
            values: (0..8).map(|r| (0..12).map(|c| field(r, c)).collect()).collect(),
            value_label: "difference".into(),
            colormap: Colormap::Diverging,
            ..Default::default()
        }
        .into(),
        LinePanel {
            title: "One point".into(),
            series: vec![Series::new("", 2, vec![(3.0, 4.0)]).dots()],
            ..Default::default()
        }
        .into(),
        LinePanel {
            title: "A constant".into(),
            series: vec![Series::new("energy", 0, curve(10, (0.0, 1e-4), |_| -9.81))],
            ..Default::default()
        }
        .into(),
        BarsPanel {
            title: "Signed bars".into(),
            y_label: "drift (J)".into(),
            show_values: true,
            ..BarsPanel::simple(
                ["Euler", "symplectic", "midpoint", "RK4"].map(String::from).to_vec(),
                vec![3.2, -0.4, -1.7, 0.02],
                vec![(2.8, 3.6), (-0.6, -0.2), (-2.3, -1.1), (0.0, 0.04)],
            )
        }
        .into(),
    ]
}

fn mixed() -> Vec<Panel> {
    let mut field = landscape(true);
    field.title = "(a) Loss".into();
    field.log_values = true;
    field.smooth = false;
    field.contours = 0;
    field.overlays.clear();
    field.values.iter_mut().flatten().for_each(|v| *v = v.abs() + 1e-3);
    let error = |scale: f64| curve(60, (-9.0, -1.0), move |e| scale * 10f64.powf(e) + 1e-16 / 10f64.powf(e));
    let in_log = |p: Vec<(f64, f64)>| p.into_iter().map(|(e, v)| (10f64.powf(e), v)).collect::<Vec<_>>();
    let check = LinePanel {
        title: "(b) Finite-difference error".into(),
        x_label: "step".into(),
        y_label: "relative error".into(),
        series: vec![
            Series::new("one-sided", 0, in_log(error(1.0))),
            Series::new("central", 1, in_log(error(1e-3))).dots(),
        ],
        log_x: true,
        log_y: true,
        ..Default::default()
    };
    let reward = |k: usize| {
        let mean = curve(120, (0.0, 2.4e5), move |t| 900.0 * (1.0 - (-t / (4e4 * (k + 1) as f64)).exp()));
        let band = mean
            .iter()
            .enumerate()
            .map(|(i, &(x, y))| (x, y - 60.0 - 20.0 * noise(i, 3), y + 60.0))
            .collect();
        Series::new(["SHAC", "PPO"][k], k, mean).with_band(band)
    };
    let learning = LinePanel {
        title: "(d) Learning curves".into(),
        x_label: "environment steps".into(),
        y_label: "return".into(),
        series: vec![reward(0), reward(1)],
        ..Default::default()
    };
    let mut rates = bars();
    rates.title = "(c) Success rate".into();
    vec![field.into(), check.into(), rates.into(), learning.into()]
}

fn report(folder: &Path) -> Result<(), PlotError> {
    let mut met =
        Stat::new("Adjoint against finite differences", "2.1e-9", "worst relative error; limit 1e-6");
    met.tone = Tone::Good;
    let mut missed = Stat::new("Time per step, 4096 environments", "1.9 ms", "limit 1.5 ms");
    missed.tone = Tone::Bad;
    let rows = [
        ("pendulum", 1.2e-9, 41.0),
        ("cart-pole", 3.4e-9, 55.5),
        ("hopper with <contact> & friction", 2.0e-7, 102.3),
    ];
    let row = |(name, error, time): (&str, f64, f64)| {
        vec![name.into(), compact(error, 2), compact(time, 4), "–".into()]
    };
    let table = Table {
        caption: "Gradients per task.".into(),
        header: ["task", "relative error", "time (µs)", "paper (µs)"].map(String::from).to_vec(),
        rows: rows.into_iter().map(row).collect(),
    };
    let text = "Every function has its pullback. This page was written by one run and loads nothing: pictures, style \
                and numbers are in this file.";
    let mut report = Report::new(
        "Gradients through contact",
        "What a fixed time step does to a derivative, and what locating the impact repairs.",
    );
    report.sections = vec![
        Section::new("").stats(vec![met, missed, Stat::new("Seeds", "20", "one machine, one night")]),
        Section::new("The sawtooth").paragraph(text).figure(
            &Figure::single(sawtooth().into()),
            "Gradient of the outgoing speed against drop height.",
            "A sawtooth around a smooth curve",
        )?,
        Section::new("Numbers").table(table).code("pullback gradcheck hopper --json\npullback bench contact"),
        Section::new("Landscape").figure(
            &Figure::single(landscape(false).into()).sized(6.4, 4.8),
            "Loss with the path of gradient descent.",
            "A curved valley with a path into it",
        )?,
    ];
    report.footer = "pullback demo, seed 7".into();
    report.save(&folder.join("report.html"))
}

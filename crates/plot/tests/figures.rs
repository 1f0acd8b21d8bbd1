//! Pictures have the size asked for, are not blank, and no input panics.

use pullback_plot::{BarSeries, BarsPanel, Figure, HeatmapPanel, LinePanel, Panel, PlotError, Series};

fn line(points: Vec<(f64, f64)>) -> LinePanel {
    LinePanel { title: "t".into(), series: vec![Series::new("s", 0, points)], ..Default::default() }
}

fn small(panel: impl Into<Panel>) -> Figure {
    let mut figure = Figure::single(panel.into()).sized(4.0, 3.0);
    figure.dpi = 60.0;
    figure
}

fn decode(bytes: &[u8]) -> (usize, usize, Vec<u8>) {
    let mut reader = png::Decoder::new(bytes).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size()];
    let info = reader.next_frame(&mut pixels).unwrap();
    (info.width as usize, info.height as usize, pixels)
}

#[test]
fn a_picture_has_its_size_and_is_not_blank() {
    let (width, height, pixels) = decode(&small(line(vec![(0.0, 0.0), (1.0, 2.0)])).to_png_bytes().unwrap());
    assert_eq!((width, height), (240, 180));
    // The series' blue is there, and white margins surround it.
    let blue = pixels.chunks(3).filter(|p| p[2] > 150 && p[0] < 60).count();
    assert!(blue > 50, "{blue}");
    assert!(pixels[..3 * width].iter().all(|c| *c == 255));
}

#[test]
fn the_same_figure_gives_the_same_bytes() {
    let figure = small(line(vec![(0.0, 0.0), (1.0, 2.0)]));
    assert_eq!(figure.to_png_bytes().unwrap(), figure.to_png_bytes().unwrap());
}

#[test]
fn nothing_to_draw_is_an_error_that_says_so() {
    let nan = f64::NAN;
    let bars = BarsPanel::simple(vec!["a".into()], vec![nan], vec![]);
    let logarithmic = LinePanel { log_y: true, ..line(vec![(1.0, -1.0)]) };
    let map = HeatmapPanel { values: vec![vec![nan; 3]; 2], ..Default::default() };
    let panels: Vec<Panel> = vec![
        line(vec![]).into(),
        line(vec![(nan, 1.0)]).into(),
        logarithmic.into(),
        bars.into(),
        map.into(),
        HeatmapPanel::default().into(),
        LinePanel::default().into(),
        BarsPanel::default().into(),
    ];
    for panel in panels {
        let error = small(panel).to_png_bytes().unwrap_err();
        assert!(matches!(error, PlotError::Empty { .. }), "{error}");
        assert!(error.to_string().contains("no finite data"));
    }
}

#[test]
fn wrong_shapes_are_named() {
    let ragged = HeatmapPanel { values: vec![vec![1.0, 2.0], vec![3.0]], ..Default::default() };
    let error = small(ragged).to_png_bytes().unwrap_err().to_string();
    assert!(error.contains("row 1 has 1 values where row 0 has 2"), "{error}");
    let bars = BarsPanel {
        categories: vec!["a".into(), "b".into()],
        series: vec![BarSeries { values: vec![1.0], ..Default::default() }],
        ..Default::default()
    };
    assert!(matches!(small(bars).to_png_bytes(), Err(PlotError::Shape { .. })));
    assert!(matches!(Figure::grid("", 2, vec![]).to_png_bytes(), Err(PlotError::Grid { .. })));
    let huge = small(line(vec![(0.0, 1.0)])).sized(1e9, f64::NAN);
    assert!(matches!(huge.to_png_bytes(), Err(PlotError::Size { .. })));
}

#[test]
fn hostile_numbers_do_not_panic() {
    let nasty = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        1e-320,
        1e308,
        -1e308,
        1e299,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1e16,
    ];
    for (i, &a) in nasty.iter().enumerate() {
        for &b in &nasty[i..] {
            let logs = [(false, false), (true, true)];
            for (log_x, log_y) in logs {
                let mut panel = LinePanel { log_x, log_y, ..line(vec![(a, b), (b, a), (0.5, 0.7), (a, a)]) };
                panel.series[0].band = vec![(a, a, b), (b, b, a), (1.0, 0.0, 2.0)];
                panel.series.push(Series::new("", 1, vec![(a, b), (1.0, 1.0)]).dashed());
                panel.x_range = Some((a, b));
                small(panel).to_png_bytes().unwrap();
            }
            let map = HeatmapPanel {
                values: vec![vec![a, b, 1.0], vec![b, a, 2.0]],
                x_range: (a, b),
                y_range: (b, a),
                contours: 3,
                smooth: i % 2 == 0,
                arrows: vec![(a, b, b, a), (0.0, 0.0, a, b), (0.0, 0.0, 0.0, 0.0)],
                markers: vec![(a, b, "m".into()), (0.5, 0.5, String::new())],
                ..Default::default()
            };
            small(map).to_png_bytes().unwrap();
            let names = ["x", "y"].map(String::from).to_vec();
            let bars = BarsPanel {
                show_values: true,
                ..BarsPanel::simple(names, vec![a, 2.0], vec![(a, b), (b, a)])
            };
            small(bars).to_png_bytes().unwrap();
        }
    }
}

#[test]
fn crowded_panels_do_not_panic() {
    let names: Vec<String> = (0..80).map(|i| format!("a rather long category name {i}")).collect();
    small(BarsPanel::simple(names, vec![1.0; 80], vec![])).to_png_bytes().unwrap();
    let many =
        (0..60).map(|k| Series::new("a long series name ".repeat(4), k, vec![(0.0, k as f64), (1.0, 0.0)]));
    small(LinePanel { series: many.collect(), ..Default::default() }).to_png_bytes().unwrap();
    let one = HeatmapPanel { values: vec![vec![3.0]], smooth: true, contours: 2, ..Default::default() };
    small(one).to_png_bytes().unwrap();
}

#[test]
fn saving_leaves_only_the_picture() {
    let folder = std::env::temp_dir().join(format!("pullback-plot-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    small(line(vec![(0.0, 1.0), (1.0, 0.0)])).save_png(&folder.join("a.png")).unwrap();
    let names: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|f| f.unwrap().file_name()).collect();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(names, ["a.png"]);
}

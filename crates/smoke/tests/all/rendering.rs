//! Pictures of smoke: what they show, and their pullback.

use pullback_core::Described;
use pullback_core::Point;
use pullback_core::gradcheck::{Differentiable, Options, gradcheck};
use pullback_core::random::Random;
use pullback_core::step_check::check_loss;
use pullback_math::{Dual, Real, Vec3};
use pullback_smoke::camera::{Camera, Lens};
use pullback_smoke::losses::{DensityLoss, ViewLoss};
use pullback_smoke::march::{Look, Marcher};
use pullback_smoke::{Grid, Settings, Smoke};

const LOOK: Look<f64> = Look { absorption: 3.0, ambient: 0.2, background: 0.1 };

fn marcher(cells: usize, lens: Lens, pixels: (usize, usize)) -> Marcher {
    let camera =
        Camera { position: Vec3::new(2.5, -1.0, 1.2), target: Vec3::new(0.5, 0.5, 0.5), lens, pixels };
    Marcher::new(Grid::new([cells; 3], 1.0 / cells as f64), camera).unwrap()
}

/// Densities, then absorption, ambient light and background, to pixels.
struct Picture(Marcher, usize);

impl Picture {
    fn render<T: Real>(&self, x: &[T], y: &mut [T]) {
        let (density, look) = x.split_at(self.1);
        let look = Look { absorption: look[0], ambient: look[1], background: look[2] };
        let mut image = self.0.image();
        self.0.render(&mut self.0.workspace(), density, look, &mut image);
        y.copy_from_slice(&image.pixels);
    }
}

impl Differentiable for Picture {
    fn input_names(&self) -> Vec<String> {
        let cells = (0..self.1).map(|i| format!("density[{i}]"));
        cells.chain(["absorption", "ambient", "background"].map(str::to_owned)).collect()
    }
    fn outputs(&self) -> usize {
        self.0.image::<f64>().pixels.len()
    }
    fn eval(&self, x: &[f64], y: &mut [f64]) -> Result<(), String> {
        self.render(x, y);
        Ok(())
    }
    fn jvp(&self, x: &[f64], x_dot: &[f64], y: &mut [f64], y_dot: &mut [f64]) -> Result<(), String> {
        let x: Vec<_> = x.iter().zip(x_dot).map(|(x, d)| Dual::new(*x, *d)).collect();
        let mut out = vec![Dual::default(); y.len()];
        self.render(&x, &mut out);
        for (i, out) in out.iter().enumerate() {
            (y[i], y_dot[i]) = (out.value, out.tangent);
        }
        Ok(())
    }
    fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) -> Result<(), String> {
        let (density, look) = x.split_at(self.1);
        let look = Look { absorption: look[0], ambient: look[1], background: look[2] };
        let mut image = self.0.image();
        image.pixels.copy_from_slice(y_bar);
        let (density_bar, look_bar) = x_bar.split_at_mut(self.1);
        let bar = self.0.render_vjp(&mut self.0.workspace(), density, look, &image, density_bar);
        look_bar.iter_mut().zip([bar.absorption, bar.ambient, bar.background]).for_each(|(x, b)| *x += b);
        Ok(())
    }
}

#[test]
fn pictures_have_the_exact_pullback() {
    for lens in [Lens::Perspective(0.6), Lens::Orthographic(1.5)] {
        let mut random = Random::new(1);
        let mut x: Vec<f64> = (0..125).map(|_| random.uniform(0.2, 1.0)).collect();
        x.extend([LOOK.absorption, LOOK.ambient, LOOK.background]);
        let options = Options { forward_tolerance: 1e-10, difference_tolerance: 1e-7, ..Options::default() };
        gradcheck(&Picture(marcher(5, lens, (6, 5)), 125), &x, &options).assert_passed();
    }
}

/// Uniform smoke without shadows takes e^(−σ ρ s) of the background over a length s, and adds the rest of its own
/// brightness; no smoke shows the background.
#[test]
fn uniform_smoke_follows_the_law_of_absorption() {
    let camera = Camera {
        position: Vec3::new(0.5, -3.0, 0.5),
        target: Vec3::new(0.5, 0.5, 0.5),
        lens: Lens::Orthographic(0.9),
        pixels: (8, 8),
    };
    let marcher = Marcher::new(Grid::new([8; 3], 0.125), camera).unwrap();
    let look = Look { ambient: 1.0, ..LOOK };
    let pixels = |density: f64| {
        let mut image = marcher.image();
        marcher.render(&mut marcher.workspace(), &vec![density; 512], look, &mut image);
        image.pixels
    };
    let left = (-3.0f64 * 0.4).exp();
    assert!(pixels(0.4).iter().all(|p| (p - (1.0 - left + left * 0.1)).abs() < 1e-12));
    assert!(pixels(0.0).iter().all(|p| (p - 0.1).abs() < 1e-12));
}

/// A ball is brighter above than below, where its own shadow is.
#[test]
fn smoke_shadows_itself() {
    let marcher = marcher(16, Lens::Perspective(0.5), (17, 17));
    let grid = Grid::new([16; 3], 1.0 / 16.0);
    let ball =
        |i| if grid.center(i).map(|x: f64| (x - 0.5).powi(2)).iter().sum::<f64>() < 0.09 { 4.0 } else { 0.0 };
    let density: Vec<f64> = (0..grid.len()).map(ball).collect();
    let mut image = marcher.image();
    marcher.render(&mut marcher.workspace(), &density, Look { background: 0.0, ..LOOK }, &mut image);
    let pixel = |column: usize, row: usize| image.pixels[row * 17 + column];
    assert!(pixel(8, 6) > 1.5 * pixel(8, 10), "{} {}", pixel(8, 6), pixel(8, 10));
    assert_eq!(pixel(0, 0), 0.0);
}

#[test]
fn losses_have_exact_pullbacks() {
    let smoke = Smoke::new(Grid::new([4; 3], 0.25), Settings::default(), 0.1).unwrap();
    let mut random = Random::new(2);
    let mut some = |n: usize| (0..n).map(|_| random.uniform(0.0, 1.0)).collect::<Vec<f64>>();
    let state = some(256);
    let at = Point { params: &[], state: &state, control: &[] };
    let options = Options { forward_tolerance: 1e-10, ..Options::default() };
    let density = DensityLoss::new(&smoke, some(64)).unwrap();
    check_loss(&density, smoke.layout(), at, true, &options).assert_passed();
    let mut views = Vec::new();
    for lens in [Lens::Perspective(0.7), Lens::Orthographic(1.2)] {
        let marcher = marcher(4, lens, (4, 3));
        let mut wanted = marcher.image();
        wanted.pixels = some(12);
        views.push((marcher, wanted));
    }
    let view = ViewLoss::new(&smoke, LOOK, views).unwrap();
    check_loss(&view, smoke.layout(), at, true, &options).assert_passed();
}

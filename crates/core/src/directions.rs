//! Gradients of systems too large to check entry by entry: along one random direction per named quantity.
//!
//! y(s) = f(x + Σₖ sₖ dₖ) has as many inputs as there are directions, so the one validator serves unchanged:
//! its adjoint is dₖ·Jᵀȳ, its forward mode one run on dual numbers per direction. A direction that mixes all
//! entries of a quantity misses an error only where the errors of its entries cancel.

use crate::gradcheck::{Differentiable, Options, Report, gradcheck};
use crate::layout::{Layout, Section};
use crate::random::Random;

/// A direction in the space of all inputs, by name.
#[derive(Clone, Debug)]
pub struct Direction {
    /// The quantity it moves.
    pub name: String,
    /// One entry per input.
    pub entries: Vec<f64>,
}

/// A slice with more entries than this has a direction of its own.
const LONG: usize = 16;
/// Short slices that share a direction.
const SHARED: usize = 16;

/// One direction per long slice of state, controls (over `steps` steps) and parameters, and one per run of
/// short ones. Entries are random, up to the largest one of their slice in `x` (a tenth of it in the state,
/// which reacts more strongly), or 0.01 where all vanish.
pub fn random_directions(layout: &Layout, steps: usize, x: &[f64], random: &mut Random) -> Vec<Direction> {
    let mut directions: Vec<Direction> = Vec::new();
    let mut add = |vector: &str, section: &Section, first: usize, repeats: usize, scale: f64| {
        let mut shared = 0;
        for slice in section.slices() {
            let share = slice.len() <= LONG && (1..SHARED).contains(&shared);
            if !share {
                directions.push(Direction {
                    name: format!("{vector}.{}", slice.name),
                    entries: vec![0.0; x.len()],
                });
            }
            shared = if slice.len() > LONG { 0 } else { 1 + if share { shared } else { 0 } };
            let Some(direction) = directions.last_mut() else { continue };
            if share {
                direction.name += &format!(", {}", slice.name);
            }
            for at in (0..repeats).map(|repeat| first + repeat * section.len()) {
                let largest = x[at..][slice.range.clone()].iter().fold(0.0, |a: f64, x| a.max(x.abs()));
                let size = scale * if largest > 0.0 { largest } else { 0.01 };
                for entry in &mut direction.entries[at..][slice.range.clone()] {
                    *entry = size * random.uniform(-1.0, 1.0);
                }
            }
        }
        first + repeats * section.len()
    };
    let controls = add("state", &layout.state, 0, 1, 0.1);
    let params = add("control", &layout.control, controls, steps, 1.0);
    add("params", &layout.params, params, 1, 1.0);
    directions
}

/// Checks the pullback of `map` at `x` along the directions given.
pub fn gradcheck_along(
    map: &dyn Differentiable,
    x: &[f64],
    directions: &[Direction],
    options: &Options,
) -> Report {
    gradcheck(&Along { map, x, directions }, &vec![0.0; directions.len()], options)
}

struct Along<'a> {
    map: &'a dyn Differentiable,
    x: &'a [f64],
    directions: &'a [Direction],
}

impl Along<'_> {
    /// start + Σₖ sₖ dₖ
    fn moved(&self, start: impl Iterator<Item = f64>, s: &[f64]) -> Vec<f64> {
        let mut x: Vec<f64> = start.collect();
        for (direction, s) in self.directions.iter().zip(s).filter(|(_, s)| **s != 0.0) {
            for (x, d) in x.iter_mut().zip(&direction.entries) {
                *x += s * d;
            }
        }
        x
    }
    fn at(&self, s: &[f64]) -> Vec<f64> {
        self.moved(self.x.iter().copied(), s)
    }
}

impl Differentiable for Along<'_> {
    fn input_names(&self) -> Vec<String> {
        self.directions.iter().map(|d| d.name.clone()).collect()
    }
    fn outputs(&self) -> usize {
        self.map.outputs()
    }
    fn eval(&self, s: &[f64], y: &mut [f64]) -> Result<(), String> {
        self.map.eval(&self.at(s), y)
    }
    fn jvp(&self, s: &[f64], s_dot: &[f64], y: &mut [f64], y_dot: &mut [f64]) -> Result<(), String> {
        let x_dot = self.moved(std::iter::repeat_n(0.0, self.x.len()), s_dot);
        self.map.jvp(&self.at(s), &x_dot, y, y_dot)
    }
    fn vjp(&self, s: &[f64], y_bar: &[f64], s_bar: &mut [f64]) -> Result<(), String> {
        let mut x_bar = vec![0.0; self.x.len()];
        self.map.vjp(&self.at(s), y_bar, &mut x_bar)?;
        for (bar, direction) in s_bar.iter_mut().zip(self.directions) {
            *bar += direction.entries.iter().zip(&x_bar).map(|(d, x)| d * x).sum::<f64>();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Slice;

    /// y = Σ xᵢ², with a pullback whose entry `wrong` is off by a thousandth.
    struct Squares {
        entries: usize,
        wrong: Option<usize>,
    }

    impl Differentiable for Squares {
        fn input_names(&self) -> Vec<String> {
            (0..self.entries).map(|i| format!("x[{i}]")).collect()
        }
        fn outputs(&self) -> usize {
            1
        }
        fn eval(&self, x: &[f64], y: &mut [f64]) -> Result<(), String> {
            y[0] = x.iter().map(|x| x * x).sum();
            Ok(())
        }
        fn jvp(&self, x: &[f64], x_dot: &[f64], y: &mut [f64], y_dot: &mut [f64]) -> Result<(), String> {
            y_dot[0] = x.iter().zip(x_dot).map(|(x, d)| 2.0 * x * d).sum();
            self.eval(x, y)
        }
        fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) -> Result<(), String> {
            for (i, (bar, x)) in x_bar.iter_mut().zip(x).enumerate() {
                *bar += 2.0 * x * y_bar[0] * if self.wrong == Some(i) { 1.001 } else { 1.0 };
            }
            Ok(())
        }
    }

    #[test]
    fn a_direction_shows_one_wrong_entry_among_many() {
        let layout = Layout::builder()
            .state(Slice::new("position", 40, "m"))
            .control(Slice::new("force", 1, "N"))
            .param(Slice::new("mass", 1, "kg"))
            .param(Slice::new("drag", 1, "1"))
            .param(Slice::new("stiffness", 30, "N/m"))
            .build()
            .unwrap();
        let x: Vec<f64> = (0..75).map(|i| 1.0 + (i as f64).sin()).collect();
        let directions = random_directions(&layout, 3, &x, &mut Random::new(5));
        let names: Vec<&str> = directions.iter().map(|d| d.name.as_str()).collect();
        assert_eq!(names, ["state.position", "control.force", "params.mass, drag", "params.stiffness"]);
        // Every input is moved by exactly one direction.
        for i in 0..75 {
            assert_eq!(directions.iter().filter(|d| d.entries[i] != 0.0).count(), 1, "entry {i}");
        }
        let check =
            |wrong| gradcheck_along(&Squares { entries: 75, wrong }, &x, &directions, &Options::default());
        check(None).assert_passed();
        let wrong: Vec<String> = check(Some(60)).failures().map(|e| e.name.clone()).collect();
        assert_eq!(wrong, ["params.stiffness"]);
    }
}

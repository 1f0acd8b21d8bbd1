//! The one gradient validator: an adjoint against forward mode and against finite differences.
//!
//! For random output cotangents ȳ, entry i of the adjoint Jᵀȳ is compared with ȳ·(J eᵢ), where J eᵢ comes
//! once from [`Dual`](pullback_math::Dual) numbers and once from Ridders' extrapolated central differences.
//! The three come from three code paths, and the validator refuses a comparison that proves nothing: paths
//! that were not run, gradients that are all zero, values that differ between the paths.
//!
//! Error of an entry: |a − b| / max(|a|, |b|, 10⁻³ · largest entry of its group, 10⁻⁶ · largest entry), so
//! that quantities of different units (groups) do not hide each other and round-off of a vanishing entry is
//! not an error.
//!
//! Limitation: a finite difference straddling a kink (contact switching on) has no limit. Ridders' error
//! estimate shows that, or left and right slopes whose gap does not shrink with the step; such entries are
//! marked `kink` and judged by the forward mode alone.

use std::fmt;

use serde::Serialize;

use crate::random::Random;

/// A map y = f(x) of flat vectors with both of its derivatives, as the validator sees it.
pub trait Differentiable {
    /// A name for each input entry; `group[3]` belongs to `group`.
    fn input_names(&self) -> Vec<String>;
    /// Number of outputs.
    fn outputs(&self) -> usize;
    /// y = f(x).
    fn eval(&self, x: &[f64], y: &mut [f64]) -> Result<(), String>;
    /// ẏ = J ẋ, by running the same function on dual numbers; writes y and ẏ.
    fn jvp(&self, x: &[f64], x_dot: &[f64], y: &mut [f64], y_dot: &mut [f64]) -> Result<(), String>;
    /// x̄ += Jᵀ ȳ, by the function's own pullback.
    fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) -> Result<(), String>;
    /// Size of each input entry, of which differences take small parts: its own, or a tenth where it is smaller.
    fn sizes(&self, x: &[f64]) -> Vec<f64> {
        x.iter().map(|x| x.abs().max(0.1)).collect()
    }
}

/// What [`gradcheck`] asks for.
///
/// ```
/// # use pullback_core::doc_example::falling;
/// use pullback_core::gradcheck::Options;
/// use pullback_core::step_check::check_step;
/// use pullback_core::Point;
/// let at = Point { params: &[9.81], state: &[2.0, 0.3], control: &[] };
/// let report = check_step(&falling(0.01), at, &Options { difference_tolerance: 1e-6, ..Options::default() });
/// assert!(report.passed(), "{report}");
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct Options {
    /// Largest accepted error against forward mode (1: 1e-10, the round-off of long products in f64).
    pub forward_tolerance: f64,
    /// Largest accepted error against finite differences, beyond their own error estimate (1e-6).
    pub difference_tolerance: f64,
    /// Random output cotangents tried (3).
    pub probes: usize,
    /// Seed of the output cotangents.
    pub seed: u64,
    /// A gradient that is zero in every entry is an error unless allowed (false).
    pub allow_all_zero: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            forward_tolerance: 1e-10,
            difference_tolerance: 1e-6,
            probes: 3,
            seed: 0,
            allow_all_zero: false,
        }
    }
}

/// How one entry came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// All three agree.
    Ok,
    /// Adjoint and forward mode agree; the finite difference has no limit here.
    Kink,
    /// The adjoint is wrong, or not finite.
    Wrong,
}

/// One input entry under the probe where it looked worst.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// Name of the input entry.
    pub name: String,
    /// By the pullback.
    pub adjoint: f64,
    /// By dual numbers.
    pub forward: f64,
    /// By extrapolated central differences.
    pub difference: f64,
    /// Error against forward mode.
    pub forward_error: f64,
    /// Error against the finite difference.
    pub difference_error: f64,
    /// What follows.
    pub verdict: Verdict,
}

/// How often each path ran: the proof that three different ones were compared.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct PathRuns {
    /// Plain evaluations, for differences.
    pub eval: usize,
    /// Dual-number evaluations.
    pub forward: usize,
    /// Pullbacks.
    pub adjoint: usize,
}

/// The validator's findings; prints as a table.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// One line per input entry.
    pub entries: Vec<Entry>,
    /// How often each path ran.
    pub runs: PathRuns,
    /// What makes the comparison void, if anything.
    pub void: Option<String>,
}

impl Report {
    /// Whether every entry agrees and the comparison meant something.
    pub fn passed(&self) -> bool {
        self.void.is_none() && self.failures().next().is_none()
    }
    /// The entries that disagree.
    pub fn failures(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|e| e.verdict == Verdict::Wrong)
    }
    /// Largest error against forward mode.
    pub fn worst_forward(&self) -> f64 {
        self.entries.iter().map(|e| e.forward_error).fold(0.0, f64::max)
    }
    /// Largest error against finite differences, kinks aside.
    pub fn worst_difference(&self) -> f64 {
        let smooth = self.entries.iter().filter(|e| e.verdict != Verdict::Kink);
        smooth.map(|e| e.difference_error).fold(0.0, f64::max)
    }
    /// Panics with the whole table unless the check passed; for tests.
    #[track_caller]
    pub fn assert_passed(&self) {
        assert!(self.passed(), "gradient check failed\n{self}");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.entries.iter().map(|e| e.name.len()).max().unwrap_or(5).max(5);
        writeln!(
            f,
            "{:width$}  {:>14}  {:>14}  {:>14}  {:>8}  {:>8}",
            "entry", "adjoint", "forward mode", "difference", "err fwd", "err diff"
        )?;
        for e in &self.entries {
            let verdict = match e.verdict {
                Verdict::Ok => "ok",
                Verdict::Kink => "kink",
                Verdict::Wrong => "WRONG",
            };
            writeln!(
                f,
                "{:width$}  {:>14.7e}  {:>14.7e}  {:>14.7e}  {:>8.1e}  {:>8.1e}  {verdict}",
                e.name, e.adjoint, e.forward, e.difference, e.forward_error, e.difference_error
            )?;
        }
        if let Some(void) = &self.void {
            writeln!(f, "void: {void}")?;
        }
        let wrong: Vec<&str> = self.failures().map(|e| e.name.as_str()).collect();
        if !wrong.is_empty() {
            writeln!(f, "wrong: {}", wrong.join(", "))?;
        }
        write!(
            f,
            "{} entries, worst error {:.1e} against forward mode, {:.1e} against differences: {}",
            self.entries.len(),
            self.worst_forward(),
            self.worst_difference(),
            if self.passed() { "passed" } else { "FAILED" }
        )
    }
}

/// Checks the pullback of `map` at `x`. The map is a trait object: the validator is compiled once, not for
/// every function that is checked.
///
/// ```
/// use pullback_core::gradcheck::{Differentiable, Options, gradcheck};
/// /// y = x².
/// struct Square;
/// impl Differentiable for Square {
///     fn input_names(&self) -> Vec<String> {
///         vec!["x".into()]
///     }
///     fn outputs(&self) -> usize {
///         1
///     }
///     fn eval(&self, x: &[f64], y: &mut [f64]) -> Result<(), String> {
///         y[0] = x[0] * x[0];
///         Ok(())
///     }
///     fn jvp(&self, x: &[f64], x_dot: &[f64], y: &mut [f64], y_dot: &mut [f64]) -> Result<(), String> {
///         (y[0], y_dot[0]) = (x[0] * x[0], 2.0 * x[0] * x_dot[0]);
///         Ok(())
///     }
///     fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) -> Result<(), String> {
///         x_bar[0] += 2.0 * x[0] * y_bar[0];
///         Ok(())
///     }
/// }
/// assert!(gradcheck(&Square, &[1.5], &Options::default()).passed());
/// ```
pub fn gradcheck(map: &dyn Differentiable, x: &[f64], options: &Options) -> Report {
    let mut check = Check::new(map, x.len());
    match check.run(x, options) {
        Ok(()) => {}
        Err(reason) => check.void = Some(reason),
    }
    check.into_report(options)
}

/// The validator at work: Jacobian columns by two paths, then adjoints for each probe.
struct Check<'a> {
    map: &'a dyn Differentiable,
    names: Vec<String>,
    runs: PathRuns,
    entries: Vec<Entry>,
    void: Option<String>,
}

impl<'a> Check<'a> {
    fn new(map: &'a dyn Differentiable, inputs: usize) -> Self {
        let names = map.input_names();
        assert_eq!(names.len(), inputs, "gradcheck: the map names {} inputs, x has {inputs}", names.len());
        Check { map, names, runs: PathRuns::default(), entries: Vec::new(), void: None }
    }

    fn run(&mut self, x: &[f64], options: &Options) -> Result<(), String> {
        let (n, m) = (x.len(), self.map.outputs());

        // Columns J eᵢ by both forward paths.
        let mut y = vec![0.0; m];
        self.map.eval(x, &mut y)?;
        self.runs.eval += 1;
        if let Some(bad) = y.iter().find(|y| !y.is_finite()) {
            return Err(format!("the value itself is {bad} here"));
        }
        let mut forward = vec![vec![0.0; m]; n];
        let mut difference = Vec::with_capacity(n);
        let sizes = self.map.sizes(x);
        for i in 0..n {
            let mut x_dot = vec![0.0; n];
            x_dot[i] = 1.0;
            let mut y_dual = vec![0.0; m];
            self.map.jvp(x, &x_dot, &mut y_dual, &mut forward[i])?;
            self.runs.forward += 1;
            // A NaN is never near.
            let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * b.abs();
            if !y_dual.iter().zip(&y).all(near) {
                return Err("dual numbers and plain numbers gave different values".into());
            }
            difference.push(self.ridders(x, (i, sizes[i]), &y)?);
        }

        // Adjoints of random output cotangents, each entry kept where it looks worst.
        let groups = Groups::of(&self.names);
        let mut random = Random::new(options.seed);
        let mut nonzero = false;
        for _ in 0..options.probes.max(1) {
            let y_bar: Vec<f64> = (0..m).map(|_| random.uniform(-1.0, 1.0)).collect();
            let mut adjoint = vec![0.0; n];
            self.map.vjp(x, &y_bar, &mut adjoint)?;
            self.runs.adjoint += 1;
            let by_forward: Vec<f64> = forward.iter().map(|column| dot(column, &y_bar)).collect();
            nonzero |= by_forward.iter().any(|g| *g != 0.0);
            let floors = groups.floors(&by_forward);
            for i in 0..n {
                let (column, estimate) = &difference[i];
                let by_difference = dot(column, &y_bar);
                let uncertain: f64 = estimate.iter().zip(&y_bar).map(|(e, b)| (e * b).abs()).sum();
                let entry = judge(
                    &self.names[i],
                    adjoint[i],
                    by_forward[i],
                    (by_difference, uncertain),
                    floors[i],
                    options,
                );
                match self.entries.get_mut(i) {
                    None => self.entries.push(entry),
                    Some(old) if worse(&entry, old) => *old = entry,
                    Some(_) => {}
                }
            }
        }
        if !nonzero && !options.allow_all_zero {
            return Err("every gradient is zero: this point shows nothing".into());
        }
        Ok(())
    }

    /// Column i of J by Ridders' method: central differences at shrinking steps, extrapolated to zero step.
    /// Returns the estimate and its own error estimate, per output. Steps are parts of the size of the entry.
    fn ridders(
        &mut self,
        x: &[f64],
        (i, size): (usize, f64),
        y: &[f64],
    ) -> Result<(Vec<f64>, Vec<f64>), String> {
        let m = y.len();
        const LEVELS: usize = 6;
        const SHRINK: f64 = 2.0;
        let mut h = 2e-3 * size;
        let mut table: Vec<Vec<Vec<f64>>> = Vec::new();
        let mut best = vec![0.0; m];
        let mut error = vec![f64::INFINITY; m];
        let mut sides = Vec::with_capacity(LEVELS);
        for level in 0..LEVELS {
            let (central, both) = self.differences(x, i, h, y)?;
            sides.push(both);
            let mut row = vec![central];
            let mut factor = SHRINK * SHRINK;
            for j in 1..=level {
                let previous: &Vec<f64> = &table[level - 1][j - 1];
                let current = &row[j - 1];
                let finer: Vec<f64> =
                    (0..m).map(|k| (current[k] * factor - previous[k]) / (factor - 1.0)).collect();
                for k in 0..m {
                    let spread = (finer[k] - current[k]).abs().max((finer[k] - previous[k]).abs());
                    if spread <= error[k] {
                        error[k] = spread;
                        best[k] = finer[k];
                    }
                }
                row.push(finer);
                factor *= SHRINK * SHRINK;
            }
            table.push(row);
            h /= SHRINK;
        }
        // Successive levels must settle; where they do not, the spread of the raw differences is the truth.
        for k in 0..m {
            let (coarse, fine) = (table[LEVELS - 2][0][k], table[LEVELS - 1][0][k]);
            if (coarse - fine).abs() > 0.05 * coarse.abs().max(fine.abs()) + 1e3 * error[k] {
                error[k] = error[k].max((coarse - fine).abs());
            }
            // A kink within the last steps lets the levels settle on the mean of two slopes; the sides tell.
            for pair in sides[LEVELS - 3..].windows(2) {
                if pair[0][k].kinked(&pair[1][k]) {
                    error[k] = error[k].max(pair[0][k].gap.abs()).max(pair[1][k].gap.abs());
                }
            }
        }
        Ok((best, error))
    }

    /// Central differences of step h, and the two sides of each.
    fn differences(
        &mut self,
        x: &[f64],
        i: usize,
        h: f64,
        y: &[f64],
    ) -> Result<(Vec<f64>, Vec<Sides>), String> {
        let (mut high, mut low) = (vec![0.0; y.len()], vec![0.0; y.len()]);
        let mut moved = x.to_vec();
        moved[i] = x[i] + h;
        self.map.eval(&moved, &mut high)?;
        moved[i] = x[i] - h;
        self.map.eval(&moved, &mut low)?;
        self.runs.eval += 2;
        let (up, down) = ((x[i] + h) - x[i], x[i] - (x[i] - h));
        let central = high.iter().zip(&low).map(|(a, b)| (a - b) / (up + down)).collect();
        let sides = (0..y.len()).map(|k| {
            let (above, below) = ((high[k] - y[k]) / up, (y[k] - low[k]) / down);
            let noise = f64::EPSILON * high[k].abs().max(low[k].abs()).max(y[k].abs()) / h;
            Sides { gap: above - below, slope: above.abs().max(below.abs()), noise }
        });
        Ok((central, sides.collect()))
    }

    fn into_report(mut self, options: &Options) -> Report {
        let runs = self.runs;
        if self.void.is_none() && (runs.eval == 0 || runs.forward == 0 || runs.adjoint == 0) {
            self.void = Some(format!("a path was not run: {runs:?}, {} probes", options.probes));
        }
        Report { entries: self.entries, runs, void: self.void }
    }
}

/// The one-sided differences behind a central one.
struct Sides {
    /// Right slope minus left slope.
    gap: f64,
    /// The steeper of the two.
    slope: f64,
    /// Round-off of either.
    noise: f64,
}

impl Sides {
    /// Whether the gap of a smooth function, h f″, fails to halve with the step.
    fn kinked(&self, halved: &Sides) -> bool {
        let gap = self.gap.abs().max(halved.gap.abs());
        let visible = gap > 1e-3 * self.slope.max(halved.slope) && gap > 1e2 * self.noise.max(halved.noise);
        let ratio = halved.gap / self.gap;
        visible && !(0.3..=0.7).contains(&ratio)
    }
}

/// The verdict over one entry; `difference` is (estimate, its own uncertainty).
fn judge(
    name: &str,
    adjoint: f64,
    forward: f64,
    difference: (f64, f64),
    floor: f64,
    options: &Options,
) -> Entry {
    let relative = |a: f64, b: f64| {
        let scale = a.abs().max(b.abs()).max(floor);
        let error = if scale == 0.0 { 0.0 } else { (a - b).abs() / scale };
        if error.is_nan() { f64::INFINITY } else { error }
    };
    let (difference, uncertain) = difference;
    let forward_error = relative(adjoint, forward);
    let difference_error = relative(adjoint, difference);
    let scale = adjoint.abs().max(difference.abs()).max(floor);
    let forward_ok = adjoint.is_finite() && forward_error <= options.forward_tolerance;
    let close = (adjoint - difference).abs() <= options.difference_tolerance * scale + 10.0 * uncertain;
    let resolved = uncertain <= 1e-2 * scale;
    let verdict = match (forward_ok, close && resolved, resolved) {
        (false, _, _) => Verdict::Wrong,
        (true, true, _) => Verdict::Ok,
        (true, false, true) => Verdict::Wrong,
        (true, false, false) => Verdict::Kink,
    };
    Entry { name: name.to_owned(), adjoint, forward, difference, forward_error, difference_error, verdict }
}

fn worse(a: &Entry, b: &Entry) -> bool {
    let rank = |e: &Entry| match e.verdict {
        Verdict::Wrong => 2,
        Verdict::Kink => 1,
        Verdict::Ok => 0,
    };
    rank(a) > rank(b) || (rank(a) == rank(b) && a.forward_error > b.forward_error)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Inputs that share a unit, by the part of the name before `[`.
struct Groups(Vec<usize>);

impl Groups {
    fn of(names: &[String]) -> Groups {
        let mut seen: Vec<&str> = Vec::new();
        let group = names.iter().map(|name| {
            let stem = name.split('[').next().unwrap_or(name);
            seen.iter().position(|s| *s == stem).unwrap_or_else(|| {
                seen.push(stem);
                seen.len() - 1
            })
        });
        Groups(group.collect())
    }

    /// Per entry: below this size, a gradient is round-off of its neighbors.
    fn floors(&self, gradient: &[f64]) -> Vec<f64> {
        let largest = gradient.iter().fold(0.0, |m: f64, g| m.max(g.abs()));
        let mut per_group = vec![0.0f64; self.0.len()];
        for (group, g) in self.0.iter().zip(gradient) {
            per_group[*group] = per_group[*group].max(g.abs());
        }
        self.0.iter().map(|group| (1e-3 * per_group[*group]).max(1e-6 * largest)).collect()
    }
}

/// Checks the `_vjp` of a function of fixed-size arguments; returns the [`Report`].
///
/// ```
/// use pullback_core::{check_vjp, gradcheck::Options};
/// use pullback_math::{Real, Vec3};
/// let report = check_vjp!(
///     |a: Vec3<T>, b: Vec3<T>| -> Vec3<T> { a.cross(b) },
///     |out_bar| a.cross_vjp(b, out_bar),
///     at [1.0, 2.0, 3.0, -1.0, 0.5, 2.0],
///     Options::default()
/// );
/// assert!(report.passed(), "{report}");
/// ```
#[macro_export]
macro_rules! check_vjp {
    (
        |$($arg:ident : $type:ty),+| -> $out:ty $body:block,
        |$bar:ident| $vjp:expr,
        at $x:expr, $options:expr
    ) => {{
        struct Function;
        impl Function {
            fn eval<T: $crate::math::Real>(x: &[T], y: &mut [T]) {
                let ($($arg,)+) = <($($type,)+) as $crate::math::Flat<T>>::read(x);
                let out: $out = $body;
                $crate::math::Flat::<T>::write(out, y);
            }
            fn outputs<T: $crate::math::Real>() -> usize {
                <$out as $crate::math::Flat<T>>::LEN
            }
            fn vjp<T: $crate::math::Real>(x: &[T], y_bar: &[T], x_bar: &mut [T]) {
                let ($($arg,)+) = <($($type,)+) as $crate::math::Flat<T>>::read(x);
                let $bar = <$out as $crate::math::Flat<T>>::read(y_bar);
                let bars = $vjp;
                $crate::math::Flat::<T>::add_to(bars, x_bar);
            }
            fn names<T: $crate::math::Real>() -> Vec<String> {
                let mut names = Vec::new();
                $(
                    let len = <$type as $crate::math::Flat<T>>::LEN;
                    names.extend((0..len).map(|i| format!("{}[{i}]", stringify!($arg))));
                )+
                names
            }
        }
        impl $crate::gradcheck::Differentiable for Function {
            fn input_names(&self) -> Vec<String> {
                Self::names::<f64>()
            }
            fn outputs(&self) -> usize {
                Self::outputs::<f64>()
            }
            fn eval(&self, x: &[f64], y: &mut [f64]) -> Result<(), String> {
                Self::eval(x, y);
                Ok(())
            }
            fn jvp(&self, x: &[f64], x_dot: &[f64], y: &mut [f64], y_dot: &mut [f64]) -> Result<(), String> {
                let x: Vec<_> = x.iter().zip(x_dot).map(|(x, d)| $crate::math::Dual::new(*x, *d)).collect();
                let mut out = vec![$crate::math::Dual::default(); y.len()];
                Self::eval(&x, &mut out);
                for (i, out) in out.iter().enumerate() {
                    (y[i], y_dot[i]) = (out.value, out.tangent);
                }
                Ok(())
            }
            fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) -> Result<(), String> {
                Self::vjp(x, y_bar, x_bar);
                Ok(())
            }
        }
        $crate::gradcheck::gradcheck(&Function, &$x, &$options)
    }};
}

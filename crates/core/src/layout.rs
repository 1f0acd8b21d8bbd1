//! What the numbers of a flat vector mean: names, units, bounds, defaults.
//!
//! Systems work on flat slices; a [`Layout`] says which entries are which, so that users select
//! `*.mass` instead of index 17, files carry names, and error messages speak of `angle[1]`.

use std::borrow::Cow;
use std::ops::Range;

use pullback_math::Rescale;

use crate::block::Block;
use crate::error::ConfigError;
use crate::registry::nearest;

/// One named run of entries that share a unit and a meaning.
///
/// ```
/// use pullback_core::Slice;
/// let angle = Slice::new("angle", 2, "rad").default(&[0.5]).bounds(-3.0, 3.0).doc("of both rods");
/// assert_eq!((angle.entry_name(1).as_str(), angle.default[1]), ("angle[1]", 0.5));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// Name, such as `upper.mass`; dots separate the object from its property.
    pub name: String,
    /// SI unit, such as `kg` or `rad/s`; `1` for pure numbers.
    pub unit: Cow<'static, str>,
    /// One line on what it is.
    pub doc: Cow<'static, str>,
    /// Where it lies in the flat vector.
    pub range: Range<usize>,
    /// Smallest value that makes sense.
    pub lower: f64,
    /// Largest value that makes sense.
    pub upper: f64,
    /// Value of each entry when nothing else is said.
    pub default: Vec<f64>,
    /// Whether the entries together count by their direction alone, as a quaternion's; zero has none.
    pub normalized: bool,
}

/// Squared lengths below this are zero.
const LEAST_SQUARED_LENGTH: f64 = 1e-28;
/// Names that an error lists.
const NAMES_LISTED: usize = 60;

impl Slice {
    /// A run of `len` entries, unbounded, zero by default.
    pub fn new(name: impl Into<String>, len: usize, unit: impl Into<Cow<'static, str>>) -> Self {
        Slice {
            name: name.into(),
            unit: unit.into(),
            doc: Cow::Borrowed(""),
            range: 0..len,
            lower: f64::NEG_INFINITY,
            upper: f64::INFINITY,
            default: vec![0.0; len],
            normalized: false,
        }
    }
    /// Describes the quantity in one line.
    pub fn doc(mut self, doc: impl Into<Cow<'static, str>>) -> Self {
        self.doc = doc.into();
        self
    }
    /// Bounds every entry.
    pub fn bounds(mut self, lower: f64, upper: f64) -> Self {
        (self.lower, self.upper) = (lower, upper);
        self
    }
    /// Divides the length of the entries out, as of a quaternion: all zero is refused.
    pub fn normalized(mut self) -> Self {
        self.normalized = true;
        self
    }
    /// Sets the default of every entry: one value for all, or one per entry.
    pub fn default(mut self, values: &[f64]) -> Self {
        let len = self.range.len();
        self.default = if values.len() == 1 { vec![values[0]; len] } else { values.to_vec() };
        self
    }
    /// Number of entries.
    pub fn len(&self) -> usize {
        self.range.len()
    }
    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }
    /// The entry called `name`, if it is one of this slice.
    fn place_of(&self, name: &str) -> Option<usize> {
        let rest = name.strip_prefix(self.name.as_str())?;
        if self.len() == 1 {
            return rest.is_empty().then_some(0);
        }
        let digits = rest.strip_prefix('[')?.strip_suffix(']')?;
        let place: usize = digits.parse().ok()?;
        (place < self.len() && place.to_string() == digits).then_some(place)
    }
    /// Name of entry `i` of this slice: `angle[1]`, or plain `angle` when it is the only one.
    pub fn entry_name(&self, i: usize) -> String {
        if self.len() == 1 { self.name.clone() } else { format!("{}[{i}]", self.name) }
    }
}

/// One flat vector (state, control or parameters) as a list of slices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    slices: Vec<Slice>,
    len: usize,
}

impl Section {
    /// Total number of entries.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// The slices, in order.
    pub fn slices(&self) -> &[Slice] {
        &self.slices
    }
    /// The slice called `name`.
    pub fn slice(&self, name: &str) -> Result<&Slice, ConfigError> {
        self.slices.iter().find(|s| s.name == name).ok_or_else(|| self.nothing_called(name))
    }
    /// The entry called `name`, such as `upper.mass` or `angle[1]`.
    pub fn index_of(&self, name: &str) -> Result<usize, ConfigError> {
        let found = self.slices.iter().find_map(|slice| Some(slice.range.start + slice.place_of(name)?));
        found.ok_or_else(|| self.nothing_called(name))
    }
    /// The slice that holds entry `i`.
    fn slice_at(&self, i: usize) -> Option<&Slice> {
        self.slices.get(self.slices.partition_point(|s| s.range.end <= i))
    }
    /// Name of entry `i` of the flat vector.
    pub fn entry_name(&self, i: usize) -> String {
        match self.slice_at(i) {
            Some(slice) => slice.entry_name(i - slice.range.start),
            None => format!("[{i}]"),
        }
    }
    /// Names of all entries.
    pub fn entry_names(&self) -> Vec<String> {
        self.slices.iter().flat_map(|s| (0..s.len()).map(|i| s.entry_name(i))).collect()
    }
    /// Unit of entry `i`.
    pub fn unit(&self, i: usize) -> &str {
        self.slice_at(i).map_or("1", |s| &s.unit)
    }
    /// Default of every entry.
    pub fn defaults(&self) -> Vec<f64> {
        self.slices.iter().flat_map(|s| s.default.iter().copied()).collect()
    }
    /// Bounds of entry `i`.
    pub fn bounds(&self, i: usize) -> (f64, f64) {
        self.slice_at(i).map_or((f64::NEG_INFINITY, f64::INFINITY), |s| (s.lower, s.upper))
    }
    /// Checks `values` for length, finiteness, bounds, and orientations that are zero.
    pub fn check(&self, what: &str, values: &[f64]) -> Result<(), ConfigError> {
        self.check_bounds(what, values)?;
        self.check_directions(what, values)
    }
    /// Refuses quaternions that are zero; `values` has the right length.
    pub fn check_directions(&self, what: &str, values: &[f64]) -> Result<(), ConfigError> {
        match self.zero_direction(|i| values[i] * values[i]) {
            None => Ok(()),
            Some(slice) => Err(ConfigError(format!(
                "{what}: {} is zero and points nowhere; as a quaternion, the identity is 1, 0, 0, 0",
                slice.name
            ))),
        }
    }
    /// Checks `values` for length, finiteness and bounds, entry by entry.
    pub fn check_bounds(&self, what: &str, values: &[f64]) -> Result<(), ConfigError> {
        if values.len() != self.len {
            return Err(ConfigError(format!(
                "{what} needs {} values ({}), got {}",
                self.len,
                listed(&self.entry_names()),
                values.len()
            )));
        }
        for slice in &self.slices {
            let (lower, upper) = (slice.lower, slice.upper);
            for (k, x) in values[slice.range.clone()].iter().enumerate() {
                if !x.is_finite() || *x < lower || *x > upper {
                    let name = slice.entry_name(k);
                    return Err(ConfigError(format!("{what}: {name} = {x} is outside [{lower}, {upper}]")));
                }
            }
        }
        Ok(())
    }
    /// The first slice that is normalized and whose squares add up to zero.
    pub(crate) fn zero_direction(&self, square: impl Fn(usize) -> f64) -> Option<&Slice> {
        let zero = |s: &&Slice| s.range.clone().map(&square).sum::<f64>() < LEAST_SQUARED_LENGTH;
        self.slices.iter().filter(|s| s.normalized).find(zero)
    }

    /// Indices of all entries whose slice name or entry name matches a pattern of names, `*` (any run of
    /// characters) and `?` (one character); several patterns are separated by commas. A pattern that matches
    /// nothing is an error.
    ///
    /// ```
    /// use pullback_core::layout::{Layout, Slice};
    /// let layout = Layout::builder()
    ///     .param(Slice::new("upper.mass", 1, "kg"))
    ///     .param(Slice::new("upper.length", 1, "m"))
    ///     .param(Slice::new("lower.mass", 1, "kg"))
    ///     .build()?;
    /// assert_eq!(layout.params.select("*.mass")?, [0, 2]);
    /// # Ok::<(), pullback_core::ConfigError>(())
    /// ```
    pub fn select(&self, pattern: &str) -> Result<Vec<usize>, ConfigError> {
        let mut chosen = vec![false; self.len];
        for part in pattern.split(',').map(str::trim) {
            let mut hit = false;
            for slice in &self.slices {
                let whole = glob(part, &slice.name);
                for i in 0..slice.len() {
                    if whole || glob(part, &slice.entry_name(i)) {
                        chosen[slice.range.start + i] = true;
                        hit = true;
                    }
                }
            }
            if !hit {
                return Err(self.nothing_called(part));
            }
        }
        Ok((0..self.len).filter(|i| chosen[*i]).collect())
    }

    fn nothing_called(&self, name: &str) -> ConfigError {
        let names: Vec<&str> = self.slices.iter().map(|s| s.name.as_str()).collect();
        let near = self.nearest(name).map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"));
        ConfigError(format!("nothing is called `{name}`{near}; there is {}", listed(&names)))
    }

    /// The name or the pattern that is most like one without a match.
    fn nearest(&self, name: &str) -> Option<String> {
        if let Some(near) = nearest(name, self.slices.iter().map(|s| s.name.as_str())) {
            return Some(near.to_owned());
        }
        // Of a pattern such as `*.mas` the objects stay and the property is replaced.
        let (objects, property) = name.rsplit_once('.')?;
        let named = self.slices.iter().filter_map(|s| s.name.rsplit_once('.'));
        let properties = named.filter(|(object, _)| glob(objects, object)).map(|(_, property)| property);
        nearest(property, properties).map(|near| format!("{objects}.{near}"))
    }

    /// Refuses two slices of one name.
    fn check_names(&self) -> Result<(), ConfigError> {
        let mut names: Vec<&str> = self.slices.iter().map(|s| s.name.as_str()).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            None => Ok(()),
            Some(pair) => Err(ConfigError(format!("two slices are called `{}`", pair[0]))),
        }
    }

    fn push(&mut self, mut slice: Slice) -> Result<(), ConfigError> {
        let len = slice.len();
        if slice.default.len() != len {
            let given = slice.default.len();
            return Err(ConfigError(format!("`{}` has {len} entries and {given} defaults", slice.name)));
        }
        slice.range = self.len..self.len + len;
        self.len += len;
        self.slices.push(slice);
        Ok(())
    }
}

/// The three vectors of a system.
///
/// ```
/// use pullback_core::{Layout, Slice};
/// let layout = Layout::builder()
///     .state(Slice::new("angle", 2, "rad"))
///     .param(Slice::new("upper.mass", 1, "kg").default(&[2.0]))
///     .build()?;
/// assert_eq!((layout.state.index_of("angle[1]")?, layout.params.defaults()), (1, vec![2.0]));
/// # Ok::<(), pullback_core::ConfigError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// What changes from step to step.
    pub state: Section,
    /// What a controller sets at each step.
    pub control: Section,
    /// Physical quantities that stay.
    pub params: Section,
}

impl Layout {
    /// Starts an empty layout.
    pub fn builder() -> LayoutBuilder {
        LayoutBuilder { layout: Layout::default(), error: None }
    }
}

impl From<Layout> for LayoutBuilder {
    /// Goes on from an existing layout.
    fn from(layout: Layout) -> Self {
        LayoutBuilder { layout, error: None }
    }
}

/// Collects slices; the first mistake is reported by [`LayoutBuilder::build`].
#[derive(Debug, Default)]
pub struct LayoutBuilder {
    layout: Layout,
    error: Option<ConfigError>,
}

impl LayoutBuilder {
    /// Appends to the state.
    pub fn state(mut self, slice: Slice) -> Self {
        let result = self.layout.state.push(slice);
        self.keep(result)
    }
    /// Appends to the control.
    pub fn control(mut self, slice: Slice) -> Self {
        let result = self.layout.control.push(slice);
        self.keep(result)
    }
    /// Appends to the parameters.
    pub fn param(mut self, slice: Slice) -> Self {
        let result = self.layout.params.push(slice);
        self.keep(result)
    }
    /// Appends a block to the parameters and returns its place; its slices must have as many entries as the
    /// block.
    pub fn param_block<B: Rescale>(&mut self, slices: impl IntoIterator<Item = Slice>) -> Block<B> {
        let Range { start, end } = self.param_ranges(slices);
        let found = end - start;
        if found != B::LEN {
            let name = std::any::type_name::<B>();
            self.note(Err(ConfigError(format!("`{name}` has {} entries and its slices {found}", B::LEN))));
        }
        Block::at(start)
    }
    /// Appends a slice to the parameters and returns its entries.
    pub fn param_range(&mut self, slice: Slice) -> Range<usize> {
        self.param_ranges([slice])
    }
    /// Appends slices to the parameters and returns the entries of all of them.
    pub fn param_ranges(&mut self, slices: impl IntoIterator<Item = Slice>) -> Range<usize> {
        let start = self.layout.params.len();
        for slice in slices {
            let result = self.layout.params.push(slice);
            self.note(result);
        }
        start..self.layout.params.len()
    }
    /// The layout, or the first mistake made.
    pub fn build(self) -> Result<Layout, ConfigError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let Layout { state, control, params } = &self.layout;
        [state, control, params].into_iter().try_for_each(Section::check_names)?;
        Ok(self.layout)
    }

    fn keep(mut self, result: Result<(), ConfigError>) -> Self {
        self.note(result);
        self
    }

    /// Keeps the first mistake.
    fn note(&mut self, result: Result<(), ConfigError>) {
        if let (Err(error), None) = (result, &self.error) {
            self.error = Some(error);
        }
    }
}

/// The first names, and how many more there are.
fn listed(names: &[impl AsRef<str>]) -> String {
    let mut text = names.iter().take(NAMES_LISTED).map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    if names.len() > NAMES_LISTED {
        text += &format!(" and {} more", names.len() - NAMES_LISTED);
    }
    if names.is_empty() { "nothing".into() } else { text }
}

/// Whether `name` matches `pattern` with `*` and `?`; linear time, by remembering the last star.
pub fn glob(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while n < name.len() {
        if p < pattern.len() && pattern[p] == '*' {
            retry = Some((p, n));
            p += 1;
        } else if p < pattern.len() && (pattern[p] == '?' || pattern[p] == name[n]) {
            p += 1;
            n += 1;
        } else if let Some((star, from)) = retry {
            retry = Some((star, from + 1));
            (p, n) = (star + 1, from + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_links() -> Layout {
        Layout::builder()
            .state(Slice::new("angle", 2, "rad").default(&[0.5, -0.5]))
            .state(Slice::new("rate", 2, "rad/s"))
            .param(Slice::new("upper.mass", 1, "kg").bounds(0.0, f64::INFINITY).default(&[1.0]))
            .param(Slice::new("lower.mass", 1, "kg"))
            .param(Slice::new("gravity", 1, "m/s^2").default(&[9.81]))
            .build()
            .unwrap()
    }

    #[test]
    fn entries_have_names_units_defaults() {
        let layout = two_links();
        assert_eq!(layout.state.entry_names(), ["angle[0]", "angle[1]", "rate[0]", "rate[1]"]);
        assert_eq!(layout.state.entry_name(3), "rate[1]");
        assert_eq!(layout.state.unit(2), "rad/s");
        assert_eq!(layout.state.index_of("rate[1]").unwrap(), 3);
        assert_eq!(layout.params.index_of("gravity").unwrap(), 2);
        assert!(layout.params.index_of("rate").is_err());
        assert_eq!(layout.params.defaults(), [1.0, 0.0, 9.81]);
    }

    #[test]
    fn patterns_select_slices_and_entries() {
        let layout = two_links();
        assert_eq!(layout.params.select("*.mass").unwrap(), [0, 1]);
        assert_eq!(layout.params.select("gravity, lower.*").unwrap(), [1, 2]);
        assert_eq!(layout.state.select("*[1]").unwrap(), [1, 3]);
        assert_eq!(layout.state.select("rate").unwrap(), [2, 3]);
        assert_eq!(layout.state.select("r?te").unwrap(), [2, 3]);
    }

    #[test]
    fn a_pattern_without_a_match_says_what_there_is() {
        let message = two_links().params.select("*.inertia").unwrap_err().to_string();
        assert_eq!(message, "nothing is called `*.inertia`; there is upper.mass, lower.mass, gravity");
    }

    #[test]
    fn the_nearest_name_or_pattern_is_suggested() {
        let message = |pattern: &str| two_links().params.select(pattern).unwrap_err().to_string();
        assert!(
            message("uper.mass").starts_with("nothing is called `uper.mass` (did you mean `upper.mass`?);")
        );
        assert!(message("*.mas").starts_with("nothing is called `*.mas` (did you mean `*.mass`?);"));
        assert!(message("*.inertia").starts_with("nothing is called `*.inertia`; there is"));
        let many = (0..100).fold(Layout::builder(), |b, i| b.state(Slice::new(format!("x{i}"), 1, "m")));
        let message = many.build().unwrap().state.index_of("rocket").unwrap_err().to_string();
        assert!(message.ends_with("x59 and 40 more"), "{message}");
    }

    #[test]
    fn a_zero_quaternion_is_refused() {
        let slice = Slice::new("ball.orientation", 4, "1").default(&[1.0, 0.0, 0.0, 0.0]).normalized();
        let layout = Layout::builder().state(Slice::new("q", 1, "rad")).state(slice).build().unwrap();
        assert!(layout.state.check("state", &[0.0, 0.0, 0.0, 0.0, -2.0]).is_ok());
        assert!(layout.state.check_bounds("state", &[0.0; 5]).is_ok());
        let message = layout.state.check("state", &[0.0; 5]).unwrap_err().to_string();
        assert!(message.starts_with("state: ball.orientation is zero and points nowhere"), "{message}");
    }

    #[test]
    fn a_hundred_thousand_slices_are_laid_out_and_looked_up_at_once() {
        let start = std::time::Instant::now();
        let many = (0..100_000)
            .fold(Layout::builder(), |b, i| b.param(Slice::new(format!("body{i}.mass"), 1, "kg")));
        let params = many.build().unwrap().params;
        assert_eq!(params.index_of("body99999.mass").unwrap(), 99_999);
        assert_eq!((params.entry_name(70_000), params.unit(70_000)), ("body70000.mass".into(), "kg"));
        params.check("params", &params.defaults()).unwrap();
        // With a comparison of each pair of names this took minutes.
        assert!(start.elapsed().as_secs_f64() < 5.0, "{:?}", start.elapsed());
    }

    #[test]
    fn mistakes_in_a_layout_are_errors() {
        let twice = Layout::builder().state(Slice::new("q", 1, "m")).state(Slice::new("q", 1, "m")).build();
        assert_eq!(twice.unwrap_err().to_string(), "two slices are called `q`");
        let short = Layout::builder().state(Slice::new("q", 3, "m").default(&[1.0, 2.0])).build();
        assert_eq!(short.unwrap_err().to_string(), "`q` has 3 entries and 2 defaults");
    }

    #[test]
    fn a_block_and_its_slices_have_the_same_length() {
        let mut builder = Layout::builder();
        let _ = builder.param_range(Slice::new("masses", 4, "kg"));
        let gravity =
            builder.param_block::<[f64; 3]>([Slice::new("gravity", 3, "m/s^2").default(&[0.0, 0.0, -9.81])]);
        let layout = builder.build().unwrap();
        assert_eq!((gravity.range(), gravity.read(&layout.params.defaults())), (4..7, [0.0, 0.0, -9.81]));
        let mut bars = [0.5; 7];
        gravity.add([1.0, 2.0, 3.0], &mut bars);
        assert_eq!(bars, [0.5, 0.5, 0.5, 0.5, 1.5, 2.5, 3.5]);

        let mut builder = Layout::builder();
        let _ = builder.param_block::<[f64; 3]>([Slice::new("gravity", 2, "m/s^2")]);
        assert_eq!(builder.build().unwrap_err().to_string(), "`[f64; 3]` has 3 entries and its slices 2");
    }

    #[test]
    fn values_are_checked_against_bounds() {
        let layout = two_links();
        let error = layout.params.check("params", &[-1.0, 1.0, 9.81]).unwrap_err().to_string();
        assert_eq!(error, "params: upper.mass = -1 is outside [0, inf]");
        assert!(layout.params.check("params", &[1.0]).unwrap_err().to_string().contains("needs 3 values"));
    }

    #[test]
    fn stars_backtrack() {
        assert!(glob("*a*b*c", "xxaxxbxxc"));
        assert!(!glob("*a*b*c", "xxaxxcxxb"));
        assert!(!glob(&"*a".repeat(40), &"a".repeat(39)));
        assert!(glob("**", ""));
    }
}

//! Terrain: `<hfield>` of `<asset>`, from numbers in the model, from a PNG picture or from MuJoCo's binary
//! format.
//!
//! The first row of `elevation` and of a picture is the one with the largest y, as on a map; rows of a binary
//! file begin at the smallest. Values are moved to begin at 0 and scaled to end at 1, in single precision;
//! the third number of `size` says how high 1 is. A picture counts by its first channel in 8 bits: gray, or
//! red. A binary file holds two 32-bit integers, rows and columns, then that many 32-bit floats, all
//! little-endian. Files are read when a geom first uses them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use pullback_articulated::Heightfield;
use pullback_math::Vec3;

use super::ImportOptions;
use super::assets::locate;
use super::settings::Compiler;
use crate::xml::Element;
use crate::{ImportError, Place, confine};

/// Most values of one field, and of all fields of a model, so that a small file cannot ask for all memory.
const MOST_VALUES: usize = 1 << 24;

/// A field as described.
struct Source {
    name: String,
    place: Place,
    file: Option<PathBuf>,
    /// Whether the file is a picture.
    picture: bool,
    rows: usize,
    columns: usize,
    size: [f64; 4],
    values: Vec<f64>,
}

/// The fields of a model, loaded as geoms ask for them.
#[derive(Default)]
pub(super) struct HeightfieldTable {
    sources: HashMap<String, Source>,
    loaded: HashMap<String, usize>,
    /// Values of all fields so far.
    values: usize,
    confined_to: Vec<PathBuf>,
    /// Loaded fields, in the order of first use.
    pub fields: Vec<Heightfield>,
}

impl HeightfieldTable {
    /// No fields yet.
    pub fn new(options: &ImportOptions) -> Self {
        HeightfieldTable { confined_to: options.confined_to.clone(), ..HeightfieldTable::default() }
    }

    /// Counts the values of one field more; why they are too many.
    fn count(&mut self, values: usize) -> Result<(), String> {
        self.values += values;
        match self.values <= MOST_VALUES {
            true => Ok(()),
            false => Err(format!("the heightfields have more than {MOST_VALUES} values together; use fewer")),
        }
    }

    /// Reads one `<hfield>` of `<asset>`.
    pub fn add(
        &mut self,
        e: &Element,
        compiler: &Compiler,
        options: &ImportOptions,
    ) -> Result<(), ImportError> {
        let file = e.text("file").map(|file| locate(file, &compiler.mesh_folder, compiler));
        let stem = || file.as_ref().and_then(|f| f.file_stem()).map(|s| s.to_string_lossy().into_owned());
        let name = e.text("name").map(str::to_string).or_else(stem);
        let name = name.ok_or_else(|| e.error("needs a `name` or a `file`"))?;
        let kind = e.text("content_type").unwrap_or_default();
        let png = |f: &PathBuf| f.extension().is_some_and(|x| x.eq_ignore_ascii_case("png"));
        let picture = if kind.is_empty() { file.as_ref().is_some_and(png) } else { kind == "image/png" };
        let size = e.array("size")?.ok_or_else(|| e.error("needs `size`"))?;
        if !size.iter().all(|s| *s > 0.0) {
            return Err(e.error_in("size", "its four numbers must be positive: half widths, elevation, base"));
        }
        let count = |name: &str| -> Result<usize, ImportError> {
            let n = e.integer(name)?.unwrap_or(0);
            usize::try_from(n).map_err(|_| e.error_in(name, "must not be negative"))
        };
        let (rows, columns) = (count("nrow")?, count("ncol")?);
        let mut values = e.list("elevation")?.unwrap_or_default();
        if file.is_some() {
            if !values.is_empty() {
                return Err(e.error_in("elevation", "stands beside a `file`; keep one"));
            }
            if rows > 0 || columns > 0 {
                return Err(e.error("`nrow` and `ncol` stand in the file; leave them out"));
            }
        } else {
            check_counts(rows, columns).map_err(|why| e.error(why))?;
            self.count(rows * columns).map_err(|why| e.error(why))?;
            if values.is_empty() {
                values = vec![0.0; rows * columns];
            }
            if values.len() != rows * columns {
                let why = format!(
                    "holds {} numbers, {rows} rows of {columns} are {}",
                    values.len(),
                    rows * columns
                );
                return Err(e.error_in("elevation", why));
            }
            values = values.chunks_exact(columns).rev().flatten().copied().collect();
        }
        e.finish(options, &[])?;
        e.no_children(options)?;
        let source =
            Source { name: name.clone(), place: e.place.clone(), file, picture, rows, columns, size, values };
        match self.sources.insert(name.clone(), source) {
            Some(_) => Err(e.error(format!("two heightfields are called `{name}`; rename one"))),
            None => Ok(()),
        }
    }

    /// Index of the field a geom asks for.
    pub fn get(&mut self, name: &str, user: &Element) -> Result<usize, ImportError> {
        if let Some(found) = self.loaded.get(name) {
            return Ok(*found);
        }
        let source = self
            .sources
            .get(name)
            .ok_or_else(|| user.error_in("hfield", format!("no heightfield is called `{name}`")))?;
        let refuse = |why: String| ImportError::new(&source.place, format!("heightfield `{name}`: {why}"));
        let (rows, columns, values) = match &source.file {
            Some(file) => confine::check(file, &self.confined_to)
                .and_then(|()| read_file(file, source.picture))
                .map_err(|why| refuse(format!("`{}` {why}", file.display())))?,
            None => (source.rows, source.columns, source.values.clone()),
        };
        // Those of fields without files were counted before they were made.
        let counted = if source.file.is_some() { values.len() } else { 0 };
        let [x, y, z, base] = source.size;
        let field = Heightfield {
            name: source.name.clone(),
            rows,
            columns,
            size: Vec3::new(x, y, z),
            base,
            values: normalized(values),
        };
        let place = source.place.clone();
        self.count(counted).map_err(|why| ImportError::new(&place, why))?;
        self.fields.push(field);
        self.loaded.insert(name.to_string(), self.fields.len() - 1);
        Ok(self.fields.len() - 1)
    }
}

fn check_counts(rows: usize, columns: usize) -> Result<(), String> {
    if rows < 2 || columns < 2 {
        return Err(format!("has {rows} rows and {columns} columns; two of each are the least"));
    }
    match rows.checked_mul(columns) {
        Some(n) if n <= MOST_VALUES => Ok(()),
        _ => Err(format!("has {rows} rows and {columns} columns; at most {MOST_VALUES} values are read")),
    }
}

/// From 0 to 1, or all 0 if they are equal.
fn normalized(values: Vec<f64>) -> Vec<f64> {
    let values: Vec<f32> = values.into_iter().map(|x| x as f32).collect();
    let low = values.iter().copied().fold(f32::INFINITY, f32::min);
    let high = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let unit = |x: f32| if high > low { f64::from((x - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 };
    values.into_iter().map(unit).collect()
}

/// Rows, columns and values of a picture or of a file in MuJoCo's format.
fn read_file(path: &Path, picture: bool) -> Result<(usize, usize, Vec<f64>), String> {
    let most = 8 + 4 * MOST_VALUES as u64;
    let bytes = pullback_core::files::read_at_most(path, most).map_err(|e| format!("cannot be read: {e}"))?;
    if picture { parse_picture(&bytes) } else { parse(&bytes) }
}

/// The first channel of a PNG picture, the lowest row first.
fn parse_picture(bytes: &[u8]) -> Result<(usize, usize, Vec<f64>), String> {
    let broken = |e: png::DecodingError| format!("is not a PNG picture that can be read: {e}");
    let mut decoder = png::Decoder::new(bytes);
    // Palettes become colors, few bits eight, sixteen bits their upper eight.
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
    let mut reader = decoder.read_info().map_err(broken)?;
    let (columns, rows) = (reader.info().width as usize, reader.info().height as usize);
    check_counts(rows, columns)?;
    let mut pixels = vec![0; reader.output_buffer_size()];
    let frame = reader.next_frame(&mut pixels).map_err(broken)?;
    let channels = frame.color_type.samples();
    let lines = pixels[..frame.buffer_size()].chunks_exact(frame.line_size);
    let values = lines.rev().flat_map(|line| line.chunks_exact(channels).map(|pixel| f64::from(pixel[0])));
    Ok((rows, columns, values.collect()))
}

fn parse(bytes: &[u8]) -> Result<(usize, usize, Vec<f64>), String> {
    let words: Vec<[u8; 4]> = bytes.chunks_exact(4).map(|w| [w[0], w[1], w[2], w[3]]).collect();
    let [rows, columns, values @ ..] = words.as_slice() else {
        return Err("is too short for a header of two integers".into());
    };
    let count = |w: &[u8; 4]| {
        let n = i32::from_le_bytes(*w);
        usize::try_from(n).map_err(|_| format!("has a negative count, {n}"))
    };
    let (rows, columns) = (count(rows)?, count(columns)?);
    check_counts(rows, columns)?;
    if bytes.len() != 8 + 4 * rows * columns {
        return Err(format!(
            "has {} bytes, {rows} rows of {columns} need {}",
            bytes.len(),
            8 + 4 * rows * columns
        ));
    }
    let values: Vec<f64> = values.iter().map(|w| f64::from(f32::from_le_bytes(*w))).collect();
    match values.iter().position(|x| !x.is_finite()) {
        Some(i) => Err(format!("has an elevation that is not finite, number {}", i + 1)),
        None => Ok((rows, columns, values)),
    }
}

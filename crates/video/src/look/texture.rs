//! Pixels of textures: MuJoCo's patterns, and PNG files.

use std::path::{Path, PathBuf};

use pullback_core::random::Random;
use pullback_math::Vec3;
use pullback_physics::articulated::{self, TextureKind, TextureMark, TexturePattern, TextureSource};
use pullback_render::{Sky, Texture};

/// Sides of a cube: right (+x), left (−x), up (+y), down (−y), front (+z), back (−z) of the object.
const SIDES: [char; 6] = ['R', 'L', 'U', 'D', 'F', 'B'];
/// Wider and higher pictures are halved.
const LARGEST: usize = 1024;
/// Most pixels of a picture that is read: 4096 by 4096.
const MOST_PIXELS: u64 = 1 << 24;
/// Largest file that is read, bytes.
const MOST_BYTES: u64 = 1 << 28;

/// The pixels of a texture.
#[derive(Clone, Debug)]
pub(super) enum Pixels {
    /// One picture.
    Plane(Texture<f64>),
    /// One for each side of a cube.
    Cube(Box<[Texture<f64>; 6]>),
}

/// The pixels of a texture, or what is wrong with its file.
pub(super) fn pixels(texture: &articulated::Texture) -> Result<Pixels, String> {
    let flat = texture.kind == TextureKind::TwoD;
    let flipped = |from: Texture<f64>| flip(from, texture.flip);
    Ok(match &texture.source {
        TextureSource::Builtin { .. } if flat => Pixels::Plane(plane_pattern(texture)),
        TextureSource::Builtin { .. } => {
            Pixels::Cube(Box::new(std::array::from_fn(|side| side_pattern(texture, side))))
        }
        TextureSource::File { path, .. } if flat => Pixels::Plane(small(flipped(read_png(path)?))),
        TextureSource::File { path, gridsize, gridlayout } => {
            let image = flipped(read_png(path)?);
            let [rows, columns] = gridsize.map(|n| n.max(1) as usize);
            if rows > image.height
                || columns > image.width
                || gridlayout.chars().count() > rows.saturating_mul(columns)
            {
                let (wide, high) = (image.width, image.height);
                return Err(format!(
                    "{}: {rows} by {columns} cells with the layout `{gridlayout}` do not fit {high} by {wide} pixels",
                    path.display()
                ));
            }
            let (width, height) = (image.width / columns, image.height / rows);
            let cell = |c: usize| {
                let (x, y) = (c % columns * width, c / columns * height);
                Texture::from_fn(width, height, |i, j| image.texels[(y + j) * image.width + x + i])
            };
            let side = |side: usize| {
                let place = gridlayout.chars().position(|c| c == SIDES[side]);
                small(cell(if rows * columns == 1 { 0 } else { place.unwrap_or(0) }))
            };
            Pixels::Cube(Box::new(std::array::from_fn(side)))
        }
        TextureSource::Sides { paths, rgb1 } => {
            let side = |path: &Option<PathBuf>| match path {
                Some(path) => Ok(small(flipped(read_png(path)?))),
                None => Ok(Texture::from_fn(1, 1, |_, _| color(*rgb1))),
            };
            let sides: Result<Vec<_>, String> = paths.iter().map(side).collect();
            let sides: [Texture<f64>; 6] = sides?.try_into().map_err(|_| "has six sides".to_owned())?;
            Pixels::Cube(Box::new(sides))
        }
    })
}

/// The sky of a skybox, and what of it is not drawn.
pub(super) fn sky(texture: &articulated::Texture) -> (Sky, Option<String>) {
    if let TextureSource::Builtin { pattern, rgb1, rgb2, mark, .. } = &texture.source {
        let (above, below) = (color(*rgb1), color(*rgb2));
        let note = (*mark != TextureMark::None || *pattern == TexturePattern::Checker)
            .then(|| format!("texture `{}`: of a sky its gradient is drawn alone", texture.name));
        return (Sky { above, below }, note);
    }
    match pixels(texture) {
        Ok(pixels) => {
            let (above, below) = match &pixels {
                Pixels::Plane(image) => (image.mean(), image.mean()),
                Pixels::Cube(sides) => (sides[2].mean(), sides[3].mean()),
            };
            let note = format!("texture `{}`: a sky of pictures is drawn as a gradient", texture.name);
            (Sky { above, below }, Some(note))
        }
        Err(why) => (Sky { above: color([0.5; 3]), below: color([0.5; 3]) }, Some(why)),
    }
}

fn color([r, g, b]: [f32; 3]) -> Vec3<f64> {
    Vec3::new(r, g, b).map(f64::from)
}

/// From b at −1 to a at 1, as MuJoCo's gradients go: ½ (1 + √2 p / √(1 + p²)) of a.
fn gradient(p: f64, a: [f32; 3], b: [f32; 3]) -> Vec3<f64> {
    let share = (0.5 * (1.0 + 2.0_f64.sqrt() * p / (1.0 + p * p).sqrt())).clamp(0.0, 1.0);
    color(b) + (color(a) - color(b)) * share
}

/// Centers of pixels from −1 to 1, y upward.
fn centered(i: usize, j: usize, width: usize, height: usize) -> (f64, f64) {
    let along = |i: usize, n: usize| 2.0 * i as f64 / (n.max(2) - 1) as f64 - 1.0;
    (along(i, width), -along(j, height))
}

fn plane_pattern(texture: &articulated::Texture) -> Texture<f64> {
    let TextureSource::Builtin { pattern, rgb1, rgb2, width, height, .. } = &texture.source else {
        return Texture::default();
    };
    let (width, height) = (size(*width), size(*height));
    let plain = Texture::from_fn(width, height, |i, j| match pattern {
        TexturePattern::Flat => color(*rgb1),
        TexturePattern::Checker => checker(i, j, width, height, *rgb1, *rgb2),
        TexturePattern::Gradient => {
            let (x, y) = centered(i, j, width, height);
            gradient(2.0 * x.hypot(y) - 1.0, *rgb2, *rgb1)
        }
    });
    marked(plain, texture, 0)
}

fn side_pattern(texture: &articulated::Texture, side: usize) -> Texture<f64> {
    let TextureSource::Builtin { pattern, rgb1, rgb2, width, .. } = &texture.source else {
        return Texture::default();
    };
    let n = size(*width);
    let down = SIDES[side] == 'D';
    let plain = Texture::from_fn(n, n, |i, j| {
        let (x, y) = centered(i, j, n, n);
        let away = (1.0 + x * x + y * y).sqrt();
        match (pattern, SIDES[side]) {
            (TexturePattern::Flat, _) => color(if down { *rgb2 } else { *rgb1 }),
            (TexturePattern::Checker, 'D') => checker(i, j, n, n, *rgb2, *rgb1),
            (TexturePattern::Checker, _) => checker(i, j, n, n, *rgb1, *rgb2),
            // By the elevation of the direction through the pixel.
            (TexturePattern::Gradient, 'U' | 'D') => {
                let p = 1.0 - (1.0 / away).acos() * std::f64::consts::FRAC_2_PI;
                gradient(if down { -p } else { p }, *rgb1, *rgb2)
            }
            (TexturePattern::Gradient, _) => {
                gradient((y / away).asin() * std::f64::consts::FRAC_2_PI, *rgb1, *rgb2)
            }
        }
    });
    marked(plain, texture, side)
}

fn size(n: u32) -> usize {
    (n as usize).clamp(1, LARGEST)
}

fn checker(i: usize, j: usize, width: usize, height: usize, a: [f32; 3], b: [f32; 3]) -> Vec3<f64> {
    color(if (i < width / 2) == (j < height / 2) { a } else { b })
}

/// The texture with the marks it asks for.
fn marked(mut plain: Texture<f64>, texture: &articulated::Texture, side: usize) -> Texture<f64> {
    let TextureSource::Builtin { mark, markrgb, random, .. } = &texture.source else { return plain };
    let (width, height) = (plain.width, plain.height);
    let mut dots = Random::new(42 + side as u64);
    for (k, texel) in plain.texels.iter_mut().enumerate() {
        let (i, j) = (k % width, k / width);
        let here = match mark {
            TextureMark::None => false,
            TextureMark::Edge => i == 0 || j == 0 || i + 1 == width || j + 1 == height,
            TextureMark::Cross => i == width / 2 || j == height / 2,
            TextureMark::Random => dots.uniform(0.0, 1.0) < f64::from(*random),
        };
        if here {
            *texel = color(*markrgb);
        }
    }
    plain
}

fn flip(from: Texture<f64>, [horizontally, vertically]: [bool; 2]) -> Texture<f64> {
    let (w, h) = (from.width, from.height);
    Texture::from_fn(w, h, |i, j| {
        let (i, j) = (if horizontally { w - 1 - i } else { i }, if vertically { h - 1 - j } else { j });
        from.texels[j * w + i]
    })
}

/// A picture at most [`LARGEST`] wide and high: means of squares of pixels.
fn small(from: Texture<f64>) -> Texture<f64> {
    let by = from.width.max(from.height).div_ceil(LARGEST);
    if by <= 1 {
        return from;
    }
    Texture::from_fn((from.width / by).max(1), (from.height / by).max(1), |i, j| {
        let texel = |k: usize| {
            let (x, y) = ((by * i + k % by).min(from.width - 1), (by * j + k / by).min(from.height - 1));
            from.texels[y * from.width + x]
        };
        (0..by * by).fold(Vec3::zero(), |sum, k| sum + texel(k)) * (1.0 / (by * by) as f64)
    })
}

/// A PNG file; opacity is not looked at.
pub fn read_png(path: &Path) -> Result<Texture<f64>, String> {
    let fail = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let file = pullback_core::files::read_at_most(path, MOST_BYTES).map_err(|e| fail(&e))?;
    let mut decoder = png::Decoder::new(&file[..]);
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
    let header = decoder.read_header_info().map_err(|e| fail(&e))?;
    let (width, height) = (header.width, header.height);
    if u64::from(width) * u64::from(height) > MOST_PIXELS {
        return Err(fail(&format!(
            "{width} by {height} pixels are more than the {MOST_PIXELS} that are read"
        )));
    }
    let mut reader = decoder.read_info().map_err(|e| fail(&e))?;
    let mut bytes = vec![0; reader.output_buffer_size()];
    let info = reader.next_frame(&mut bytes).map_err(|e| fail(&e))?;
    let channels = info.color_type.samples();
    let at = |k: usize, c: usize| f64::from(bytes[k * channels + c]) / 255.0;
    let (width, height) = (info.width as usize, info.height as usize);
    Ok(Texture::from_fn(width, height, |i, j| {
        let k = j * width + i;
        match channels {
            1 | 2 => Vec3::new(at(k, 0), at(k, 0), at(k, 0)),
            _ => Vec3::new(at(k, 0), at(k, 1), at(k, 2)),
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gray PNG file of one color.
    fn write(path: &Path, width: u32, height: u32) {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(png::ColorType::Grayscale);
        let pixels = vec![200; (width * height) as usize];
        encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    #[test]
    fn pictures_that_do_not_fit_memory_or_their_grid_are_errors() {
        let path = std::env::temp_dir().join(format!("pullback-texture-{}.png", std::process::id()));
        write(&path, 4, 2);
        let texture = |gridsize: [u32; 2], gridlayout: &str| articulated::Texture {
            name: "t".into(),
            kind: TextureKind::Cube,
            source: TextureSource::File { path: path.clone(), gridsize, gridlayout: gridlayout.into() },
            flip: [false; 2],
            srgb: None,
            channels: 3,
        };
        assert!(pixels(&texture([2, 2], ".URD")).is_ok());
        for (grid, layout) in [([2, 2], "....U"), ([3, 1], "RLU"), ([1, 5], "R"), ([u32::MAX, u32::MAX], "R")]
        {
            let message = pixels(&texture(grid, layout)).unwrap_err();
            assert!(message.contains("do not fit 2 by 4 pixels"), "{message}");
        }
        // A header alone asks for 10¹⁸ pixels.
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[16..24].copy_from_slice(&[0x3b, 0x9a, 0xca, 0, 0x3b, 0x9a, 0xca, 0]);
        let crc = crc32(&bytes[12..29]).to_be_bytes();
        bytes[29..33].copy_from_slice(&crc);
        std::fs::write(&path, bytes).unwrap();
        let message = read_png(&path).unwrap_err();
        assert!(message.contains("1000000000 by 1000000000 pixels are more than"), "{message}");
        std::fs::remove_file(&path).unwrap();
    }

    /// The checksum of PNG bit by bit.
    fn crc32(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(!0u32, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |c, _| (c >> 1) ^ (0xEDB8_8320 & (c & 1).wrapping_neg()))
        })
    }
}

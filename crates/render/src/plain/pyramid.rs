//! Textures at all sizes: each level is half as wide and high as the one before, so that a sample that covers many
//! texels sees their mean.
//!
//! A sample covers a parallelogram of texels, spanned by what one sample to the right and one up change. Along its longer
//! side up to [`MOST_PROBES`] probes are taken at the level of its shorter side, so that floors stay sharp toward the horizon.

use pullback_core::Workspace;
use pullback_math::{Mask, Real, Scalar, Select, Vec3, select};

use crate::scene::{Paint, Scene};
use crate::texture::{Texture, sample};

/// Most probes of a sample.
const MOST_PROBES: f64 = 8.0;

/// The smaller versions of a texture, largest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Pyramid<T> {
    /// What it was made of.
    base: Option<Texture<T>>,
    smaller: Vec<Texture<T>>,
}

impl<T: Real> Workspace for Pyramid<T> {
    fn heap_bytes(&self) -> usize {
        let bytes = |t: &Texture<T>| t.texels.capacity() * size_of::<Vec3<T>>();
        self.base.iter().chain(&self.smaller).map(bytes).sum::<usize>()
            + self.smaller.capacity() * size_of::<Texture<T>>()
    }
}

/// Pyramids of all surfaces; those whose texture is that of the last picture are kept.
pub(super) fn build_pyramids<T: Scalar>(scene: &Scene<T>, pyramids: &mut Vec<Pyramid<T>>) {
    pyramids.resize_with(scene.surfaces.len(), Pyramid::default);
    for (surface, pyramid) in scene.surfaces.iter().zip(pyramids) {
        let texture = match &surface.paint {
            Paint::Texture(texture) => Some(texture),
            _ => None,
        };
        let same = match (&pyramid.base, texture) {
            (Some(base), Some(texture)) => alike(base, texture),
            (base, texture) => base.is_none() && texture.is_none(),
        };
        if !same {
            *pyramid = Pyramid { base: texture.cloned(), smaller: texture.map_or_else(Vec::new, smaller) };
        }
    }
}

/// Whether two textures are the same.
fn alike<T: Real>(a: &Texture<T>, b: &Texture<T>) -> bool {
    let equal = |x: T, y: T| (x.le(y) & x.ge(y)).all();
    (a.wrap, a.width, a.height, a.texels.len()) == (b.wrap, b.width, b.height, b.texels.len())
        && a.texels.iter().zip(&b.texels).all(|(a, b)| equal(a.x, b.x) && equal(a.y, b.y) && equal(a.z, b.z))
}

/// Halves of halves, down to one texel.
fn smaller<T: Real>(texture: &Texture<T>) -> Vec<Texture<T>> {
    let mut levels: Vec<Texture<T>> = Vec::new();
    loop {
        let from = levels.last().unwrap_or(texture);
        if from.width <= 1 && from.height <= 1 {
            return levels;
        }
        levels.push(halved(from));
    }
}

fn halved<T: Real>(from: &Texture<T>) -> Texture<T> {
    let (width, height) = ((from.width / 2).max(1), (from.height / 2).max(1));
    let quarter = T::lit(0.25);
    let texel = |i: usize| {
        let (x, y) = (2 * (i % width), 2 * (i / width));
        let at = |dx: usize, dy: usize| {
            from.texels[(y + dy).min(from.height - 1) * from.width + (x + dx).min(from.width - 1)]
        };
        (at(0, 0) + at(1, 0) + at(0, 1) + at(1, 1)) * quarter
    };
    Texture { wrap: from.wrap, width, height, texels: (0..width * height).map(texel).collect() }
}

impl<T: Scalar> Pyramid<T> {
    /// The color of the samples in the lanes of `here` at the places (u, v, 0), which change by `slopes` along x and y of the
    /// screen, where samples have this spacing.
    pub fn sample(
        &self,
        texture: &Texture<T>,
        uv: Vec3<T::Pack>,
        slopes: [Vec3<T::Pack>; 2],
        spacing: f64,
        here: <T::Pack as Select>::Mask,
    ) -> Vec3<T::Pack> {
        let (width, height) = (T::Pack::lit(texture.width as f64), T::Pack::lit(texture.height as f64));
        let step = slopes.map(|s| s * T::Pack::lit(spacing));
        let square = step.map(|s| (s.x * width) * (s.x * width) + (s.y * height) * (s.y * height));
        let along_x = square[0].ge(square[1]);
        let long = square[0].max(square[1]);
        let along = [select(along_x, step[0].x, step[1].x), select(along_x, step[0].y, step[1].y)];
        let active = select(here, T::Pack::one(), T::Pack::zero());
        let magnified = long.le(T::Pack::one());
        let any_minified = (here & !magnified).any();
        T::pack_vectors(|i| {
            if T::unpack(&active, i).lane(0) == 0.0 {
                return Vec3::zero();
            }
            let [u, v] = [uv.x, uv.y].map(|x| T::unpack(&x, i));
            if !any_minified || T::unpack(&long, i).lane(0) <= 1.0 {
                return sample(texture, u, v);
            }
            let [longer, shorter] =
                [long, select(along_x, square[1], square[0])].map(|s| T::unpack(&s, i).lane(0).sqrt());
            let probes = (longer / shorter.max(1.0)).ceil().clamp(1.0, MOST_PROBES);
            let level = (longer / probes).log2().max(0.0);
            let [along_u, along_v] = along.map(|x| T::unpack(&x, i));
            let mut sum = Vec3::zero();
            for k in 0..probes as usize {
                let offset = T::lit((k as f64 + 0.5) / probes - 0.5);
                sum += self.between(texture, level, u + along_u * offset, v + along_v * offset);
            }
            sum * T::lit(1.0 / probes)
        })
    }

    /// The color at (u, v) between the two levels next to `level`.
    fn between(&self, texture: &Texture<T>, level: f64, u: T, v: T) -> Vec3<T> {
        let at = |level: usize| match level.checked_sub(1) {
            None => texture,
            Some(l) => self.smaller.get(l.min(self.smaller.len().saturating_sub(1))).unwrap_or(texture),
        };
        let low = level.floor().min(self.smaller.len() as f64);
        let below = sample(at(low as usize), u, v);
        let share = level.min(self.smaller.len() as f64) - low;
        if share < 1e-3 {
            return below;
        }
        below + (sample(at(low as usize + 1), u, v) - below) * T::lit(share)
    }
}

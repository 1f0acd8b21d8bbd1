//! Pulling tiles back: each tile is walked again, and every entry of its lists gets cotangents of its own. Sums over
//! entries follow in one order, so results do not depend on the number of threads.

use std::ops::Range;

use pullback_math::{Cotangent, Real, Scalar, Vec3};

use crate::ball::Ball;
use crate::forward::Painter;
use crate::look::{Look, LookBar};
use crate::material::{Light, Reflectance};
use crate::outline::Outline;
use crate::primitive::Primitive;
use crate::stage::Stage;
use crate::triangle::{Corners, Triangle};
use crate::workspace::{SampleBar, Seen};

/// Cotangents of some tiles, and those of samples that they come from.
#[derive(Debug)]
pub(crate) struct TileBars<'a, T: Scalar> {
    pub through: &'a [T::Pack],
    pub seen: &'a [Seen<T::Pack>],
    pub samples: &'a [SampleBar<T::Pack>],
    pub outlines: &'a mut [[[T; 2]; 3]],
    pub corners: &'a mut [Corners<T>],
    pub reflectances: &'a mut [Reflectance<T>],
    pub balls: &'a mut [Ball<T>],
    pub ball_reflectances: &'a mut [Reflectance<T>],
    pub lights: &'a mut [Light<T::Pack>],
    pub backgrounds: &'a mut [Vec3<T::Pack>],
}

impl<'a, T: Scalar> TileBars<'a, T> {
    /// Those of the first `tiles` tiles, and of the others.
    fn split(self, stage: &Stage<'_, T>, tiles: Range<usize>) -> (Self, Self) {
        let blocks = tiles.len() * stage.grid.blocks_per_tile();
        let entries = |starts: &[u32]| (starts[tiles.end] - starts[tiles.start]) as usize;
        let triangles = entries(&stage.triangles.bins.starts);
        let balls = entries(&stage.balls.bins.starts);
        let (through, through_rest) = self.through.split_at(blocks);
        let (seen, seen_rest) = self.seen.split_at(blocks.min(self.seen.len()));
        let (samples, samples_rest) = self.samples.split_at(blocks);
        let (outlines, outlines_rest) = self.outlines.split_at_mut(triangles);
        let (corners, corners_rest) = self.corners.split_at_mut(triangles.min(self.corners.len()));
        let (reflectances, reflectances_rest) =
            self.reflectances.split_at_mut(triangles.min(self.reflectances.len()));
        let (ball_bars, balls_rest) = self.balls.split_at_mut(balls);
        let (ball_reflectances, ball_reflectances_rest) =
            self.ball_reflectances.split_at_mut(balls.min(self.ball_reflectances.len()));
        let (lights, lights_rest) = self.lights.split_at_mut(tiles.len() * stage.lights.len());
        let (backgrounds, backgrounds_rest) = self.backgrounds.split_at_mut(tiles.len());
        (
            TileBars {
                through,
                seen,
                samples,
                outlines,
                corners,
                reflectances,
                balls: ball_bars,
                ball_reflectances,
                lights,
                backgrounds,
            },
            TileBars {
                through: through_rest,
                seen: seen_rest,
                samples: samples_rest,
                outlines: outlines_rest,
                corners: corners_rest,
                reflectances: reflectances_rest,
                balls: balls_rest,
                ball_reflectances: ball_reflectances_rest,
                lights: lights_rest,
                backgrounds: backgrounds_rest,
            },
        )
    }
}

/// Pulls tiles back in `groups` that may run on different threads. `texels` holds one list of all texels per group.
pub(crate) fn pull_tiles<T: Scalar>(
    stage: &Stage<'_, T>,
    tiles: Range<usize>,
    groups: usize,
    bars: TileBars<'_, T>,
    texels: &mut [Vec3<T>],
) {
    if tiles.len() <= 1 {
        return pull_tile(stage, tiles.start, bars, texels);
    }
    let first_groups = groups / 2;
    let half = if groups > 1 { tiles.len() * first_groups / groups } else { tiles.len() / 2 };
    let middle = tiles.start + half;
    let (bars, rest) = bars.split(stage, tiles.start..middle);
    if groups > 1 {
        let (texels, texels_rest) = texels.split_at_mut(texels.len() / groups * first_groups);
        rayon::join(
            || pull_tiles(stage, tiles.start..middle, first_groups, bars, texels),
            || pull_tiles(stage, middle..tiles.end, groups - first_groups, rest, texels_rest),
        );
    } else {
        pull_tiles(stage, tiles.start..middle, 1, bars, texels);
        pull_tiles(stage, middle..tiles.end, 1, rest, texels);
    }
}

fn pull_tile<T: Scalar>(stage: &Stage<'_, T>, tile: usize, bars: TileBars<'_, T>, texels: &mut [Vec3<T>]) {
    let painter = Painter::new(stage);
    let TileBars { through, seen, samples, .. } = bars;
    let sample = |block: usize| (through[block], seen.get(block), &samples[block]);
    let mut look_bar = LookBar { lights: bars.lights, reflectance: Reflectance::default(), texels };

    for (slot, entry) in stage.triangles.bins.of(tile).enumerate() {
        let i = stage.triangles.bins.items[entry] as usize;
        let look = stage.triangle_look(i);
        let number = T::Pack::lit((i + 1) as f64);
        if seen.is_empty() {
            let (outline, mut bar) = (stage.outline(i), Outline::default());
            stage.for_each_triangle_block(tile, i, |block, at| {
                pull_block(&painter, &outline, number, &look, at, sample(block), &mut bar, &mut look_bar);
            });
            bars.outlines[slot] = bar.corners.map(|c| c.map(T::total));
            continue;
        }
        let (triangle, mut bar) = (stage.triangle(i), Triangle::default());
        look_bar.reflectance = Reflectance::default();
        stage.for_each_triangle_block(tile, i, |block, at| {
            pull_block(&painter, &triangle, number, &look, at, sample(block), &mut bar, &mut look_bar);
        });
        bars.outlines[slot] = bar.outline.corners.map(|c| c.map(T::total));
        if let Some(corners) = bars.corners.get_mut(slot) {
            *corners = bar.corners.map(T::total);
            bars.reflectances[slot] = look_bar.reflectance.map(T::total);
        }
    }
    let look = stage.ball_look();
    for (slot, entry) in stage.balls.bins.of(tile).enumerate() {
        let i = stage.balls.bins.items[entry] as usize;
        let ball = stage.ball(i);
        let number = T::Pack::lit((stage.triangles.origins.len() + i + 1) as f64);
        let mut bar = ball.zero_like();
        look_bar.reflectance = Reflectance::default();
        stage.for_each_ball_block(tile, i, |block, at| {
            pull_block(&painter, &ball, number, &look, at, sample(block), &mut bar, &mut look_bar);
        });
        bars.balls[slot] = bar.map(T::total);
        if let Some(reflectance) = bars.ball_reflectances.get_mut(slot) {
            *reflectance = look_bar.reflectance.map(T::total);
        }
    }

    if stage.settings.outputs.color {
        let mut background = Vec3::zero();
        for (seen, bar) in seen.iter().zip(samples) {
            let share = match painter {
                Painter::Soft(soft) => soft.background_share(seen),
                Painter::Dib(dib) => dib.background_share(seen),
            };
            background += bar.color * share;
        }
        bars.backgrounds[0] = background;
    }
}

/// What the samples of a block have seen in the end, and the cotangent of what they show.
type Sampled<'a, P> = (P, Option<&'a Seen<P>>, &'a SampleBar<P>);

#[inline(always)]
fn pull_block<T: Scalar, S: Primitive<T::Pack>>(
    painter: &Painter<T::Pack>,
    primitive: &S,
    number: T::Pack,
    look: &Look<'_, T>,
    at: [T::Pack; 2],
    (through, seen, sample_bar): Sampled<'_, T::Pack>,
    bar: &mut S,
    look_bar: &mut LookBar<'_, T>,
) {
    match (painter, seen) {
        (Painter::Soft(soft), seen) => {
            soft.pull(primitive, look, at, (through, seen), sample_bar, bar, look_bar);
        }
        (Painter::Dib(dib), Some(seen)) => {
            dib.pull(primitive, number, look, at, (through, seen), sample_bar, bar, look_bar);
        }
        (Painter::Dib(_), None) => {}
    }
}

//! Drawing tiles.

use std::ops::Range;

use pullback_math::{Real, Scalar};

use crate::dib::Dib;
use crate::look::Look;
use crate::primitive::Primitive;
use crate::settings::Method;
use crate::soft::Soft;
use crate::stage::Stage;
use crate::workspace::Seen;

/// The method in registers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Painter<P> {
    Soft(Soft<P>),
    Dib(Dib<P>),
}

impl<P: Real> Painter<P> {
    pub fn new<T: Scalar<Pack = P>>(stage: &Stage<'_, T>) -> Self {
        let lens = stage.camera.lens;
        match &stage.settings.method {
            Method::SoftRas(soft) => Painter::Soft(Soft::new(soft, lens.near, lens.far)),
            Method::DibR(dib) => Painter::Dib(Dib::new(dib, lens.far)),
        }
    }
}

/// Draws tiles, halves of them on different threads. The slices hold the samples of these tiles.
pub(crate) fn draw_tiles<T: Scalar>(
    stage: &Stage<'_, T>,
    tiles: Range<usize>,
    through: &mut [T::Pack],
    seen: &mut [Seen<T::Pack>],
) {
    if tiles.len() <= 1 {
        return draw_tile(stage, tiles.start, through, seen);
    }
    let half = tiles.len() / 2;
    let blocks = half * stage.grid.blocks_per_tile();
    let (through, through_rest) = through.split_at_mut(blocks);
    let (seen, seen_rest) = seen.split_at_mut(blocks.min(seen.len()));
    rayon::join(
        || draw_tiles(stage, tiles.start..tiles.start + half, through, seen),
        || draw_tiles(stage, tiles.start + half..tiles.end, through_rest, seen_rest),
    );
}

fn draw_tile<T: Scalar>(
    stage: &Stage<'_, T>,
    tile: usize,
    through: &mut [T::Pack],
    seen: &mut [Seen<T::Pack>],
) {
    let painter = Painter::new(stage);
    let background = stage.scene.background.map(T::fill);
    through.fill(T::Pack::one());
    seen.fill(match painter {
        Painter::Soft(soft) => soft.begin(background),
        Painter::Dib(dib) => dib.begin(background),
    });

    for entry in stage.triangles.bins.of(tile) {
        let i = stage.triangles.bins.items[entry] as usize;
        let look = stage.triangle_look(i);
        let number = T::Pack::lit((i + 1) as f64);
        if seen.is_empty() {
            let outline = stage.outline(i);
            stage.for_each_triangle_block(tile, i, |block, at| {
                draw_block(&painter, &outline, number, &look, at, &mut through[block], None);
            });
        } else {
            let triangle = stage.triangle(i);
            stage.for_each_triangle_block(tile, i, |block, at| {
                draw_block(&painter, &triangle, number, &look, at, &mut through[block], seen.get_mut(block));
            });
        }
    }
    let look = stage.ball_look();
    for entry in stage.balls.bins.of(tile) {
        let i = stage.balls.bins.items[entry] as usize;
        let ball = stage.ball(i);
        let number = T::Pack::lit((stage.triangles.origins.len() + i + 1) as f64);
        stage.for_each_ball_block(tile, i, |block, at| {
            draw_block(&painter, &ball, number, &look, at, &mut through[block], seen.get_mut(block));
        });
    }

    for (block, seen) in seen.iter_mut().enumerate() {
        match painter {
            Painter::Soft(soft) => soft.finish(seen),
            Painter::Dib(dib) => dib.finish(&mut through[block], seen),
        }
    }
}

#[inline(always)]
fn draw_block<T: Scalar, S: Primitive<T::Pack>>(
    painter: &Painter<T::Pack>,
    primitive: &S,
    number: T::Pack,
    look: &Look<'_, T>,
    at: [T::Pack; 2],
    through: &mut T::Pack,
    seen: Option<&mut Seen<T::Pack>>,
) {
    match (painter, seen) {
        (Painter::Soft(soft), seen) => soft.draw(primitive, look, at, through, seen),
        (Painter::Dib(dib), Some(seen)) => dib.draw(primitive, number, look, at, through, seen),
        (Painter::Dib(_), None) => {}
    }
}

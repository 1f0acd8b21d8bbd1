//! Drawing tiles: the nearest primitive of each sample, its color, then what is translucent before it.

use std::ops::Range;

use pullback_math::{Mask, Real, Scalar, Vec3, select};

use super::shading::Shader;
use crate::primitive::{Primitive, Sight};
use crate::workspace::Seen;

/// Draws tiles, halves of them on different threads. The slices hold the samples of these tiles.
pub(super) fn draw_tiles<T: Scalar>(
    shader: &Shader<'_, T>,
    translucent: &[u32],
    tiles: Range<usize>,
    through: &mut [T::Pack],
    seen: &mut [Seen<T::Pack>],
) {
    if tiles.len() <= 1 {
        return draw_tile(shader, translucent, tiles.start, through, seen);
    }
    let half = tiles.len() / 2;
    let blocks = half * shader.stage.grid.blocks_per_tile();
    let (through, through_rest) = through.split_at_mut(blocks);
    let (seen, seen_rest) = seen.split_at_mut(blocks);
    rayon::join(
        || draw_tiles(shader, translucent, tiles.start..tiles.start + half, through, seen),
        || draw_tiles(shader, translucent, tiles.start + half..tiles.end, through_rest, seen_rest),
    );
}

fn draw_tile<T: Scalar>(
    shader: &Shader<'_, T>,
    translucent: &[u32],
    tile: usize,
    through: &mut [T::Pack],
    seen: &mut [Seen<T::Pack>],
) {
    let nothing = Seen { total: T::Pack::lit(shader.stage.camera.lens.far), ..Seen::default() };
    seen.fill(nothing);
    find_nearest(shader, tile, seen);
    for (block, (through, seen)) in through.iter_mut().zip(seen.iter_mut()).enumerate() {
        let covered = seen.front.gt(T::Pack::zero());
        *through = select(covered, T::Pack::zero(), T::Pack::one());
        shade_block(shader, tile, block, seen);
    }
    for i in translucent {
        blend_triangle(shader, tile, *i as usize, through, seen);
    }
}

/// The number of the nearest opaque primitive of each sample, from 1, and its depth.
fn find_nearest<T: Scalar>(shader: &Shader<'_, T>, tile: usize, seen: &mut [Seen<T::Pack>]) {
    let stage = &shader.stage;
    let sight = Sight { perspective: stage.camera.lens.is_perspective() };
    for entry in stage.triangles.bins.of(tile) {
        let i = stage.triangles.bins.items[entry] as usize;
        if shader.finish_of_triangle(i).opacity < 1.0 {
            continue;
        }
        let triangle = stage.triangle(i);
        let number = T::Pack::lit((i + 1) as f64);
        stage.for_each_triangle_block(tile, i, |block, at| {
            keep(&triangle, number, sight, at, &mut seen[block])
        });
    }
    for entry in stage.balls.bins.of(tile) {
        let i = stage.balls.bins.items[entry] as usize;
        let ball = stage.ball(i);
        let number = T::Pack::lit((stage.triangles.origins.len() + i + 1) as f64);
        stage.for_each_ball_block(tile, i, |block, at| keep(&ball, number, sight, at, &mut seen[block]));
    }
}

/// Keeps a primitive where it is the nearest so far.
#[inline(always)]
fn keep<P: Real, S: Primitive<P>>(primitive: &S, number: P, sight: Sight, at: [P; 2], seen: &mut Seen<P>) {
    let (inside, depth) = primitive.hit(sight, at);
    let ahead = inside & depth.lt(seen.total);
    seen.front = select(ahead, number, seen.front);
    seen.total = select(ahead, depth, seen.total);
}

/// Colors what the samples of a block see: each primitive once for all samples that see it.
fn shade_block<T: Scalar>(shader: &Shader<'_, T>, tile: usize, block: usize, seen: &mut Seen<T::Pack>) {
    let at = shader.places(tile, block);
    let mut rest = seen.front.gt(T::Pack::zero());
    if !rest.all() {
        seen.color = shader.background(at);
    }
    seen.depth = seen.total;
    for place in 0..T::WIDTH {
        if !rest.any() {
            break;
        }
        let number = T::unpack(&seen.front, place).lane(0);
        let same = T::Pack::lit(number);
        let here = rest & seen.front.le(same) & seen.front.ge(same);
        if !here.any() {
            continue;
        }
        let shown = shader.show(number as usize - 1, at, here);
        seen.color = select_vector(here, shown.color, seen.color);
        seen.normal = select_vector(here, shown.normal, seen.normal);
        rest = rest & !here;
    }
}

/// Lays a translucent triangle over what is behind it.
fn blend_triangle<T: Scalar>(
    shader: &Shader<'_, T>,
    tile: usize,
    i: usize,
    through: &mut [T::Pack],
    seen: &mut [Seen<T::Pack>],
) {
    let stage = &shader.stage;
    // Corners run counter-clockwise where the outside is seen; y points up on the screen.
    if stage.triangles.outlines[i].per_area.lane(0) <= 0.0 {
        return;
    }
    let sight = Sight { perspective: stage.camera.lens.is_perspective() };
    let opacity = T::Pack::lit(shader.finish_of_triangle(i).opacity);
    let triangle = stage.triangle(i);
    stage.for_each_triangle_block(tile, i, |block, at| {
        let (inside, depth) = triangle.hit(sight, at);
        let ahead = inside & depth.lt(seen[block].total);
        if !ahead.any() {
            return;
        }
        let share = select(ahead, opacity, T::Pack::zero());
        let shown = shader.show(i, at, ahead);
        let seen = &mut seen[block];
        let over =
            |new: Vec3<T::Pack>, old: Vec3<T::Pack>| select_vector(ahead, old + (new - old) * share, old);
        seen.color = over(shown.color, seen.color);
        seen.normal = over(shown.normal, seen.normal);
        through[block] *= T::Pack::one() - share;
    });
}

#[inline(always)]
fn select_vector<P: Real>(mask: P::Mask, a: Vec3<P>, b: Vec3<P>) -> Vec3<P> {
    Vec3 { x: select(mask, a.x, b.x), y: select(mask, a.y, b.y), z: select(mask, a.z, b.z) }
}

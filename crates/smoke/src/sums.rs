//! Sums in an order that depends on the length alone.

use pullback_math::Real;

/// Numbers that are summed side by side.
const SIDE_BY_SIDE: usize = 16;

/// aᵀ b
#[inline(always)]
pub(crate) fn dot<P: Real>(a: &[P], b: &[P]) -> P {
    fold(a, b, |sum, a, b| a.mul_add(b, sum))
}

/// `add`s pairs of two slices of one length to a sum.
#[inline(always)]
pub(crate) fn fold<P: Real, A: Copy, B: Copy>(a: &[A], b: &[B], add: impl Fn(P, A, B) -> P) -> P {
    let mut sums = [P::zero(); SIDE_BY_SIDE];
    let (a_chunks, b_chunks) = (a.chunks_exact(SIDE_BY_SIDE), b.chunks_exact(SIDE_BY_SIDE));
    let rest = a_chunks.remainder().iter().zip(b_chunks.remainder());
    let rest = rest.fold(P::zero(), |sum, (a, b)| add(sum, *a, *b));
    for (a, b) in a_chunks.zip(b_chunks) {
        for i in 0..SIDE_BY_SIDE {
            sums[i] = add(sums[i], a[i], b[i]);
        }
    }
    let mut half = SIDE_BY_SIDE / 2;
    while half > 0 {
        for i in 0..half {
            sums[i] += sums[i + half];
        }
        half /= 2;
    }
    sums[0] + rest
}

/// Sum of all entries, pairwise, so that round-off grows with the logarithm of their number.
pub(crate) fn total<P: Real>(x: &[P]) -> P {
    match x {
        [] => P::zero(),
        [x] => *x,
        _ => {
            let (low, high) = x.split_at(x.len() / 2);
            total(low) + total(high)
        }
    }
}

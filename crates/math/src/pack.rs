//! [`Packing`]: the other use of SIMD lanes, across alike elements of one environment.
//!
//! Lanes of environments make a value wide from outside: `T` is then a register already. A loop over
//! thousands of alike elements (tetrahedra, particles) of one environment can fill registers by itself: it
//! gathers `T::WIDTH` scalars into a `T::Pack`, runs the same kernel on that, and takes the lanes out again.
//! For a `T` that is a register already the pack is `T` itself, of width 1, so one loop serves both.
//!
//! ```
//! use pullback_math::{Packing, Real};
//! let x: Vec<f64> = (0..16).map(f64::from).collect();
//! let squares = |first: usize| { let p = f64::pack(|i| x[first + i]); p * p };
//! assert_eq!(f64::unpack(&squares(f64::WIDTH), 1), 81.0);
//! ```

use crate::lanes::{f32x4, f32x8, f32x16, f64x4, f64x8};
use crate::{Dual, Real, Vec3};

/// Numbers of a record.
pub const RECORD: usize = 8;

/// Two sums that take turns, so that no addition waits for the one before it; then their sum.
#[inline(always)]
fn sum_alternately<S: Copy, X>(
    mut items: impl Iterator<Item = X>,
    zero: S,
    value: impl Fn(X) -> S,
    add: impl Fn(S, S) -> S,
) -> S {
    let (mut even, mut odd) = (zero, zero);
    while let Some(item) = items.next() {
        even = add(even, value(item));
        if let Some(item) = items.next() {
            odd = add(odd, value(item));
        }
    }
    add(even, odd)
}

/// A scalar of which `WIDTH` fit side by side in one register.
pub trait Packing: Sized + Copy {
    /// The register.
    type Pack: Real;
    /// How many scalars it holds.
    const WIDTH: usize;
    /// A register whose place `i` holds `value(i)`.
    fn pack(value: impl FnMut(usize) -> Self) -> Self::Pack;
    /// Registers of vectors: place `i` holds `value(i)`.
    fn pack_vectors(value: impl FnMut(usize) -> Vec3<Self>) -> Vec3<Self::Pack>;
    /// What place `i` holds.
    fn unpack(pack: &Self::Pack, i: usize) -> Self;
    /// Registers of records: register r holds number r of `record(i)` at place `i`. Eight numbers at a time,
    /// because that is what registers can transpose among themselves.
    #[inline(always)]
    fn gather<'a>(mut record: impl FnMut(usize) -> &'a [Self; RECORD]) -> [Self::Pack; RECORD]
    where
        Self: 'a,
    {
        let mut rows = [Self::Pack::default(); RECORD];
        for (r, row) in rows.iter_mut().enumerate() {
            *row = Self::pack(|i| record(i)[r]);
        }
        rows
    }
    /// The way back: hands the record at each place to `record`.
    #[inline(always)]
    fn scatter(rows: &[Self::Pack; RECORD], mut record: impl FnMut(usize, [Self; RECORD])) {
        for i in 0..Self::WIDTH {
            record(i, std::array::from_fn(|r| Self::unpack(&rows[r], i)));
        }
    }
    /// Sum of records, with the same bits for every caller.
    #[inline(always)]
    fn sum_records<'a>(records: impl Iterator<Item = &'a [Self; RECORD]>) -> [Self; RECORD]
    where
        Self: Real + 'a,
    {
        let add = |a: [Self; RECORD], b: [Self; RECORD]| std::array::from_fn(|i| a[i] + b[i]);
        sum_alternately(records, [Self::zero(); RECORD], |record| *record, add)
    }
    /// Sum over all places, in order.
    #[inline(always)]
    fn total(pack: Self::Pack) -> Self
    where
        Self: Real,
    {
        (1..Self::WIDTH).fold(Self::unpack(&pack, 0), |sum, i| sum + Self::unpack(&pack, i))
    }
    /// Sum of vectors over all places, in order.
    #[inline(always)]
    fn total_vector(pack: Vec3<Self::Pack>) -> Vec3<Self>
    where
        Self: Real,
    {
        Vec3::new(Self::total(pack.x), Self::total(pack.y), Self::total(pack.z))
    }
    /// The same scalar in every place.
    #[inline(always)]
    fn fill(self) -> Self::Pack {
        Self::pack(|_| self)
    }
    /// Vector at place `i`.
    #[inline(always)]
    fn unpack_vector(pack: &Vec3<Self::Pack>, i: usize) -> Vec3<Self> {
        Vec3 { x: Self::unpack(&pack.x, i), y: Self::unpack(&pack.y, i), z: Self::unpack(&pack.z, i) }
    }
}

macro_rules! packs_into {
    ($t:ident, $pack:ident, $n:literal, [$($i:literal)*], $gather:ident, $scatter:ident, $record:ident) => {
        impl Packing for $t {
            type Pack = $pack;
            const WIDTH: usize = $n;
            #[inline(always)]
            fn pack(mut value: impl FnMut(usize) -> $t) -> $pack {
                let mut x = [0.0; $n];
                for (i, x) in x.iter_mut().enumerate() {
                    *x = value(i);
                }
                $pack::from(x)
            }
            #[inline(always)]
            fn pack_vectors(mut value: impl FnMut(usize) -> Vec3<$t>) -> Vec3<$pack> {
                // Written out: a loop would build the registers through memory.
                let v = [$(value($i)),*];
                Vec3 {
                    x: $pack::from([$(v[$i].x),*]),
                    y: $pack::from([$(v[$i].y),*]),
                    z: $pack::from([$(v[$i].z),*]),
                }
            }
            #[inline(always)]
            fn gather<'a>(record: impl FnMut(usize) -> &'a [$t; RECORD]) -> [$pack; RECORD] {
                $gather(record)
            }
            #[inline(always)]
            fn scatter(rows: &[$pack; RECORD], record: impl FnMut(usize, [$t; RECORD])) {
                $scatter(rows, record)
            }
            // Registers: loops over arrays would be split at numbers that nobody reads.
            #[inline(always)]
            fn sum_records<'a>(records: impl Iterator<Item = &'a [$t; RECORD]>) -> [$t; RECORD] {
                sum_alternately(records, $record::default(), |x| $record::from(*x), |a, b| a + b).to_array()
            }
            #[inline(always)]
            fn unpack(pack: &$pack, i: usize) -> $t {
                pack.as_array()[i]
            }
        }
    };
}
packs_into!(f64, f64x8, 8, [0 1 2 3 4 5 6 7], gather_f64, scatter_f64, f64x8);
packs_into!(f32, f32x16, 16, [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15], gather_f32, scatter_f32, f32x8);

/// Two 8×8 transposes, side by side.
#[inline(always)]
fn gather_f32<'a>(mut record: impl FnMut(usize) -> &'a [f32; RECORD]) -> [f32x16; RECORD] {
    // Unrolled, as below: a loop would build the registers through memory.
    macro_rules! transposed {
        ($($i:literal)*) => { f32x8::transpose([$(f32x8::from(*record($i))),*]) };
    }
    let (low, high) = (transposed!(0 1 2 3 4 5 6 7), transposed!(8 9 10 11 12 13 14 15));
    macro_rules! joined {
        ($($r:literal)*) => { [$(bytemuck::cast([low[$r], high[$r]])),*] };
    }
    joined!(0 1 2 3 4 5 6 7)
}

#[inline(always)]
fn scatter_f32(rows: &[f32x16; RECORD], mut record: impl FnMut(usize, [f32; RECORD])) {
    macro_rules! halves {
        ($half:literal: $($r:literal)*) => { [$(bytemuck::cast::<_, [f32x8; 2]>(rows[$r])[$half]),*] };
    }
    let (low, high) =
        (f32x8::transpose(halves!(0: 0 1 2 3 4 5 6 7)), f32x8::transpose(halves!(1: 0 1 2 3 4 5 6 7)));
    for i in 0..8 {
        record(i, low[i].to_array());
    }
    for i in 0..8 {
        record(8 + i, high[i].to_array());
    }
}

/// Four 4×4 transposes in a square.
#[inline(always)]
fn gather_f64<'a>(mut record: impl FnMut(usize) -> &'a [f64; RECORD]) -> [f64x8; RECORD] {
    let rows: [[f64x4; 2]; 8] = std::array::from_fn(|i| bytemuck::cast(*record(i)));
    let quarter = |i: usize, h: usize| f64x4::transpose(std::array::from_fn(|k| rows[4 * i + k][h]));
    let (a, b, c, d) = (quarter(0, 0), quarter(1, 0), quarter(0, 1), quarter(1, 1));
    std::array::from_fn(|r| bytemuck::cast(if r < 4 { [a[r], b[r]] } else { [c[r - 4], d[r - 4]] }))
}

#[inline(always)]
fn scatter_f64(rows: &[f64x8; RECORD], mut record: impl FnMut(usize, [f64; RECORD])) {
    let halves: [[f64x4; 2]; RECORD] = std::array::from_fn(|r| bytemuck::cast(rows[r]));
    for half in 0..2 {
        let low = f64x4::transpose(std::array::from_fn(|r| halves[r][half]));
        let high = f64x4::transpose(std::array::from_fn(|r| halves[4 + r][half]));
        for i in 0..4 {
            record(4 * half + i, bytemuck::cast([low[i], high[i]]));
        }
    }
}

macro_rules! packs_into_itself {
    ($($t:ident),*) => {$(
        impl Packing for $t {
            type Pack = $t;
            const WIDTH: usize = 1;
            #[inline(always)]
            fn pack(mut value: impl FnMut(usize) -> $t) -> $t {
                value(0)
            }
            #[inline(always)]
            fn pack_vectors(mut value: impl FnMut(usize) -> Vec3<$t>) -> Vec3<$t> {
                value(0)
            }
            #[inline(always)]
            fn unpack(pack: &$t, _i: usize) -> $t {
                *pack
            }
        }
    )*};
}
packs_into_itself!(f32x4, f64x4, f64x8, f32x8, f32x16);

impl<T: Real> Packing for Dual<T> {
    type Pack = Dual<T::Pack>;
    const WIDTH: usize = T::WIDTH;
    #[inline(always)]
    fn pack(mut value: impl FnMut(usize) -> Self) -> Self::Pack {
        Dual::new(T::pack(|i| value(i).value), T::pack(|i| value(i).tangent))
    }
    #[inline(always)]
    fn pack_vectors(mut value: impl FnMut(usize) -> Vec3<Self>) -> Vec3<Self::Pack> {
        let primal = T::pack_vectors(|i| value(i).map(|c| c.value));
        let tangent = T::pack_vectors(|i| value(i).map(|c| c.tangent));
        Vec3 {
            x: Dual::new(primal.x, tangent.x),
            y: Dual::new(primal.y, tangent.y),
            z: Dual::new(primal.z, tangent.z),
        }
    }
    #[inline(always)]
    fn unpack(pack: &Self::Pack, i: usize) -> Self {
        Dual::new(T::unpack(&pack.value, i), T::unpack(&pack.tangent, i))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip<T: Real>() {
        let scalar = |i: usize| T::lit(i as f64 + 0.5);
        let pack = T::pack(scalar);
        let vectors = T::pack_vectors(|i| Vec3::new(scalar(i), -scalar(i), scalar(2 * i)));
        for i in 0..T::WIDTH {
            assert_eq!(T::unpack(&pack, i).lane(0), i as f64 + 0.5);
            let v = T::unpack_vector(&vectors, i).map(|c| c.lane(0));
            assert_eq!((v.x, v.y, v.z), (i as f64 + 0.5, -(i as f64) - 0.5, 2.0 * i as f64 + 0.5));
        }
    }

    fn records<T: Real>() {
        let record = |i: usize| std::array::from_fn(|r| T::lit((10 * i + r) as f64));
        let all: Vec<[T; RECORD]> = (0..T::WIDTH).map(record).collect();
        let rows = T::gather(|i| &all[i]);
        for (r, row) in rows.iter().enumerate() {
            for i in 0..T::WIDTH {
                assert_eq!(T::unpack(row, i).lane(0), (10 * i + r) as f64);
            }
        }
        let mut seen = vec![false; T::WIDTH];
        T::scatter(&rows, |i, x| {
            seen[i] = true;
            assert_eq!(x.map(|x| x.lane(0)), record(i).map(|x| x.lane(0)));
        });
        assert!(seen.iter().all(|s| *s));
    }

    #[test]
    fn records_turn_into_registers_and_back() {
        records::<f64>();
        records::<f32>();
        records::<f64x8>();
        records::<Dual<f64>>();
    }

    #[test]
    fn what_goes_in_comes_out() {
        round_trip::<f64>();
        round_trip::<f32>();
        round_trip::<f64x8>();
        round_trip::<f32x16>();
        round_trip::<Dual<f64>>();
        let pack = Dual::<f64>::pack(|i| Dual::new(1.0, i as f64));
        assert_eq!(Dual::<f64>::unpack(&pack, 3), Dual::new(1.0, 3.0));
    }
}

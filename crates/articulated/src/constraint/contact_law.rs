//! The law of a contact, friction, softness and margin, from its pair or its two geoms, and its pullback.

use pullback_math::{Real, differentiable, select};

use super::Constrained;
use super::params::{ConstraintIndex, ContactLaw, SurfaceParams};
use super::softness::{LEAST, SoftnessParams};
use crate::contact::GeomView;
use crate::pairs::GeomPair;

/// Smallest friction.
const LEAST_FRICTION: f64 = 1e-5;

/// How the two geoms of a contact share their parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sharing {
    /// The first has the higher priority.
    First,
    /// The second has the higher priority.
    Second,
    /// Equal priorities, with this weight of the first.
    Mixed(f64),
}

/// Where the law of a contact comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
enum LawSource {
    /// One for all contacts.
    All,
    /// The pair's own, by its number.
    Own(usize),
    /// The two geoms.
    Geoms(Sharing),
}

fn law_source<T: Real>(geoms: &GeomView<'_, T>, pair: GeomPair) -> LawSource {
    if geoms.model.options.contact_override.is_some() {
        return LawSource::All;
    }
    if let Some(number) = pair.explicit {
        return LawSource::Own(number);
    }
    let (a, b) = pair.geoms;
    let (first, second) = (geoms.model.geoms[a].contact, geoms.model.geoms[b].contact);
    LawSource::Geoms(match first.priority.cmp(&second.priority) {
        std::cmp::Ordering::Greater => Sharing::First,
        std::cmp::Ordering::Less => Sharing::Second,
        std::cmp::Ordering::Equal => {
            let (x, y) = (first.solmix, second.solmix);
            Sharing::Mixed(match (x >= LEAST, y >= LEAST) {
                (true, true) => x / (x + y),
                (false, false) => 0.5,
                (false, true) => 0.0,
                (true, false) => 1.0,
            })
        }
    })
}

/// Dimension of the contacts of a pair.
pub(crate) fn condim<T: Real>(geoms: &GeomView<'_, T>, pair: GeomPair) -> usize {
    if let Some(number) = pair.explicit {
        return geoms.model.pairs[number].condim as usize;
    }
    let (a, b) = pair.geoms;
    let (first, second) = (geoms.model.geoms[a].contact, geoms.model.geoms[b].contact);
    let dim = match first.priority.cmp(&second.priority) {
        std::cmp::Ordering::Greater => first.condim,
        std::cmp::Ordering::Less => second.condim,
        std::cmp::Ordering::Equal => first.condim.max(second.condim),
    };
    dim as usize
}

/// What one geom brings to a contact: sliding friction, and the rest.
type Surface<T> = (T, SurfaceParams<T>);

/// w a + (1 − w) b.
#[differentiable]
#[inline(always)]
fn blend<T: Real>(a: T, b: T, #[constant] w: f64) -> T {
    a * T::lit(w) + b * T::lit(1.0 - w)
}

/// The law of a contact from those of its geoms.
#[differentiable]
fn shared_law<T: Real>(a: Surface<T>, b: Surface<T>, #[constant] sharing: Sharing) -> ContactLaw<T> {
    let margin = a.1.margin + b.1.margin;
    if sharing == Sharing::First {
        own_law(a, margin)
    } else if sharing == Sharing::Second {
        own_law(b, margin)
    } else {
        mixed_law(a, b, margin, sharing)
    }
}

#[differentiable]
fn own_law<T: Real>(a: Surface<T>, margin: T) -> ContactLaw<T> {
    let zero = T::zero();
    ContactLaw {
        friction: [a.0, a.0, a.1.torsional, a.1.rolling, a.1.rolling],
        softness: a.1.softness,
        solreffriction: [zero, zero],
        margin,
    }
}

fn mixing_weight(sharing: Sharing) -> f64 {
    if let Sharing::Mixed(w) = sharing { w } else { 0.5 }
}

#[differentiable]
fn mixed_law<T: Real>(
    a: Surface<T>,
    b: Surface<T>,
    margin: T,
    #[constant] sharing: Sharing,
) -> ContactLaw<T> {
    let zero = T::zero();
    let w = mixing_weight(sharing);
    let (s, t) = (a.1.softness, b.1.softness);
    let (sliding, spin) = (a.0.max(b.0), a.1.torsional.max(b.1.torsional));
    let roll = a.1.rolling.max(b.1.rolling);
    let standard = s.solref[0].gt(zero) & t.solref[0].gt(zero);
    let constant = select(standard, blend(s.solref[0], t.solref[0], w), s.solref[0].min(t.solref[0]));
    let ratio = select(standard, blend(s.solref[1], t.solref[1], w), s.solref[1].min(t.solref[1]));
    ContactLaw {
        friction: [sliding, sliding, spin, roll, roll],
        softness: SoftnessParams {
            solref: [constant, ratio],
            solimp: [
                blend(s.solimp[0], t.solimp[0], w),
                blend(s.solimp[1], t.solimp[1], w),
                blend(s.solimp[2], t.solimp[2], w),
                blend(s.solimp[3], t.solimp[3], w),
                blend(s.solimp[4], t.solimp[4], w),
            ],
        },
        solreffriction: [zero, zero],
        margin,
    }
}

fn surface<T: Real>(at: &Constrained<'_, T>, geom: usize) -> Surface<T> {
    (at.geoms.params_of(geom).friction, at.index.geoms[geom].read(at.geoms.params))
}

/// The law of the contacts of a pair.
pub(crate) fn contact_law<T: Real>(at: &Constrained<'_, T>, pair: GeomPair) -> ContactLaw<T> {
    let (a, b) = pair.geoms;
    let mut law = match law_source(at.geoms, pair) {
        LawSource::All => at.index.all_contacts.map(|law| law.read(at.geoms.params)).unwrap_or_default(),
        LawSource::Own(pair) => at.index.pairs[pair].read(at.geoms.params),
        LawSource::Geoms(sharing) => shared_law(surface(at, a), surface(at, b), sharing),
    };
    for friction in &mut law.friction {
        *friction = friction.max(T::lit(LEAST_FRICTION));
    }
    law
}

/// The pullback of [`contact_law`]: *adds* to the cotangents of friction and parameters.
pub(super) fn contact_law_vjp<T: Real>(
    at: &Constrained<'_, T>,
    pair: GeomPair,
    mut bar: ContactLaw<T>,
    friction_bars: &mut [T],
    params_bar: &mut [T],
) {
    let (a, b) = pair.geoms;
    let law = contact_law(at, pair);
    for (bar, friction) in bar.friction.iter_mut().zip(law.friction) {
        *bar = select(friction.gt(T::lit(LEAST_FRICTION)), *bar, T::zero());
    }
    match law_source(at.geoms, pair) {
        LawSource::All => {
            if let Some(law) = at.index.all_contacts {
                law.add(bar, params_bar);
            }
        }
        LawSource::Own(pair) => at.index.pairs[pair].add(bar, params_bar),
        LawSource::Geoms(sharing) => {
            let (first, second, ()) = shared_law_vjp(surface(at, a), surface(at, b), sharing, bar);
            for (geom, (friction, surface)) in [(a, first), (b, second)] {
                friction_bars[geom] += friction;
                at.index.geoms[geom].add(surface, params_bar);
            }
        }
    }
}

/// Distance below which the contacts of a pair act, m.
pub(crate) fn contact_margin<T: Real>(geoms: &GeomView<'_, T>, index: &ConstraintIndex, pair: GeomPair) -> T {
    let of = |geom: usize| index.geoms[geom].read(geoms.params).margin;
    match law_source(geoms, pair) {
        LawSource::All => index.all_contacts.map_or(T::zero(), |law| law.read(geoms.params).margin),
        LawSource::Own(pair) => index.pairs[pair].read(geoms.params).margin,
        LawSource::Geoms(_) => of(pair.geoms.0) + of(pair.geoms.1),
    }
}

/// The pullback of [`contact_margin`]: *adds* to the cotangents of the parameters.
pub(crate) fn contact_margin_vjp<T: Real>(
    geoms: &GeomView<'_, T>,
    index: &ConstraintIndex,
    pair: GeomPair,
    margin: T,
    params_bar: &mut [T],
) {
    let law = ContactLaw { margin, ..ContactLaw::default() };
    match law_source(geoms, pair) {
        LawSource::All => {
            if let Some(block) = index.all_contacts {
                block.add(law, params_bar);
            }
        }
        LawSource::Own(pair) => index.pairs[pair].add(law, params_bar),
        LawSource::Geoms(_) => {
            for geom in [pair.geoms.0, pair.geoms.1] {
                index.geoms[geom].add(SurfaceParams { margin, ..SurfaceParams::default() }, params_bar);
            }
        }
    }
}

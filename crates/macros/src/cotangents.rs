//! The cotangents during the reverse sweep: which exist, what they are called, which parts are still zero.
//!
//! The first contribution to a cotangent is its value, later ones are added: `0 + x` is not free in floating
//! point. A contribution to a part of a value (`a.x`, `a[0]`) starts from zeros, and overwrites parts known
//! to be zero.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use crate::ir::{Names, Place, Program, Step, ValueId, covers, disjoint};

/// What a cotangent holds so far.
#[derive(Clone)]
pub enum Held {
    /// Contributions to these places, zeros elsewhere.
    Places(Vec<Place>),
    /// Contributions anywhere but in these places, which are zero.
    Except(Vec<Place>),
}

impl Held {
    /// Contributions anywhere.
    pub const WHOLE: Held = Held::Except(Vec::new());
}

/// A loop being reversed. Cotangents of values from outside it sum over iterations, so they start before it.
#[derive(Clone)]
pub struct Frame {
    pub inner: Range<ValueId>,
    pub declared_before: Vec<ValueId>,
}

/// A cotangent contribution.
pub struct Slot {
    pub tokens: TokenStream,
    /// Certainly of the primal's type; otherwise it may be `()`, which `Accumulate` sorts out.
    pub exact: bool,
}

/// The state of the reverse sweep; cloned to try a loop again.
#[derive(Clone)]
pub struct Cotangents {
    pub held: BTreeMap<ValueId, Held>,
    /// The variable of each cotangent, made up on first use.
    pub own_bars: BTreeMap<ValueId, Ident>,
    /// Cotangents that live in a variable handed over to them, in the present scope.
    pub handed_bars: BTreeMap<ValueId, Ident>,
    pub frames: Vec<Frame>,
    /// Cotangent variables that change after their declaration.
    pub mutated: BTreeSet<String>,
    pub names: Names,
}

/// Writes accumulation code for one program.
#[derive(Clone)]
pub struct Writer<'a> {
    pub program: &'a Program,
    /// Path of the math crate.
    pub math: &'a TokenStream,
    pub state: Cotangents,
}

impl Writer<'_> {
    /// The name of a cotangent.
    pub fn bar(&mut self, value: ValueId) -> Ident {
        let known = self.state.handed_bars.get(&value).or_else(|| self.state.own_bars.get(&value));
        if let Some(bar) = known {
            return bar.clone();
        }
        let bar = self.state.names.fresh(&format_ident!("{}_bar", self.program.name(value)).to_string());
        self.state.own_bars.insert(value, bar.clone());
        bar
    }

    /// Whether anything has flowed to it.
    pub fn touched(&self, value: ValueId) -> bool {
        self.state.held.contains_key(&value)
    }

    /// Whether this place of a touched cotangent is certainly still zero.
    pub fn still_zero(&self, value: ValueId, place: &[Step]) -> bool {
        match self.state.held.get(&value) {
            None => true,
            Some(Held::Except(zeros)) => zeros.iter().any(|zero| covers(zero, place)),
            Some(Held::Places(places)) => places.iter().all(|held| disjoint(held, place)),
        }
    }

    /// Whether a first contribution here may bind the cotangent. If not, because it must outlive iterations
    /// of a loop, the outermost such loop is told to declare it before.
    pub fn may_start(&mut self, value: ValueId) -> bool {
        if self.touched(value) {
            return false;
        }
        if let Some(frame) = self.state.frames.iter_mut().find(|frame| !frame.inner.contains(&value)) {
            frame.declared_before.push(value);
            self.state.held.insert(value, Held::WHOLE);
            return false;
        }
        true
    }

    /// `zero_like` of a primal or of a cotangent.
    pub fn zero_like(&self, of: impl quote::ToTokens) -> TokenStream {
        let math = self.math;
        quote!(#math::Cotangent::zero_like(&#of))
    }

    /// The cotangent of `value`, zero if nothing flowed to it.
    pub fn bar_or_zero(&mut self, value: ValueId) -> TokenStream {
        if self.touched(value) {
            let bar = self.bar(value);
            quote!(#bar)
        } else {
            self.zero_like(self.program.name(value))
        }
    }

    /// Declares the cotangent of `value` as `init`.
    pub fn declare(&mut self, value: ValueId, init: TokenStream) -> TokenStream {
        self.state.held.insert(value, Held::WHOLE);
        let bar = self.bar(value);
        quote!(let mut #bar = #init;)
    }

    /// Adds `slot` to the cotangent of `value`.
    pub fn contribute(&mut self, value: ValueId, slot: Slot) -> TokenStream {
        let math = self.math;
        let Slot { tokens, exact } = slot;
        if self.may_start(value) {
            let primal = self.program.name(value);
            let init = if exact { tokens } else { quote!(#math::Accumulate::start(&#primal, #tokens)) };
            return self.declare(value, init);
        }
        self.state.held.insert(value, Held::WHOLE);
        let bar = self.bar(value);
        self.state.mutated.insert(bar.to_string());
        if exact {
            quote!(#math::Cotangent::accumulate(&mut #bar, #tokens);)
        } else {
            quote!(#math::Accumulate::add_slot(&mut #bar, #tokens);)
        }
    }

    /// Adds `part_bar` to the cotangent of `value` at `place`.
    pub fn contribute_at(&mut self, value: ValueId, place: &Place, part_bar: TokenStream) -> TokenStream {
        let math = self.math;
        let start = if self.may_start(value) {
            let zero = self.zero_like(self.program.name(value));
            let start = self.declare(value, zero);
            self.state.held.insert(value, Held::Places(Vec::new()));
            start
        } else {
            TokenStream::new()
        };
        let overwrite = self.still_zero(value, place);
        match self.state.held.get_mut(&value) {
            Some(Held::Places(places)) => places.push(place.clone()),
            Some(Held::Except(zeros)) => zeros.retain(|zero| disjoint(zero, place)),
            None => {}
        }
        let bar = self.bar(value);
        self.state.mutated.insert(bar.to_string());
        if overwrite {
            quote!(#start #bar #(#place)* = #part_bar;)
        } else {
            quote!(#start #math::Cotangent::accumulate(&mut #bar #(#place)*, #part_bar);)
        }
    }

    /// Hands the variable `bar`, dead from here on, to `value` as its cotangent.
    pub fn hand_over(&mut self, value: ValueId, bar: &Ident) -> TokenStream {
        if self.may_start(value) {
            self.state.handed_bars.insert(value, bar.clone());
            self.state.held.insert(value, Held::WHOLE);
            return TokenStream::new();
        }
        self.contribute(value, Slot { tokens: quote!(#bar), exact: true })
    }
}

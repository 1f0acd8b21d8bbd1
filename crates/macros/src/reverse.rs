//! The reverse sweep: instructions from last to first, each pulling the cotangent of its result back to its
//! operands. An instruction whose result nothing flowed to writes nothing.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::cotangents::{Cotangents, Frame, Held, Slot, Writer};
use crate::forward::{Forward, Needed, Records, assign_together, tuple};
use crate::ir::{ForNode, IfNode, Instr, Operand, Place, Program, Rule, ValueId, collect_idents, covers};

/// Writes reverse code.
pub struct Reverse<'a> {
    pub writer: Writer<'a>,
    pub records: Records,
}

impl<'a> Reverse<'a> {
    pub fn new(program: &'a Program, math: &'a TokenStream) -> Reverse<'a> {
        let state = Cotangents {
            held: Default::default(),
            own_bars: Default::default(),
            handed_bars: Default::default(),
            frames: Vec::new(),
            mutated: Default::default(),
            names: program.names.clone(),
        };
        Reverse { writer: Writer { program, math, state }, records: Records::new() }
    }

    fn program(&self) -> &'a Program {
        self.writer.program
    }

    /// The pullback of a block.
    pub fn block(&mut self, instrs: &[Instr]) -> TokenStream {
        let mut written = TokenStream::new();
        for instr in instrs.iter().rev() {
            written.extend(match instr {
                Instr::Let { out, rule, .. } if self.writer.touched(*out) => self.rule(*out, rule),
                Instr::Let { .. } => TokenStream::new(),
                Instr::If(node) => self.branch(node),
                Instr::For(node) => self.for_loop(node),
            });
        }
        written
    }

    /// The forward code that `reverse` reads from `instrs`, with loops recorded.
    pub fn forward(&self, instrs: &[Instr], reverse: &TokenStream) -> (TokenStream, Needed) {
        let mut needed = Needed::new();
        collect_idents(reverse.clone(), &mut needed);
        let forward = Forward { program: self.program(), records: &self.records };
        (forward.block(instrs, &mut needed, true), needed)
    }

    fn rule(&mut self, out: ValueId, rule: &Rule) -> TokenStream {
        let math = self.writer.math;
        let bar = self.writer.bar(out);
        let program = self.program();
        match rule {
            Rule::Constant => TokenStream::new(),
            Rule::Operator { pullback, args } => {
                let list = args.iter().map(|arg| program.tokens(arg));
                self.slots(args, quote!(#math::#pullback(#(#list,)* #bar)), true)
            }
            Rule::Call { pullback, args } => {
                let list = args.iter().map(|arg| program.tokens(arg));
                self.slots(args, quote!(#pullback(#(#list,)* #bar)), false)
            }
            Rule::Method { pullback, args } => {
                let list: Vec<_> = args.iter().map(|arg| program.tokens(arg)).collect();
                let (receiver, list) = (&list[0], &list[1..]);
                self.slots(args, quote!(#receiver.#pullback(#(#list,)* #bar)), false)
            }
            Rule::Project { base, place } => self.writer.contribute_at(*base, place, quote!(#bar)),
            Rule::Build { parts } => {
                let mut written = TokenStream::new();
                for (step, part) in parts {
                    if let Operand::Active(value) = part
                        && !self.writer.still_zero(out, std::slice::from_ref(step))
                    {
                        let slot = Slot { tokens: quote!(#bar #step), exact: true };
                        written.extend(self.writer.contribute(*value, slot));
                    }
                }
                written
            }
            Rule::Repeat { element } => {
                let Operand::Active(value) = element else { return TokenStream::new() };
                let zero = self.writer.zero_like(program.name(*value));
                let tokens = quote! {
                    #bar.into_iter()
                        .reduce(|mut sum, next| { #math::Cotangent::accumulate(&mut sum, next); sum })
                        .unwrap_or_else(|| #zero)
                };
                self.writer.contribute(*value, Slot { tokens, exact: true })
            }
            Rule::Update { base, place, value } => {
                let mut written = TokenStream::new();
                if let Operand::Active(value) = value
                    && !self.writer.still_zero(out, place)
                {
                    let slot = Slot { tokens: quote!(#bar #(#place)*), exact: true };
                    written.extend(self.writer.contribute(*value, slot));
                }
                if let Operand::Active(base) = base {
                    // The old content of the place went nowhere; the rest flows on.
                    let zero = self.writer.zero_like(quote!(#bar #(#place)*));
                    self.writer.state.mutated.insert(bar.to_string());
                    written.extend(quote!(#bar #(#place)* = #zero;));
                    if self.writer.may_start(*base) {
                        // Same variable, with a place known to be zero again.
                        self.writer.hand_over(*base, &bar);
                        let held = self.writer.state.held.get(&out).cloned();
                        self.writer.state.held.insert(*base, reset(held, place));
                    } else {
                        written.extend(
                            self.writer.contribute(*base, Slot { tokens: quote!(#bar), exact: true }),
                        );
                    }
                }
                written
            }
        }
    }

    /// Distributes what a pullback returns, one slot per argument.
    fn slots(&mut self, args: &[Operand], call: TokenStream, exact: bool) -> TokenStream {
        if let [Operand::Active(value)] = args {
            return self.writer.contribute(*value, Slot { tokens: call, exact });
        }
        let mut pattern = Vec::new();
        let mut after = TokenStream::new();
        for arg in args {
            match arg {
                Operand::Inactive(_) => pattern.push(quote!(_)),
                // A slot of the right type is the cotangent itself, if it is the first.
                Operand::Active(value) if exact && self.writer.may_start(*value) => {
                    self.writer.state.held.insert(*value, Held::WHOLE);
                    let bar = self.writer.bar(*value);
                    pattern.push(quote!(mut #bar));
                }
                Operand::Active(value) => {
                    let stem = format_ident!("{}_slot", self.program().name(*value)).to_string();
                    let slot = self.writer.state.names.fresh(&stem);
                    pattern.push(quote!(#slot));
                    after.extend(self.writer.contribute(*value, Slot { tokens: quote!(#slot), exact }));
                }
            }
        }
        quote!(let (#(#pattern),*) = #call; #after)
    }

    /// Reverses the branch that was taken. Cotangents that first appear inside are yielded, not added to
    /// zeros.
    fn branch(&mut self, node: &IfNode) -> TokenStream {
        let flowing: Vec<_> = node.merges.iter().filter(|m| self.writer.touched(m.out)).collect();
        if flowing.is_empty() {
            return TokenStream::new();
        }
        let mut before = self.writer.state.clone();
        let mut arms = Vec::new();
        for then in [true, false] {
            self.writer.state.held = before.held.clone();
            self.writer.state.handed_bars = before.handed_bars.clone();
            let mut reverse = TokenStream::new();
            for merge in &flowing {
                if let Operand::Active(value) = if then { &merge.then } else { &merge.otherwise } {
                    let bar = self.writer.bar(merge.out);
                    reverse.extend(self.writer.hand_over(*value, &bar));
                }
            }
            let instrs = if then { &node.then } else { &node.otherwise };
            reverse.extend(self.block(instrs));
            // What an enclosing loop declares before itself exists on both sides.
            for frame in &self.writer.state.frames {
                for value in &frame.declared_before {
                    before.held.insert(*value, Held::WHOLE);
                }
            }
            arms.push((
                instrs,
                reverse,
                self.writer.state.held.clone(),
                self.writer.state.handed_bars.clone(),
            ));
        }

        let touched = |held: &std::collections::BTreeMap<ValueId, Held>| {
            let outside = held.keys().filter(|value| !node.inner.contains(value));
            outside.copied().collect::<BTreeSet<ValueId>>()
        };
        let after: BTreeSet<ValueId> = arms.iter().flat_map(|(_, _, held, _)| touched(held)).collect();
        let yielded: Vec<ValueId> =
            after.iter().copied().filter(|value| !before.held.contains_key(value)).collect();

        let mut blocks = Vec::new();
        for (instrs, reverse, held, bars) in &arms {
            self.writer.state.held = held.clone();
            self.writer.state.handed_bars = bars.clone();
            let result: Vec<_> = yielded.iter().map(|value| self.writer.bar_or_zero(*value)).collect();
            let result = if result.is_empty() { TokenStream::new() } else { tuple(result) };
            let reverse = quote!(#reverse #result);
            let (forward, _) = self.forward(instrs, &reverse);
            blocks.push(quote!({ #forward #reverse }));
        }

        // After the branch: places either side may have written, whole where either side is.
        self.writer.state.handed_bars = before.handed_bars;
        for value in before.held.keys().copied().collect::<Vec<_>>() {
            let mut places = Vec::new();
            let mut whole = false;
            for (_, _, held, _) in &arms {
                match held.get(&value) {
                    Some(Held::Places(more)) => places.extend(more.iter().cloned()),
                    Some(Held::Except(_)) => whole = true,
                    None => {}
                }
            }
            before.held.insert(value, if whole { Held::WHOLE } else { Held::Places(places) });
        }
        self.writer.state.held = before.held;
        let (condition, then, otherwise) = (&node.condition, &blocks[0], &blocks[1]);
        if yielded.is_empty() {
            return quote!(if #condition #then else #otherwise);
        }
        let outs = yielded
            .iter()
            .map(|value| {
                self.writer.state.held.insert(*value, Held::WHOLE);
                let bar = self.writer.bar(*value);
                quote!(mut #bar)
            })
            .collect();
        let outs = tuple(outs);
        quote!(let #outs = if #condition #then else #otherwise;)
    }

    /// Walks the iterations backwards: recompute one from its record, then reverse it.
    fn for_loop(&mut self, node: &ForNode) -> TokenStream {
        let program = self.program();
        let all = 0..node.carried.len();
        let mut flowing: BTreeSet<usize> =
            all.clone().filter(|&i| self.writer.touched(node.carried[i].out)).collect();
        if flowing.is_empty() {
            return TokenStream::new();
        }
        // A place written in one iteration is not zero in the next.
        for held in self.writer.state.held.values_mut() {
            *held = Held::WHOLE;
        }
        let checkpoint = (self.writer.state.clone(), self.records.clone());
        loop {
            let mut before = TokenStream::new();
            for &i in &flowing {
                let out = node.carried[i].out;
                if !self.writer.touched(out) {
                    let zero = self.writer.zero_like(program.name(out));
                    before.extend(self.writer.declare(out, zero));
                }
            }
            let bars: Vec<_> = all.clone().map(|i| self.writer.bar(node.carried[i].out)).collect();
            let outside = self.writer.state.handed_bars.clone();
            self.writer.state.frames.push(Frame { inner: node.inner.clone(), declared_before: Vec::new() });

            // The carried cotangent enters at the end of the iteration and leaves at its start.
            let mut reverse = TokenStream::new();
            for &i in &flowing {
                if let Operand::Active(end) = node.carried[i].end {
                    reverse.extend(self.writer.hand_over(end, &bars[i]));
                }
            }
            reverse.extend(self.block(&node.body));
            let more: Vec<usize> = all
                .clone()
                .filter(|i| !flowing.contains(i) && self.writer.touched(node.carried[*i].phi))
                .collect();
            if !more.is_empty() {
                flowing.extend(more);
                (self.writer.state, self.records) = checkpoint.clone();
                continue;
            }
            let mut leave = Vec::new();
            for &i in &flowing {
                let (bar, phi) = (&bars[i], node.carried[i].phi);
                let next = if self.writer.touched(phi) {
                    let phi_bar = self.writer.bar(phi);
                    quote!(#phi_bar)
                } else {
                    self.writer.zero_like(bar)
                };
                leave.push((quote!(#bar), next));
                self.writer.state.mutated.insert(bar.to_string());
            }
            let leave = assign_together(leave);
            let reverse = quote!(#reverse #leave);
            let (forward, needed) = self.forward(&node.body, &reverse);

            // Only what the recomputation reads is recorded.
            let is_read = |i: &usize| needed.contains(&program.name(node.carried[*i].phi).to_string());
            let kept: Vec<usize> = all.clone().filter(is_read).collect();
            let (index, range, saved) = (&node.index, &node.range, &node.saved);
            let walk = if node.reversed { quote!((#range)) } else { quote!((#range).rev()) };
            let body = quote!({ #forward #reverse });
            let walked = if kept.is_empty() {
                let walk = if node.reversed { quote!(#range) } else { walk };
                quote!(for #index in #walk #body)
            } else {
                let state = tuple(
                    kept.iter()
                        .map(|&i| {
                            let name = program.name(node.carried[i].phi);
                            quote!(#name)
                        })
                        .collect(),
                );
                self.records.insert(saved.to_string(), kept);
                quote!(for (#index, &#state) in #walk.zip(#saved.iter().rev()) #body)
            };

            // Back outside: the values of the body are gone, those declared before the loop stay.
            let frame = self.writer.state.frames.pop();
            self.writer.state.handed_bars = outside;
            self.writer.state.held.retain(|value, _| !node.inner.contains(value));
            for value in frame.map(|f| f.declared_before).unwrap_or_default() {
                let zero = self.writer.zero_like(program.name(value));
                before.extend(self.writer.declare(value, zero));
            }
            let mut after = TokenStream::new();
            for &i in &flowing {
                if let Operand::Active(init) = node.carried[i].init {
                    after.extend(self.writer.hand_over(init, &bars[i]));
                }
            }
            return quote!(#before #walked #after);
        }
    }
}

/// What a cotangent holds once `place` is zero again.
fn reset(held: Option<Held>, place: &Place) -> Held {
    match held {
        Some(Held::Places(mut places)) => {
            places.retain(|held| !covers(place, held));
            Held::Places(places)
        }
        Some(Held::Except(mut zeros)) => {
            zeros.push(place.clone());
            Held::Except(zeros)
        }
        None => Held::WHOLE,
    }
}

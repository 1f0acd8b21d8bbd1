//! The forward sweep: the user's computation as single assignments, without what the reverse sweep never
//! reads.
//!
//! Blocks are written from the end, with the set of names needed after each point, so that an unused result
//! costs nothing: for `g(x) * y` the product itself is not computed again, only its operands.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenStream;
use quote::quote;

use crate::ir::{ForNode, IfNode, Instr, Operand, Program, Rule, ValueId, collect_idents};

/// Names that are read later.
pub type Needed = BTreeSet<String>;

/// For each loop whose iterations are recorded, by the name of its record: which carried variables.
pub type Records = BTreeMap<String, Vec<usize>>;

/// Writes forward code.
pub struct Forward<'a> {
    pub program: &'a Program,
    pub records: &'a Records,
}

impl Forward<'_> {
    /// The instructions whose results are needed; adds what they read to `needed`. With `record`, loops keep
    /// the carried values of each iteration for the reverse sweep in the same scope.
    pub fn block(&self, instrs: &[Instr], needed: &mut Needed, record: bool) -> TokenStream {
        let mut written: Vec<TokenStream> =
            instrs.iter().rev().filter_map(|instr| self.instr(instr, needed, record)).collect();
        written.reverse();
        written.into_iter().collect()
    }

    fn instr(&self, instr: &Instr, needed: &mut Needed, record: bool) -> Option<TokenStream> {
        let written = match instr {
            Instr::Let { out, expr, rule } => {
                if !self.reads(needed, *out) {
                    return None;
                }
                let value = &self.program.values[*out];
                let (name, ty) = (&value.name, value.ty.iter());
                match rule {
                    Rule::Update { base, place, value } => {
                        let (base, value) = (self.program.tokens(base), self.program.tokens(value));
                        quote!(let mut #name = #base; #name #(#place)* = #value;)
                    }
                    _ => quote!(let #name #(: #ty)* = #expr;),
                }
            }
            Instr::If(node) => self.branch(node, needed)?,
            Instr::For(node) => self.for_loop(node, needed, record)?,
        };
        collect_idents(written.clone(), needed);
        Some(written)
    }

    fn reads(&self, needed: &Needed, value: ValueId) -> bool {
        needed.contains(&self.program.name(value).to_string())
    }

    fn branch(&self, node: &IfNode, needed: &Needed) -> Option<TokenStream> {
        let live: Vec<_> = node.merges.iter().filter(|merge| self.reads(needed, merge.out)).collect();
        if live.is_empty() {
            return None;
        }
        let arm = |instrs: &[Instr], operands: Vec<&Operand>| {
            let yielded = tuple(operands.iter().map(|o| self.program.tokens(o)).collect());
            let mut needed = Needed::new();
            collect_idents(yielded.clone(), &mut needed);
            let body = self.block(instrs, &mut needed, false);
            quote!({ #body #yielded })
        };
        let then = arm(&node.then, live.iter().map(|m| &m.then).collect());
        let otherwise = arm(&node.otherwise, live.iter().map(|m| &m.otherwise).collect());
        let outs = tuple(
            live.iter()
                .map(|m| {
                    let name = self.program.name(m.out);
                    quote!(#name)
                })
                .collect(),
        );
        // A single result may carry the user's type.
        let ty = match live.as_slice() {
            [only] => self.program.values[only.out].ty.as_ref(),
            _ => None,
        };
        let (ty, condition) = (ty.iter(), &node.condition);
        Some(quote!(let #outs #(: #ty)* = if #condition #then else #otherwise;))
    }

    fn for_loop(&self, node: &ForNode, needed: &Needed, record: bool) -> Option<TokenStream> {
        let (saved, slot) = (&node.saved, &node.slot);
        let saving = record && needed.contains(&saved.to_string());
        let kept: Vec<usize> = if saving {
            self.records.get(&saved.to_string()).cloned().unwrap_or_default()
        } else {
            Vec::new()
        };

        // A carried variable is live if its last value, its record or the next iteration needs it.
        let mut live: BTreeSet<usize> = kept.iter().copied().collect();
        live.extend((0..node.carried.len()).filter(|&i| self.reads(needed, node.carried[i].out)));
        if live.is_empty() {
            return None;
        }
        let body = loop {
            let mut inside = Needed::new();
            for &i in &live {
                collect_idents(self.program.tokens(&node.carried[i].end), &mut inside);
            }
            let body = self.block(&node.body, &mut inside, false);
            let before = live.len();
            live.extend((0..node.carried.len()).filter(|&i| self.reads(&inside, node.carried[i].phi)));
            if live.len() == before {
                break body;
            }
        };

        let phi = |i: usize| {
            let name = self.program.name(node.carried[i].phi);
            quote!(#name)
        };
        let live: Vec<usize> = live.into_iter().collect();
        let declare: TokenStream = live
            .iter()
            .map(|&i| {
                let (name, init) = (phi(i), self.program.tokens(&node.carried[i].init));
                quote!(let mut #name = #init;)
            })
            .collect();
        let advance = assign_together(
            live.iter().map(|&i| (phi(i), self.program.tokens(&node.carried[i].end))).collect(),
        );
        let finish: TokenStream = live
            .iter()
            .filter(|&&i| self.reads(needed, node.carried[i].out))
            .map(|&i| {
                let (name, phi) = (self.program.name(node.carried[i].out), phi(i));
                quote!(let #name = #phi;)
            })
            .collect();
        let (index, range) = (&node.index, &node.range);
        let walk = if node.reversed { quote!((#range).rev()) } else { quote!(#range) };
        if !saving {
            return Some(quote!(#declare for #index in #walk { #body #advance } #finish));
        }
        let zipped = if node.reversed { quote!(#walk) } else { quote!((#range)) };
        let state = tuple(kept.iter().map(|&i| phi(i)).collect());
        Some(match &node.count {
            Some(count) => quote! {
                #declare
                let mut #saved = [#state; #count];
                for (#index, #slot) in #zipped.zip(&mut #saved) { *#slot = #state; #body #advance }
                #finish
            },
            None => quote! {
                #declare
                let mut #saved = ::std::vec::Vec::with_capacity((#range).size_hint().0);
                for #index in #walk { #saved.push(#state); #body #advance }
                #finish
            },
        })
    }
}

/// One item bare, several as a tuple.
pub fn tuple(mut items: Vec<TokenStream>) -> TokenStream {
    match items.len() {
        1 => items.remove(0),
        _ => quote!((#(#items),*)),
    }
}

/// Assigns all at once, so that variables may trade places.
pub fn assign_together(pairs: Vec<(TokenStream, TokenStream)>) -> TokenStream {
    let moving: Vec<_> = pairs.into_iter().filter(|(to, from)| to.to_string() != from.to_string()).collect();
    if moving.is_empty() {
        return TokenStream::new();
    }
    let (to, from): (Vec<_>, Vec<_>) = moving.into_iter().unzip();
    let (to, from) = (tuple(to), tuple(from));
    quote!(#to = #from;)
}

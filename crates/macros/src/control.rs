//! Lowering, part 5: branches and loops.
//!
//! A branch is lowered twice from the same state; every variable that then stands for different values gets a
//! merge. A loop body is lowered until what it carries is stable: a variable is carried if an iteration
//! changes it, and a carried variable is active if it starts or ends active.

use std::collections::BTreeMap;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Error, Expr, ExprForLoop, ExprIf, ExprRange, Lit, Pat, RangeLimits};

use crate::errors::{error, unsupported};
use crate::ir::{Carried, ForNode, IfNode, Instr, Merge, Operand};
use crate::lower::{Lower, is_place, strip};

/// Loops of up to this many iterations keep their record on the stack.
const LARGEST_STACK_RECORD: u64 = 1024;

/// A block lowered on its own.
struct Arm {
    value: Option<Operand>,
    instrs: Vec<Instr>,
    /// The variables of the enclosing scopes after it.
    after: Vec<Operand>,
}

impl Lower {
    fn present(&self) -> Vec<Operand> {
        self.bindings.iter().map(|b| b.current.clone()).collect()
    }

    /// Lowers in a block of its own, then puts the variables back to what they were before.
    fn branch_body(
        &mut self,
        lower: impl FnOnce(&mut Lower) -> Result<Option<Operand>, Error>,
    ) -> Result<Arm, Error> {
        let before = self.present();
        self.blocks.push(Vec::new());
        let value = lower(self)?;
        let instrs = self.blocks.pop().unwrap_or_default();
        let mut after = self.present();
        after.truncate(before.len());
        self.bindings.truncate(before.len());
        for (binding, before) in self.bindings.iter_mut().zip(before) {
            binding.current = before;
        }
        Ok(Arm { value, instrs, after })
    }

    /// `if condition { .. } else { .. }`, as an expression or as a statement.
    pub fn branch(&mut self, node: &ExprIf) -> Result<Option<Operand>, Error> {
        let mut condition = self.primal(&node.cond)?;
        if !is_place(&condition) {
            let name = self.names.temporary("c");
            let out = self.value(name, None, false);
            let expr = strip(&condition).to_token_stream();
            self.push(Instr::Let { out, expr, rule: crate::ir::Rule::Constant });
            condition = self.named(out);
        }

        let start = self.values.len();
        let then = self.branch_body(|l| l.block(&node.then_branch))?;
        let otherwise = self.branch_body(|l| match &node.else_branch {
            None => Ok(None),
            Some((_, expr)) => match &**expr {
                Expr::If(nested) => l.branch(nested),
                Expr::Block(block) => l.block(&block.block),
                other => Err(unsupported(other)),
            },
        })?;
        let inner = start..self.values.len();

        // The variables that the branches leave different, then the value of the expression.
        let mut merges = Vec::new();
        for (i, (then, otherwise)) in then.after.into_iter().zip(otherwise.after).enumerate() {
            if then == otherwise {
                self.bindings[i].current = then;
                continue;
            }
            let name = self.names.version(&self.bindings[i].ident.clone());
            let out = self.value(name, None, false);
            let active = then.is_active() || otherwise.is_active();
            self.bindings[i].current =
                if active { Operand::Active(out) } else { Operand::Inactive(self.named(out)) };
            merges.push(Merge { out, then, otherwise });
        }
        let value = match (then.value, otherwise.value) {
            (Some(then), Some(otherwise)) => {
                let out = self.temporary();
                let active = then.is_active() || otherwise.is_active();
                merges.push(Merge { out, then, otherwise });
                Some(if active { Operand::Active(out) } else { Operand::Inactive(self.named(out)) })
            }
            _ => None,
        };
        let (then, otherwise) = (then.instrs, otherwise.instrs);
        self.push(Instr::If(IfNode { condition, then, otherwise, merges, inner }));
        Ok(value)
    }

    /// `for i in range { .. }`
    pub fn for_loop(&mut self, node: &ExprForLoop) -> Result<(), Error> {
        if let Some(label) = &node.label {
            return Err(error(
                label,
                "a loop label is not needed here: `break` and `continue` are not differentiable",
            ));
        }
        let index = match &*node.pat {
            Pat::Ident(p) if p.by_ref.is_none() && p.subpat.is_none() && p.mutability.is_none() => {
                Some(&p.ident)
            }
            Pat::Wild(_) => None,
            other => {
                return Err(error(other, "the loop variable must be a plain name: write `for i in 0..n`"));
            }
        };
        let (range, reversed) = source_range(&node.expr)?;
        let (range, count) = self.range(range)?;
        let (saved, slot) = (self.names.fresh("saved"), self.names.fresh("slot"));

        let mut carried: BTreeMap<usize, bool> = BTreeMap::new();
        loop {
            let checkpoint = self.clone();
            let inits = self.present();
            let start = self.values.len();

            // The loop variable and the carried variables have values of their own at the start of an
            // iteration.
            self.scopes.push(Vec::new());
            let index_name = match index {
                Some(ident) => self.names.version(ident),
                None => self.names.fresh("step"),
            };
            let phis: Vec<usize> = carried
                .iter()
                .map(|(&binding, &active)| {
                    let name = self.names.version(&self.bindings[binding].ident.clone());
                    let phi = self.value(name, None, false);
                    self.bindings[binding].current =
                        if active { Operand::Active(phi) } else { Operand::Inactive(self.named(phi)) };
                    phi
                })
                .collect();
            let at_start = self.present();
            if let Some(ident) = index {
                let value = self.value(index_name.clone(), None, false);
                let current = Operand::Inactive(self.named(value));
                self.declare(ident, current);
            }
            let Arm { instrs: body, after: ends, .. } = self.branch_body(|l| l.block(&node.body))?;
            self.scopes.pop();
            self.bindings.truncate(inits.len());

            // Whatever changed without being carried, or became active, sends us round again.
            let mut stable = true;
            for (binding, (before, after)) in at_start.iter().zip(&ends).enumerate() {
                if before != after {
                    let known = carried.insert(binding, after.is_active() || inits[binding].is_active());
                    let now = carried[&binding] || known == Some(true);
                    carried.insert(binding, now);
                    stable &= known == Some(now);
                }
            }
            if !stable {
                *self = checkpoint;
                continue;
            }

            let inner = start..self.values.len();
            let mut list = Vec::new();
            for ((&binding, &active), phi) in carried.iter().zip(phis) {
                let name = self.names.version(&self.bindings[binding].ident.clone());
                let out = self.value(name, None, false);
                self.bindings[binding].current =
                    if active { Operand::Active(out) } else { Operand::Inactive(self.named(out)) };
                let (init, end) = (inits[binding].clone(), ends[binding].clone());
                list.push(Carried { init, phi, end, out });
            }
            self.push(Instr::For(ForNode {
                index: index_name,
                range,
                reversed,
                count,
                body,
                carried: list,
                saved,
                slot,
                inner,
            }));
            return Ok(());
        }
    }

    /// The range with its bounds computed once, and its length where that is a constant.
    fn range(&mut self, range: &ExprRange) -> Result<(TokenStream, Option<TokenStream>), Error> {
        let (Some(low), Some(high)) = (&range.start, &range.end) else {
            return Err(error(range, "an open range never ends: write `for i in 0..n`"));
        };
        let mut bounds = Vec::new();
        for bound in [low, high] {
            let mut expr = self.primal(bound)?;
            if !is_place(&expr) {
                let value = self.constant_let(&expr);
                expr = self.named(value);
            }
            bounds.push(expr);
        }
        let (low, high, limits) = (&bounds[0], &bounds[1], &range.limits);
        let closed = matches!(limits, RangeLimits::Closed(_));
        let count = match (integer(low), integer(high)) {
            (Some(low), Some(high)) => {
                let count = (high + u64::from(closed)).saturating_sub(low);
                let literal = proc_macro2::Literal::u64_unsuffixed(count);
                (count <= LARGEST_STACK_RECORD).then(|| quote!(#literal))
            }
            (Some(0), None) if !closed && is_constant_name(high) => Some(quote!(#high)),
            _ => None,
        };
        Ok((quote!(#low #limits #high), count))
    }
}

/// `a..b` or `(a..b).rev()`
fn source_range(expr: &Expr) -> Result<(&ExprRange, bool), Error> {
    match strip(expr) {
        Expr::Range(range) => Ok((range, false)),
        Expr::MethodCall(call) if call.method == "rev" && call.args.is_empty() => {
            let (range, reversed) = source_range(&call.receiver)?;
            Ok((range, !reversed))
        }
        other => Err(error(
            other,
            "`for` runs over a range here, not an iterator: write `for i in 0..n` and index with `i`",
        )),
    }
}

fn integer(expr: &Expr) -> Option<u64> {
    match strip(expr) {
        Expr::Lit(lit) => match &lit.lit {
            Lit::Int(int) => int.base10_parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

/// `N`: a constant or const parameter by the naming rules, which may be the length of an array.
fn is_constant_name(expr: &Expr) -> bool {
    match expr {
        Expr::Path(path) => path.path.get_ident().is_some_and(|ident| {
            let name = ident.to_string();
            name.starts_with(char::is_uppercase) && !name.contains(char::is_lowercase)
        }),
        _ => false,
    }
}

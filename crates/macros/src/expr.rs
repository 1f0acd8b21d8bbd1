//! Lowering, part 3: expressions. An expression without active operands is kept as the user wrote it; an
//! active one becomes one instruction per operation, each with the [`Rule`] that pulls its cotangent back.

use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{
    BinOp, Error, Expr, ExprCall, ExprMethodCall, ExprPath, ExprStruct, Lit, Member, UnOp, parse_quote,
};

use crate::errors::{error, unsupported};
use crate::ir::{Instr, Operand, Place, Rule, Step, vjp_name};
use crate::lower::{Lower, is_place, strip};
use crate::pattern::{field_step, index_step};

/// Methods whose result is discrete or piecewise constant: no cotangent passes.
const CONSTANT_METHODS: [&str; 29] = [
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "ne",
    "cmp",
    "partial_cmp",
    "total_cmp",
    "is_finite",
    "is_nan",
    "is_infinite",
    "is_sign_negative",
    "is_sign_positive",
    "is_empty",
    "len",
    "floor",
    "ceil",
    "round",
    "trunc",
    "signum",
    "lane",
    "max_lane",
    "all",
    "any",
    "to_bits",
    "to_i32",
    "to_usize",
    "to_u32",
];

impl Lower {
    /// Lowers an expression that must have a value.
    pub fn lower(&mut self, expr: &Expr) -> Result<Operand, Error> {
        match expr {
            Expr::Path(_) => Ok(match self.variable(expr) {
                Some(binding) => self.bindings[binding].current.clone(),
                None => Operand::Inactive(expr.clone()),
            }),
            Expr::Lit(_) => Ok(Operand::Inactive(expr.clone())),
            Expr::Group(inner) => self.lower(&inner.expr).map(parenthesized),
            Expr::Paren(inner) => self.lower(&inner.expr).map(parenthesized),
            Expr::Unary(unary) => match unary.op {
                UnOp::Neg(token) => match self.lower(&unary.expr)? {
                    Operand::Inactive(e) => Ok(Operand::Inactive(parse_quote!(-#e))),
                    arg => {
                        let e = self.expr(&arg);
                        let pullback = quote_spanned!(token.span=> NegVjp::neg_vjp);
                        Ok(self.active(quote!(-#e), Rule::Operator { pullback, args: vec![arg] }))
                    }
                },
                UnOp::Deref(_) => match self.lower(&unary.expr)? {
                    Operand::Inactive(e) => Ok(Operand::Inactive(parse_quote!(*#e))),
                    Operand::Active(_) => Err(error(
                        expr,
                        "`*` on a differentiable value: only values carry cotangents, not references; take the \
                         argument by value",
                    )),
                },
                _ => Ok(Operand::Inactive(self.primal(expr)?)),
            },
            Expr::Binary(binary) => match binary.op {
                BinOp::Add(_) | BinOp::Sub(_) | BinOp::Mul(_) | BinOp::Div(_) | BinOp::Rem(_) => {
                    let left = self.lower(&binary.left)?;
                    let right = self.lower(&binary.right)?;
                    self.arithmetic(&binary.op, left, right)
                }
                // Comparisons and logic yield truth values.
                _ => Ok(Operand::Inactive(self.primal(expr)?)),
            },
            Expr::Call(call) => self.call(call),
            Expr::MethodCall(call) => self.method(call),
            Expr::Field(_) | Expr::Index(_) => {
                let (root, place) = self.place(expr)?;
                let base = self.lower(root)?;
                Ok(self.project(&base, place))
            }
            Expr::Struct(literal) => self.struct_literal(literal),
            Expr::Tuple(tuple) => {
                let parts = self.parts(tuple.elems.iter(), field_step)?;
                let exprs = self.part_exprs(&parts);
                Ok(self.build(parse_quote!((#(#exprs,)*)), parts))
            }
            Expr::Array(array) => {
                let parts = self.parts(array.elems.iter(), index_step)?;
                let exprs = self.part_exprs(&parts);
                Ok(self.build(parse_quote!([#(#exprs),*]), parts))
            }
            Expr::Repeat(repeat) => {
                let element = self.lower(&repeat.expr)?;
                let (e, len) = (self.expr(&element), &repeat.len);
                Ok(match element {
                    Operand::Inactive(_) => Operand::Inactive(parse_quote!([#e; #len])),
                    Operand::Active(_) => self.active(quote!([#e; #len]), Rule::Repeat { element }),
                })
            }
            Expr::If(branch) => self.branch(branch)?.ok_or_else(|| {
                error(branch.if_token, "this `if` has no value: end both branches with an expression")
            }),
            Expr::Block(inner) if inner.label.is_none() => self
                .block(&inner.block)?
                .map(parenthesized)
                .ok_or_else(|| error(inner, "this block has no value: end it with an expression")),
            Expr::Reference(reference) if reference.mutability.is_none() => {
                match self.lower(&reference.expr)? {
                    Operand::Inactive(e) => Ok(Operand::Inactive(parse_quote!(&#e))),
                    Operand::Active(_) => Err(unsupported(expr)),
                }
            }
            Expr::Cast(cast) => match self.lower(&cast.expr)? {
                Operand::Inactive(e) => {
                    let ty = &cast.ty;
                    Ok(Operand::Inactive(parse_quote!((#e as #ty))))
                }
                Operand::Active(_) => Err(unsupported(expr)),
            },
            _ => Err(unsupported(expr)),
        }
    }

    /// `left op right`
    pub fn arithmetic(&mut self, op: &BinOp, left: Operand, right: Operand) -> Result<Operand, Error> {
        if !left.is_active() && !right.is_active() {
            let (l, r) = (self.expr(&left), self.expr(&right));
            return Ok(Operand::Inactive(Expr::Binary(syn::ExprBinary {
                attrs: Vec::new(),
                left: Box::new(l),
                op: *op,
                right: Box::new(r),
            })));
        }
        let span = op.span();
        let pullback = match op {
            BinOp::Add(_) => quote_spanned!(span=> AddVjp::add_vjp),
            BinOp::Sub(_) => quote_spanned!(span=> SubVjp::sub_vjp),
            BinOp::Mul(_) => quote_spanned!(span=> MulVjp::mul_vjp),
            BinOp::Div(_) => quote_spanned!(span=> DivVjp::div_vjp),
            _ => {
                return Err(error(
                    op,
                    "`%` is not differentiable here: write `a - b * constant((a / b).floor())`",
                ));
            }
        };
        let (left, right) = (self.reusable(left), self.reusable(right));
        let (l, r) = (self.expr(&left), self.expr(&right));
        Ok(self.active(quote!(#l #op #r), Rule::Operator { pullback, args: vec![left, right] }))
    }

    /// `path(args)`: a function, an associated function or a tuple-struct constructor.
    fn call(&mut self, call: &ExprCall) -> Result<Operand, Error> {
        let Expr::Path(callee) = strip(&call.func) else {
            return Err(error(
                &call.func,
                "only a function called by its name has a pullback: write `path::f(x)`",
            ));
        };
        if self.variable(&call.func).is_some() {
            return Err(error(
                &call.func,
                "a function value has no pullback: call a function by its name, marked `#[differentiable]`",
            ));
        }
        let Some(last) = callee.path.segments.last() else { return Err(unsupported(&call.func)) };
        let last = last.ident.clone();

        // Stopped gradients are evaluated as they stand.
        if last == "constant" && call.args.len() == 1 {
            let args = call.args.iter().map(|a| self.primal(a)).collect::<Result<Vec<_>, _>>()?;
            return Ok(Operand::Inactive(parse_quote!(#callee(#(#args),*))));
        }
        let select = last == "select" && call.args.len() == 3;
        let mut args = Vec::new();
        for (i, arg) in call.args.iter().enumerate() {
            args.push(if select && i == 0 { Operand::Inactive(self.primal(arg)?) } else { self.lower(arg)? });
        }
        if !args.iter().any(Operand::is_active) {
            let exprs: Vec<Expr> = args.iter().map(|a| self.expr(a)).collect();
            return Ok(Operand::Inactive(parse_quote!(#callee(#(#exprs),*))));
        }
        if ["Some", "Ok", "Err"].iter().any(|variant| last == variant) {
            return Err(error(
                callee,
                "an `Option` or `Result` is not differentiable here: return the plain value and check beside it",
            ));
        }

        let args: Vec<Operand> = args.into_iter().map(|a| self.reusable(a)).collect();
        let exprs: Vec<Expr> = args.iter().map(|a| self.expr(a)).collect();
        let forward = quote!(#callee(#(#exprs),*));
        if last.to_string().starts_with(char::is_uppercase) {
            let parts = args.into_iter().enumerate().map(|(i, a)| (field_step(i), a)).collect();
            return Ok(self.active(forward, Rule::Build { parts }));
        }
        let pullback = if select {
            // `select` and `T::select` alike; its pullback need not be imported.
            let span = last.span();
            Rule::Operator { pullback: quote_spanned!(span=> select_vjp), args }
        } else {
            Rule::Call { pullback: sibling(callee).into_token_stream(), args }
        };
        Ok(self.active(forward, pullback))
    }

    /// `receiver.method(args)`
    fn method(&mut self, call: &ExprMethodCall) -> Result<Operand, Error> {
        let method = &call.method;
        if CONSTANT_METHODS.iter().any(|name| method == name) {
            return Ok(Operand::Inactive(self.primal(&Expr::MethodCall(call.clone()))?));
        }
        let receiver = self.lower(&call.receiver)?;
        if method == "clone" && call.args.is_empty() && receiver.is_active() {
            return Ok(receiver);
        }
        let mut args = vec![receiver];
        for arg in &call.args {
            args.push(self.lower(arg)?);
        }
        let turbofish = &call.turbofish;
        if !args.iter().any(Operand::is_active) {
            let exprs: Vec<Expr> = args.iter().map(|a| self.expr(a)).collect();
            let (receiver, exprs) = (&exprs[0], &exprs[1..]);
            return Ok(Operand::Inactive(parse_quote!(#receiver.#method #turbofish (#(#exprs),*))));
        }
        let args: Vec<Operand> = args.into_iter().map(|a| self.reusable(a)).collect();
        let exprs: Vec<Expr> = args.iter().map(|a| self.expr(a)).collect();
        let (receiver, exprs) = (&exprs[0], &exprs[1..]);
        let vjp = vjp_name(method);
        let forward = quote!(#receiver.#method #turbofish (#(#exprs),*));
        Ok(self.active(forward, Rule::Method { pullback: quote!(#vjp #turbofish), args }))
    }

    fn struct_literal(&mut self, literal: &ExprStruct) -> Result<Operand, Error> {
        let mut parts = Vec::new();
        for field in &literal.fields {
            let part = self.lower(&field.expr)?;
            parts.push((Step::Field(field.member.clone()), self.reusable(part)));
        }
        let members: Vec<&Member> = literal.fields.iter().map(|f| &f.member).collect();
        let (exprs, path) = (self.part_exprs(&parts), &literal.path);
        let Some(rest) = &literal.rest else {
            return Ok(self.build(parse_quote!(#path { #(#members: #exprs),* }), parts));
        };
        // `S { a, ..base }` is `base` with some fields replaced.
        let mut base = self.lower(rest)?;
        if !base.is_active() && !parts.iter().any(|(_, part)| part.is_active()) {
            let base = self.expr(&base);
            return Ok(Operand::Inactive(parse_quote!(#path { #(#members: #exprs,)* ..#base })));
        }
        for (step, value) in parts {
            base = self.reusable(base);
            let active = base.is_active() || value.is_active();
            let out = self.temporary();
            let rule = Rule::Update { base, place: vec![step], value };
            self.push(Instr::Let { out, expr: quote!(), rule });
            base = if active { Operand::Active(out) } else { Operand::Inactive(self.named(out)) };
        }
        Ok(base)
    }

    fn parts<'e>(
        &mut self,
        exprs: impl Iterator<Item = &'e Expr>,
        step: fn(usize) -> Step,
    ) -> Result<Vec<(Step, Operand)>, Error> {
        exprs.enumerate().map(|(i, e)| Ok((step(i), self.lower(e)?))).collect()
    }

    fn part_exprs(&self, parts: &[(Step, Operand)]) -> Vec<Expr> {
        parts.iter().map(|(_, part)| self.expr(part)).collect()
    }

    fn build(&mut self, expr: Expr, parts: Vec<(Step, Operand)>) -> Operand {
        if parts.iter().any(|(_, part)| part.is_active()) {
            self.active(expr, Rule::Build { parts })
        } else {
            Operand::Inactive(expr)
        }
    }

    /// Splits `root.a[i].b` into its root and the steps from there.
    pub fn place<'e>(&mut self, expr: &'e Expr) -> Result<(&'e Expr, Place), Error> {
        match expr {
            Expr::Field(field) => {
                let (root, mut steps) = self.place(&field.base)?;
                steps.push(Step::Field(field.member.clone()));
                Ok((root, steps))
            }
            Expr::Index(index) => {
                if matches!(strip(&index.index), Expr::Range(_)) {
                    return Err(error(
                        &index.index,
                        "a slice is not differentiable here: index single elements in a `for` loop",
                    ));
                }
                let (root, mut steps) = self.place(&index.expr)?;
                let literal = match strip(&index.index) {
                    Expr::Lit(lit) => match &lit.lit {
                        Lit::Int(int) => int.base10_parse::<u64>().ok(),
                        _ => None,
                    },
                    _ => None,
                };
                let mut i = self.primal(&index.index)?;
                if !is_place(&i) {
                    let value = self.constant_let(&i);
                    i = self.named(value);
                }
                steps.push(Step::Index(i, literal));
                Ok((root, steps))
            }
            Expr::Paren(inner) => self.place(&inner.expr),
            Expr::Group(inner) => self.place(&inner.expr),
            _ => Ok((expr, Vec::new())),
        }
    }
}

/// An inactive expression that stays whole wherever it is put.
fn parenthesized(operand: Operand) -> Operand {
    match operand {
        Operand::Inactive(e) if !matches!(e, Expr::Path(_) | Expr::Lit(_) | Expr::Paren(_)) => {
            Operand::Inactive(parse_quote!((#e)))
        }
        other => other,
    }
}

/// `path::f::<G>` becomes `path::f_vjp::<G>`.
fn sibling(path: &ExprPath) -> ExprPath {
    let mut path = path.clone();
    if let Some(last) = path.path.segments.last_mut() {
        last.ident = vjp_name(&last.ident);
    }
    path
}

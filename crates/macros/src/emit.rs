//! Puts `f_vjp` together: signature, forward sweep, reverse sweep, slots.

use std::collections::BTreeSet;

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::visit_mut::{self, VisitMut};
use syn::{Error, Expr, ItemFn, Stmt};

use crate::errors::error;
use crate::ir::{Names, Operand, Program, ValueId, vjp_name};
use crate::lower::Lower;
use crate::reverse::Reverse;
use crate::signature::{self, Argument};

/// The function as it was written, then its pullback; or the function and a compile error.
pub fn differentiable(args: TokenStream, item: TokenStream, math: &TokenStream) -> TokenStream {
    let mut function: ItemFn = match syn::parse2(item) {
        Ok(function) => function,
        Err(error) => {
            let error = Error::new(error.span(), format!("`#[differentiable]` goes on a function: {error}"));
            return error.to_compile_error();
        }
    };
    Regroup.visit_item_fn_mut(&mut function);
    let generated = if args.is_empty() {
        pullback(&function, math)
    } else {
        Err(error(args, "`#[differentiable]` takes no arguments: mark constant ones with `#[constant]`"))
    };
    signature::strip_helpers(&mut function);
    let generated = generated.unwrap_or_else(|error| error.to_compile_error());
    quote!(#function #generated)
}

/// A `macro_rules!` argument arrives in an invisible group, which the compiler drops when it takes the
/// function back: `$a * b` with `x + y` for `$a` would become `x + y * b`. Parentheses hold it together.
struct Regroup;

impl VisitMut for Regroup {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        visit_mut::visit_expr_mut(self, expr);
        if let Expr::Group(group) = expr {
            let inner = (*group.expr).clone();
            *expr = match inner {
                Expr::Binary(_) | Expr::Unary(_) | Expr::Cast(_) | Expr::Range(_) | Expr::Reference(_) => {
                    syn::parse_quote!((#inner))
                }
                whole => whole,
            };
        }
    }
}

/// `f_vjp`
pub fn pullback(function: &ItemFn, math: &TokenStream) -> Result<TokenStream, Error> {
    let arguments = signature::arguments(function)?;
    let output = signature::return_type(function)?;
    let mut lower = Lower::new(Names::new(function.to_token_stream()));
    let (parameters, inputs) = parameters(&mut lower, &arguments)?;
    let result = body(&mut lower, function)?;
    let items = std::mem::take(&mut lower.items);
    let out_bar = lower.names.fresh("out_bar");
    let program = Program {
        values: lower.values,
        body: lower.blocks.into_iter().flatten().collect(),
        result,
        names: lower.names,
    };

    // Reverse first: it decides what of the forward sweep is needed.
    let mut reverse = Reverse::new(&program, math);
    let mut swept = TokenStream::new();
    if let Operand::Active(value) = &program.result {
        swept.extend(reverse.writer.hand_over(*value, &out_bar));
    }
    swept.extend(reverse.block(&program.body));
    let slots: Vec<TokenStream> = inputs
        .iter()
        .map(|input| match input {
            Some(value) => reverse.writer.bar_or_zero(*value),
            None => quote!(()),
        })
        .collect();
    let slot_types = arguments.iter().map(|a| if a.constant { quote!(()) } else { a.ty.clone() }).collect();
    let (slots, slot_types) = (one_or_all(slots), one_or_all(slot_types));
    let swept = quote!(#swept #slots);
    let (forward, _) = reverse.forward(&program.body, &swept);
    let mutated = &reverse.writer.state.mutated;
    let bars = reverse.writer.state.own_bars.values().map(Ident::to_string);
    let idle: BTreeSet<String> = bars.filter(|bar| !mutated.contains(bar)).collect();
    let swept = without_idle_mut(swept, &idle);
    let bar_mut = mutated.contains(&out_bar.to_string()).then(|| quote!(mut));

    let name = vjp_name(&function.sig.ident);
    let (visibility, shared) = (&function.vis, signature::shared_attributes(function));
    let documentation = signature::documentation(function, &arguments);
    let generics = &function.sig.generics;
    let bounds = &generics.where_clause;
    Ok(quote! {
        #[doc = #documentation]
        #[allow(
            unused_variables, unused_mut, unused_imports, unused_parens, unused_assignments, dead_code,
            rustdoc::broken_intra_doc_links, clippy::all, clippy::pedantic
        )]
        #shared
        #visibility fn #name #generics (#(#parameters,)* #bar_mut #out_bar: #output) -> #slot_types #bounds {
            use #math::Real as _;
            #(#items)*
            #forward
            #swept
        }
    })
}

/// Declares the arguments; returns the parameter list and the value of each differentiable one.
fn parameters(
    lower: &mut Lower,
    arguments: &[Argument],
) -> Result<(Vec<TokenStream>, Vec<Option<ValueId>>), Error> {
    let (mut parameters, mut inputs) = (Vec::new(), Vec::new());
    let mut patterns = Vec::new();
    for argument in arguments {
        let name = match (&argument.name, &argument.pattern) {
            (Some(name), _) => lower.names.version(name),
            (None, _) => lower.names.temporary("argument_"),
        };
        let ty = &argument.ty;
        parameters.push(argument.receiver.clone().unwrap_or_else(|| quote!(#name: #ty)));
        let value = lower.value(name, None, false);
        inputs.push((!argument.constant).then_some(value));
        let current =
            if argument.constant { Operand::Inactive(lower.named(value)) } else { Operand::Active(value) };
        match (&argument.name, &argument.pattern) {
            (Some(name), _) => lower.declare(name, current),
            (None, pattern) => patterns.extend(pattern.as_ref().map(|p| (p, current))),
        }
    }
    // Patterns are taken apart once all arguments have their names.
    for (pattern, current) in patterns {
        lower.bind(pattern, None, current)?;
    }
    Ok((parameters, inputs))
}

/// Lowers the body; a final `return e;` counts as its value.
fn body(lower: &mut Lower, function: &ItemFn) -> Result<Operand, Error> {
    let mut block = (*function.block).clone();
    if let Some(last) = block.stmts.last_mut()
        && let Stmt::Expr(Expr::Return(returned), _) = last
        && let Some(value) = &returned.expr
    {
        *last = Stmt::Expr((**value).clone(), None);
    }
    lower.block(&block)?.ok_or_else(|| {
        error(
            &function.sig.ident,
            "this function ends without a value: let its last expression be the result, without `;`",
        )
    })
}

/// A function of one argument returns its slot bare.
fn one_or_all(mut slots: Vec<TokenStream>) -> TokenStream {
    match slots.len() {
        1 => slots.remove(0),
        _ => quote!((#(#slots),*)),
    }
}

/// Removes `mut` from cotangents that never change, so that the expansion reads as if written by hand.
fn without_idle_mut(tokens: TokenStream, idle: &BTreeSet<String>) -> TokenStream {
    let mut kept: Vec<TokenTree> = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let inner = without_idle_mut(group.stream(), idle);
                let mut rebuilt = Group::new(group.delimiter(), inner);
                rebuilt.set_span(group.span());
                kept.push(rebuilt.into());
            }
            TokenTree::Ident(ident) => {
                let after_mut = matches!(kept.last(), Some(TokenTree::Ident(last)) if last == "mut");
                if after_mut && idle.contains(&ident.to_string()) {
                    kept.pop();
                }
                kept.push(ident.into());
            }
            other => kept.push(other),
        }
    }
    kept.into_iter().collect()
}

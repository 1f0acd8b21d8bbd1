//! The signature: which arguments are differentiable, and what `f_vjp` looks like from outside.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Error, FnArg, ItemFn, Pat, ReceiverKind, ReturnType, Safety, Type};

use crate::errors::error;

/// One argument of the user's function.
pub struct Argument {
    /// Its pattern; `None` for `self`.
    pub pattern: Option<Pat>,
    /// The name that stands for it when its pattern is a plain variable.
    pub name: Option<Ident>,
    /// Its cotangent type: its own, `Self` for `self`.
    pub ty: TokenStream,
    /// Held constant: its slot is `()`.
    pub constant: bool,
    /// How `self` is taken, for the receiver only.
    pub receiver: Option<TokenStream>,
}

/// The types whose values are points of a discrete space.
const DISCRETE: [&str; 15] = [
    "bool", "char", "usize", "isize", "u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "i128",
    "Mask",
];

/// Takes `#[constant]` off the arguments of `function`, so that it can be emitted as it was written.
pub fn strip_helpers(function: &mut ItemFn) {
    for input in &mut function.sig.inputs {
        let attributes = match input {
            FnArg::Receiver(receiver) => &mut receiver.attrs,
            FnArg::Typed(typed) => &mut typed.attrs,
        };
        attributes.retain(|attribute| !attribute.path().is_ident("constant"));
    }
}

/// Reads the arguments of `function`, or says why it has no pullback.
pub fn arguments(function: &ItemFn) -> Result<Vec<Argument>, Error> {
    let signature = &function.sig;
    if let Some(token) = &signature.asyncness {
        return Err(error(
            token,
            "an `async` function is not differentiable: write a plain function over values",
        ));
    }
    if let Safety::Unsafe(token) = &signature.safety {
        return Err(error(
            token,
            "an `unsafe` function is not differentiable: write its `_vjp` by hand next to it",
        ));
    }
    if let Some(variadic) = &signature.variadic {
        return Err(error(variadic, "a variadic function is not differentiable: name its arguments"));
    }
    signature.inputs.iter().map(argument).collect()
}

fn argument(input: &FnArg) -> Result<Argument, Error> {
    match input {
        FnArg::Receiver(receiver) => {
            let marked = receiver.attrs.iter().any(|a| a.path().is_ident("constant"));
            let (taken, constant) = match &receiver.kind {
                ReceiverKind::Value => (quote!(self), marked),
                ReceiverKind::Reference(and, lifetime, None) => (quote!(#and #lifetime self), true),
                ReceiverKind::Reference(_, _, Some(_)) => return Err(mutable_reference(receiver)),
                ReceiverKind::Typed(_, ty) if constant_type(ty)? => (quote!(self: #ty), true),
                ReceiverKind::Typed(_, ty) => (quote!(self: #ty), marked),
                _ => return Err(error(receiver, "take `self` or `&self` in a differentiable function")),
            };
            Ok(Argument {
                pattern: None,
                name: Some(Ident::new("self", receiver.self_token.span)),
                ty: quote!(Self),
                constant,
                receiver: Some(taken),
            })
        }
        FnArg::Typed(typed) => {
            let marked = typed.attrs.iter().any(|a| a.path().is_ident("constant"));
            let constant = constant_type(&typed.ty)? || marked;
            if !constant && matches!(&*typed.ty, Type::ImplTrait(_)) {
                return Err(error(
                    &typed.ty,
                    "the cotangent of an `impl Trait` argument has no name: write a type parameter `<T: Trait>`",
                ));
            }
            let name = match &*typed.pat {
                Pat::Ident(p) if p.by_ref.is_none() && p.subpat.is_none() => Some(p.ident.clone()),
                _ => None,
            };
            let ty = &typed.ty;
            Ok(Argument {
                pattern: Some((*typed.pat).clone()),
                name,
                ty: quote!(#ty),
                constant,
                receiver: None,
            })
        }
    }
}

/// Whether values of this type are constants whatever they are called.
fn constant_type(ty: &Type) -> Result<bool, Error> {
    Ok(match ty {
        Type::Reference(reference) if reference.mutability.is_some() => {
            return Err(mutable_reference(reference));
        }
        Type::Reference(_) | Type::Never(_) => true,
        Type::Ptr(pointer) => {
            return Err(error(
                pointer,
                "a raw pointer is not differentiable: pass the value, or a shared reference",
            ));
        }
        Type::Paren(inner) => constant_type(&inner.elem)?,
        Type::Group(inner) => constant_type(&inner.elem)?,
        Type::Path(path) => path.path.segments.last().is_some_and(|last| {
            last.arguments.is_none() && DISCRETE.iter().any(|discrete| last.ident == discrete)
        }),
        _ => false,
    })
}

fn mutable_reference(at: impl quote::ToTokens) -> Error {
    error(
        at,
        "a mutable reference is not differentiable: take the value and return the new one \
         (a cotangent needs one input and one output)",
    )
}

/// The return type, or an error if there is nothing to pull back.
pub fn return_type(function: &ItemFn) -> Result<&Type, Error> {
    match &function.sig.output {
        ReturnType::Type(_, ty) => match &**ty {
            Type::ImplTrait(_) => Err(error(ty, "name the return type: its cotangent has the same type")),
            Type::Never(_) => Err(error(ty, "a function that never returns has no pullback")),
            Type::Tuple(tuple) if tuple.elems.is_empty() => Err(no_result(function)),
            Type::Reference(_) => {
                Err(error(ty, "return a value, not a reference: its cotangent has the same type"))
            }
            _ => Ok(ty),
        },
        ReturnType::Default => Err(no_result(function)),
    }
}

fn no_result(function: &ItemFn) -> Error {
    error(
        &function.sig.ident,
        "a function without a result has no pullback: return the new value instead of changing one in place",
    )
}

/// The attributes that `f_vjp` shares with `f`.
pub fn shared_attributes(function: &ItemFn) -> TokenStream {
    const SHARED: [&str; 6] = ["inline", "cfg", "cfg_attr", "allow", "target_feature", "cold"];
    let shared = function.attrs.iter().filter(|a| SHARED.iter().any(|name| a.path().is_ident(name)));
    quote!(#(#shared)*)
}

/// The line of documentation that `f_vjp` gets.
pub fn documentation(function: &ItemFn, arguments: &[Argument]) -> String {
    let name = &function.sig.ident;
    let link = match arguments.first() {
        Some(first) if first.receiver.is_some() => {
            format!("Self::{name}")
        }
        _ => name.to_string(),
    };
    let list = |constant: bool| {
        let of_kind = arguments.iter().enumerate().filter(|(_, a)| a.constant == constant);
        let names = of_kind.map(|(i, a)| match &a.name {
            Some(name) => format!("`{name}`"),
            None => format!("argument {}", i + 1),
        });
        names.collect::<Vec<_>>().join(", ")
    };
    let mut line =
        format!(" Pullback of [`{link}`]: from the cotangent of its result, those of {}", list(false));
    if arguments.iter().any(|a| a.constant) {
        line += &format!("; `()` for {}, held constant", list(true));
    }
    line + "."
}

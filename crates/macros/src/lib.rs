//! `#[differentiable]`
mod control;
mod cotangents;
mod derive;
mod emit;
mod errors;
#[cfg(test)]
mod expansion;
mod expr;
mod forward;
mod ir;
mod lower;
mod primal;
mod reverse;
mod signature;

use proc_macro::TokenStream;

/// Writes `f_vjp` next to `f`.
#[proc_macro_attribute]
pub fn differentiable(args: TokenStream, item: TokenStream) -> TokenStream {
    emit::differentiable(args.into(), item.into(), &emit::math_path()).into()
}

/// Implements `Cotangent` field by field.
#[proc_macro_derive(Cotangent, attributes(cotangent))]
pub fn derive_cotangent(input: TokenStream) -> TokenStream {
    let implementation = derive::cotangent(input.into(), &emit::math_path());
    implementation.unwrap_or_else(|error| error.to_compile_error()).into()
}

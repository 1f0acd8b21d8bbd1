//! `#[differentiable]`
mod control;
mod cotangents;
mod emit;
mod errors;
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

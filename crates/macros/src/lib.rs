//! `#[differentiable]`: reads a function `f` and writes its pullback `f_vjp` next to it.
//!
//! Examples stand where the macros are re-exported, `pullback_math` and `pullback_core`, and run there; tests of what
//! the macros write are in `core/tests/all/macros`. Crates that a procedural macro needs for its own tests would be
//! built a second time, for the compiler.
//!
//! # Method
//!
//! Source transformation as in gradSim, appendix D, at compile time and on Rust. The macro knows no types: an
//! operator is pulled back by a trait (`a * b` by `MulVjp::mul_vjp(a, b, out_bar)`), a function or method by
//! its sibling (`x.m(y)` by `x.m_vjp(y, out_bar)`), and the compiler finds them. So hand-written and
//! generated pullbacks call each other freely.
//!
//! 1. `signature`: which arguments are constants, what `f_vjp` looks like.
//! 2. `lower`, `pattern`, `expr`, `primal`, `control`: the body becomes single-assignment instructions
//!    (`ir`), and each value is found active or not. Inactive code is kept as it was written and gets no
//!    cotangents.
//! 3. `reverse`, `cotangents`: the instructions from last to first. The first contribution to a cotangent is
//!    its value, only later ones are added; what nothing flows to is not written.
//! 4. `forward`: the part of the forward sweep that the reverse sweep reads, with the operations in their
//!    order.
//! 5. `emit`: both sweeps inside the signature. `f` itself is passed through as it was.
//!
//! A branch is recomputed and reversed in the arm that was taken. A loop saves what it carries at the start
//! of each iteration (on the stack where the number of iterations is a constant, else in a `Vec`), and
//! recomputes one iteration at a time.
//!
//! # The subset
//!
//! `let` with patterns and shadowing; `+ - * /`, unary `-` and their assignments; assignment to variables,
//! fields and elements; calls by name; fields, elements, structs, tuples, arrays; blocks; `if`/`else`;
//! `select`; `for` over a range; `constant(x)`, which stops gradients; assertions, which stay in `f`.
//! Anything else is an error that says what to write instead.
//!
//! # Limitations
//!
//! - Values are `Copy`, as everything small in the engine is.
//! - A value read only by discrete methods (`lt`, `floor`, `len`, ...), conditions, indices and bounds is not
//!   differentiated there.
//! - A loop that carries an array and reads it saves the whole array at each iteration; where that matters,
//!   write the pullback by hand.
//! - `+`, `-` and unary `-` hand their operands to the pullback although it seldom looks at them, so a loop
//!   with a run-time bound may save a value that a pullback by hand would not.
//! - `x.m(y)` where `m` takes `&self` holds `x` constant, as every argument behind a reference.

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
mod paths;
mod pattern;
mod primal;
mod reverse;
mod signature;
mod workspace;

use proc_macro::TokenStream;

/// Writes `f_vjp` next to `f`: the same arguments, then the cotangent of the result; it returns one slot per
/// argument, bare for a function of one argument, else as a tuple.
///
/// Constants have the slot `()`. They are the arguments marked `#[constant]`, those of integer, `bool`,
/// `char` or `Mask` type, and those behind a reference, `&self` included. `self` by value is differentiable.
#[proc_macro_attribute]
pub fn differentiable(args: TokenStream, item: TokenStream) -> TokenStream {
    emit::differentiable(args.into(), item.into(), &paths::math()).into()
}

/// Implements `Cotangent` for a struct, field by field, and `Flat` where the scalar is known: the first type
/// parameter that is unbounded or `Real`, or the one named by `#[cotangent(scalar = f64)]`.
#[proc_macro_derive(Cotangent, attributes(cotangent))]
pub fn derive_cotangent(input: TokenStream) -> TokenStream {
    let implementation = derive::cotangent(input.into(), &paths::math());
    implementation.unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Implements `Workspace` for a struct or an enum: its heap bytes are the sum over its fields.
///
/// A field is a workspace itself (`Vec` of `Copy` elements, `Option` of a workspace, another deriving struct,
/// ...), or is marked `#[workspace(plain)]`. A plain field counts nothing and must be `Copy`: such a type
/// owns no heap memory. So no field with memory of its own can be left out.
#[proc_macro_derive(Workspace, attributes(workspace))]
pub fn derive_workspace(input: TokenStream) -> TokenStream {
    let implementation = workspace::workspace(input.into(), &paths::core());
    implementation.unwrap_or_else(|error| error.to_compile_error()).into()
}

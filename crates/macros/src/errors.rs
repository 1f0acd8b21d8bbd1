//! What to write instead: the messages for everything outside the subset.

use quote::ToTokens;
use syn::{Error, Expr};

/// An error at `at`.
pub fn error(at: impl ToTokens, message: &str) -> Error {
    Error::new_spanned(at, message)
}

/// The error for an expression that has no place in a differentiable function.
pub fn unsupported(expr: &Expr) -> Error {
    match expr {
        Expr::While(e) => error(
            e.while_token,
            "`while` is not differentiable here: write `for i in 0..n` with a bound known before the loop",
        ),
        Expr::Loop(e) => error(
            e.loop_token,
            "`loop` is not differentiable here: write `for i in 0..n` with a bound known before the loop",
        ),
        Expr::Match(e) => error(
            e.match_token,
            "`match` is not differentiable here: write `if`/`else` on a condition, or `select(mask, a, b)` so that \
             it runs on lanes",
        ),
        Expr::Closure(e) => error(
            e,
            "a closure is not differentiable here: write a function with `#[differentiable]` and call it by name",
        ),
        Expr::Try(e) => error(
            e.question_token,
            "`?` is not differentiable here: check the input before calling this function and return a plain value",
        ),
        Expr::Return(e) => error(
            e.return_token,
            "an early `return` is not differentiable here: make the value the result of an `if`/`else` expression",
        ),
        Expr::Break(e) => error(
            e.break_token,
            "`break` is not differentiable here: give the loop a fixed range and guard its body with `if`",
        ),
        Expr::Continue(e) => error(
            e.continue_token,
            "`continue` is not differentiable here: guard the rest of the loop body with `if`",
        ),
        Expr::Let(e) => error(
            e.let_token,
            "`if let` is not differentiable here: pass the parts as arguments and branch on a `bool`",
        ),
        Expr::Unsafe(e) => error(
            e.unsafe_token,
            "`unsafe` is not differentiable here: move it into a function with a hand-written `_vjp`",
        ),
        Expr::Async(_) | Expr::Await(_) => {
            error(expr, "async code is not differentiable here: write a plain function over values")
        }
        Expr::Macro(e) => error(
            &e.mac.path,
            "a macro is opaque to `#[differentiable]`: write its expansion, or a function and its `_vjp` \
             (`assert!` and `debug_assert!` statements are allowed)",
        ),
        Expr::Cast(e) => error(
            e,
            "`as` does not carry a cotangent: keep the value in its own scalar type, or write `constant(x) as _` \
             if no gradient should flow",
        ),
        Expr::Range(e) => error(
            e,
            "a range of differentiable values is not differentiable: ranges belong to `for i in 0..n`",
        ),
        Expr::Assign(e) => {
            error(e, "an assignment is a statement here: write it on its own line, ended by `;`")
        }
        Expr::Reference(e) => error(
            e,
            "a reference to a differentiable value carries no cotangent: pass it by value, or \
             `&constant(x)` if no gradient should flow",
        ),
        Expr::ForLoop(e) => error(e.for_token, "a `for` loop is a statement here: it has no value"),
        _ => error(
            expr,
            "this expression is not differentiable here: write it with `let`, arithmetic, calls, `if`/`else`, \
             `select` and `for` over a range",
        ),
    }
}

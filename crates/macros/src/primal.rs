//! Lowering, part 4: expressions that no cotangent passes (conditions, indices, bounds, `constant(...)`).
//! They are kept as the user wrote them, with each variable replaced by the name of its present value.

use syn::visit_mut::{self, VisitMut};
use syn::{Error, Expr, FieldValue, Stmt};

use crate::errors::{error, unsupported};
use crate::lower::Lower;

impl Lower {
    /// The expression over present values.
    pub fn primal(&self, expr: &Expr) -> Result<Expr, Error> {
        let mut expr = expr.clone();
        let mut rename = Rename { lower: self, error: None };
        rename.visit_expr_mut(&mut expr);
        match rename.error {
            Some(error) => Err(error),
            None => Ok(expr),
        }
    }
}

struct Rename<'a> {
    lower: &'a Lower,
    error: Option<Error>,
}

impl VisitMut for Rename<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if let Some(binding) = self.lower.variable(expr) {
            *expr = self.lower.expr(&self.lower.bindings[binding].current);
            return;
        }
        let refused = match expr {
            // A block would bind variables of its own; one that only has a tail does not.
            Expr::Block(block) => !matches!(block.block.stmts.as_slice(), [Stmt::Expr(_, None)]),
            Expr::Reference(reference) => reference.mutability.is_some(),
            Expr::While(_)
            | Expr::Loop(_)
            | Expr::ForLoop(_)
            | Expr::Match(_)
            | Expr::Closure(_)
            | Expr::Try(_)
            | Expr::Return(_)
            | Expr::Break(_)
            | Expr::Continue(_)
            | Expr::Let(_)
            | Expr::Unsafe(_)
            | Expr::Async(_)
            | Expr::Await(_)
            | Expr::Macro(_)
            | Expr::Assign(_) => true,
            _ => false,
        };
        if !refused {
            return visit_mut::visit_expr_mut(self, expr);
        }
        let error = match expr {
            Expr::Block(_) => error(
                &*expr,
                "a block inside a condition, an index, a mask or `constant(...)`: compute it with `let` before",
            ),
            _ => unsupported(expr),
        };
        self.error.get_or_insert(error);
    }

    fn visit_field_value_mut(&mut self, field: &mut FieldValue) {
        // `S { a }` becomes `S { a: a_1 }`.
        field.colon_token.get_or_insert_default();
        self.visit_expr_mut(&mut field.expr);
    }

    fn visit_stmt_mut(&mut self, statement: &mut Stmt) {
        match statement {
            Stmt::Expr(expr, None) => self.visit_expr_mut(expr),
            other => {
                let error = error(
                    &*other,
                    "a statement inside a condition, an index, a mask or `constant(...)`: compute it with `let` before",
                );
                self.error.get_or_insert(error);
            }
        }
    }
}

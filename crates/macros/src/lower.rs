//! Lowering, part 1: scopes and statements. Turns the user's body into single-assignment instructions and, as
//! it goes, decides what is active: a value is active if an active operand reaches it through a
//! differentiable operation.

use proc_macro2::Ident;
use quote::{ToTokens, quote};
use syn::{BinOp, Block, Error, Expr, Item, Macro, Pat, Stmt, Type, parse_quote};

use crate::errors::{error, unsupported};
use crate::ir::{Instr, Names, Operand, Place, Rule, Value, ValueId};
use crate::pattern::field_step;

/// A user variable: which value it stands for now.
#[derive(Clone)]
pub struct Binding {
    pub ident: Ident,
    pub current: Operand,
}

/// The state of lowering. Cloned to try a loop body again once it is known what the loop carries.
#[derive(Clone)]
pub struct Lower {
    pub values: Vec<Value>,
    pub names: Names,
    pub bindings: Vec<Binding>,
    /// Which binding a name means, innermost scope last.
    pub scopes: Vec<Vec<(String, usize)>>,
    /// The block being filled is the last.
    pub blocks: Vec<Vec<Instr>>,
    /// `const` and `use` items of the body.
    pub items: Vec<Item>,
}

impl Lower {
    pub fn new(names: Names) -> Lower {
        Lower {
            values: Vec::new(),
            names,
            bindings: Vec::new(),
            scopes: vec![Vec::new()],
            blocks: vec![Vec::new()],
            items: Vec::new(),
        }
    }

    // ---- values and names ----

    /// Adds a value.
    pub fn value(&mut self, name: Ident, ty: Option<Type>, temporary: bool) -> ValueId {
        self.values.push(Value { name, ty, temporary });
        self.values.len() - 1
    }

    /// Adds an unnamed value.
    pub fn temporary(&mut self) -> ValueId {
        let name = self.names.temporary("t");
        self.value(name, None, true)
    }

    pub fn push(&mut self, instr: Instr) {
        if let Some(block) = self.blocks.last_mut() {
            block.push(instr);
        }
    }

    /// The expression that names a value.
    pub fn named(&self, value: ValueId) -> Expr {
        let name = &self.values[value].name;
        parse_quote!(#name)
    }

    /// An operand as an expression.
    pub fn expr(&self, operand: &Operand) -> Expr {
        match operand {
            Operand::Inactive(expr) => expr.clone(),
            Operand::Active(value) => self.named(*value),
        }
    }

    /// `let temporary = expr;` without a derivative.
    pub fn constant_let(&mut self, expr: &Expr) -> ValueId {
        let out = self.temporary();
        self.push(Instr::Let { out, expr: expr.to_token_stream(), rule: Rule::Constant });
        out
    }

    /// An operand that may be written twice, in the forward and in the reverse sweep, without computing it
    /// twice. Places stay as they are: they may be behind a reference and not `Copy`.
    pub fn reusable(&mut self, operand: Operand) -> Operand {
        match operand {
            Operand::Inactive(expr) if !is_place(&expr) => {
                let value = self.constant_let(&expr);
                Operand::Inactive(self.named(value))
            }
            other => other,
        }
    }

    /// An active instruction `let temporary = expr;`.
    pub fn active(&mut self, expr: impl ToTokens, rule: Rule) -> Operand {
        let out = self.temporary();
        self.push(Instr::Let { out, expr: expr.to_token_stream(), rule });
        Operand::Active(out)
    }

    /// The part of `base` at `place`.
    pub fn project(&mut self, base: &Operand, place: Place) -> Operand {
        let base_expr = self.expr(base);
        match base {
            Operand::Active(value) => {
                self.active(quote!(#base_expr #(#place)*), Rule::Project { base: *value, place })
            }
            Operand::Inactive(_) => Operand::Inactive(parse_quote!(#base_expr #(#place)*)),
        }
    }

    // ---- variables ----

    pub fn lookup(&self, name: &Ident) -> Option<usize> {
        let name = name.to_string();
        let found = self.scopes.iter().rev().find_map(|s| s.iter().rev().find(|(n, _)| *n == name));
        found.map(|(_, binding)| *binding)
    }

    /// The variable that a path names, if it names one.
    pub fn variable(&self, expr: &Expr) -> Option<usize> {
        match expr {
            Expr::Path(path) if path.qself.is_none() => self.lookup(path.path.get_ident()?),
            _ => None,
        }
    }

    pub fn declare(&mut self, ident: &Ident, current: Operand) {
        self.bindings.push(Binding { ident: ident.clone(), current });
        let binding = self.bindings.len() - 1;
        if let Some(scope) = self.scopes.last_mut() {
            scope.push((ident.to_string(), binding));
        }
    }

    /// Gives `operand` the user's name, by renaming the temporary it is or by a `let`.
    pub fn name_operand(&mut self, ident: &Ident, ty: Option<Type>, operand: Operand) -> Operand {
        match operand {
            Operand::Active(value) if self.values[value].temporary => {
                let name = self.names.version(ident);
                self.values[value] = Value { name, ty, temporary: false };
                Operand::Active(value)
            }
            Operand::Inactive(expr) if ty.is_some() || !self.is_local(&expr) => {
                let name = self.names.version(ident);
                let out = self.value(name, ty, false);
                self.push(Instr::Let { out, expr: expr.to_token_stream(), rule: Rule::Constant });
                Operand::Inactive(self.named(out))
            }
            // Another name for the same value: nothing to compute.
            alias => alias,
        }
    }

    /// Whether an inactive expression already is the name of one of our values.
    fn is_local(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Path(path) => {
                path.path.get_ident().is_some_and(|ident| self.values.iter().any(|v| v.name == *ident))
            }
            _ => false,
        }
    }

    // ---- statements ----

    /// Lowers a block in its own scope; its value is that of its tail expression.
    pub fn block(&mut self, block: &Block) -> Result<Option<Operand>, Error> {
        self.scopes.push(Vec::new());
        let result = self.statements(&block.stmts);
        self.scopes.pop();
        result
    }

    fn statements(&mut self, statements: &[Stmt]) -> Result<Option<Operand>, Error> {
        for (i, statement) in statements.iter().enumerate() {
            let last = i + 1 == statements.len();
            match statement {
                Stmt::Expr(expr, None) if last => return self.tail(expr),
                Stmt::Expr(expr, _) => self.statement(expr)?,
                Stmt::Local(local) => {
                    let Some(init) = &local.init else {
                        return Err(error(
                            local,
                            "a variable needs its value here: write `let x = ...;`, e.g. with an `if`/`else` \
                             expression",
                        ));
                    };
                    if let Some((token, _)) = &init.diverge {
                        return Err(error(
                            token,
                            "`let ... else` is not differentiable here: check the input before calling this function",
                        ));
                    }
                    self.local(&local.pat, &init.expr)?;
                }
                Stmt::Item(item @ (Item::Const(_) | Item::Use(_))) => self.items.push(item.clone()),
                Stmt::Item(item) => {
                    return Err(error(
                        item,
                        "an item inside a differentiable function: move it outside (`const` and `use` may stay)",
                    ));
                }
                Stmt::Macro(statement) => check_assertion(&statement.mac)?,
            }
        }
        Ok(None)
    }

    /// `let pattern = init;`
    fn local(&mut self, pattern: &Pat, init: &Expr) -> Result<(), Error> {
        // `let (a, b) = (x, y);` needs no tuple.
        if let (Pat::Tuple(pattern), Expr::Tuple(init)) = (pattern, strip(init))
            && pattern.elems.len() == init.elems.len()
            && !pattern.elems.iter().any(|p| matches!(p, Pat::Rest(_)))
        {
            let parts = init.elems.iter().map(|e| self.lower(e)).collect::<Result<Vec<_>, _>>()?;
            for (pattern, part) in pattern.elems.iter().zip(parts) {
                self.bind(pattern, None, part)?;
            }
            return Ok(());
        }
        let operand = self.lower(init)?;
        self.bind(pattern, None, operand)
    }

    /// The last expression of a block.
    fn tail(&mut self, expr: &Expr) -> Result<Option<Operand>, Error> {
        match expr {
            Expr::If(branch) => self.branch(branch),
            Expr::Block(inner) if inner.label.is_none() => self.block(&inner.block),
            Expr::ForLoop(_) | Expr::Assign(_) => self.statement(expr).map(|()| None),
            Expr::Binary(binary) if compound(&binary.op).is_some() => self.statement(expr).map(|()| None),
            Expr::Macro(statement) if check_assertion(&statement.mac).is_ok() => Ok(None),
            _ => self.lower(expr).map(Some),
        }
    }

    /// An expression for its effect.
    fn statement(&mut self, expr: &Expr) -> Result<(), Error> {
        match expr {
            Expr::Assign(assign) => {
                // `(a, b) = (b, a + b);`: every right side is computed before any left side changes.
                if let (Expr::Tuple(left), Expr::Tuple(right)) = (strip(&assign.left), strip(&assign.right))
                    && left.elems.len() == right.elems.len()
                {
                    let parts = right.elems.iter().map(|e| self.lower(e)).collect::<Result<Vec<_>, _>>()?;
                    for (place, part) in left.elems.iter().zip(parts) {
                        self.assign(place, part)?;
                    }
                    return Ok(());
                }
                let value = self.lower(&assign.right)?;
                if let Expr::Tuple(left) = strip(&assign.left) {
                    let value = self.reusable(value);
                    for (i, place) in left.elems.iter().enumerate() {
                        let part = self.project(&value, vec![field_step(i)]);
                        self.assign(place, part)?;
                    }
                    return Ok(());
                }
                self.assign(&assign.left, value)
            }
            Expr::Binary(binary) if compound(&binary.op).is_some() => {
                let Some(op) = compound(&binary.op) else { return Err(unsupported(expr)) };
                let right = self.lower(&binary.right)?;
                let left = self.lower(&binary.left)?;
                let value = self.arithmetic(&op, left, right)?;
                self.assign(&binary.left, value)
            }
            Expr::If(branch) => self.branch(branch).map(|_| ()),
            Expr::ForLoop(node) => self.for_loop(node),
            Expr::Block(inner) if inner.label.is_none() => self.block(&inner.block).map(|_| ()),
            Expr::Macro(statement) => check_assertion(&statement.mac),
            Expr::Binary(_) | Expr::Call(_) | Expr::MethodCall(_) | Expr::Path(_) | Expr::Tuple(_) => {
                Err(error(
                    expr,
                    "this statement has no effect that a pullback could see: bind its value with `let`, or return it",
                ))
            }
            _ => Err(unsupported(expr)),
        }
    }

    /// `place = value;`
    fn assign(&mut self, place: &Expr, value: Operand) -> Result<(), Error> {
        let (root, steps) = self.place(place)?;
        if matches!(root, Expr::Infer(_)) {
            return Ok(());
        }
        let Some(binding) = self.variable(root) else {
            return Err(error(
                place,
                "only a `let mut` variable of this function, its fields and its elements can be assigned here",
            ));
        };
        let ident = self.bindings[binding].ident.clone();
        let current = if steps.is_empty() {
            self.name_operand(&ident, None, value)
        } else {
            // A new version of the whole variable, with one place replaced.
            let base = self.bindings[binding].current.clone();
            let value = self.reusable(value);
            let active = base.is_active() || value.is_active();
            let name = self.names.version(&ident);
            let out = self.value(name, None, false);
            let rule = Rule::Update { base, place: steps, value };
            self.push(Instr::Let { out, expr: quote!(), rule });
            if active { Operand::Active(out) } else { Operand::Inactive(self.named(out)) }
        };
        self.bindings[binding].current = current;
        Ok(())
    }
}

/// Without parentheses.
pub fn strip(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(inner) => strip(&inner.expr),
        Expr::Group(inner) => strip(&inner.expr),
        _ => expr,
    }
}

/// Whether writing this expression twice computes nothing twice.
pub fn is_place(expr: &Expr) -> bool {
    match expr {
        Expr::Path(_) => true,
        Expr::Lit(lit) => !matches!(lit.lit, syn::Lit::Float(_)),
        Expr::Field(e) => is_place(&e.base),
        Expr::Index(e) => is_place(&e.expr) && is_place(&e.index),
        Expr::Paren(e) => is_place(&e.expr),
        Expr::Group(e) => is_place(&e.expr),
        Expr::Reference(e) => is_place(&e.expr),
        Expr::Unary(e) => matches!(e.op, syn::UnOp::Deref(_)) && is_place(&e.expr),
        _ => false,
    }
}

/// The operator of a compound assignment.
fn compound(op: &BinOp) -> Option<BinOp> {
    match op {
        BinOp::AddAssign(t) => Some(BinOp::Add(syn::Token![+](t.spans[0]))),
        BinOp::SubAssign(t) => Some(BinOp::Sub(syn::Token![-](t.spans[0]))),
        BinOp::MulAssign(t) => Some(BinOp::Mul(syn::Token![*](t.spans[0]))),
        BinOp::DivAssign(t) => Some(BinOp::Div(syn::Token![/](t.spans[0]))),
        BinOp::RemAssign(t) => Some(BinOp::Rem(syn::Token![%](t.spans[0]))),
        _ => None,
    }
}

/// Assertions stay in `f`; `f_vjp` leaves them out.
fn check_assertion(mac: &Macro) -> Result<(), Error> {
    let allowed = mac.path.segments.last().is_some_and(|last| {
        let name = last.ident.to_string();
        name.starts_with("assert") || name.starts_with("debug_assert")
    });
    if allowed {
        return Ok(());
    }
    Err(unsupported(&Expr::Macro(syn::ExprMacro { attrs: Vec::new(), mac: mac.clone() })))
}

//! The intermediate form: single-assignment values in structured blocks.
//!
//! Lowering turns the user's function into a list of [`Instr`]uctions. Each defines a [`Value`] once; an
//! assignment to a `let mut` variable defines a new value, so whatever the reverse sweep needs is still
//! there. Control flow stays nested: an [`IfNode`] merges what its branches changed, a [`ForNode`] carries
//! what its body changed.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::{Expr, Member, Type};

/// Index of a value; ids grow in program order, so the values of a nested block form a range.
pub type ValueId = usize;

/// A single-assignment variable of the generated function.
#[derive(Clone)]
pub struct Value {
    /// Its Rust name, unique in the generated function.
    pub name: Ident,
    /// The user's type annotation, if there was one.
    pub ty: Option<Type>,
    /// An unnamed intermediate, which a `let` may still give its name.
    pub temporary: bool,
}

/// What an instruction reads.
#[derive(Clone, PartialEq)]
pub enum Operand {
    /// Depends on no differentiable input: any Rust expression over the primal values.
    Inactive(Expr),
    /// Carries a cotangent.
    Active(ValueId),
}

impl Operand {
    /// Whether a cotangent flows to it.
    pub fn is_active(&self) -> bool {
        matches!(self, Operand::Active(_))
    }
}

/// One step from a value to a part of it.
#[derive(Clone)]
pub enum Step {
    /// `.x` or `.0`
    Field(Member),
    /// `[i]`, with the number if it is a literal.
    Index(Expr, Option<u64>),
}

impl ToTokens for Step {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.extend(match self {
            Step::Field(member) => quote!(.#member),
            Step::Index(index, _) => quote!([#index]),
        });
    }
}

/// A place inside a value: `.state.x[2]`.
pub type Place = Vec<Step>;

/// Whether two places of one value certainly share nothing.
pub fn disjoint(a: &[Step], b: &[Step]) -> bool {
    a.iter().zip(b).any(|steps| match steps {
        (Step::Field(a), Step::Field(b)) => a != b,
        (Step::Index(_, Some(a)), Step::Index(_, Some(b))) => a != b,
        _ => false,
    })
}

/// Whether `whole` certainly contains `part`.
pub fn covers(whole: &[Step], part: &[Step]) -> bool {
    whole.len() <= part.len()
        && whole.iter().zip(part).all(|steps| match steps {
            (Step::Field(a), Step::Field(b)) => a == b,
            (Step::Index(a, _), Step::Index(b, _)) => a == b,
            _ => false,
        })
}

/// Where the cotangent of an instruction's result goes.
#[derive(Clone)]
pub enum Rule {
    /// Nowhere: the result is inactive.
    Constant,
    /// An arithmetic operator, pulled back by a trait of the math crate such as `MulVjp::mul_vjp`.
    Operator { pullback: TokenStream, args: Vec<Operand> },
    /// A function or associated function, pulled back by its `_vjp` sibling.
    Call { pullback: TokenStream, args: Vec<Operand> },
    /// A method; the first of `args` is the receiver.
    Method { pullback: TokenStream, args: Vec<Operand> },
    /// `out = base.place`
    Project { base: ValueId, place: Place },
    /// A struct, tuple or array put together from its parts.
    Build { parts: Vec<(Step, Operand)> },
    /// `[element; N]`
    Repeat { element: Operand },
    /// `out = base, but out.place = value`
    Update { base: Operand, place: Place, value: Operand },
}

/// One step of the program.
#[derive(Clone)]
pub enum Instr {
    /// `let out = expr;` ([`Rule::Update`] has its own form.)
    Let { out: ValueId, expr: TokenStream, rule: Rule },
    /// A branch.
    If(IfNode),
    /// A loop.
    For(ForNode),
}

/// `let out = if condition { then } else { otherwise };`
#[derive(Clone)]
pub struct Merge {
    pub out: ValueId,
    pub then: Operand,
    pub otherwise: Operand,
}

/// A branch with everything that it yields or changes.
#[derive(Clone)]
pub struct IfNode {
    pub condition: Expr,
    pub then: Vec<Instr>,
    pub otherwise: Vec<Instr>,
    pub merges: Vec<Merge>,
    /// The values defined inside.
    pub inner: Range<ValueId>,
}

/// A variable that lives across iterations.
#[derive(Clone)]
pub struct Carried {
    pub init: Operand,
    /// Its value at the start of an iteration.
    pub phi: ValueId,
    /// Its value at the end of an iteration.
    pub end: Operand,
    /// Its value after the loop.
    pub out: ValueId,
}

/// A loop over a range.
#[derive(Clone)]
pub struct ForNode {
    pub index: Ident,
    /// `low..high`
    pub range: TokenStream,
    /// Whether the source walks the range backwards.
    pub reversed: bool,
    /// The number of iterations where the compiler knows it, for a stack array.
    pub count: Option<TokenStream>,
    pub body: Vec<Instr>,
    pub carried: Vec<Carried>,
    /// Name of the record of carried values, and of one entry of it.
    pub saved: Ident,
    pub slot: Ident,
    /// The values defined inside.
    pub inner: Range<ValueId>,
}

/// A whole function body.
pub struct Program {
    pub values: Vec<Value>,
    pub body: Vec<Instr>,
    pub result: Operand,
    pub names: Names,
}

impl Program {
    /// The name of a value.
    pub fn name(&self, value: ValueId) -> &Ident {
        &self.values[value].name
    }
    /// An operand as it stands in generated code.
    pub fn tokens(&self, operand: &Operand) -> TokenStream {
        match operand {
            Operand::Inactive(expr) => quote!(#expr),
            Operand::Active(value) => self.name(*value).to_token_stream(),
        }
    }
}

/// A source of names that no identifier of the user's function has.
#[derive(Clone)]
pub struct Names {
    reserved: BTreeSet<String>,
    taken: BTreeSet<String>,
    next: BTreeMap<String, usize>,
}

impl Names {
    /// Reserves every identifier in `tokens`.
    pub fn new(tokens: TokenStream) -> Names {
        let mut reserved = BTreeSet::new();
        collect_idents(tokens, &mut reserved);
        Names { reserved, taken: BTreeSet::new(), next: BTreeMap::new() }
    }

    /// The user's own name the first time it is bound, a variation of it when it is shadowed or reassigned.
    pub fn version(&mut self, user: &Ident) -> Ident {
        if self.taken.insert(user.to_string()) {
            return user.clone();
        }
        self.numbered(&user.to_string(), user.span())
    }

    /// A name for something that the user did not name.
    pub fn fresh(&mut self, stem: &str) -> Ident {
        let plain = !self.reserved.contains(stem) && self.taken.insert(stem.to_owned());
        if plain {
            return Ident::new(stem, Span::call_site());
        }
        self.numbered(stem, Span::call_site())
    }

    /// `stem0`, `stem1`, ...
    pub fn temporary(&mut self, stem: &str) -> Ident {
        loop {
            let next = self.next.entry(stem.to_owned()).or_insert(0);
            let name = format!("{stem}{next}");
            *next += 1;
            if !self.reserved.contains(&name) && self.taken.insert(name.clone()) {
                return Ident::new(&name, Span::call_site());
            }
        }
    }

    fn numbered(&mut self, stem: &str, span: Span) -> Ident {
        let stem = stem.strip_prefix("r#").unwrap_or(stem);
        let mut ident = self.temporary(&format!("{stem}_"));
        ident.set_span(span);
        ident
    }
}

/// Adds every identifier in `tokens` to `found`.
pub fn collect_idents(tokens: TokenStream, found: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => {
                found.insert(ident.to_string());
            }
            TokenTree::Group(group) => collect_idents(group.stream(), found),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// `name_vjp`, at the place of `name`, so that a missing pullback is reported at the call.
pub fn vjp_name(name: &Ident) -> Ident {
    format_ident!("{}_vjp", name)
}

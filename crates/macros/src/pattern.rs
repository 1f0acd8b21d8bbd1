//! Lowering, part 2: patterns. A pattern is taken apart into projections, one for each variable it binds.

use syn::{Error, Pat, Type, parse_quote};

use crate::errors::error;
use crate::ir::{Operand, Step};
use crate::lower::Lower;

impl Lower {
    /// Binds the variables of a pattern to the parts of `operand`.
    pub fn bind(&mut self, pattern: &Pat, ty: Option<Type>, operand: Operand) -> Result<(), Error> {
        // Only a plain variable may take the operand as it is; the others take it apart.
        let operand = match pattern {
            Pat::Ident(_) | Pat::Type(_) | Pat::Paren(_) | Pat::Wild(_) => operand,
            _ => self.reusable(operand),
        };
        match pattern {
            Pat::Ident(p) if p.by_ref.is_none() && p.subpat.is_none() => {
                let current = self.name_operand(&p.ident, ty, operand);
                self.declare(&p.ident, current);
                Ok(())
            }
            Pat::Type(p) => self.bind(&p.pat, Some((*p.ty).clone()), operand),
            Pat::Paren(p) => self.bind(&p.pat, ty, operand),
            Pat::Wild(_) => Ok(()),
            Pat::Tuple(p) => self.bind_sequence(p.elems.iter(), &operand, field_step),
            Pat::TupleStruct(p) => self.bind_sequence(p.elems.iter(), &operand, field_step),
            Pat::Slice(p) => self.bind_sequence(p.elems.iter(), &operand, index_step),
            Pat::Struct(p) => {
                for field in &p.fields {
                    let part = self.project(&operand, vec![Step::Field(field.member.clone())]);
                    self.bind(&field.pat, None, part)?;
                }
                Ok(())
            }
            _ => Err(error(
                pattern,
                "this pattern is not differentiable here: bind plain variables, tuples, arrays or struct fields \
                 by value",
            )),
        }
    }

    fn bind_sequence<'p>(
        &mut self,
        patterns: impl Iterator<Item = &'p Pat>,
        operand: &Operand,
        step: fn(usize) -> Step,
    ) -> Result<(), Error> {
        let patterns: Vec<&Pat> = patterns.collect();
        for (i, pattern) in patterns.iter().enumerate() {
            match pattern {
                Pat::Rest(_) if i + 1 == patterns.len() => {}
                Pat::Rest(rest) => {
                    return Err(error(
                        rest,
                        "`..` must come last here: name the members before it, or use `.0`, `.1`, ...",
                    ));
                }
                Pat::Wild(_) => {}
                _ => {
                    let part = self.project(operand, vec![step(i)]);
                    self.bind(pattern, None, part)?;
                }
            }
        }
        Ok(())
    }
}

/// `.i`
pub fn field_step(i: usize) -> Step {
    Step::Field(syn::Member::Unnamed(syn::Index::from(i)))
}

/// `[i]`
pub fn index_step(i: usize) -> Step {
    let literal = proc_macro2::Literal::usize_unsuffixed(i);
    Step::Index(parse_quote!(#literal), Some(i as u64))
}

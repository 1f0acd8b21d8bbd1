//! `<contact>`: pairs of geoms that always collide, and pairs of bodies that never do.
//!
//! A pair brings its own friction, 1 unless it says otherwise, and does not look at that of its geoms. Our
//! friction is the same in both directions, so the first two numbers must agree. `condim`, `margin`, `gap`,
//! `solref`, `solimp` and `solreffriction` belong to MuJoCo's constraint solver; they are checked and
//! dropped.

use std::collections::HashMap;

use pullback_articulated::{ContactPair, Model};

use super::ImportOptions;
use super::defaults::Defaults;
use crate::ImportError;
use crate::xml::Element;

/// A pair as written; also a default.
#[derive(Clone, Debug)]
pub(super) struct PairSpec {
    /// Two of sliding, torsional, two of rolling.
    friction: [f64; 5],
}

impl Default for PairSpec {
    fn default() -> Self {
        PairSpec { friction: [1.0, 1.0, 0.005, 0.0001, 0.0001] }
    }
}

impl PairSpec {
    /// Overwrites what the element says.
    pub fn apply(&mut self, e: &Element, options: &ImportOptions) -> Result<(), ImportError> {
        e.overlay("friction", 1, &mut self.friction)?;
        if e.integer("condim")?.is_some_and(|d| ![1, 3, 4, 6].contains(&d)) {
            return Err(e.error_in("condim", "must be 1, 3, 4 or 6"));
        }
        for name in ["margin", "gap", "solref", "solimp", "solreffriction"] {
            e.list(name)?;
        }
        e.finish(options, &["name", "class", "geom1", "geom2"])?;
        e.no_children(options)
    }
}

/// Reads one `<contact>`.
pub(super) fn read_contact(
    section: &Element,
    defaults: &Defaults,
    geoms: &HashMap<String, usize>,
    bodies: &HashMap<String, usize>,
    model: &mut Model,
    options: &ImportOptions,
) -> Result<(), ImportError> {
    section.finish(options, &[])?;
    for e in &section.children {
        let find = |names: &HashMap<String, usize>, attribute: &str, kind: &str| {
            let name = e.required(attribute)?;
            let found = names.get(name).copied();
            found.ok_or_else(|| e.error_in(attribute, format!("no {kind} is called `{name}`")))
        };
        match e.tag.as_str() {
            "pair" => {
                let mut spec = defaults.of(e, 0)?.pair.clone();
                spec.apply(e, options)?;
                let [first, second, ..] = spec.friction;
                e.refuse_unless("friction", first == second, options)?;
                let pair = ContactPair::new(find(geoms, "geom1", "geom")?, find(geoms, "geom2", "geom")?);
                model.pairs.push(ContactPair { friction: spec.friction, ..pair });
            }
            "exclude" => {
                model.excludes.push((find(bodies, "body1", "body")?, find(bodies, "body2", "body")?));
                e.finish(options, &["name"])?;
            }
            _ => e.refuse(options)?,
        }
    }
    Ok(())
}

//! `<contact>`: pairs of geoms that always collide, and pairs of bodies that never do.
//!
//! A pair brings a law of its own and does not look at that of its geoms: what it leaves out is that of its
//! class. Pairs stand as in MuJoCo: the geom of the earlier body first, sorted by bodies, otherwise in the
//! order of the file. Of geoms paired twice both laws act.

use std::collections::HashMap;

use pullback_articulated::{ContactPair, Model, Shape, Softness};

use super::ImportOptions;
use super::defaults::Defaults;
use super::joint::read_softness;
use super::names::Names;
use crate::ImportError;
use crate::xml::Element;

/// A pair as written; also a default.
#[derive(Clone, Debug)]
pub(super) struct PairSpec {
    /// Two of sliding, torsional, two of rolling.
    friction: [f64; 5],
    condim: u32,
    softness: Softness,
    solreffriction: [f64; 2],
    margin: f64,
    gap: f64,
    adhesion: f64,
}

impl Default for PairSpec {
    fn default() -> Self {
        let ContactPair { friction, condim, softness, solreffriction, margin, gap, .. } =
            ContactPair::new(0, 0);
        PairSpec { friction, condim, softness, solreffriction, margin, gap, adhesion: 0.0 }
    }
}

impl PairSpec {
    /// Overwrites what the element says.
    pub fn apply(&mut self, e: &Element, options: &ImportOptions) -> Result<(), ImportError> {
        e.overlay("friction", 1, &mut self.friction)?;
        if let Some(dimension) = e.integer("condim")? {
            if ![1, 3, 4, 6].contains(&dimension) {
                return Err(e.error_in("condim", "must be 1, 3, 4 or 6"));
            }
            self.condim = dimension as u32;
        }
        read_softness(e, "solref", "solimp", &mut self.softness)?;
        e.overlay("solreffriction", 1, &mut self.solreffriction)?;
        e.set("margin", &mut self.margin)?;
        e.set("gap", &mut self.gap)?;
        e.set("adhesion", &mut self.adhesion)?;
        e.no_children(options)
    }
}

/// Reads one `<contact>`.
pub(super) fn read_contact(
    section: &Element,
    defaults: &Defaults,
    geoms: &HashMap<String, usize>,
    bodies: &HashMap<String, usize>,
    names: &mut Names,
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
                e.refuse_unless("adhesion", spec.adhesion == 0.0, options)?;
                names.register("pair", e)?;
                let (a, b) = (find(geoms, "geom1", "geom")?, find(geoms, "geom2", "geom")?);
                if a == b {
                    return Err(e.error("pairs a geom with itself; name another"));
                }
                let flat = |g: usize| match model.geoms[g].shape {
                    Shape::Mesh { mesh } => model.meshes[mesh].hull.corners.is_empty(),
                    _ => false,
                };
                if flat(a) || flat(b) {
                    return Err(e.error("pairs a flat mesh, which has no convex hull; give it a thickness"));
                }
                e.finish(options, &[])?;
                let swapped = model.geoms[a].body > model.geoms[b].body;
                model.pairs.push(ContactPair {
                    geoms: if swapped { (b, a) } else { (a, b) },
                    condim: spec.condim,
                    friction: spec.friction,
                    softness: spec.softness,
                    solreffriction: spec.solreffriction,
                    margin: spec.margin,
                    gap: spec.gap,
                });
            }
            "exclude" => {
                names.register("exclude", e)?;
                model.excludes.push((find(bodies, "body1", "body")?, find(bodies, "body2", "body")?));
                e.finish(options, &[])?;
            }
            _ => e.refuse(options)?,
        }
    }
    let Model { pairs, geoms, .. } = model;
    pairs.sort_by_key(|pair| (geoms[pair.geoms.0].body, geoms[pair.geoms.1].body));
    Ok(())
}

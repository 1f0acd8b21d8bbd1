//! `<tendon>`: sums of joint coordinates, and paths through sites and around geoms.

use std::collections::HashMap;

use pullback_articulated::{PathItem, Shape, Tendon, TendonPath};

use super::ImportOptions;
use super::defaults::Defaults;
use super::joint::{is_limited, read_softness};
use super::names::Names;
use super::settings::{Compiler, Compilers};
use crate::ImportError;
use crate::xml::Element;

/// A tendon as written; also a default.
#[derive(Clone, Debug)]
pub(super) struct TendonSpec {
    /// Its numbers; name, path and ranges are filled in later.
    tendon: Tendon,
    range: [f64; 2],
    limited: Option<bool>,
    actuator_force_range: [f64; 2],
    actuator_force_limited: Option<bool>,
    springlength: [f64; 2],
}

impl Default for TendonSpec {
    fn default() -> Self {
        TendonSpec {
            tendon: Tendon::new("", TendonPath::Fixed(Vec::new())),
            range: [0.0; 2],
            limited: None,
            actuator_force_range: [0.0; 2],
            actuator_force_limited: None,
            springlength: [-1.0; 2],
        }
    }
}

/// What tendons find by name.
pub(super) struct TendonReader<'a> {
    pub defaults: &'a Defaults,
    pub compilers: &'a Compilers,
    pub options: &'a ImportOptions,
    pub joints: HashMap<String, usize>,
    pub sites: HashMap<String, usize>,
    pub geoms: HashMap<String, usize>,
    pub shapes: Vec<Shape>,
}

impl TendonSpec {
    /// Overwrites what the element says.
    pub fn apply(&mut self, e: &Element, options: &ImportOptions) -> Result<(), ImportError> {
        let tendon = &mut self.tendon;
        e.overlay("range", 2, &mut self.range)?;
        self.limited = e.tristate("limited")?.unwrap_or(self.limited);
        e.overlay("actuatorfrcrange", 2, &mut self.actuator_force_range)?;
        self.actuator_force_limited =
            e.tristate("actuatorfrclimited")?.unwrap_or(self.actuator_force_limited);
        read_softness(e, "solreflimit", "solimplimit", &mut tendon.limit)?;
        read_softness(e, "solreffriction", "solimpfriction", &mut tendon.friction)?;
        for (name, into) in [
            ("frictionloss", &mut tendon.frictionloss),
            ("margin", &mut tendon.margin),
            ("armature", &mut tendon.armature),
            ("width", &mut tendon.width),
        ] {
            e.set(name, into)?;
        }
        // Springs and dampers of higher powers are polynomials.
        for (name, into) in [("stiffness", &mut tendon.stiffness), ("damping", &mut tendon.damping)] {
            let mut terms = [*into, 0.0, 0.0];
            e.overlay(name, 1, &mut terms)?;
            e.refuse_unless(name, terms[1..] == [0.0; 2], options)?;
            *into = terms[0];
        }
        if let Some(lengths) = e.list("springlength")? {
            self.springlength = match lengths[..] {
                [both] => [both; 2],
                [low, high] => [low, high],
                _ => return Err(e.error_in("springlength", "must be one number or two")),
            };
        }
        let mut rgba = tendon.rgba.map(f64::from);
        e.overlay("rgba", 4, &mut rgba)?;
        tendon.rgba = rgba.map(|x| x as f32);
        e.finish(options, &["name", "class", "group", "material", "user"])
    }

    fn build(&self, e: &Element, path: TendonPath, compiler: &Compiler) -> Result<Tendon, ImportError> {
        let limits = |name: &str, told: Option<bool>, range: [f64; 2]| {
            if !is_limited(e, name, told, range, compiler)? {
                return Ok(None);
            }
            if range[0] >= range[1] {
                return Err(e.error_in(name, "its first number must be below its second"));
            }
            Ok(Some((range[0], range[1])))
        };
        let [low, high] = self.springlength;
        if low > high {
            return Err(e.error_in("springlength", "its first number must not be above its second"));
        }
        let force_limited = self.actuator_force_limited;
        Ok(Tendon {
            name: e.text("name").unwrap_or_default().to_string(),
            path,
            springlength: (self.springlength != [-1.0; 2]).then_some((low, high)),
            range: limits("range", self.limited, self.range)?,
            actuator_force_range: limits("actuatorfrcrange", force_limited, self.actuator_force_range)?,
            ..self.tendon.clone()
        })
    }
}

impl TendonReader<'_> {
    /// The tendons of one `<tendon>`, and their ranges, also those that do not limit.
    pub fn read(
        &self,
        section: &Element,
        names: &mut Names,
        into: &mut Vec<Tendon>,
        ranges: &mut Vec<(f64, f64)>,
    ) -> Result<(), ImportError> {
        section.finish(self.options, &[])?;
        for e in &section.children {
            let path = match e.tag.as_str() {
                "fixed" => TendonPath::Fixed(self.terms(e)?),
                "spatial" => TendonPath::Spatial(self.items(e)?),
                _ => {
                    e.refuse(self.options)?;
                    continue;
                }
            };
            let mut spec = self.defaults.of(e, 0)?.tendon.clone();
            names.register("tendon", e)?;
            spec.apply(e, self.options)?;
            into.push(spec.build(e, path, self.compilers.of(e))?);
            ranges.push((spec.range[0], spec.range[1]));
        }
        Ok(())
    }

    fn find(
        &self,
        e: &Element,
        attribute: &str,
        names: &HashMap<String, usize>,
    ) -> Result<usize, ImportError> {
        let name = e.required(attribute)?;
        let found = names.get(name).copied();
        let kind = if attribute == "sidesite" { "site" } else { attribute };
        found.ok_or_else(|| e.error_in(attribute, format!("no {kind} is called `{name}`")))
    }

    fn terms(&self, e: &Element) -> Result<Vec<(usize, f64)>, ImportError> {
        let mut terms = Vec::new();
        for child in &e.children {
            if child.tag != "joint" {
                child.refuse(self.options)?;
                continue;
            }
            let joint = self.find(child, "joint", &self.joints)?;
            child.required("coef")?;
            terms.push((joint, child.number("coef")?.unwrap_or(0.0)));
            child.finish(self.options, &[])?;
        }
        if terms.is_empty() { Err(e.error("needs a <joint>")) } else { Ok(terms) }
    }

    fn items(&self, e: &Element) -> Result<Vec<PathItem>, ImportError> {
        let mut items = Vec::new();
        for child in &e.children {
            items.push(match child.tag.as_str() {
                "site" => PathItem::Site(self.find(child, "site", &self.sites)?),
                "geom" => {
                    let geom = self.find(child, "geom", &self.geoms)?;
                    if !matches!(self.shapes[geom], Shape::Sphere { .. } | Shape::Cylinder { .. }) {
                        return Err(child.error("a tendon wraps around spheres and cylinders alone"));
                    }
                    let sided = child.text("sidesite").is_some_and(|s| !s.is_empty());
                    let sidesite =
                        if sided { Some(self.find(child, "sidesite", &self.sites)?) } else { None };
                    PathItem::Wrap { geom, sidesite }
                }
                "pulley" => {
                    child.required("divisor")?;
                    PathItem::Pulley(child.number("divisor")?.unwrap_or(1.0))
                }
                _ => {
                    child.refuse(self.options)?;
                    continue;
                }
            });
            child.finish(self.options, &[])?;
        }
        Ok(items)
    }
}

//! Which attributes name something that stands elsewhere in the file, and what kind of thing that is.
//!
//! `attach` and `replicate` rename things, so they must find everything that refers to them.

use crate::xml::Element;

/// The kind of thing that an attribute of an element names; `None` if it names nothing.
pub(super) fn kind_named<'a>(e: &'a Element, attribute: &str) -> Option<&'a str> {
    let word = |name: &str| e.attributes.iter().find(|a| a.name == name).map(|a| a.value.as_str());
    let as_kind = |kind: &'a str| if kind == "xbody" { "body" } else { kind };
    Some(match attribute {
        "joint" | "joint1" | "joint2" | "jointinparent" => "joint",
        "body" | "body1" | "body2" | "subtree1" | "subtree2" | "target" => "body",
        "geom" | "geom1" | "geom2" => "geom",
        "site" | "site1" | "site2" | "refsite" | "slidersite" | "cranksite" | "sidesite" => "site",
        "tendon" | "tendon1" | "tendon2" => "tendon",
        "actuator" => "actuator",
        "camera" => "camera",
        "mesh" => "mesh",
        "hfield" => "hfield",
        "material" => "material",
        "texture" => "texture",
        "class" | "childclass" => "class",
        "objname" => as_kind(word("objtype")?),
        "refname" => as_kind(word("reftype")?),
        _ => return None,
    })
}

/// The kind of thing that an element with a `name` is, by the section it stands in.
pub(super) fn kind_of<'a>(section: &'a str, e: &'a Element) -> &'a str {
    match (section, e.tag.as_str()) {
        ("actuator" | "tendon" | "sensor" | "equality", _) => section,
        (_, "freejoint") => "joint",
        (_, tag) => tag,
    }
}

/// Calls `act` with an element and all below it.
pub(super) fn for_each(e: &mut Element, act: &mut impl FnMut(&mut Element)) {
    act(e);
    e.children.iter_mut().for_each(|child| for_each(child, act));
}

/// Whether an element or one below it names a thing of that kind and name for which `found` holds.
pub(super) fn names_any(e: &Element, found: &impl Fn(&str, &str) -> bool) -> bool {
    let own = e.attributes.iter().any(|a| kind_named(e, &a.name).is_some_and(|kind| found(kind, &a.value)));
    own || e.children.iter().any(|child| names_any(child, found))
}

//! `<replicate>`: copies of a subtree, each in a frame further along, written out before anything else is
//! read.
//!
//! Copy i is turned by i times the Euler angles and stands one offset, seen from copy i − 1, beyond that; its
//! names end in the separator and i, with as many digits as the count has. Copies inside copies are written
//! out first, so the suffix of the outer follows that of the inner. Tendons, actuators, pairs, excludes,
//! equalities and sensors that name something inside by its plain name are copied too, after the others, as in
//! MuJoCo, and so is what names those copies; what names something inside nested copies must use the full
//! names. MuJoCo refuses tendons and equalities that also name something outside, and so do we.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use pullback_math::{Quat, Vec3};

use super::budget::Budget;
use super::pose::{Pose, from_euler};
use super::references::{for_each, kind_named, kind_of, names_any};
use super::settings::Compilers;
use crate::ImportError;
use crate::xml::{Attribute, Element};

/// Sections whose elements may name copies, each after those that it names.
const SECTIONS: [&str; 5] = ["tendon", "contact", "equality", "actuator", "sensor"];

/// The plain names inside one outermost `<replicate>`, with their kinds, and the suffixes of its copies.
struct Copies {
    names: Names,
    suffixes: Vec<String>,
}

/// Names by kind.
type Names = HashMap<String, HashSet<String>>;

impl Copies {
    fn hold(&self, kind: &str, name: &str) -> bool {
        self.names.get(kind).is_some_and(|names| names.contains(name))
    }
}

/// Writes out every `<replicate>` of a file.
pub(super) fn expand(
    root: &mut Element,
    compilers: &Compilers,
    budget: &mut Budget,
) -> Result<(), ImportError> {
    let mut found = Vec::new();
    for section in root.children.iter_mut().filter(|s| s.tag == "worldbody") {
        expand_children(section, compilers, budget, &mut found)?;
    }
    for tag in SECTIONS {
        for section in root.children.iter_mut().filter(|s| s.tag == tag) {
            found.iter_mut().try_for_each(|copies| copy_references(section, copies, budget))?;
        }
    }
    Ok(())
}

/// Recursion is bounded by the depth of the tree; every copy is a frame, which is as deep as what it
/// replaces.
fn expand_children(
    e: &mut Element,
    compilers: &Compilers,
    budget: &mut Budget,
    found: &mut Vec<Copies>,
) -> Result<(), ImportError> {
    if !e.children.iter().any(contains_replicate) {
        return Ok(());
    }
    let mut children = Vec::with_capacity(e.children.len());
    for mut child in std::mem::take(&mut e.children) {
        let mut inside = Vec::new();
        expand_children(&mut child, compilers, budget, &mut inside)?;
        if child.tag == "replicate" {
            let suffixes = write_copies(&child, compilers, budget, &mut children)?;
            let mut names = Names::new();
            // Names inside nested copies already carry a suffix, so their plain names are not among these.
            collect_names(&child, &mut names);
            found.push(Copies { names, suffixes });
        } else {
            found.append(&mut inside);
            children.push(child);
        }
    }
    e.children = children;
    Ok(())
}

fn contains_replicate(e: &Element) -> bool {
    e.tag == "replicate" || e.children.iter().any(contains_replicate)
}

/// The frames of one `<replicate>`, its suffixes returned.
fn write_copies(
    e: &Element,
    compilers: &Compilers,
    budget: &mut Budget,
    into: &mut Vec<Element>,
) -> Result<Vec<String>, ImportError> {
    let count = e.integer("count")?.ok_or_else(|| e.error("needs `count`"))?;
    let count = usize::try_from(count).map_err(|_| e.error_in("count", "must not be negative"))?;
    let compiler = compilers.of(e);
    let euler = e.array::<3>("euler")?.unwrap_or_default().map(|a| compiler.radians(a));
    let offset = e.vec3("offset")?.unwrap_or_else(Vec3::zero);
    let separator = e.text("sep").unwrap_or_default();
    let digits = count.to_string().len();
    budget.spend(e, count, separator.len() + digits).map_err(|why| e.error_in("count", why))?;
    let mut pose = Pose::identity();
    let mut suffixes = Vec::with_capacity(count);
    for i in 0..count {
        let suffix = format!("{separator}{i:0digits$}");
        let mut frame = Element { tag: "frame".into(), ..e.clone() };
        let attribute = |name: &str, value: String| Attribute {
            name: name.into(),
            value,
            place: e.place.clone(),
            used: Cell::new(false),
        };
        let (p, Quat { w, x, y, z }) = (pose.position, pose.orientation);
        frame.attributes.retain(|a| a.name == "childclass");
        // Shortest text that reads as the same number.
        frame.attributes.push(attribute("pos", format!("{:?} {:?} {:?}", p.x, p.y, p.z)));
        frame.attributes.push(attribute("quat", format!("{w:?} {x:?} {y:?} {z:?}")));
        frame.children.iter_mut().for_each(|child| add_suffix(child, &suffix));
        into.push(frame);
        suffixes.push(suffix);
        // The angles add up, not the rotations.
        let turned = euler.map(|angle| angle * (i + 1) as f64);
        pose =
            Pose { position: pose.point(offset), orientation: from_euler(turned, compiler.euler_sequence) };
    }
    Ok(suffixes)
}

fn collect_names(e: &Element, names: &mut Names) {
    collect_name("worldbody", e, names);
    e.children.iter().for_each(|child| collect_names(child, names));
}

fn collect_name(section: &str, e: &Element, names: &mut Names) {
    for own in e.attributes.iter().filter(|a| a.name == "name" && !a.value.is_empty()) {
        names.entry(kind_of(section, e).to_string()).or_default().insert(own.value.clone());
    }
}

fn add_suffix(e: &mut Element, suffix: &str) {
    for_each(e, &mut |e| {
        for attribute in e.attributes.iter_mut().filter(|a| a.name == "name" && !a.value.is_empty()) {
            attribute.value += suffix;
        }
    });
}

/// Moves what refers to the copies by plain names to the end, once for each copy.
fn copy_references(
    section: &mut Element,
    copies: &mut Copies,
    budget: &mut Budget,
) -> Result<(), ImportError> {
    let (moved, mut kept): (Vec<Element>, Vec<Element>) = std::mem::take(&mut section.children)
        .into_iter()
        .partition(|e| names_any(e, &|kind, name| copies.hold(kind, name)));
    let tree = ["joint", "body", "geom", "site", "tendon"];
    let outside = |e: &&Element| names_any(e, &|kind, name| tree.contains(&kind) && !copies.hold(kind, name));
    if ["equality", "tendon"].contains(&section.tag.as_str())
        && let Some(e) = moved.iter().find(outside)
    {
        return Err(e.error("names something inside `<replicate>` and something outside; use full names"));
    }
    let longest = copies.suffixes.last().map_or(0, String::len);
    for e in &moved {
        budget.spend(e, copies.suffixes.len(), longest).map_err(|why| e.error(why))?;
    }
    for suffix in &copies.suffixes {
        for e in &moved {
            let mut copy = e.clone();
            for_each(&mut copy, &mut |e| {
                let renamed: Vec<bool> = (e.attributes.iter())
                    .map(|a| match kind_named(e, &a.name) {
                        Some(kind) => copies.hold(kind, &a.value),
                        None => a.name == "name" && !a.value.is_empty(),
                    })
                    .collect();
                for (a, _) in e.attributes.iter_mut().zip(renamed).filter(|(_, renamed)| *renamed) {
                    a.value += suffix;
                }
            });
            kept.push(copy);
        }
    }
    // What names a copied tendon or actuator is copied in turn.
    moved.iter().for_each(|e| collect_name(&section.tag, e, &mut copies.names));
    section.children = kept;
    Ok(())
}

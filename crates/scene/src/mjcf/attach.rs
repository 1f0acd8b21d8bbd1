//! `<attach>`: a body, a frame or the whole world of another file, put in place before anything else is read.
//!
//! What is attached keeps the settings of its own `<compiler>` and its own default classes. Its names, and
//! what refers to them, get the prefix. Assets, tendons, pairs, equalities, actuators, sensors and keyframes
//! come along and stand after those of the file that attaches; of a part, those that name something left
//! behind are dropped, as in MuJoCo. Options, sizes and looks of the whole model stay behind. A keyframe
//! holds the coordinates of the attached joints; all others stand as described.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use pullback_articulated::{Joint, Keyframe, Model};

use super::ImportOptions;
use super::budget::Budget;
use super::include::TreeReader;
use super::references::{for_each, kind_named, kind_of, names_any};
use super::replicate;
use super::sections::read_expanded;
use super::settings::{Compiler, Compilers};
use crate::ImportError;
use crate::xml::{Attribute, Element};

/// Most files inside one another.
const MAX_NESTING: usize = 16;
/// Sections that come along, each after those that it names.
const SECTIONS: [&str; 10] = [
    "default",
    "asset",
    "tendon",
    "contact",
    "equality",
    "actuator",
    "sensor",
    "custom",
    "deformable",
    "extension",
];
/// Kinds of things that a part may leave behind.
const LEFT: [&str; 8] = ["body", "joint", "geom", "site", "camera", "light", "tendon", "actuator"];

/// A keyframe of an attached file: values by the final names of joints, actuators and mocap bodies.
#[derive(Clone, Debug)]
pub(super) struct AttachedKey {
    name: String,
    joints: Vec<(String, Vec<f64>, Vec<f64>)>,
    activations: Vec<(String, f64)>,
    controls: Vec<(String, f64)>,
    mocap: Vec<(String, Vec<f64>)>,
}

impl AttachedKey {
    /// The keyframe of a model by names that begin with `prefix`.
    fn new(key: &Keyframe, model: &Model, prefix: &str) -> Self {
        let named = |name: &str| format!("{prefix}{name}");
        let joints = model.joints.iter().map(|j| {
            let (q, v) = (j.q..j.q + j.kind.coordinates(), j.v..j.v + j.kind.velocities());
            (named(&j.name), key.q[q].to_vec(), key.v[v].to_vec())
        });
        let mocaps = model.bodies.iter().filter(|b| b.mocap).zip(key.mocap.chunks_exact(7));
        let active = model.actuators.iter().filter(|a| a.has_activation()).zip(&key.activation);
        AttachedKey {
            name: named(&key.name),
            joints: joints.collect(),
            activations: active.map(|(a, x)| (named(&a.name), *x)).collect(),
            controls: model.actuators.iter().zip(&key.control).map(|(a, u)| (named(&a.name), *u)).collect(),
            mocap: mocaps.map(|(b, pose)| (named(&b.name), pose.to_vec())).collect(),
        }
    }

    /// The keyframe of the whole model.
    pub fn place(&self, model: &Model) -> Keyframe {
        let mut key = Keyframe {
            name: self.name.clone(),
            q: model.reference_configuration(),
            v: vec![0.0; model.nv],
            activation: vec![0.0; model.activations()],
            control: vec![0.0; model.actuators.len()],
            mocap: model.mocap_poses(),
        };
        let joints: HashMap<&str, &Joint> = model.joints.iter().map(|j| (j.name.as_str(), j)).collect();
        for (name, q, v) in &self.joints {
            if let Some(j) = joints.get(name.as_str()) {
                key.q[j.q..j.q + q.len()].copy_from_slice(q);
                key.v[j.v..j.v + v.len()].copy_from_slice(v);
            }
        }
        let by_name = |values: &[(String, f64)]| -> HashMap<String, f64> { values.iter().cloned().collect() };
        let (activations, controls) = (by_name(&self.activations), by_name(&self.controls));
        let active = model.actuators.iter().filter(|a| a.has_activation());
        for (actuator, activation) in active.zip(&mut key.activation) {
            *activation = activations.get(&actuator.name).copied().unwrap_or(*activation);
        }
        for (actuator, control) in model.actuators.iter().zip(&mut key.control) {
            *control = controls.get(&actuator.name).copied().unwrap_or(*control);
        }
        let mocap: HashMap<&str, &[f64]> =
            self.mocap.iter().map(|(name, p)| (name.as_str(), p.as_slice())).collect();
        for (body, own) in model.bodies.iter().filter(|b| b.mocap).zip(key.mocap.chunks_exact_mut(7)) {
            if let Some(pose) = mocap.get(body.name.as_str()) {
                own.copy_from_slice(pose);
            }
        }
        key
    }
}

/// What attached files bring along.
#[derive(Default)]
struct Brought {
    sections: Vec<Element>,
    keys: Vec<AttachedKey>,
}

/// Puts attached files in place.
pub(super) struct Attacher<'a> {
    pub compilers: &'a mut Compilers,
    pub options: &'a ImportOptions,
    /// What was copied so far.
    pub budget: &'a mut Budget,
}

impl Attacher<'_> {
    /// Replaces every `<attach>` of a file by what it attaches; the keyframes that come along.
    pub fn expand(&mut self, root: &mut Element, nesting: usize) -> Result<Vec<AttachedKey>, ImportError> {
        let mut models = HashMap::new();
        for section in root.children.iter_mut().filter(|s| s.tag == "asset") {
            for e in section.children.iter().filter(|e| e.tag == "model") {
                let folder = self.compilers.of(e).folder.clone().unwrap_or_default();
                let path = folder.join(e.required("file")?);
                let name = match e.text("name") {
                    Some(name) => name.to_string(),
                    None => self.read_tree(&path, e)?.text("model").unwrap_or_default().to_string(),
                };
                models.insert(name, path);
            }
            section.children.retain(|e| e.tag != "model");
        }
        let mut brought = Brought::default();
        for section in root.children.iter_mut().filter(|s| s.tag == "worldbody") {
            self.expand_children(section, &models, nesting, &mut brought)?;
        }
        root.children.append(&mut brought.sections);
        Ok(brought.keys)
    }

    /// Recursion is bounded by the depth of the tree.
    fn expand_children(
        &mut self,
        e: &mut Element,
        models: &HashMap<String, PathBuf>,
        nesting: usize,
        brought: &mut Brought,
    ) -> Result<(), ImportError> {
        for child in &mut e.children {
            if child.tag == "attach" {
                *child = self.attach(child, models, nesting, brought)?;
            } else {
                self.expand_children(child, models, nesting, brought)?;
            }
        }
        Ok(())
    }

    /// The frame that takes the place of one `<attach>`.
    fn attach(
        &mut self,
        e: &Element,
        models: &HashMap<String, PathBuf>,
        nesting: usize,
        brought: &mut Brought,
    ) -> Result<Element, ImportError> {
        let Some(model) = e.text("model") else {
            return Err(e.error(
                "attaching a part of the file itself is not supported; move the part to a file of its own",
            ));
        };
        let prefix = e.required("prefix")?.to_string();
        let path = models
            .get(model)
            .ok_or_else(|| e.error_in("model", format!("no `<model>` of `<asset>` is called `{model}`")))?;
        let (part, tag) = match (e.text("body"), e.text("frame")) {
            (None, None) => (None, ""),
            (Some(body), None) => (Some(body), "body"),
            (None, Some(frame)) => (Some(frame), "frame"),
            _ => return Err(e.error("has both `body` and `frame`; keep one")),
        };
        e.finish(self.options, &[])?;
        if nesting >= MAX_NESTING {
            return Err(e.error(format!(
                "more than {MAX_NESTING} files inside one another; do they attach each other?"
            )));
        }
        let mut file = self.read_tree(path, e)?;
        self.budget.spend(&file, 1, prefix.len()).map_err(|why| e.error(why))?;
        let compiler = Compiler::of_file(&file, path.parent().map(Path::to_path_buf), self.options)?;
        if self.compilers.of(e).merges && file.children.iter().any(|s| s.tag == "option") {
            return Err(e.error(
                "options of files are not merged; copy those of the attached file and drop `conflict`",
            ));
        }
        let scope = self.compilers.add(compiler);
        for_each(&mut file, &mut |e| e.scope = scope);

        // What the file attaches itself, then its copies, then its keyframes, for which it must be complete.
        let keys = self.expand(&mut file, nesting + 1)?;
        replicate::expand(&mut file, self.compilers, self.budget)?;
        refuse_world_equalities(&file)?;
        let own_keys = file.children.iter().any(|s| s.tag == "keyframe" && !s.children.is_empty());
        if own_keys || !keys.is_empty() {
            name_nameless(&mut file);
            let complete = read_expanded(&file, self.compilers, keys, self.options)?;
            brought
                .keys
                .extend(complete.keyframes.iter().map(|key| AttachedKey::new(key, &complete, &prefix)));
        }

        // The part, the class it stands in, and what comes along.
        let (children, class) = take_part(&file, part.map(|name| (tag, name)), e)?;
        let mut sections: Vec<Element> = Vec::new();
        for tag in SECTIONS {
            sections.extend(file.children.iter().filter(|s| s.tag == tag).cloned());
        }
        if part.is_some() {
            drop_left(&children, &mut sections);
        }
        let renamer = Renamer { prefix: &prefix, scope, main: format!("{prefix}main#{scope}") };
        if !sections.iter().any(|s| s.tag == "default" && s.scope == scope) {
            sections.insert(0, Element { tag: "default".into(), ..bare(&file) });
        }
        sections.iter_mut().for_each(|section| renamer.rename(section));
        for outermost in sections.iter_mut().filter(|s| s.tag == "default" && s.scope == scope) {
            outermost.attributes = vec![attribute("class", renamer.main.clone(), e)];
        }
        brought.sections.append(&mut sections);
        let mut frame = Element { tag: "frame".into(), children, ..bare(&file) };
        frame.attributes = vec![attribute("childclass", class.unwrap_or("main".into()), e)];
        renamer.rename(&mut frame);
        Ok(frame)
    }

    fn read_tree(&self, path: &Path, e: &Element) -> Result<Element, ImportError> {
        let folder = path.parent().map(Path::to_path_buf);
        let root = TreeReader::new(folder, self.options).read_file(path).map_err(|mut why| {
            if why.place.line == 0 {
                why = e.error(format!("`{}` {}", why.place.file, why.message));
            }
            why
        })?;
        if root.tag != "mujoco" {
            return Err(e.error(format!(
                "`{}` is not an MJCF file; its outermost element is <{}>",
                path.display(),
                root.tag
            )));
        }
        Ok(root)
    }
}

/// An element with nothing in it, in the place and scope of another.
fn bare(e: &Element) -> Element {
    Element { tag: String::new(), attributes: Vec::new(), children: Vec::new(), ..e.clone() }
}

fn attribute(name: &str, value: String, e: &Element) -> Attribute {
    Attribute { name: name.into(), value, place: e.place.clone(), used: Cell::new(false) }
}

/// MuJoCo drops equalities that name the world of an attached file.
fn refuse_world_equalities(file: &Element) -> Result<(), ImportError> {
    let equalities = file.children.iter().filter(|s| s.tag == "equality").flat_map(|s| &s.children);
    let world = |e: &&Element| names_any(e, &|kind, name| kind == "body" && name == "world");
    match equalities.into_iter().find(world) {
        Some(e) => Err(e.error("names the world of an attached file; leave the second body out")),
        None => Ok(()),
    }
}

/// Names joints, mocap bodies and actuators that have none, so that keyframes find them.
fn name_nameless(file: &mut Element) {
    let mut taken: HashSet<String> = HashSet::new();
    for_each(file, &mut |e| {
        taken.extend(e.attributes.iter().filter(|a| a.name == "name").map(|a| a.value.clone()));
    });
    let mut name = |e: &mut Element, kind: &str| {
        if !e.has("name") {
            let free = (0..).map(|i| format!("{kind}{i}")).find(|n| !taken.contains(n)).unwrap_or_default();
            taken.insert(free.clone());
            let own = attribute("name", free, e);
            e.attributes.push(own);
        }
    };
    for section in &mut file.children {
        match section.tag.as_str() {
            "actuator" => section.children.iter_mut().for_each(|e| name(e, "actuator")),
            "worldbody" => for_each(section, &mut |e| match e.tag.as_str() {
                "joint" | "freejoint" => name(e, "joint"),
                "body" if e.has("mocap") => name(e, "body"),
                _ => {}
            }),
            _ => {}
        }
    }
}

/// The children of the world or the part of it with that tag and name, and the class that it inherits.
fn take_part(
    file: &Element,
    part: Option<(&str, &str)>,
    e: &Element,
) -> Result<(Vec<Element>, Option<String>), ImportError> {
    let worlds = file.children.iter().filter(|s| s.tag == "worldbody");
    let class = |e: &Element| e.attributes.iter().find(|a| a.name == "childclass").map(|a| a.value.clone());
    let Some((tag, name)) = part else {
        let inherited = worlds.clone().find_map(class);
        return Ok((worlds.flat_map(|w| w.children.clone()).collect(), inherited));
    };
    let mut stack: Vec<(&Element, Option<String>)> = worlds.map(|w| (w, None)).collect();
    while let Some((outer, inherited)) = stack.pop() {
        let inherited = class(outer).or(inherited);
        for child in &outer.children {
            if child.tag == tag && child.attributes.iter().any(|a| a.name == "name" && a.value == name) {
                return Ok((vec![child.clone()], inherited));
            }
            stack.push((child, inherited.clone()));
        }
    }
    Err(e.error_in(tag, format!("no {tag} of the attached file is called `{name}`")))
}

/// Drops what names something that the part leaves behind.
fn drop_left(part: &[Element], sections: &mut [Element]) {
    let mut kept: HashSet<(String, String)> = HashSet::new();
    let named = |section: &str, e: &Element| {
        let name = e.attributes.iter().find(|a| a.name == "name")?;
        Some((kind_of(section, e).to_string(), name.value.clone()))
    };
    let mut stack: Vec<&Element> = part.iter().collect();
    while let Some(e) = stack.pop() {
        kept.extend(named("worldbody", e));
        stack.extend(&e.children);
    }
    for section in sections {
        if !["tendon", "contact", "equality", "actuator", "sensor", "custom"].contains(&section.tag.as_str())
        {
            continue;
        }
        let left = |kind: &str, name: &str| {
            LEFT.contains(&kind) && name != "world" && !kept.contains(&(kind.to_string(), name.to_string()))
        };
        section.children.retain(|e| !names_any(e, &left));
        kept.extend(section.children.iter().filter_map(|e| named(&section.tag, e)));
    }
}

/// Gives names and references of an attached file their prefix.
struct Renamer<'a> {
    prefix: &'a str,
    scope: usize,
    /// Name of the outermost class of the file.
    main: String,
}

impl Renamer<'_> {
    fn rename(&self, e: &mut Element) {
        for_each(e, &mut |e| {
            let renamed: Vec<Option<String>> = e.attributes.iter().map(|a| self.renamed(e, a)).collect();
            for (attribute, value) in e.attributes.iter_mut().zip(renamed) {
                attribute.value = value.unwrap_or(std::mem::take(&mut attribute.value));
            }
        });
    }

    fn renamed(&self, e: &Element, a: &Attribute) -> Option<String> {
        let kind = kind_named(e, &a.name);
        let names = a.name == "name" || kind.is_some();
        match (kind, a.value.as_str()) {
            _ if !names => None,
            (_, "") | (Some("body"), "world") => None,
            (Some("class"), "main") if e.scope == self.scope => Some(self.main.clone()),
            (_, name) => Some(format!("{}{name}", self.prefix)),
        }
    }
}

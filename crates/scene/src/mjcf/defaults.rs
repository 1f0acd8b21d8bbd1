//! Default classes: a tree of complete specs, each begun as a copy of its parent's.
//!
//! An element starts as a copy of the specs of its class (its own `class`, else the nearest `childclass`,
//! else `main`) and overwrites what it says. Numbers overwrite from the front, so `friction="2"` keeps the
//! default's other two.

use std::collections::{HashMap, HashSet};

use super::ImportOptions;
use super::actuator::{ACTUATORS, ActuatorSpec};
use super::contact::PairSpec;
use super::equality::EqualitySpec;
use super::geom::{GeomSpec, SiteSpec};
use super::joint::JointSpec;
use super::mesh::MeshSpec;
use super::settings::Compilers;
use super::tendon::TendonSpec;
use super::visual::{CameraSpec, LightSpec, MaterialSpec, TextureSpec};
use crate::ImportError;
use crate::xml::Element;

/// Most default classes of a model.
const MAX_CLASSES: usize = 4096;

/// The specs of one class.
#[derive(Clone, Debug, Default)]
pub(super) struct Class {
    pub joint: JointSpec,
    pub geom: GeomSpec,
    pub site: SiteSpec,
    pub mesh: MeshSpec,
    pub actuator: ActuatorSpec,
    pub tendon: TendonSpec,
    pub pair: PairSpec,
    pub equality: EqualitySpec,
    pub camera: CameraSpec,
    pub light: LightSpec,
    pub material: MaterialSpec,
    pub texture: TextureSpec,
}

/// All classes; the first is `main`. An attached file has an outermost class of its own.
#[derive(Clone, Debug)]
pub(super) struct Defaults {
    classes: Vec<Class>,
    index: HashMap<String, usize>,
    /// The outermost class of each attached file, by scope.
    attached: HashMap<usize, usize>,
}

impl Default for Defaults {
    fn default() -> Self {
        Defaults {
            classes: vec![Class::default()],
            index: HashMap::from([("main".into(), 0)]),
            attached: HashMap::new(),
        }
    }
}

impl Defaults {
    /// Reads one top-level `<default>` of the file of scope `main` or of one attached to it.
    pub fn apply(
        &mut self,
        e: &Element,
        main: usize,
        compilers: &Compilers,
        options: &ImportOptions,
    ) -> Result<(), ImportError> {
        let name = e.text("class").unwrap_or("main");
        if e.scope != main {
            let class = match self.attached.get(&e.scope) {
                Some(class) => *class,
                None => self.add(name, Class::default(), e)?,
            };
            self.attached.insert(e.scope, class);
            return self.fill(class, e, compilers, options);
        }
        if name != "main" {
            return Err(e.error_in("class", "the outermost class is `main`; nest this class inside it"));
        }
        self.fill(0, e, compilers, options)
    }

    fn add(&mut self, name: &str, class: Class, e: &Element) -> Result<usize, ImportError> {
        if self.classes.len() >= MAX_CLASSES {
            return Err(e.error(format!("more than {MAX_CLASSES} default classes; merge some")));
        }
        let index = self.classes.len();
        if self.index.insert(name.to_string(), index).is_some() {
            return Err(e.error_in("class", format!("two classes are called `{name}`; rename one")));
        }
        self.classes.push(class);
        Ok(index)
    }

    /// Recursion is bounded by the depth of the tree.
    fn fill(
        &mut self,
        class: usize,
        e: &Element,
        compilers: &Compilers,
        options: &ImportOptions,
    ) -> Result<(), ImportError> {
        let compiler = compilers.of(e);
        e.finish(options, &[])?;
        // A class is complete before those inside it are copied from it, wherever they stand.
        let mut seen = HashSet::new();
        for child in e.children.iter().filter(|c| c.tag != "default") {
            if !seen.insert(child.tag.as_str()) {
                return Err(child.error("a class has one of each kind; merge the two"));
            }
            let specs = &mut self.classes[class];
            match child.tag.as_str() {
                "joint" => specs.joint.apply(child, options)?,
                "geom" => specs.geom.apply(child, compiler, options)?,
                "site" => specs.site.apply(child, compiler, options)?,
                "mesh" => {
                    specs.mesh.apply(child)?;
                    child.finish(options, &["maxhullvert"])?;
                }
                tag if ACTUATORS.contains(&tag) => specs.actuator.apply(child, options)?,
                "tendon" => specs.tendon.apply(child, options)?,
                "pair" => {
                    specs.pair.apply(child, options)?;
                    child.finish(options, &[])?;
                }
                "equality" => {
                    specs.equality.apply(child)?;
                    child.finish(options, &[])?;
                }
                "camera" => specs.camera.apply(child, compiler)?,
                "light" => specs.light.apply(child)?,
                "material" => specs.material.apply(child)?,
                "texture" => specs.texture.apply(child)?,
                _ => child.refuse(options)?,
            }
        }
        for child in e.children.iter().filter(|c| c.tag == "default") {
            let name = child.required("class")?;
            let outer = &self.classes[class];
            let copy = Class { actuator: outer.actuator.nested(), ..outer.clone() };
            let index = self.add(name, copy, child)?;
            self.fill(index, child, compilers, options)?;
        }
        Ok(())
    }

    /// The class an attribute of the element names; `inherited` if it has none.
    pub fn class_named(&self, e: &Element, attribute: &str, inherited: usize) -> Result<usize, ImportError> {
        let Some(name) = e.text(attribute) else { return Ok(inherited) };
        let found = self.index.get(name).copied();
        found.ok_or_else(|| e.error_in(attribute, format!("no default class is called `{name}`")))
    }

    /// The specs an element begins with; in an attached file, `main` is the outermost class of that file.
    pub fn of(&self, e: &Element, inherited: usize) -> Result<&Class, ImportError> {
        let own = self.attached.get(&e.scope).copied().filter(|_| inherited == 0);
        Ok(&self.classes[self.class_named(e, "class", own.unwrap_or(inherited))?])
    }
}

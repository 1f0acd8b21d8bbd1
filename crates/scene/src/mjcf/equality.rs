//! `<equality>`: frames, points, joints and tendons that softly hold together.
//!
//! Anchors and orientations are completed in the reference configuration, where the residual of a `connect`
//! is zero, and that of a `weld` too unless `relpose` says otherwise. What is inactive is checked and left
//! out. Constraints of flexes are refused.

use std::collections::HashMap;

use pullback_articulated::{Equality, EqualityKind, Model, Softness};
use pullback_math::{Quat, Vec3};

use super::ImportOptions;
use super::defaults::Defaults;
use super::joint::read_softness;
use super::names::Names;
use super::pose::Pose;
use crate::ImportError;
use crate::xml::Element;

/// What all kinds share; also a default.
#[derive(Clone, Debug)]
pub(super) struct EqualitySpec {
    active: bool,
    softness: Softness,
}

impl Default for EqualitySpec {
    fn default() -> Self {
        EqualitySpec { active: true, softness: Softness::default() }
    }
}

impl EqualitySpec {
    /// Overwrites what the element says.
    pub fn apply(&mut self, e: &Element) -> Result<(), ImportError> {
        self.active = e.boolean("active")?.unwrap_or(self.active);
        read_softness(e, "solref", "solimp", &mut self.softness)
    }
}

/// What equalities find by name, and the poses of all bodies in the reference configuration.
pub(super) struct EqualityReader<'a> {
    pub defaults: &'a Defaults,
    pub options: &'a ImportOptions,
    bodies: HashMap<&'a str, usize>,
    joints: HashMap<&'a str, usize>,
    sites: HashMap<&'a str, usize>,
    tendons: HashMap<&'a str, usize>,
    model: &'a Model,
    poses: Vec<Pose>,
}

impl<'a> EqualityReader<'a> {
    pub fn new(model: &'a Model, defaults: &'a Defaults, options: &'a ImportOptions) -> Self {
        let poses = model.reference_poses().into_iter();
        EqualityReader {
            defaults,
            options,
            bodies: model.bodies.iter().enumerate().map(|(i, b)| (b.name.as_str(), i)).collect(),
            joints: model.joints.iter().enumerate().map(|(i, j)| (j.name.as_str(), i)).collect(),
            sites: model.sites.iter().enumerate().map(|(i, s)| (s.name.as_str(), i)).collect(),
            tendons: model.tendons.iter().enumerate().map(|(i, t)| (t.name.as_str(), i)).collect(),
            model,
            poses: poses.map(|(position, orientation)| Pose { position, orientation }).collect(),
        }
    }

    /// The active constraints of one `<equality>`.
    pub fn read(
        &self,
        section: &Element,
        names: &mut Names,
        into: &mut Vec<Equality>,
    ) -> Result<(), ImportError> {
        section.finish(self.options, &[])?;
        for e in &section.children {
            let kind = match e.tag.as_str() {
                "connect" => self.connect(e)?,
                "weld" => self.weld(e)?,
                "joint" => self.joint(e)?,
                "tendon" => self.tendon(e)?,
                _ => {
                    e.refuse(self.options)?;
                    continue;
                }
            };
            let mut spec = self.defaults.of(e, 0)?.equality.clone();
            spec.apply(e)?;
            names.register("equality", e)?;
            e.finish(self.options, &[])?;
            e.no_children(self.options)?;
            if spec.active {
                let name = e.text("name").unwrap_or_default().to_string();
                into.push(Equality { name, kind, softness: spec.softness });
            }
        }
        Ok(())
    }

    fn connect(&self, e: &Element) -> Result<EqualityKind, ImportError> {
        if let Some(sites) = self.sites_of(e)? {
            let [(first, one), (second, two)] = sites;
            let anchors = [one.position, two.position];
            return Ok(EqualityKind::Connect { bodies: [first, second], anchors });
        }
        let bodies = self.bodies_of(e)?;
        let Some(anchor) = e.vec3("anchor")? else {
            return Err(e.error("needs `body1` and `anchor`, or `site1` and `site2`"));
        };
        let [first, second] = bodies.map(|b| self.poses[b]);
        let other = second.inverse().point(first.point(anchor));
        Ok(EqualityKind::Connect { bodies, anchors: [anchor, other] })
    }

    fn weld(&self, e: &Element) -> Result<EqualityKind, ImportError> {
        let torquescale = e.number("torquescale")?.unwrap_or(1.0);
        if let Some(sites) = self.sites_of(e)? {
            let [(first, one), (second, two)] = sites;
            return Ok(EqualityKind::Weld {
                bodies: [first, second],
                anchors: [one.position, two.position],
                orientations: [one.orientation, two.orientation],
                torquescale,
            });
        }
        let bodies = self.bodies_of(e)?;
        let anchor = e.vec3("anchor")?.unwrap_or_else(Vec3::zero);
        let [x, y, z, qw, qx, qy, qz] = e.array("relpose")?.unwrap_or_default();
        let [first, second] = bodies.map(|b| self.poses[b]);
        let (on_first, relative) = if [qw, qx, qy, qz] == [0.0; 4] {
            let between = first.inverse().compose(second);
            (between.point(anchor), between.orientation)
        } else {
            (Vec3::new(x, y, z), Quat::new(qw, qx, qy, qz).normalize())
        };
        Ok(EqualityKind::Weld {
            bodies,
            anchors: [on_first, anchor],
            orientations: [relative, Quat::identity()],
            torquescale,
        })
    }

    fn joint(&self, e: &Element) -> Result<EqualityKind, ImportError> {
        let mut polycoef = [0.0, 1.0, 0.0, 0.0, 0.0];
        e.overlay("polycoef", 1, &mut polycoef)?;
        e.required("joint1")?;
        let find = |attribute: &str| {
            let found = find(e, attribute, &self.joints, "joint")?;
            if found.is_some_and(|j| self.model.joints[j].kind.coordinates() != 1) {
                return Err(e.error_in(attribute, "must be a hinge or slide"));
            }
            Ok(found)
        };
        let other = find("joint2")?;
        match find("joint1")? {
            Some(joint) if other == Some(joint) => Err(e.error("ties a joint to itself; name another")),
            Some(joint) => Ok(EqualityKind::Joint { joint, other, polycoef }),
            None => Err(e.error("needs `joint1`")),
        }
    }

    fn tendon(&self, e: &Element) -> Result<EqualityKind, ImportError> {
        let mut polycoef = [0.0, 1.0, 0.0, 0.0, 0.0];
        e.overlay("polycoef", 1, &mut polycoef)?;
        e.required("tendon1")?;
        let find = |attribute: &str| find(e, attribute, &self.tendons, "tendon");
        let other = find("tendon2")?;
        match find("tendon1")? {
            Some(tendon) if other == Some(tendon) => Err(e.error("ties a tendon to itself; name another")),
            Some(tendon) => Ok(EqualityKind::Tendon { tendon, other, polycoef }),
            None => Err(e.error("needs `tendon1`")),
        }
    }

    /// The bodies and the frames in them of two sites, if the element names sites.
    fn sites_of(&self, e: &Element) -> Result<Option<[(usize, Pose); 2]>, ImportError> {
        let site = |attribute: &str| find(e, attribute, &self.sites, "site");
        let frame = |s: usize| {
            let site = &self.model.sites[s];
            (site.body, Pose { position: site.position, orientation: site.orientation })
        };
        match (site("site1")?, site("site2")?) {
            (None, None) => Ok(None),
            (Some(a), Some(b)) if a == b => Err(e.error("ties a site to itself; name another")),
            (Some(a), Some(b)) => Ok(Some([frame(a), frame(b)])),
            _ => Err(e.error("needs both `site1` and `site2`")),
        }
    }

    /// The two bodies; the second is the world unless it is named.
    fn bodies_of(&self, e: &Element) -> Result<[usize; 2], ImportError> {
        let body = |attribute: &str| find(e, attribute, &self.bodies, "body");
        let Some(first) = body("body1")? else {
            return Err(e.error("needs `body1`, or `site1` and `site2`"));
        };
        let second = body("body2")?.unwrap_or(0);
        if first == second {
            return Err(e.error("ties a body to itself; name another"));
        }
        Ok([first, second])
    }
}

/// What an attribute names, if it is there and not empty.
fn find(
    e: &Element,
    attribute: &str,
    names: &HashMap<&str, usize>,
    kind: &str,
) -> Result<Option<usize>, ImportError> {
    let Some(name) = e.text(attribute).filter(|name| !name.is_empty()) else { return Ok(None) };
    let found = names.get(name).copied();
    found.map(Some).ok_or_else(|| e.error_in(attribute, format!("no {kind} is called `{name}`")))
}

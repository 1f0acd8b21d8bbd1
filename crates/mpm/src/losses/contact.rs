//! How far colliders are from the particles: the term that brings a tool to the matter (PlasticineLab, weight
//! 1).
//!
//! For each tool, a group of geoms, d(p) = max(0, smallest signed distance of its geoms to particle p). Hard:
//! D = min d(p). Soft: D = Σ w d/Σ w with w = 1/(1 + 10⁴ d²). The loss is Σ D² over tools. Distances come
//! from the narrow phase, with particles as points, a pack at a time, and pull back to particles, to sizes
//! and places of geoms, and through the robot's kinematics to joint coordinates.

use pullback_articulated::contact::MotionBars;
use pullback_articulated::geom_lanes::{GeomLanes, GeomLanesBar, PointContacts};
use pullback_articulated::{ArticulatedWorkspace, Model};
use pullback_collision::{Contact, MAX_CONTACTS};
use pullback_core::{ConfigError, VectorField};
use pullback_math::{Force, Mask, Real, Scalar, Vec3, select};

use crate::Mpm;

/// Sharpness of the soft distance, 1/m².
const SHARPNESS: f64 = 1e4;

/// Distance of a tool to many particles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactDistance {
    /// That of the closest particle.
    Hard,
    /// Mean with weights 1/(1 + 10⁴ d²).
    Soft,
}

/// Groups of geoms; each should come near the particles.
#[derive(Clone, Debug, PartialEq)]
pub struct Tools {
    groups: Vec<Vec<usize>>,
    kind: ContactDistance,
}

impl Tools {
    /// Groups of geoms by index.
    pub fn new(mpm: &Mpm, groups: Vec<Vec<usize>>, kind: ContactDistance) -> Result<Self, ConfigError> {
        let geoms = mpm.robot().model().geoms.len();
        if let Some(g) = groups.iter().flatten().find(|g| **g >= geoms) {
            return Err(ConfigError::new(format!("a tool has geom {g}, the model only {geoms}")));
        }
        // Geoms of a model without contact have no parameters.
        if !groups.is_empty() && mpm.robot().index().geoms.len() < geoms {
            return Err(ConfigError::new("tools need a model with contact: set its option `contact`"));
        }
        if groups.iter().any(|g| g.is_empty()) {
            return Err(ConfigError::new("a tool has no geoms: name at least one"));
        }
        Ok(Tools { groups, kind })
    }

    /// Groups of geoms by name.
    pub fn named(mpm: &Mpm, groups: &[&[&str]], kind: ContactDistance) -> Result<Self, ConfigError> {
        let find = |name: &&str| {
            let geoms = &mpm.robot().model().geoms;
            let at = geoms.iter().position(|g| g.name == *name);
            at.ok_or_else(|| {
                ConfigError::new(format!("a tool has geom `{name}`, the model has none of that name"))
            })
        };
        let groups = groups.iter().map(|names| names.iter().map(find).collect());
        Tools::new(mpm, groups.collect::<Result<_, _>>()?, kind)
    }

    /// Every body that joints can move, with those of its geoms that deflect.
    pub fn movable(mpm: &Mpm, kind: ContactDistance) -> Self {
        let model = mpm.robot().model();
        let of = |body: usize| mpm.geoms.iter().copied().filter(|g| model.geoms[*g].body == body).collect();
        let groups = (1..model.bodies.len()).filter(|b| moves(model, *b)).map(of);
        Tools { groups: groups.filter(|g: &Vec<usize>| !g.is_empty()).collect(), kind }
    }

    /// The groups.
    pub fn groups(&self) -> &[Vec<usize>] {
        &self.groups
    }
}

/// Whether a joint moves a body.
fn moves(model: &Model, mut body: usize) -> bool {
    while body != 0 {
        if model.joints.iter().any(|j| j.body == body) {
            return true;
        }
        body = model.bodies[body].parent;
    }
    false
}

/// Scratch of [`contact_distance`].
#[derive(Clone, Debug)]
pub struct ContactScratch<T: Scalar> {
    robot: ArticulatedWorkspace<T>,
    state: Vec<T>,
    state_bar: Vec<T>,
    velocity_bars: Vec<Force<T>>,
    wrenches: Vec<Force<T>>,
    /// Distance of each particle to the current tool, and the nearest geom of the tool.
    near: Vec<(T, u32)>,
}

impl<T: Scalar> ContactScratch<T> {
    /// Scratch for the tools of a system.
    pub fn new(mpm: &Mpm) -> Self {
        let (c, bodies) = (mpm.robot().coordinates(), mpm.robot().model().bodies.len());
        ContactScratch {
            robot: mpm.robot().workspace(),
            state: vec![T::zero(); c.nq + c.nv],
            state_bar: vec![T::zero(); c.nq + c.nv],
            velocity_bars: vec![Force::zero(); bodies],
            wrenches: vec![Force::zero(); bodies],
            near: vec![(T::zero(), 0); mpm.particles().len()],
        }
    }

    /// Poses at joint coordinates q, at rest.
    fn place(&mut self, mpm: &Mpm, params: &[T], q: &[T]) {
        self.state[..q.len()].copy_from_slice(q);
        mpm.robot().motion(&mut self.robot, params, &self.state);
    }

    /// d(p) of all particles to a group of geoms.
    fn measure(&mut self, mpm: &Mpm, params: &[T], group: &[usize], x: &[[T; 3]]) {
        let scene = mpm.robot().geoms(&self.robot.kinematics, params);
        for (i, g) in group.iter().enumerate() {
            let geom = scene.lanes(&self.robot.sweep, *g, &scene.placed(*g));
            for first in (0..x.len()).step_by(T::WIDTH) {
                let gap = gap(scene.model, &geom, pack::<T>(x, first)).max(T::Pack::zero());
                for (lane, near) in self.near[first..].iter_mut().take(T::WIDTH).enumerate() {
                    let d = T::unpack(&gap, lane);
                    if i == 0 || d.lt(near.0).any() {
                        *near = (d, *g as u32);
                    }
                }
            }
        }
    }

    /// D of the current tool, with Σ w where it is soft and the closest particle where it is hard.
    fn distance(&self, kind: ContactDistance) -> Measured<T> {
        match kind {
            ContactDistance::Hard => {
                let mut closest = 0;
                for (p, near) in self.near.iter().enumerate() {
                    if near.0.lt(self.near[closest].0).any() {
                        closest = p;
                    }
                }
                Measured { distance: self.near[closest].0, weight: T::one(), closest }
            }
            ContactDistance::Soft => {
                let (mut sum, mut weight) = (T::zero(), T::zero());
                for (d, _) in &self.near {
                    let w = soft_weight(*d);
                    sum += w * *d;
                    weight += w;
                }
                Measured { distance: sum / weight, weight, closest: 0 }
            }
        }
    }
}

struct Measured<T> {
    distance: T,
    weight: T,
    closest: usize,
}

/// w = 1/(1 + 10⁴ d²)
fn soft_weight<T: Real>(d: T) -> T {
    (T::one() + T::lit(SHARPNESS) * d * d).recip()
}

/// Positions of a pack of particles; the last one fills up.
#[inline(always)]
fn pack<T: Scalar>(x: &[[T; 3]], first: usize) -> Vec3<T::Pack> {
    T::pack_vectors(|i| {
        let [x, y, z] = x[(first + i).min(x.len() - 1)];
        Vec3 { x, y, z }
    })
}

/// Signed distance of points to a geom.
#[inline(always)]
fn gap<P: Real>(model: &Model, geom: &GeomLanes<P>, x: Vec3<P>) -> P {
    smallest(PointContacts::new(geom, model, x).contacts())
}

#[inline(always)]
fn smallest<P: Real>(contacts: &[Contact<P>]) -> P {
    contacts[1..].iter().fold(contacts[0].distance, |d, c| d.min(c.distance))
}

/// The pullback of [`gap`]: returns the cotangent of the points, *adds* to the geom's.
fn gap_vjp<P: Real>(
    model: &Model,
    geom: &GeomLanes<P>,
    x: Vec3<P>,
    gap_bar: P,
    bar: &mut GeomLanesBar<P>,
) -> Vec3<P> {
    let touch = PointContacts::new(geom, model, x);
    let mut bars = [Contact::default(); MAX_CONTACTS];
    let gap = smallest(touch.contacts());
    let mut left = gap_bar;
    for (bar, c) in bars.iter_mut().zip(touch.contacts()) {
        // All of it to the first slot that is the smallest.
        let taken = c.distance.le(gap);
        bar.distance = select(taken, left, P::zero());
        left = select(taken, P::zero(), left);
    }
    touch.vjp(&bars, &mut bar.shape)
}

/// What the distance of contact depends on.
#[derive(Clone, Copy, Debug)]
pub struct ContactInputs<'a, T> {
    /// Parameters of the system.
    pub params: &'a [T],
    /// Joint coordinates of the colliders.
    pub q: &'a [T],
    /// Positions of the particles, m.
    pub x: &'a [[T; 3]],
}

/// Cotangents of [`ContactInputs`].
#[derive(Debug)]
pub struct ContactInputBars<'a, T> {
    /// Cotangent of the parameters.
    pub params: &'a mut [T],
    /// Cotangent of the joint coordinates.
    pub q: &'a mut [T],
    /// Cotangent of the positions.
    pub x: &'a mut [[T; 3]],
}

/// Σ D² over tools, m².
pub fn contact_distance<T: Scalar>(
    mpm: &Mpm,
    tools: &Tools,
    scratch: &mut ContactScratch<T>,
    ContactInputs { params, q, x }: ContactInputs<'_, T>,
) -> T {
    if x.is_empty() {
        return T::zero();
    }
    scratch.place(mpm, params, q);
    let mut sum = T::zero();
    for group in &tools.groups {
        scratch.measure(mpm, params, group, x);
        let d = scratch.distance(tools.kind).distance;
        sum += d * d;
    }
    sum
}

/// The pullback of [`contact_distance`]: *adds* to `bars`.
pub fn contact_distance_vjp<T: Scalar>(
    mpm: &Mpm,
    tools: &Tools,
    scratch: &mut ContactScratch<T>,
    ContactInputs { params, q, x }: ContactInputs<'_, T>,
    out_bar: T,
    bars: ContactInputBars<'_, T>,
) {
    let ContactInputBars { params: params_bar, q: q_bar, x: x_bar } = bars;
    if x.is_empty() {
        return;
    }
    scratch.place(mpm, params, q);
    scratch.velocity_bars.fill(Force::zero());
    scratch.wrenches.fill(Force::zero());
    for group in &tools.groups {
        scratch.measure(mpm, params, group, x);
        let Measured { distance, weight, closest } = scratch.distance(tools.kind);
        // dD² = 2 D dD
        let bar = T::lit(2.0) * distance * out_bar;
        let particles = match tools.kind {
            ContactDistance::Hard => closest..closest + 1,
            ContactDistance::Soft => 0..x.len(),
        };
        let ContactScratch { robot, near, velocity_bars, wrenches, .. } = scratch;
        let scene = mpm.robot().geoms(&robot.kinematics, params);
        for g in group {
            let placed = scene.placed(*g);
            let geom = scene.lanes(&robot.sweep, *g, &placed);
            let mut geom_bar = GeomLanesBar::default();
            for first in particles.clone().step_by(T::WIDTH) {
                let end = particles.end.min(first + T::WIDTH);
                if near[first..end].iter().all(|n| n.1 != *g as u32) {
                    continue;
                }
                let gap_bar = T::pack(|lane| {
                    let p = first + lane;
                    if p >= end || near[p].1 != *g as u32 || !near[p].0.gt(T::zero()).any() {
                        return T::zero();
                    }
                    match tools.kind {
                        ContactDistance::Hard => bar,
                        // dD = (w + (d − D) w′) dd/Σw, w′ = −2 · 10⁴ d w²
                        ContactDistance::Soft => {
                            let (d, w) = (near[p].0, soft_weight(near[p].0));
                            let slope = -(T::lit(2.0 * SHARPNESS) * d * w * w);
                            bar * (w + (d - distance) * slope) / weight
                        }
                    }
                });
                let bars = gap_vjp(scene.model, &geom, pack::<T>(x, first), gap_bar, &mut geom_bar);
                for p in first..end {
                    let bar = T::unpack_vector(&bars, p - first);
                    for axis in 0..3 {
                        x_bar[p][axis] += bar[axis];
                    }
                }
            }
            scene.lanes_vjp(*g, &placed, &geom_bar, velocity_bars, wrenches, params_bar);
        }
    }
    let ContactScratch { robot, state, state_bar, velocity_bars, wrenches, .. } = scratch;
    state_bar.fill(T::zero());
    let bars = MotionBars { velocities: velocity_bars, wrenches, params: params_bar };
    mpm.robot().motion_vjp(robot, params, state, bars, state_bar);
    for (bar, x) in q_bar.iter_mut().zip(state_bar.iter()) {
        *bar += *x;
    }
}

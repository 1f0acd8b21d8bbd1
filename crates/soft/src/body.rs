//! [`SoftBody`]: what soft things a world holds, as a builder writes it down.
//!
//! Particles come in named parts. A part may hold solids, membranes, hinges, air and springs, each with its
//! own material constants per element; every one of them becomes a named parameter.

use pullback_core::ConfigError;
use pullback_math::{Quat, Vec3};

use super::element::NOT_DRIVEN;
use super::mesh::{TetMesh, TriangleMesh};
use super::{hinge, membrane, solid};

/// Which law a solid obeys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SolidLaw {
    /// Stable neo-Hookean (gradSim Eq. 1).
    #[default]
    NeoHookean,
    /// St. Venant-Kirchhoff.
    StVenantKirchhoff,
    /// Fixed corotated.
    Corotated,
}

/// What a solid is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solid {
    /// Its law.
    pub law: SolidLaw,
    /// Mass per volume, kg/m³.
    pub density: f64,
    /// μ of the law, Pa.
    pub mu: f64,
    /// λ of the law, Pa.
    pub lambda: f64,
    /// Damping, Pa s.
    pub damping: f64,
}

impl Default for Solid {
    /// gradSim's deformable scenes.
    fn default() -> Self {
        Solid { law: SolidLaw::NeoHookean, density: 10.0, mu: 1e3, lambda: 1e3, damping: 1.0 }
    }
}

impl Solid {
    /// Constants of the law that give a small strain this Young's modulus (Pa) and Poisson's ratio.
    ///
    /// With Lamé's μ_L and λ_L, the stable neo-Hookean law needs μ = 4/3 μ_L and λ = λ_L + 5/6 μ_L: its
    /// logarithm softens shear and volume at rest (Smith et al. 2018, section 3.4).
    pub fn young(mut self, modulus: f64, poisson: f64) -> Self {
        self.mu = modulus / (2.0 * (1.0 + poisson));
        self.lambda = modulus * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson));
        if self.law == SolidLaw::NeoHookean {
            (self.mu, self.lambda) = (self.mu * 4.0 / 3.0, self.lambda + self.mu * 5.0 / 6.0);
        }
        self
    }
}

/// What a cloth is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cloth {
    /// Mass per area, kg/m².
    pub density: f64,
    /// μ of the law, N/m.
    pub mu: f64,
    /// λ of the law, N/m.
    pub lambda: f64,
    /// Damping in the plane, N s/m.
    pub damping: f64,
    /// Bending stiffness kb, N m; 0 for no hinges at all.
    pub bending: f64,
    /// Bending damping, N m s.
    pub bending_damping: f64,
    /// Lift, kg/m³.
    pub lift: f64,
    /// Drag, kg/m³; no air at all if lift and drag are 0.
    pub drag: f64,
}

impl Default for Cloth {
    fn default() -> Self {
        Cloth {
            density: 1.0,
            mu: 1e3,
            lambda: 1e3,
            damping: 1.0,
            bending: 0.0,
            bending_damping: 0.0,
            lift: 0.0,
            drag: 0.0,
        }
    }
}

impl Cloth {
    /// Constants that give a small strain in the plane this Young's modulus times thickness (N/m) and
    /// Poisson's ratio: with Lamé's constants of plane stress μ = 3/2 μ_L and λ = λ_L + 2/3 μ_L, for the
    /// reason told at [`Solid::young`].
    pub fn young(mut self, modulus: f64, poisson: f64) -> Self {
        let mu = modulus / (2.0 * (1.0 + poisson));
        let lambda = modulus * poisson / (1.0 - poisson * poisson);
        (self.mu, self.lambda) = (1.5 * mu, lambda + mu * 2.0 / 3.0);
        self
    }
}

/// What springs are made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpringMaterial {
    /// Stiffness, N/m.
    pub stiffness: f64,
    /// Damping, N s/m.
    pub damping: f64,
}

/// Where a part stands and how it moves at first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placement {
    /// Where its origin goes, m.
    pub position: Vec3<f64>,
    /// How it is turned about its origin.
    pub orientation: Quat<f64>,
    /// Velocity of every particle, m/s.
    pub velocity: Vec3<f64>,
}

impl Default for Placement {
    fn default() -> Self {
        Placement { position: Vec3::zero(), orientation: Quat::identity(), velocity: Vec3::zero() }
    }
}

impl Placement {
    /// Unturned and at rest.
    pub fn at(x: f64, y: f64, z: f64) -> Self {
        Placement { position: Vec3::new(x, y, z), ..Placement::default() }
    }
    /// Turned.
    pub fn turned(mut self, orientation: Quat<f64>) -> Self {
        self.orientation = orientation;
        self
    }
    /// Moving.
    pub fn moving(mut self, x: f64, y: f64, z: f64) -> Self {
        self.velocity = Vec3::new(x, y, z);
        self
    }
}

/// A named run of particles.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Its first particle.
    pub first: usize,
    /// Number of its particles.
    pub count: usize,
    /// Its surface, for pictures: triangles of particles.
    pub surface: Vec<[usize; 3]>,
    /// How it was placed.
    pub placement: Placement,
}

/// Cotangent of a [`Placement`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PlacementBar {
    /// Of the position, per m.
    pub position: Vec3<f64>,
    /// Of a small turn about the world's axes through the part's origin, per rad.
    pub turn: Vec3<f64>,
    /// Of the velocity, per m/s.
    pub velocity: Vec3<f64>,
}

/// Elements of one kind as they are written down.
#[derive(Clone, Debug)]
pub struct List<const N: usize, const P: usize, const R: usize> {
    /// Particles at the corners.
    pub corners: Vec<[usize; N]>,
    /// Constants of the rest shape.
    pub rest: Vec<[f64; R]>,
    /// Parameters.
    pub values: Vec<[f64; P]>,
    /// The part each element belongs to.
    pub parts: Vec<usize>,
    /// The control that drives each element.
    pub controls: Vec<u32>,
}

impl<const N: usize, const P: usize, const R: usize> Default for List<N, P, R> {
    fn default() -> Self {
        List {
            corners: Vec::new(),
            rest: Vec::new(),
            values: Vec::new(),
            parts: Vec::new(),
            controls: Vec::new(),
        }
    }
}

impl<const N: usize, const P: usize, const R: usize> List<N, P, R> {
    fn push(&mut self, part: usize, corners: [usize; N], rest: [f64; R], values: [f64; P]) {
        self.corners.push(corners);
        self.rest.push(rest);
        self.values.push(values);
        self.parts.push(part);
        self.controls.push(NOT_DRIVEN);
    }
}

/// A particle that hangs on a body by a damped spring of no length.
#[derive(Clone, Debug, PartialEq)]
pub struct Attachment {
    /// The particle.
    pub particle: usize,
    /// The body's name; `world` for a point that does not move.
    pub body: String,
    /// Where on the body, in its frame, m.
    pub point: Vec3<f64>,
    /// Stiffness, N/m.
    pub stiffness: f64,
    /// Damping, N s/m.
    pub damping: f64,
}

/// Compliance of particles against geoms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftContact {
    /// Stiffness ke, N/m.
    pub stiffness: f64,
    /// Damping kd: N s/m² where it is scaled by depth, else N s/m.
    pub damping: f64,
    /// Slope of friction at rest kf, N s/m.
    pub friction_slope: f64,
    /// Radius of the particles, m.
    pub radius: f64,
}

impl Default for SoftContact {
    /// gradSim's deformable scenes; damping is scaled by depth and equals theirs, 1 N s/m, at a depth of 1
    /// cm.
    fn default() -> Self {
        SoftContact { stiffness: 1e4, damping: 100.0, friction_slope: 10.0, radius: 0.05 }
    }
}

/// All soft things of a world.
#[derive(Clone, Debug, Default)]
pub struct SoftBody {
    /// Named runs of particles.
    pub parts: Vec<Part>,
    /// Initial positions, m.
    pub positions: Vec<Vec3<f64>>,
    /// Initial velocities, m/s.
    pub velocities: Vec<Vec3<f64>>,
    /// Masses, kg.
    pub masses: Vec<f64>,
    /// Particles whose velocity never changes.
    pub fixed: Vec<bool>,
    /// Springs.
    pub springs: List<2, 3, 0>,
    /// Solids by law: neo-Hookean, St. Venant-Kirchhoff, corotated.
    pub solids: [List<4, 4, 10>; 3],
    /// Triangles.
    pub membranes: List<3, 4, 5>,
    /// Hinges between triangles.
    pub hinges: List<4, 3, 2>,
    /// Triangles that feel the air.
    pub air: List<3, 2, 0>,
    /// Particles that hang on bodies.
    pub attachments: Vec<Attachment>,
    /// Contact with geoms.
    pub contact: SoftContact,
    /// Number of controls that drive elements.
    pub drives: usize,
}

impl SoftBody {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds particles without anything between them; returns the index of the part.
    pub fn add_particles(
        &mut self,
        name: &str,
        positions: &[Vec3<f64>],
        masses: &[f64],
        placement: Placement,
    ) -> Result<usize, ConfigError> {
        if self.parts.iter().any(|p| p.name == name) {
            return Err(ConfigError::new(format!("two soft parts are called `{name}`; rename one")));
        }
        if positions.len() != masses.len() {
            let (n, m) = (positions.len(), masses.len());
            return Err(ConfigError::new(format!("`{name}` has {n} particles and {m} masses")));
        }
        for (i, (x, m)) in positions.iter().zip(masses).enumerate() {
            if !(x.x.is_finite() && x.y.is_finite() && x.z.is_finite()) {
                return Err(ConfigError::new(format!("particle {i} of `{name}` is not at a finite place")));
            }
            if !(m.is_finite() && *m > 0.0) {
                return Err(ConfigError::new(format!(
                    "particle {i} of `{name}` has mass {m}; every particle needs a positive one (is it part of an element?)"
                )));
            }
        }
        let first = self.positions.len();
        let turn = placement.orientation.normalize();
        self.positions.extend(positions.iter().map(|x| turn.rotate(*x) + placement.position));
        self.velocities.extend(std::iter::repeat_n(placement.velocity, positions.len()));
        self.masses.extend(masses);
        self.fixed.extend(std::iter::repeat_n(false, positions.len()));
        self.parts.push(Part {
            name: name.into(),
            first,
            count: positions.len(),
            surface: Vec::new(),
            placement,
        });
        Ok(self.parts.len() - 1)
    }

    /// Adds an elastic solid of tetrahedra; returns the index of the part.
    pub fn add_solid(
        &mut self,
        name: &str,
        mesh: &TetMesh,
        material: Solid,
        placement: Placement,
    ) -> Result<usize, ConfigError> {
        let TetMesh { positions, tets } = mesh;
        let rest = rest_shapes(name, "tetrahedron", positions, tets, solid::rest_shape)?;
        let mut masses = vec![0.0; positions.len()];
        for (corners, rest) in tets.iter().zip(&rest) {
            corners.iter().for_each(|c| masses[*c] += material.density * rest[9] / 4.0);
        }
        let part = self.add_particles(name, positions, &masses, placement)?;
        let first = self.parts[part].first;
        let Solid { law, mu, lambda, damping, .. } = material;
        for (corners, rest) in tets.iter().zip(rest) {
            let list = &mut self.solids[law as usize];
            list.push(part, corners.map(|c| c + first), rest, [mu, lambda, damping, 0.0]);
        }
        self.parts[part].surface = mesh.surface().into_iter().map(|t| t.map(|c| c + first)).collect();
        Ok(part)
    }

    /// Adds a cloth of triangles; returns the index of the part.
    pub fn add_cloth(
        &mut self,
        name: &str,
        mesh: &TriangleMesh,
        material: Cloth,
        placement: Placement,
    ) -> Result<usize, ConfigError> {
        let TriangleMesh { positions, triangles } = mesh;
        let rest = rest_shapes(name, "triangle", positions, triangles, membrane::rest_shape)?;
        let mut masses = vec![0.0; positions.len()];
        for (corners, rest) in triangles.iter().zip(&rest) {
            corners.iter().for_each(|c| masses[*c] += material.density * rest[4] / 3.0);
        }
        let part = self.add_particles(name, positions, &masses, placement)?;
        let first = self.parts[part].first;
        for (corners, rest) in triangles.iter().zip(rest) {
            let corners = corners.map(|c| c + first);
            let values = [material.mu, material.lambda, material.damping, 0.0];
            self.membranes.push(part, corners, rest, values);
            if material.lift != 0.0 || material.drag != 0.0 {
                self.air.push(part, corners, [], [material.lift, material.drag]);
            }
            self.parts[part].surface.push(corners);
        }
        if material.bending != 0.0 || material.bending_damping != 0.0 {
            let hinges = mesh.hinges();
            let rest = rest_shapes(name, "hinge", positions, &hinges, hinge::rest_shape)?;
            for (corners, rest) in hinges.iter().zip(rest) {
                let values = [material.bending, material.bending_damping, 0.0];
                self.hinges.push(part, corners.map(|c| c + first), rest, values);
            }
        }
        Ok(part)
    }

    /// Adds springs between particles of a part, given by their places in it; rest lengths are the initial
    /// ones.
    pub fn add_springs(
        &mut self,
        part: usize,
        ends: &[[usize; 2]],
        material: SpringMaterial,
    ) -> Result<(), ConfigError> {
        let Part { name, first, count, .. } = &self.parts[part];
        for (i, ends) in ends.iter().enumerate() {
            if ends.iter().any(|e| e >= count) || ends[0] == ends[1] {
                let [a, b] = ends;
                return Err(ConfigError::new(format!(
                    "spring {i} of `{name}` joins particles {a} and {b} of {count}"
                )));
            }
            let ends = ends.map(|e| e + first);
            let length = (self.positions[ends[0]] - self.positions[ends[1]]).norm();
            self.springs.push(part, ends, [], [length, material.stiffness, material.damping]);
        }
        Ok(())
    }

    /// Holds particles of a part at their initial velocity: at rest if that is zero.
    pub fn fix(&mut self, part: usize, which: impl Fn(Vec3<f64>) -> bool) -> usize {
        let Part { first, count, .. } = self.parts[part];
        let mut held = 0;
        for i in first..first + count {
            if which(self.positions[i]) {
                self.fixed[i] = true;
                held += 1;
            }
        }
        held
    }

    /// Gives every element of a part's solids or membranes a control: `control_of(k)` for its k-th element,
    /// counted from 0 in this part. Returns how many controls the part adds; they are called
    /// `PART.activation`.
    pub fn actuate(&mut self, part: usize, control_of: impl Fn(usize) -> usize) -> usize {
        let base = self.drives;
        let mut highest = 0;
        let solids = self.solids.iter_mut().map(|l| (&l.parts, &mut l.controls));
        for (parts, controls) in solids.chain([(&self.membranes.parts, &mut self.membranes.controls)]) {
            let own = parts.iter().zip(controls.iter_mut()).filter(|(p, _)| **p == part);
            for (k, (_, control)) in own.enumerate() {
                *control = (base + control_of(k)) as u32;
                highest = highest.max(control_of(k) + 1);
            }
        }
        self.drives += highest;
        highest
    }

    /// The pullback of placing a part: from the cotangents of initial positions and velocities of all
    /// particles to that of where the part stood, how it was turned and how it moved. A turn by δ moves a
    /// particle at x by δ × (x − position).
    pub fn placement_vjp(&self, part: usize, x_bar: &[[f64; 3]], v_bar: &[[f64; 3]]) -> PlacementBar {
        let Part { first, count, placement, .. } = self.parts[part].clone();
        let mut bar = PlacementBar::default();
        for i in first..first + count {
            let [x, v] = [x_bar[i], v_bar[i]].map(|[x, y, z]| Vec3::new(x, y, z));
            bar.position += x;
            bar.turn += (self.positions[i] - placement.position).cross(x);
            bar.velocity += v;
        }
        bar
    }

    /// Number of particles.
    pub fn particles(&self) -> usize {
        self.positions.len()
    }
}

/// Rest shapes of all elements, or an error that names the first bad one.
fn rest_shapes<const N: usize, const R: usize>(
    name: &str,
    what: &str,
    positions: &[Vec3<f64>],
    elements: &[[usize; N]],
    rest_shape: impl Fn([Vec3<f64>; N]) -> Option<[f64; R]>,
) -> Result<Vec<[f64; R]>, ConfigError> {
    let shape = |(i, corners): (usize, &[usize; N])| {
        if let Some(c) = corners.iter().find(|c| **c >= positions.len()) {
            let n = positions.len();
            return Err(ConfigError::new(format!("{what} {i} of `{name}` names particle {c} of {n}")));
        }
        rest_shape(corners.map(|c| positions[c])).ok_or_else(|| {
            ConfigError::new(format!(
                "{what} {i} of `{name}` (particles {corners:?}) is degenerate or inverted; mend the mesh or reorder its corners"
            ))
        })
    };
    elements.iter().enumerate().map(shape).collect()
}

//! [`Soft`]: a [`SoftBody`] compiled to flat arrays: all forces inside soft parts, and their pullback.

use std::ops::Range;

use pullback_collision::PenaltyLaw;
use pullback_core::layout::{LayoutBuilder, Slice};
use pullback_core::{Block, Workspace};
use pullback_math::{Cotangent, Real, Vec3};

use super::air::Air;
use super::body::{Attachment, List, SoftBody};
use super::element::{ElementScratch, Elements, ParticleBars, Particles};
use super::hinge::Hinge;
use super::membrane::Membrane;
use super::solid::{Corotated, NeoHookean, StVenantKirchhoff, Tetrahedron};
use super::spring::Spring;

/// Contact of particles: the law, and the ball that each particle is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub struct ParticleContact<T> {
    /// Constants of the penalty law.
    pub law: PenaltyLaw<T>,
    /// Radius of the particles, m.
    pub radius: T,
}

/// Where the parameters of particles lie; those of elements are known to the elements.
#[derive(Clone, Debug)]
pub struct SoftIndex {
    /// Mass of each particle, kg.
    pub mass: Range<usize>,
    /// Wind, m/s.
    pub wind: Block<Vec3<f64>>,
    /// Contact of particles with geoms.
    pub contact: Block<ParticleContact<f64>>,
    /// Stiffness of each attachment, N/m.
    pub attachment_stiffness: Range<usize>,
    /// Damping of each attachment, N s/m.
    pub attachment_damping: Range<usize>,
}

/// All elements of the soft parts of a world.
#[derive(Clone, Debug)]
pub struct Soft {
    body: SoftBody,
    index: SoftIndex,
    springs: Elements<2, 3, 0>,
    neo_hookean: Elements<4, 4, 10>,
    st_venant_kirchhoff: Elements<4, 4, 10>,
    corotated: Elements<4, 4, 10>,
    membranes: Elements<3, 4, 5>,
    hinges: Elements<4, 3, 2>,
    air: Elements<3, 2, 0>,
}

/// Scratch of [`Soft`].
#[derive(Clone, Debug, Workspace)]
pub struct SoftScratch<T: Real> {
    springs: ElementScratch<T, 2, 3, 0>,
    neo_hookean: ElementScratch<T, 4, 4, 10>,
    st_venant_kirchhoff: ElementScratch<T, 4, 4, 10>,
    corotated: ElementScratch<T, 4, 4, 10>,
    membranes: ElementScratch<T, 3, 4, 5>,
    hinges: ElementScratch<T, 4, 3, 2>,
    air: ElementScratch<T, 3, 2, 0>,
}

/// Runs `$do!(field, Kind)` for every kind of element.
macro_rules! for_each_kind {
    ($do:ident) => {
        $do!(springs, Spring);
        $do!(neo_hookean, Tetrahedron<NeoHookean>);
        $do!(st_venant_kirchhoff, Tetrahedron<StVenantKirchhoff>);
        $do!(corotated, Tetrahedron<Corotated>);
        $do!(membranes, Membrane);
        $do!(hinges, Hinge);
        $do!(air, Air);
    };
}

const SPRING: [(&str, &str); 3] =
    [("spring.rest", "m"), ("spring.stiffness", "N/m"), ("spring.damping", "N s/m")];
const SOLID: [(&str, &str); 4] =
    [("solid.mu", "Pa"), ("solid.lambda", "Pa"), ("solid.damping", "Pa s"), ("solid.activation", "1")];
const MEMBRANE: [(&str, &str); 4] = [
    ("membrane.mu", "N/m"),
    ("membrane.lambda", "N/m"),
    ("membrane.damping", "N s/m"),
    ("membrane.activation", "1"),
];
const HINGE: [(&str, &str); 3] =
    [("hinge.stiffness", "N m"), ("hinge.damping", "N m s"), ("hinge.activation", "rad")];
const AIR: [(&str, &str); 2] = [("air.lift", "kg/m^3"), ("air.drag", "kg/m^3")];

impl Soft {
    /// Compiles a body. Its parameters are appended to `builder`, its controls to those of which `controls`
    /// are taken.
    pub fn new(body: SoftBody, builder: &mut LayoutBuilder, controls: usize) -> Self {
        let positive = |s: Slice| s.bounds(0.0, f64::INFINITY);
        let masses = body.parts.iter().map(|part| {
            let masses = &body.masses[part.first..part.first + part.count];
            positive(Slice::new(format!("{}.mass", part.name), part.count, "kg")).default(masses)
        });
        let mass = builder.param_ranges(masses);
        let wind = builder.param_block([Slice::new("wind", 3, "m/s")]);
        let c = body.contact;
        let contact = builder.param_block(
            [
                ("soft_contact.stiffness", "N/m", c.stiffness),
                ("soft_contact.damping", "N s/m^2", c.damping),
                ("soft_contact.friction_slope", "N s/m", c.friction_slope),
                ("soft_contact.radius", "m", c.radius),
            ]
            .map(|(name, unit, value)| positive(Slice::new(name, 1, unit)).default(&[value])),
        );
        let mut attachments = |name: &str, unit: &'static str, value: fn(&Attachment) -> f64| {
            let values: Vec<f64> = body.attachments.iter().map(value).collect();
            let slice = positive(Slice::new(name, values.len(), unit)).default(&values);
            builder.param_ranges((!values.is_empty()).then_some(slice))
        };
        let attachment_stiffness = attachments("attachment.stiffness", "N/m", |a| a.stiffness);
        let attachment_damping = attachments("attachment.damping", "N s/m", |a| a.damping);

        let springs = elements(&body, &body.springs, SPRING, None, controls, builder);
        let [neo, saint, corotated] = &body.solids;
        let mut solid = |list| elements(&body, list, SOLID, Some(3), controls, builder);
        let (neo_hookean, st_venant_kirchhoff, corotated) = (solid(neo), solid(saint), solid(corotated));
        let membranes = elements(&body, &body.membranes, MEMBRANE, Some(3), controls, builder);
        let hinges = elements(&body, &body.hinges, HINGE, Some(2), controls, builder);
        let air = elements(&body, &body.air, AIR, None, controls, builder);
        let index = SoftIndex { mass, wind, contact, attachment_stiffness, attachment_damping };
        Soft { index, springs, neo_hookean, st_venant_kirchhoff, corotated, membranes, hinges, air, body }
    }

    /// What it was compiled from.
    pub fn body(&self) -> &SoftBody {
        &self.body
    }
    /// Where its parameters lie.
    pub fn index(&self) -> &SoftIndex {
        &self.index
    }

    /// Allocates the scratch.
    pub fn scratch<T: Real>(&self) -> SoftScratch<T> {
        SoftScratch {
            springs: self.springs.scratch(),
            neo_hookean: self.neo_hookean.scratch(),
            st_venant_kirchhoff: self.st_venant_kirchhoff.scratch(),
            corotated: self.corotated.scratch(),
            membranes: self.membranes.scratch(),
            hinges: self.hinges.scratch(),
            air: self.air.scratch(),
        }
    }

    /// The wind.
    pub fn wind<T: Real>(&self, params: &[T]) -> Vec3<T> {
        self.index.wind.read(params)
    }

    /// Energy stored in all elements, J.
    pub fn energy<T: Real>(&self, at: &Particles<T>) -> T {
        let mut sum = T::zero();
        macro_rules! add {
            ($field:ident, $kind:ty) => {
                sum += self.$field.energy::<T, $kind>(at)
            };
        }
        for_each_kind!(add);
        sum
    }

    /// Adds the forces of all elements to those of the particles.
    pub fn add_forces<T: Real>(&self, scratch: &mut SoftScratch<T>, at: &Particles<T>, force: &mut [[T; 3]]) {
        let still = Particles { wind: None, ..*at };
        macro_rules! add {
            (air, $kind:ty) => {
                self.air.add_forces::<T, $kind>(&mut scratch.air, at, force)
            };
            ($field:ident, $kind:ty) => {
                self.$field.add_forces::<T, $kind>(&mut scratch.$field, &still, force)
            };
        }
        for_each_kind!(add);
    }

    /// The pullback of [`Soft::add_forces`]: *adds* to all cotangents.
    pub fn add_forces_vjp<T: Real>(
        &self,
        scratch: &mut SoftScratch<T>,
        at: &Particles<T>,
        force_bar: &[[T; 3]],
        bars: &mut ParticleBars<T>,
    ) {
        let still = Particles { wind: None, ..*at };
        macro_rules! add {
            (air, $kind:ty) => {
                self.air.add_forces_vjp::<T, $kind>(&mut scratch.air, at, force_bar, bars)
            };
            ($field:ident, $kind:ty) => {
                self.$field.add_forces_vjp::<T, $kind>(&mut scratch.$field, &still, force_bar, bars)
            };
        }
        for_each_kind!(add);
    }
}

/// Compiles a list of elements; its parameters become slices of the layout, run by run, part by part.
fn elements<const N: usize, const P: usize, const R: usize>(
    body: &SoftBody,
    list: &List<N, P, R>,
    names: [(&'static str, &'static str); P],
    driven: Option<usize>,
    first_control: usize,
    builder: &mut LayoutBuilder,
) -> Elements<N, P, R> {
    let mut slices = Vec::new();
    for (p, (name, unit)) in names.iter().enumerate() {
        for (part, described) in body.parts.iter().enumerate() {
            let own = list.parts.iter().zip(&list.values).filter(|(of, _)| **of == part);
            let values: Vec<f64> = own.map(|(_, v)| v[p]).collect();
            if !values.is_empty() {
                let slice = Slice::new(format!("{}.{name}", described.name), values.len(), *unit);
                slices.push(slice.default(&values));
            }
        }
    }
    let params = builder.param_ranges(slices);
    let elements = Elements::new(&list.corners, list.rest.clone(), body.particles(), params.start);
    match driven {
        Some(driven) => {
            let shift =
                |c: &u32| if *c == super::element::NOT_DRIVEN { *c } else { c + first_control as u32 };
            elements.driven_by(driven, list.controls.iter().map(shift).collect())
        }
        None => elements,
    }
}

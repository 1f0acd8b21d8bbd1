//! Contact between geoms, in three stages with an interface between each two.
//!
//! 1. *Find* ([`find`]): the narrow phase fills a [`ContactSet`] with the contacts of every near pair, from
//!    poses and sizes of the geoms ([`GeomView`]). It knows no forces.
//! 2. *Resolve* ([`Resolve`]): a contact model turns the set into forces. It may act before the dynamics, by
//!    pushes on bodies that depend on positions and velocities, or after them, on the smooth acceleration,
//!    with the factorized mass matrix, all contacts at once and the time step ([`Smooth`]).
//! 3. *Integrate*: the sweeps and the integrator see pushes and accelerations, and know nothing of contacts.
//!
//! The pullback walks the stages backwards: the contact model gives the cotangents of the contacts, and
//! [`ContactSet::find_vjp`] those of poses and sizes.
//!
//! [`penalty`] resolves by compliant forces, before the dynamics (gradSim, Rewarped);
//! [`constraint`](crate::constraint) by convex optimization, after them (MuJoCo);
//! [`complementarity`](crate::complementarity) by impulses over a step, after them too (Qiao et al.).
//! [`ContactSolver`] is the choice of a model.

mod apart;
pub mod distance;
pub mod find;
pub mod forces;
pub mod geoms;
pub mod penalty;

use pullback_core::Workspace;
use pullback_math::{Force, Motion, Real};

use super::complementarity::{Complementarity, ComplementarityWorkspace};
use super::constraint::{Convex, ConvexWorkspace};
use super::guards::Held;
use super::mass_matrix::MassMatrix;
use super::rnea::Push;
use super::tendon::span::SpanState;
use super::tendon::{TendonBars, TendonInputs, Tendons};
use super::tree::Tree;

pub use distance::ContactsFromDistance;
pub use find::{ContactSet, FoundPair};
pub use forces::ContactForce;
pub use geoms::{GeomView, PlacedGeom, pose_wrench};
pub use penalty::{Penalty, PenaltyWorkspace, pair_law};
pub use pullback_collision::{PENALTY_DEFAULTS, PenaltyLaw, penalty_force, penalty_force_vjp};

/// Cotangents of the motion of bodies that a contact model adds to.
#[derive(Debug)]
pub struct MotionBars<'a, T> {
    /// Of body velocities, as forces about the trees' points.
    pub velocities: &'a mut [Force<T>],
    /// Of displacements of bodies, as wrenches about the trees' points.
    pub wrenches: &'a mut [Force<T>],
    /// Of the parameters.
    pub params: &'a mut [T],
}

/// Cotangents that a model of constraints adds to.
#[derive(Debug)]
pub struct ConstraintBars<'a, T> {
    /// Of coordinates, where constraints depend on them directly.
    pub q: &'a mut [T],
    /// Of generalized velocities, where constraints depend on them directly.
    pub v: &'a mut [T],
    /// Of body velocities, as forces about the trees' points.
    pub velocities: &'a mut [Force<T>],
    /// Of displacements of bodies, as wrenches about the trees' points.
    pub wrenches: &'a mut [Force<T>],
    /// Of the parameters.
    pub params: &'a mut [T],
    /// Of the motion of the bodies along λ.
    pub virtuals: &'a mut [Force<T>],
    /// Of the motion of the bodies along the generalized acceleration.
    pub accelerations: &'a mut [Force<T>],
    /// Of the bodies' whole accelerations.
    pub body_accelerations: &'a mut [Force<T>],
    /// Of the packed mass matrix; empty unless the model sweeps. An entry off the diagonal stands
    /// for both of its places.
    pub mass: &'a mut [T],
    /// Of the joints' axes, about the trees' points; empty unless the model sweeps or there are spans.
    pub axes: &'a mut [Force<T>],
    /// Of lengths and pulls of tendons.
    pub tendons: &'a mut TendonBars<T>,
}

/// The motion without constraints, and what a solver needs to change it.
pub struct Smooth<'a, T> {
    /// The model, its parameters, poses of its bodies and axes of its joints.
    pub geoms: &'a GeomView<'a, T>,
    /// Structure.
    pub tree: &'a Tree,
    /// Coordinates.
    pub q: &'a [T],
    /// Generalized velocities.
    pub v: &'a [T],
    /// Velocities of the bodies.
    pub velocities: &'a [Motion<T>],
    /// Accelerations of the bodies when no joint accelerates.
    pub bias_accelerations: &'a [Motion<T>],
    /// The mass matrix, factorized.
    pub mass: &'a MassMatrix<T>,
    /// The time step, s.
    pub dt: f64,
    /// Which contacts and limits are held to act, or not to, during an adaptive step.
    pub(crate) held: Option<Held<'a, T>>,
    /// Tendons at the configuration.
    pub(crate) tendons: TendonView<'a, T>,
}

/// The tendons of a model at a configuration.
#[derive(Clone, Copy)]
pub(crate) struct TendonView<'a, T> {
    /// The tendons.
    pub set: &'a Tendons,
    /// Where they are evaluated.
    pub inputs: &'a TendonInputs<'a, T>,
    /// Their lengths.
    pub length: &'a [T],
    /// Their pulls.
    pub spans: &'a SpanState<T>,
}

/// A contact model: how the contacts of an evaluation act.
pub trait Resolve<T: Real> {
    /// Memory: what a solve leaves for its pullback. Nothing that it holds changes a result.
    type Workspace: Workspace;

    /// Allocates the memory for a model of this structure with at most so many contacts.
    fn workspace(&self, tree: &Tree, contacts: usize) -> Self::Workspace;

    /// Before the dynamics: adds forces that depend on positions and velocities to the pushes on bodies.
    /// Nothing to do for a model that constrains accelerations.
    fn push(
        &self,
        _geoms: &GeomView<'_, T>,
        _contacts: &ContactSet<T>,
        _velocities: &[Motion<T>],
        _pushes: &mut [Push<T>],
    ) {
    }

    /// The pullback of [`Resolve::push`]: *adds* to the cotangents of the contacts and to `bars`.
    fn push_vjp(
        &self,
        _geoms: &GeomView<'_, T>,
        _contacts: &mut ContactSet<T>,
        _velocities: &[Motion<T>],
        _push_bars: &[Push<T>],
        _bars: &mut MotionBars<'_, T>,
    ) {
    }

    /// After the dynamics: turns the smooth acceleration into the constrained one. Nothing to do for a model
    /// whose forces are pushes.
    fn constrain(
        &self,
        _ws: &mut Self::Workspace,
        _smooth: &Smooth<'_, T>,
        _contacts: &ContactSet<T>,
        _acceleration: &mut [T],
    ) {
    }

    /// The pullback of the solve and of [`Resolve::constrain`]: `lambda` comes in as the cotangent of the
    /// constrained acceleration and goes out as that of the smooth generalized force; *adds* to the
    /// cotangents of the contacts and to `bars`. Without constraints λ = M⁻¹ v̇_bar. Inverse dynamics is
    /// pulled back at the constrained acceleration; what the mass matrix sees beside that goes to `bars`.
    fn constrain_vjp(
        &self,
        _ws: &mut Self::Workspace,
        smooth: &Smooth<'_, T>,
        _contacts: &mut ContactSet<T>,
        lambda: &mut [T],
        _bars: &mut ConstraintBars<'_, T>,
    ) {
        smooth.mass.solve(smooth.tree, lambda);
    }
}

/// The contact model of a robot.
#[derive(Clone, Debug)]
pub enum ContactSolver {
    /// Compliant forces.
    Penalty(Penalty),
    /// Convex optimization.
    Convex(Convex),
    /// Linear complementarity.
    Complementarity(Complementarity),
}

/// Memory of [`ContactSolver`].
#[expect(clippy::large_enum_variant, reason = "there is one in a workspace, which is itself large")]
#[derive(Clone, Debug, Workspace)]
pub enum ContactSolverWorkspace<T> {
    /// Of compliant forces.
    Penalty(PenaltyWorkspace),
    /// Of convex optimization.
    Convex(ConvexWorkspace<T>),
    /// Of linear complementarity.
    Complementarity(ComplementarityWorkspace<T>),
}

impl<T> ContactSolverWorkspace<T> {
    /// The acceleration at which constraints are pulled back, where that is not the constrained one.
    pub(crate) fn optimum(&self) -> Option<&[T]> {
        match self {
            ContactSolverWorkspace::Convex(ws) => ws.optimum(),
            _ => None,
        }
    }
}

impl ContactSolver {
    /// Whether it changes accelerations after the dynamics.
    pub fn constrains(&self) -> bool {
        !matches!(self, ContactSolver::Penalty(_))
    }

    /// Whether its pullback goes through the motion of bodies along λ and the acceleration.
    pub(crate) fn holds_motions(&self) -> bool {
        matches!(self, ContactSolver::Convex(_))
    }

    /// Whether its pullback gives cotangents of the mass matrix and of the joints' axes.
    pub(crate) fn sweeps(&self) -> bool {
        match self {
            ContactSolver::Penalty(_) => false,
            ContactSolver::Convex(model) => model.sweeps(),
            ContactSolver::Complementarity(_) => true,
        }
    }

    /// Whether it acts by impulses over a step.
    pub(crate) fn acts_by_impulses(&self) -> bool {
        matches!(self, ContactSolver::Complementarity(_))
    }
}

impl<T: Real> Resolve<T> for ContactSolver {
    type Workspace = ContactSolverWorkspace<T>;

    fn workspace(&self, tree: &Tree, contacts: usize) -> ContactSolverWorkspace<T> {
        match self {
            ContactSolver::Penalty(model) => {
                ContactSolverWorkspace::Penalty(Resolve::<T>::workspace(model, tree, contacts))
            }
            ContactSolver::Convex(model) => ContactSolverWorkspace::Convex(model.workspace(tree, contacts)),
            ContactSolver::Complementarity(model) => {
                ContactSolverWorkspace::Complementarity(model.workspace(tree, contacts))
            }
        }
    }

    fn push(
        &self,
        geoms: &GeomView<'_, T>,
        contacts: &ContactSet<T>,
        velocities: &[Motion<T>],
        pushes: &mut [Push<T>],
    ) {
        match self {
            ContactSolver::Penalty(model) => model.push(geoms, contacts, velocities, pushes),
            ContactSolver::Convex(model) => model.push(geoms, contacts, velocities, pushes),
            ContactSolver::Complementarity(model) => model.push(geoms, contacts, velocities, pushes),
        }
    }

    fn push_vjp(
        &self,
        geoms: &GeomView<'_, T>,
        contacts: &mut ContactSet<T>,
        velocities: &[Motion<T>],
        push_bars: &[Push<T>],
        bars: &mut MotionBars<'_, T>,
    ) {
        match self {
            ContactSolver::Penalty(model) => model.push_vjp(geoms, contacts, velocities, push_bars, bars),
            ContactSolver::Convex(model) => model.push_vjp(geoms, contacts, velocities, push_bars, bars),
            ContactSolver::Complementarity(model) => {
                model.push_vjp(geoms, contacts, velocities, push_bars, bars);
            }
        }
    }

    fn constrain(
        &self,
        ws: &mut Self::Workspace,
        smooth: &Smooth<'_, T>,
        contacts: &ContactSet<T>,
        acceleration: &mut [T],
    ) {
        match (self, ws) {
            (ContactSolver::Convex(model), ContactSolverWorkspace::Convex(ws)) => {
                model.constrain(ws, smooth, contacts, acceleration);
            }
            (ContactSolver::Complementarity(model), ContactSolverWorkspace::Complementarity(ws)) => {
                model.constrain(ws, smooth, contacts, acceleration);
            }
            _ => {}
        }
    }

    fn constrain_vjp(
        &self,
        ws: &mut Self::Workspace,
        smooth: &Smooth<'_, T>,
        contacts: &mut ContactSet<T>,
        lambda: &mut [T],
        bars: &mut ConstraintBars<'_, T>,
    ) {
        match (self, ws) {
            (ContactSolver::Convex(model), ContactSolverWorkspace::Convex(ws)) => {
                model.constrain_vjp(ws, smooth, contacts, lambda, bars);
            }
            (ContactSolver::Complementarity(model), ContactSolverWorkspace::Complementarity(ws)) => {
                model.constrain_vjp(ws, smooth, contacts, lambda, bars);
            }
            _ => smooth.mass.solve(smooth.tree, lambda),
        }
    }
}

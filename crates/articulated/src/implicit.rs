//! Steps that are implicit in velocity: v̇ = (M − h Q)⁻¹ M a, with Q = ∂(smooth force)/∂v (MuJoCo's `Euler`,
//! `implicitfast` and `implicit`).
//!
//! | terms | Q |
//! |---|---|
//! | damping | −damping of the joints |
//! | fast | also actuators and dampers of tendons, where the mass matrix has entries; a medium by its symmetric part |
//! | | of bodies that float alone: −∂bias/∂v, and a medium as a whole |
//! | full | also −∂bias/∂v of all bodies, and a medium as a whole |
//!
//! The matrix has the sparsity of the mass matrix. Damping keeps it symmetric; the others are factorized as
//! U L along the tree.
//!
//! *Pullback.* bias(v) is quadratic, so (∂bias/∂v) w = ½ (bias(v + w) − bias(v − w)), and its cotangents are
//! those of inverse dynamics at two velocities.

use pullback_core::{Block, Workspace};
use pullback_math::{Force, Mat3, Motion, Real, SpatialInertia, Vec3};

use super::actuator::transmission::{add_moment, moment_vjp};
use super::actuator::{ActuatorBars, ActuatorInputs, ActuatorState, for_each_slope, slope_vjp};
use super::field::Articulated;
use super::mass_matrix::MassMatrix;
use super::model::JointKind;
use super::params::JointParams;
use super::rnea::Sweep;
use super::tendon::{TendonSpring, TendonState};
use super::tree::Tree;

/// What a step treats implicitly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImplicitTerms {
    /// Damping of the joints.
    Damping,
    /// Damping, actuators, and the spin of bodies that float alone.
    Fast,
    /// Damping, actuators and all Coriolis and centrifugal forces.
    Full,
}

/// A step that is implicit in velocity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Implicit {
    /// What it treats implicitly.
    pub terms: ImplicitTerms,
    /// The step, s.
    pub dt: f64,
}

/// The state at which Q is taken.
pub(crate) struct ImplicitInputs<'a, T> {
    pub acting: &'a ActuatorInputs<'a, T>,
    pub sweep: &'a Sweep<T>,
    pub mass: &'a MassMatrix<T>,
    pub actuators: &'a ActuatorState<T>,
    pub tendons: &'a mut TendonState<T>,
}

/// M − h Q and its factors.
#[derive(Clone, Debug, Workspace)]
pub(crate) enum ImplicitMatrix<T> {
    /// No implicit terms.
    Absent,
    /// Symmetric.
    Symmetric(MassMatrix<T>),
    /// Not symmetric.
    General(TreeLu<T>),
}

impl<T: Real> ImplicitMatrix<T> {
    pub fn new(tree: &Tree, terms: Option<ImplicitTerms>) -> Self {
        match terms {
            None => ImplicitMatrix::Absent,
            Some(ImplicitTerms::Damping) => ImplicitMatrix::Symmetric(MassMatrix::new(tree)),
            Some(_) => ImplicitMatrix::General(TreeLu::new(tree)),
        }
    }

    /// Sets the matrix and factorizes it.
    pub fn update(&mut self, step: &Implicit, at: &mut ImplicitInputs<'_, T>) {
        let (robot, params) = (at.acting.robot, at.acting.tendons.params);
        let (tree, h) = (&robot.tree, T::lit(step.dt));
        let damping = |k: usize| robot.index.joints[tree.dof_joint[k]].params.read(params).damping * h;
        match self {
            ImplicitMatrix::Absent => {}
            ImplicitMatrix::Symmetric(matrix) => {
                matrix.packed.copy_from_slice(&at.mass.packed);
                (0..tree.dof_body.len()).for_each(|k| matrix.add_diagonal(tree, k, damping(k)));
                matrix.factorize(tree);
            }
            ImplicitMatrix::General(matrix) => {
                matrix.lower.copy_from_slice(&at.mass.packed);
                matrix.upper.copy_from_slice(&at.mass.packed);
                (0..tree.dof_body.len()).for_each(|k| matrix.add(tree, k, k, damping(k)));
                velocity_slopes(at, |i, j, slope| matrix.add(tree, i, j, -(h * slope)));
                matrix.add_bias_slope(at, h, |k| robot.coriolis_is_implicit(step.terms, k));
                matrix.subtract_fluid_slope(at, h, step.terms);
                matrix.factorize(tree);
            }
        }
    }

    /// x ← (M − h Q)⁻¹ x.
    pub fn solve(&self, tree: &Tree, x: &mut [T]) {
        match self {
            ImplicitMatrix::Absent => {}
            ImplicitMatrix::Symmetric(matrix) => matrix.solve(tree, x),
            ImplicitMatrix::General(matrix) => matrix.solve(tree, x),
        }
    }

    /// x ← (M − h Q)⁻ᵀ x.
    pub fn solve_transposed(&self, tree: &Tree, x: &mut [T]) {
        match self {
            ImplicitMatrix::Absent => {}
            ImplicitMatrix::Symmetric(matrix) => matrix.solve(tree, x),
            ImplicitMatrix::General(matrix) => matrix.solve_transposed(tree, x),
        }
    }
}

impl Articulated {
    /// Whether a step takes the slope of the bias force at a degree of freedom.
    pub(super) fn coriolis_is_implicit(&self, terms: ImplicitTerms, k: usize) -> bool {
        match terms {
            ImplicitTerms::Damping => false,
            ImplicitTerms::Fast => self.floats_alone[self.tree.dof_body[k]],
            ImplicitTerms::Full => true,
        }
    }

    /// Whether each body has a free joint and carries no other joint; bodies fixed to it are part of it.
    pub(super) fn floating_bodies(model: &super::model::Model) -> Vec<bool> {
        let mut alone: Vec<bool> =
            (0..model.bodies.len()).map(|b| model.joints_of(b).any(|j| j.kind == JointKind::Free)).collect();
        for (b, body) in model.bodies.iter().enumerate().skip(1) {
            let jointed = model.joints_of(b).next().is_some();
            let mut above = body.parent;
            while above != 0 {
                alone[above] &= !jointed;
                above = model.bodies[above].parent;
            }
        }
        alone
    }

    /// The pullback of damping, tendons and actuators in M − h Q, with cotangent −μ v̇ᵀ of the matrix: *adds* to the
    /// cotangents in `tendons` and `bars`.
    pub(super) fn implicit_terms_vjp<T: Real>(
        &self,
        step: &Implicit,
        acting: &ActuatorInputs<'_, T>,
        (mu, w): (&[T], &[T]),
        (actuators, tendons): (&ActuatorState<T>, &mut TendonState<T>),
        bars: &mut ActuatorBars<'_, T>,
    ) {
        let h = T::lit(step.dt);
        for (j, joint) in self.model.joints.iter().enumerate() {
            let mut bar = JointParams::default();
            for k in joint.v..joint.v + joint.kind.velocities() {
                bar.damping -= h * mu[k] * w[k];
            }
            self.index.joints[j].params.add(bar, bars.params);
        }
        if step.terms == ImplicitTerms::Damping {
            return;
        }
        // h s Σ μ_i J_i J_j w_j over the entries that the matrix has
        let mut row = std::mem::take(&mut tendons.row);
        let tree = &self.tree;
        let product = |columns: &[usize], row: &[T]| {
            let mut sum = T::zero();
            for_each_entry(tree, columns, |i, j| sum += mu[i] * row[i] * row[j] * w[j]);
            sum
        };
        let row_bar = |columns: &[usize], row: &[T], k: usize| {
            let mut sum = T::zero();
            for &j in columns.iter().filter(|j| on_one_branch(tree, k, **j)) {
                sum += (mu[k] * w[j] + mu[j] * w[k]) * row[j];
            }
            sum
        };
        let mut slopes = std::mem::take(&mut tendons.slopes);
        for_each_slope(acting, actuators, |a, slope| slopes[a] = slope);
        for (a, columns) in self.moment_columns.iter().enumerate() {
            row.fill(T::zero());
            add_moment(acting, a, tendons, &mut row);
            slope_vjp(acting, actuators, a, h * product(columns, &row), tendons, bars);
            let scale = h * slopes[a];
            let bar = |k: usize| scale * row_bar(columns, &row, k);
            moment_vjp(acting, a, tendons, (columns, bar), bars);
        }
        for (t, columns, damping, block) in self.damped_tendons(acting.tendons.params) {
            row.fill(T::zero());
            self.tendons.add_row(&acting.tendons, &tendons.spans, t, T::one(), &mut row);
            let bar = TendonSpring { damping: -(h * product(columns, &row)), ..TendonSpring::default() };
            block.add(bar, bars.params);
            let scale = -(h * damping);
            let bar = |k: usize| {
                if columns.contains(&k) { scale * row_bar(columns, &row, k) } else { T::zero() }
            };
            let to = (&mut tendons.bars.spans.pulls[..], &mut *bars.axes, &mut *bars.params);
            self.tendons.row_vjp(&acting.tendons, &tendons.spans, t, bar, to);
        }
        (tendons.row, tendons.slopes) = (row, slopes);
    }

    /// Tendons with a damper: number, degrees of freedom, damping and its parameters.
    fn damped_tendons<'a, T: Real>(
        &'a self,
        params: &'a [T],
    ) -> impl Iterator<Item = (usize, &'a [usize], T, Block<TendonSpring<f64>>)> + 'a {
        self.index.tendons.iter().enumerate().filter_map(move |(t, blocks)| {
            let block = blocks.spring?;
            Some((t, &self.tendons.columns[t][..], block.read(params).damping, block))
        })
    }
}

/// Whether one of two degrees of freedom hangs from the other.
fn on_one_branch(tree: &Tree, i: usize, j: usize) -> bool {
    tree.ancestors[i.max(j)].contains(&i.min(j))
}

/// Visits the pairs of degrees of freedom of a row that share an entry of the mass matrix.
fn for_each_entry(tree: &Tree, columns: &[usize], mut visit: impl FnMut(usize, usize)) {
    for &i in columns {
        for &j in columns.iter().filter(|j| on_one_branch(tree, i, **j)) {
            visit(i, j);
        }
    }
}

/// Visits ∂τ_i/∂v_j of actuators and tendons: J_i s J_j with s the slope of the force over velocity.
fn velocity_slopes<T: Real>(at: &mut ImplicitInputs<'_, T>, mut visit: impl FnMut(usize, usize, T)) {
    let ImplicitInputs { acting, actuators, tendons, .. } = at;
    let robot = acting.robot;
    let mut row = std::mem::take(&mut tendons.row);
    let mut add = |columns: &[usize], slope: T, row: &[T]| {
        for_each_entry(&robot.tree, columns, |i, j| visit(i, j, row[i] * slope * row[j]));
    };
    for_each_slope(acting, actuators, |a, slope| {
        row.fill(T::zero());
        add_moment(acting, a, tendons, &mut row);
        add(&robot.moment_columns[a], slope, &row);
    });
    for (t, columns, damping, _) in robot.damped_tendons(acting.tendons.params) {
        row.fill(T::zero());
        robot.tendons.add_row(&acting.tendons, &tendons.spans, t, T::one(), &mut row);
        add(columns, -damping, &row);
    }
    tendons.row = row;
}

/// A matrix with the sparsity of the mass matrix that is not symmetric, and its factors U L.
#[derive(Clone, Debug, Workspace)]
pub(crate) struct TreeLu<T> {
    /// Entry (k, j) for j that k hangs from, packed as the mass matrix is; then L.
    lower: Vec<T>,
    /// Entry (j, k); then U.
    upper: Vec<T>,
    /// Slope of the bias force of everything that each body carries.
    slopes: Vec<Slope<T>>,
    /// Slope of the medium's force on everything that each body carries.
    fluid_slopes: Vec<Slope<T>>,
    composite: Vec<SpatialInertia<T>>,
}

/// A linear map from motions to forces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slope<T> {
    moment: [Mat3<T>; 2],
    force: [Mat3<T>; 2],
}

impl<T: Real> Slope<T> {
    pub fn zero() -> Self {
        Slope { moment: [Mat3::zero(); 2], force: [Mat3::zero(); 2] }
    }

    /// S ↦ v ×* I S − I (v × S) + S ×* I v.
    fn of_body(inertia: SpatialInertia<T>, velocity: Motion<T>) -> Self {
        let momentum = inertia * velocity;
        Slope::of_columns(|s| {
            velocity.cross_force(inertia * s) - inertia * velocity.cross_motion(s) + s.cross_force(momentum)
        })
    }

    /// The map that is known by its value at unit motions.
    pub fn of_columns(column: impl Fn(Motion<T>) -> Force<T>) -> Self {
        let unit = |i: usize| {
            let x = |j: usize| if i == j { T::one() } else { T::zero() };
            Vec3::new(x(0), x(1), x(2))
        };
        let angular: [Force<T>; 3] = std::array::from_fn(|i| column(Motion::new(unit(i), Vec3::zero())));
        let linear: [Force<T>; 3] = std::array::from_fn(|i| column(Motion::new(Vec3::zero(), unit(i))));
        let moments = |f: [Force<T>; 3]| Mat3::from_cols(f[0].moment, f[1].moment, f[2].moment);
        let forces = |f: [Force<T>; 3]| Mat3::from_cols(f[0].force, f[1].force, f[2].force);
        Slope { moment: [moments(angular), moments(linear)], force: [forces(angular), forces(linear)] }
    }

    /// (B + Bᵀ)/2.
    pub fn symmetric(self) -> Self {
        let half = |a: Mat3<T>, b: Mat3<T>| (a + b.transpose()) * T::lit(0.5);
        let [[mw, mv], [fw, fv]] = [self.moment, self.force];
        Slope { moment: [half(mw, mw), half(mv, fw)], force: [half(fw, mv), half(fv, fv)] }
    }

    pub fn add(&mut self, other: Self) {
        for i in 0..2 {
            self.moment[i] += other.moment[i];
            self.force[i] += other.force[i];
        }
    }

    fn apply(&self, s: Motion<T>) -> Force<T> {
        Force::new(
            self.moment[0] * s.angular + self.moment[1] * s.linear,
            self.force[0] * s.angular + self.force[1] * s.linear,
        )
    }
}

impl<T: Real> TreeLu<T> {
    fn new(tree: &Tree) -> Self {
        TreeLu {
            lower: vec![T::zero(); tree.packed],
            upper: vec![T::zero(); tree.packed],
            slopes: vec![Slope::zero(); tree.bodies()],
            fluid_slopes: vec![Slope::zero(); tree.bodies()],
            composite: vec![SpatialInertia::zero(); tree.bodies()],
        }
    }

    /// Adds to entry (i, j), where one of the two hangs from the other.
    #[inline(always)]
    fn add(&mut self, tree: &Tree, i: usize, j: usize, x: T) {
        let (deep, high) = (i.max(j), i.min(j));
        let place = tree.ancestors[deep].iter().position(|k| *k == high);
        let Some(place) = place.map(|at| tree.row[deep] + at) else { return };
        if i >= j {
            self.lower[place] += x;
        } else {
            self.upper[place] += x;
        }
    }

    /// Adds h ∂bias/∂v on the rows and columns that are `wanted`.
    ///
    /// A unit of v_j changes the velocity of everything beyond by S_j, and the force on it by I X_j + B S_j
    /// with X_j = (v_before + v_after) × S_j and B the sum of the bodies' slopes; before and after are the
    /// velocities on both sides of the joint.
    fn add_bias_slope(&mut self, at: &ImplicitInputs<'_, T>, h: T, wanted: impl Fn(usize) -> bool) {
        let (tree, velocities) = (&at.acting.robot.tree, &at.sweep.velocities);
        let kinematics = at.acting.tendons.kinematics;
        if !(0..tree.dof_body.len()).any(&wanted) {
            return;
        }
        self.composite.copy_from_slice(&kinematics.inertias);
        for (slope, (inertia, velocity)) in
            self.slopes.iter_mut().zip(kinematics.inertias.iter().zip(velocities))
        {
            *slope = Slope::of_body(*inertia, *velocity);
        }
        for b in (1..tree.bodies()).rev() {
            let parent = tree.parent[b];
            let (inertia, slope) = (self.composite[b], self.slopes[b]);
            self.composite[parent] += inertia;
            self.slopes[parent].add(slope);
        }
        for b in 1..tree.bodies() {
            for group in &tree.groups[b] {
                let before = at.sweep.before(group.dofs.start);
                let mut after = before;
                for k in group.dofs.clone() {
                    after += kinematics.axes[k] * at.acting.tendons.v[k];
                }
                for j in group.dofs.clone().filter(|j| wanted(*j)) {
                    let axis = kinematics.axes[j];
                    let change = (before + after).cross_motion(axis);
                    // Rows of joints that j hangs from, and its own.
                    let force = self.composite[b] * change + self.slopes[b].apply(axis);
                    for (place, i) in tree.ancestors[j].iter().enumerate() {
                        let entry = h * kinematics.axes[*i].dot(force);
                        if *i == j {
                            self.lower[tree.row[j]] += entry;
                        } else {
                            self.upper[tree.row[j] + place] += entry;
                        }
                    }
                    // Rows of joints beyond j.
                    for i in j + 1..tree.dof_body.len() {
                        let Some(place) = tree.ancestors[i].iter().position(|k| *k == j) else { continue };
                        let body = tree.dof_body[i];
                        let force = self.composite[body] * change + self.slopes[body].apply(axis);
                        self.lower[tree.row[i] + place] += h * kinematics.axes[i].dot(force);
                    }
                }
            }
        }
    }

    /// Subtracts h times the derivative of the medium's forces over velocity.
    fn subtract_fluid_slope(&mut self, at: &ImplicitInputs<'_, T>, h: T, terms: ImplicitTerms) {
        let (robot, kinematics) = (at.acting.robot, at.acting.tendons.kinematics);
        let (tree, axes) = (&robot.tree, &kinematics.axes);
        let motion = (kinematics, at.acting.tendons.params, &at.sweep.velocities[..]);
        if !robot.fluid_slopes(terms, motion, &mut self.fluid_slopes) {
            return;
        }
        for (j, body) in tree.dof_body.iter().enumerate() {
            let slope = self.fluid_slopes[*body];
            let force = slope.apply(axes[j]);
            for (place, i) in tree.ancestors[j].iter().enumerate() {
                self.lower[tree.row[j] + place] -= h * axes[j].dot(slope.apply(axes[*i]));
                if place > 0 {
                    self.upper[tree.row[j] + place] -= h * axes[*i].dot(force);
                }
            }
        }
    }

    /// A = U L, U with ones on its diagonal.
    fn factorize(&mut self, tree: &Tree) {
        for k in (0..tree.dof_body.len()).rev() {
            let (start, above) = (tree.row[k], &tree.ancestors[k]);
            let inverse = self.lower[start].recip();
            for i in 1..above.len() {
                let factor = self.upper[start + i] * inverse;
                self.upper[start + i] = factor;
                for j in 1..above.len() {
                    // Entry (above[i], above[j]); later places are higher in the tree.
                    let update = factor * self.lower[start + j];
                    if j >= i {
                        self.lower[tree.row[above[i]] + j - i] -= update;
                    } else {
                        self.upper[tree.row[above[j]] + i - j] -= update;
                    }
                }
            }
        }
    }

    /// x ← A⁻¹ x.
    fn solve(&self, tree: &Tree, x: &mut [T]) {
        for k in (0..x.len()).rev() {
            let y = x[k];
            for (i, j) in tree.ancestors[k].iter().enumerate().skip(1) {
                x[*j] -= self.upper[tree.row[k] + i] * y;
            }
        }
        for k in 0..x.len() {
            let mut z = x[k];
            for (i, j) in tree.ancestors[k].iter().enumerate().skip(1) {
                z -= self.lower[tree.row[k] + i] * x[*j];
            }
            x[k] = z / self.lower[tree.row[k]];
        }
    }

    /// x ← A⁻ᵀ x.
    fn solve_transposed(&self, tree: &Tree, x: &mut [T]) {
        for k in (0..x.len()).rev() {
            x[k] /= self.lower[tree.row[k]];
            let y = x[k];
            for (i, j) in tree.ancestors[k].iter().enumerate().skip(1) {
                x[*j] -= self.lower[tree.row[k] + i] * y;
            }
        }
        for k in 0..x.len() {
            let mut z = x[k];
            for (i, j) in tree.ancestors[k].iter().enumerate().skip(1) {
                z -= self.upper[tree.row[k] + i] * x[*j];
            }
            x[k] = z;
        }
    }
}

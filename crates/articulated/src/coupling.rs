//! Joints that follow others, in reduced coordinates.
//!
//! The state holds the independent joints only. With q_full = G q + offset and v_full = G v, the dynamics are
//! Gᵀ M G v̇ = Gᵀ (τ − bias), all on the right at the full state; the reduced matrix is small and dense,
//! M_red = L D Lᵀ.
//!
//! *Pullback.* λ = M_red⁻¹ v̇_bar; then everything is as without coupling with λ_full = G λ, and Gᵀ carries
//! the cotangents of the full state back. The multipliers are parameters too: G stands in the state, and
//! twice in the equation.
//!
//! *Limits.* A joint that follows one that follows is tied to the last in the chain, with the products of the
//! multipliers.

use std::collections::HashMap;

use pullback_core::{Block, ConfigError, Workspace};
use pullback_math::Real;

use super::coordinates::Coordinates;
use super::mass_matrix::MassMatrix;
use super::model::Model;
use super::params::MimicParams;
use super::tree::Tree;

/// A joint tied to an independent one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tie {
    /// The joint that follows.
    pub joint: usize,
    /// The independent joint it follows.
    pub of: usize,
    /// Ratio of the coordinates.
    pub multiplier: f64,
    /// Coordinate of `joint` when that of `of` is 0.
    pub offset: f64,
}

/// Every follower of a model tied to the independent joint at the end of its chain, in the order of
/// [`Model::mimics`].
pub fn ties(model: &Model) -> Result<Vec<Tie>, ConfigError> {
    let leader: HashMap<usize, _> = model.mimics.iter().map(|m| (m.joint, m)).collect();
    let refuse = |joint: usize, why: &str| {
        Err(ConfigError::new(format!("joint `{}` {why}; let it move freely", model.joints[joint].name)))
    };
    let mut ties = Vec::new();
    for (i, mimic) in model.mimics.iter().enumerate() {
        if model.mimics[..i].iter().any(|m| m.joint == mimic.joint) {
            return refuse(mimic.joint, "mimics two joints");
        }
        let (mut of, mut multiplier, mut offset) = (mimic.of, mimic.multiplier, mimic.offset);
        let mut steps = 0;
        while let Some(next) = leader.get(&of) {
            steps += 1;
            if steps > model.mimics.len() {
                return refuse(mimic.joint, "mimics itself through others");
            }
            // q = m (m' q' + o') + o
            offset += multiplier * next.offset;
            multiplier *= next.multiplier;
            of = next.of;
        }
        ties.push(Tie { joint: mimic.joint, of, multiplier, offset });
    }
    Ok(ties)
}

/// Where a follower stands.
#[derive(Clone, Copy, Debug)]
struct Follower {
    /// In the full state.
    q: usize,
    v: usize,
    /// Its leader, in the reduced state.
    of_q: usize,
    of_v: usize,
    /// Its parameters.
    block: Block<MimicParams<f64>>,
}

/// The map G from reduced to full state.
#[derive(Clone, Debug)]
pub struct Coupling {
    /// The reduced coordinate behind each full one, and the same for velocities.
    coordinate: Vec<usize>,
    velocity: Vec<usize>,
    /// The full velocity that each reduced one is.
    independent: Vec<usize>,
    followers: Vec<Follower>,
}

/// Memory of a coupled model; empty for others.
#[derive(Clone, Debug, Default, Workspace)]
pub struct CoupledWorkspace<T> {
    /// The full state.
    pub state: Vec<T>,
    /// Its cotangent.
    pub state_bar: Vec<T>,
    /// G per full velocity: 1, or the multiplier.
    ratio: Vec<T>,
    /// M_red, then its factors: D on the diagonal, L below.
    matrix: Vec<T>,
    reduced: Vec<T>,
    /// M λ_full.
    momentum: Vec<T>,
}

impl Coupling {
    /// The coupling of a model, whose followers have their parameters in `blocks`; none without followers.
    pub fn new(
        model: &Model,
        coordinates: &Coordinates,
        blocks: &[Block<MimicParams<f64>>],
    ) -> Result<Option<Self>, ConfigError> {
        let ties = ties(model)?;
        if ties.is_empty() {
            return Ok(None);
        }
        let (mut coordinate, mut velocity) = (vec![0; model.nq], vec![0; model.nv]);
        let mut independent = vec![0; coordinates.nv];
        let mut followers = Vec::new();
        for (j, joint) in model.joints.iter().enumerate() {
            let tie = ties.iter().position(|t| t.joint == j);
            let source = tie.map_or(j, |t| ties[t].of);
            // The joint at the end of a chain is independent, so it has its place.
            let Some((q, v)) = coordinates.joints[source] else { continue };
            for i in 0..joint.kind.coordinates() {
                coordinate[joint.q + i] = q + i;
            }
            for i in 0..joint.kind.velocities() {
                velocity[joint.v + i] = v + i;
                if tie.is_none() {
                    independent[v + i] = joint.v + i;
                }
            }
            if let Some(t) = tie {
                followers.push(Follower { q: joint.q, v: joint.v, of_q: q, of_v: v, block: blocks[t] });
            }
        }
        Ok(Some(Coupling { coordinate, velocity, independent, followers }))
    }

    /// Memory for it.
    pub fn workspace<T: Real>(&self) -> CoupledWorkspace<T> {
        let (nq, nv, n) = (self.coordinate.len(), self.velocity.len(), self.independent.len());
        let zeros = |n: usize| vec![T::zero(); n];
        CoupledWorkspace {
            state: zeros(nq + nv),
            state_bar: zeros(nq + nv),
            ratio: zeros(nv),
            matrix: zeros(n * n),
            reduced: zeros(n),
            momentum: zeros(nv),
        }
    }

    /// q_full = G q + offset, v_full = G v.
    pub(crate) fn expand_state<T: Real>(&self, params: &[T], state: &[T], full: &mut [T]) {
        let (q, v) = state.split_at(state.len() - self.independent.len());
        let (full_q, full_v) = full.split_at_mut(self.coordinate.len());
        for (x, at) in full_q.iter_mut().zip(&self.coordinate) {
            *x = q[*at];
        }
        for (x, at) in full_v.iter_mut().zip(&self.velocity) {
            *x = v[*at];
        }
        for f in &self.followers {
            let MimicParams { multiplier, offset } = f.block.read(params);
            full_q[f.q] = multiplier * q[f.of_q] + offset;
            full_v[f.v] = multiplier * v[f.of_v];
        }
    }

    /// The pullback of [`Coupling::expand_state`], of cotangents left in the workspace.
    pub(crate) fn expand_state_vjp<T: Real>(
        &self,
        ws: &CoupledWorkspace<T>,
        params: &[T],
        state: &[T],
        state_bar: &mut [T],
        params_bar: &mut [T],
    ) {
        let nq = state.len() - self.independent.len();
        let (full_q, full_v) = ws.state_bar.split_at(self.coordinate.len());
        let follows = |k: usize| self.followers.iter().any(|f| f.q == k);
        for (k, at) in self.coordinate.iter().enumerate().filter(|(k, _)| !follows(*k)) {
            state_bar[*at] += full_q[k];
        }
        for ((bar, at), ratio) in full_v.iter().zip(&self.velocity).zip(&ws.ratio) {
            state_bar[nq + at] += *ratio * *bar;
        }
        for f in &self.followers {
            state_bar[f.of_q] += f.block.read(params).multiplier * full_q[f.q];
            let multiplier = full_q[f.q] * state[f.of_q] + full_v[f.v] * state[nq + f.of_v];
            f.block.add(MimicParams { multiplier, offset: full_q[f.q] }, params_bar);
        }
    }

    /// M_red = Gᵀ M G = L D Lᵀ.
    pub(crate) fn factorize<T: Real>(
        &self,
        tree: &Tree,
        params: &[T],
        mass: &MassMatrix<T>,
        ws: &mut CoupledWorkspace<T>,
    ) {
        self.reduce_matrix(tree, params, mass, ws);
        let n = self.independent.len();
        let m = &mut ws.matrix;
        for j in 0..n {
            // D_j = M_jj − Σ L_ji² D_i,  L_kj = (M_kj − Σ L_ki D_i L_ji) / D_j
            for k in j..n {
                let mut entry = m[k * n + j];
                for i in 0..j {
                    entry -= m[k * n + i] * m[i * n + i] * m[j * n + i];
                }
                m[k * n + j] = if k == j { entry } else { entry * m[j * n + j].recip() };
            }
        }
    }

    /// Gᵀ M G, row by row, into the workspace.
    fn reduce_matrix<T: Real>(
        &self,
        tree: &Tree,
        params: &[T],
        mass: &MassMatrix<T>,
        ws: &mut CoupledWorkspace<T>,
    ) {
        ws.ratio.fill(T::one());
        for f in &self.followers {
            ws.ratio[f.v] = f.block.read(params).multiplier;
        }
        let n = self.independent.len();
        ws.matrix.fill(T::zero());
        for (k, above) in tree.ancestors.iter().enumerate() {
            for (i, j) in above.iter().enumerate() {
                let entry = ws.ratio[k] * mass.packed[tree.row[k] + i] * ws.ratio[*j];
                let (row, column) = (self.velocity[k], self.velocity[*j]);
                ws.matrix[row * n + column] += entry;
                if k != *j {
                    ws.matrix[column * n + row] += entry;
                }
            }
        }
    }

    /// The reduced mass matrix, row by row.
    pub fn mass_matrix<T: Real>(&self, tree: &Tree, params: &[T], mass: &MassMatrix<T>) -> Vec<T> {
        let mut ws = self.workspace();
        self.reduce_matrix(tree, params, mass, &mut ws);
        ws.matrix
    }

    /// Gᵀ x, for a generalized force.
    pub fn reduce<T: Real>(&self, params: &[T], full: &[T]) -> Vec<T> {
        let mut reduced = vec![T::zero(); self.independent.len()];
        for k in &self.independent {
            reduced[self.velocity[*k]] += full[*k];
        }
        for f in &self.followers {
            reduced[f.of_v] += f.block.read(params).multiplier * full[f.v];
        }
        reduced
    }

    /// The independent entries of a full velocity or acceleration.
    pub(crate) fn independent<T: Copy>(&self, full: &[T], reduced: &mut [T]) {
        for (x, at) in reduced.iter_mut().zip(&self.independent) {
            *x = full[*at];
        }
    }

    /// x ← G M_red⁻¹ Gᵀ x, after [`Coupling::factorize`].
    pub fn solve<T: Real>(&self, ws: &mut CoupledWorkspace<T>, x: &mut [T]) {
        let mut reduced = std::mem::take(&mut ws.reduced);
        reduced.fill(T::zero());
        for ((x, at), ratio) in x.iter().zip(&self.velocity).zip(&ws.ratio) {
            reduced[*at] += *ratio * *x;
        }
        self.solve_reduced(ws, &mut reduced, x);
        ws.reduced = reduced;
    }

    /// x = G M_red⁻¹ `reduced`, which is used up.
    fn solve_reduced<T: Real>(&self, ws: &CoupledWorkspace<T>, reduced: &mut [T], x: &mut [T]) {
        let (n, m) = (self.independent.len(), &ws.matrix);
        for k in 0..n {
            for i in 0..k {
                let known = m[k * n + i] * reduced[i];
                reduced[k] -= known;
            }
        }
        for k in (0..n).rev() {
            reduced[k] *= m[k * n + k].recip();
            for i in k + 1..n {
                let known = m[i * n + k] * reduced[i];
                reduced[k] -= known;
            }
        }
        for ((x, at), ratio) in x.iter_mut().zip(&self.velocity).zip(&ws.ratio) {
            *x = *ratio * reduced[*at];
        }
    }

    /// λ_full = G M_red⁻¹ v̇_bar, of the cotangent of the reduced acceleration.
    pub(crate) fn multipliers<T: Real>(
        &self,
        ws: &mut CoupledWorkspace<T>,
        acceleration_bar: &[T],
        lambda: &mut [T],
    ) {
        let mut reduced = std::mem::take(&mut ws.reduced);
        reduced.copy_from_slice(acceleration_bar);
        self.solve_reduced(ws, &mut reduced, lambda);
        ws.reduced = reduced;
    }

    /// Adds to the multipliers what G in Gᵀ (M G v̇ + bias − τ) = 0 says: −λ r − (M λ_full) v̇, with r the
    /// `residual` in brackets at the full state.
    pub(crate) fn equation_vjp<T: Real>(
        &self,
        tree: &Tree,
        mass: &MassMatrix<T>,
        ws: &mut CoupledWorkspace<T>,
        (lambda, acceleration): (&[T], &[T]),
        residual: impl Fn(usize) -> T,
        params_bar: &mut [T],
    ) {
        mass.multiply(tree, lambda, &mut ws.momentum);
        for f in &self.followers {
            let of = self.independent[f.of_v];
            let multiplier = -(lambda[of] * residual(f.v) + ws.momentum[f.v] * acceleration[of]);
            f.block.add(MimicParams { multiplier, offset: T::zero() }, params_bar);
        }
    }
}

//! Moment rows: J = ∂length/∂q of a tendon or span over the degrees of freedom, and their pullback.
//!
//! Forces along tendons need no rows; constraints, implicit steps and what is printed do.

use pullback_math::{Force, Motion, Real};

use super::span::SpanState;
use super::{Measure, TendonInputs, Tendons};
use crate::actuator::Line;
use crate::kinematics::Kinematics;
use crate::tree::Tree;

/// Visits the degrees of freedom that move a body.
fn for_each_dof(tree: &Tree, mut body: usize, mut visit: impl FnMut(usize)) {
    while body != 0 {
        tree.groups[body].iter().flat_map(|g| g.dofs.clone()).for_each(&mut visit);
        body = tree.parent[body];
    }
}

impl Tendons {
    /// Degrees of freedom that may move a tendon, falling: those that carry some of its bodies but not all.
    pub(super) fn columns_of(&self, tree: &Tree, tendon: usize) -> Vec<usize> {
        let mut columns = match &self.measures[tendon] {
            Measure::Fixed(joints) => joints.iter().map(|(_, k)| *k).collect(),
            Measure::Span(span) => self.span_columns(tree, *span),
        };
        columns.sort_unstable_by(|a, b| b.cmp(a));
        columns.dedup();
        columns
    }

    /// Degrees of freedom that may move what an actuator acts along.
    pub(crate) fn line_columns(&self, tree: &Tree, line: &Line) -> Vec<usize> {
        match *line {
            Line::Joint { kind, v, .. } => (v..v + kind.velocities()).collect(),
            Line::Tendon(tendon) => self.columns[tendon].clone(),
            Line::Span { span, .. } => {
                let mut columns = Vec::new();
                for slot in self.spans.slots(span) {
                    for_each_dof(tree, self.spans.bodies[slot], |k| columns.push(k));
                }
                columns.sort_unstable();
                columns.dedup();
                columns
            }
        }
    }

    fn span_columns(&self, tree: &Tree, span: usize) -> Vec<usize> {
        let slots = self.spans.slots(span);
        let mut count = vec![0; tree.dof_body.len()];
        for slot in slots.clone() {
            for_each_dof(tree, self.spans.bodies[slot], |k| count[k] += 1);
        }
        (0..count.len()).filter(|k| count[*k] > 0 && count[*k] < slots.len()).collect()
    }

    /// Adds `scale` times the row of a tendon to `row`, one entry per degree of freedom.
    pub(crate) fn add_row<T: Real>(
        &self,
        at: &TendonInputs<'_, T>,
        spans: &SpanState<T>,
        tendon: usize,
        scale: T,
        row: &mut [T],
    ) {
        self.for_each_moment(at, spans, tendon, |k, moment| row[k] += scale * moment);
    }

    /// Visits the degrees of freedom that may move a tendon with parts of its moment; those of one degree of freedom add
    /// up.
    pub(crate) fn for_each_moment<T: Real>(
        &self,
        at: &TendonInputs<'_, T>,
        spans: &SpanState<T>,
        tendon: usize,
        mut visit: impl FnMut(usize, T),
    ) {
        match &self.measures[tendon] {
            Measure::Fixed(joints) => {
                joints.iter().zip(at.coefficients(tendon)).for_each(|((_, k), c)| visit(*k, *c));
            }
            Measure::Span(span) => {
                for slot in self.spans.slots(*span) {
                    let pull = spans.pulls[slot];
                    let axes = &at.kinematics.axes;
                    for_each_dof(at.tree, self.spans.bodies[slot], |k| visit(k, axes[k].dot(pull)));
                }
            }
        }
    }

    /// Adds `scale` times the row of a span to `row`: J_k = S_k·Σ F_b over the bodies that k carries.
    pub(crate) fn add_span_row<T: Real>(
        &self,
        tree: &Tree,
        kinematics: &Kinematics<T>,
        spans: &SpanState<T>,
        span: usize,
        scale: T,
        row: &mut [T],
    ) {
        for slot in self.spans.slots(span) {
            let pull = spans.pulls[slot] * scale;
            for_each_dof(tree, self.spans.bodies[slot], |k| row[k] += kinematics.axes[k].dot(pull));
        }
    }

    /// The pullback of [`Tendons::add_row`] with scale 1: *adds* to the cotangents of pulls, axes and parameters.
    pub(crate) fn row_vjp<T: Real>(
        &self,
        at: &TendonInputs<'_, T>,
        spans: &SpanState<T>,
        tendon: usize,
        row_bar: impl Fn(usize) -> T,
        (pull_bars, axis_bars, params_bar): (&mut [Motion<T>], &mut [Force<T>], &mut [T]),
    ) {
        match &self.measures[tendon] {
            Measure::Fixed(joints) => {
                let places = at.index.tendons[tendon].coefficients.clone();
                for ((_, k), place) in joints.iter().zip(places) {
                    params_bar[place] += row_bar(*k);
                }
            }
            Measure::Span(span) => {
                self.span_row_vjp(at.tree, at.kinematics, spans, *span, row_bar, (pull_bars, axis_bars));
            }
        }
    }

    /// The pullback of [`Tendons::add_span_row`] with scale 1: *adds* to the cotangents of pulls and axes.
    pub(crate) fn span_row_vjp<T: Real>(
        &self,
        tree: &Tree,
        kinematics: &Kinematics<T>,
        spans: &SpanState<T>,
        span: usize,
        row_bar: impl Fn(usize) -> T,
        (pull_bars, axis_bars): (&mut [Motion<T>], &mut [Force<T>]),
    ) {
        for slot in self.spans.slots(span) {
            let pull = spans.pulls[slot];
            for_each_dof(tree, self.spans.bodies[slot], |k| {
                let bar = row_bar(k);
                axis_bars[k] += pull * bar;
                pull_bars[slot] += kinematics.axes[k] * bar;
            });
        }
    }
}

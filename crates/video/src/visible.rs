//! [`Visible`]: what a camera sees of a state.

use pullback_core::{Bars, Point};
use pullback_math::Real;
use pullback_render::Scene;

/// What a camera sees of a state: surfaces and balls that the state moves, beside lights and things that stand still.
///
/// It is written once over `T`: numbers, and dual numbers for forward mode.
pub trait Visible<T: Real>: Sync {
    /// Scratch memory.
    type Workspace: Send;
    /// Allocates it.
    fn workspace(&self) -> Self::Workspace;
    /// Everything there is to see, wherever it is; [`Visible::place`] moves it.
    fn scene(&self) -> Scene<T>;
    /// Moves what the state moves: sets positions of vertices and balls.
    fn place(&self, ws: &mut Self::Workspace, at: Point<'_, T>, scene: &mut Scene<T>);
    /// The pullback of [`Visible::place`], last called at the same point: *adds* to `bars`.
    fn place_vjp(&self, ws: &mut Self::Workspace, at: Point<'_, T>, scene_bar: &Scene<T>, bars: Bars<'_, T>);
}

//! [`VisibleChain`]: a pendulum of one or more rods with balls at their ends, as a camera sees it.

use pullback_core::{Bars, Point};
use pullback_math::{Real, Vec3, differentiable};
use pullback_render::{Material, Mesh, Paint, Scene, Sphere, Surface};
use pullback_video::Visible;

/// Half the width of rods and radius of balls, m.
const WIDTH: f64 = 0.03;
const RADIUS: f64 = 0.14;
/// Colors of balls, and of rods.
const BALLS: [[f64; 3]; 2] = [[0.8, 0.3, 0.05], [0.05, 0.3, 0.6]];
const ROD: Vec3<f64> = Vec3 { x: 0.5, y: 0.5, z: 0.5 };

/// Rods that hang one from the other in the plane y = 0, from the origin down, each as a flat strip.
#[derive(Clone, Debug)]
pub struct VisibleChain {
    /// For each rod, the entry of the state that is its angle from the vertical, and of the parameters that is its length.
    rods: Vec<(usize, usize)>,
}

impl VisibleChain {
    /// Rods by the entries of their angles in the state and of their lengths in the parameters.
    pub fn new(rods: Vec<(usize, usize)>) -> Self {
        VisibleChain { rods }
    }
}

/// The end of a rod: base + l (sin θ, 0, −cos θ).
#[differentiable]
fn end<T: Real>(base: Vec3<T>, angle: T, length: T) -> Vec3<T> {
    let (sin, cos) = angle.sin_cos();
    base + Vec3::new(sin, T::zero(), -cos) * length
}

/// A corner of a strip, beside a point on its middle line: x + w (cos θ, 0, sin θ).
#[differentiable]
fn beside<T: Real>(x: Vec3<T>, angle: T, #[constant] width: T) -> Vec3<T> {
    let (sin, cos) = angle.sin_cos();
    x + Vec3::new(cos, T::zero(), sin) * width
}

/// Sides of the middle line on which the corners of a strip lie, at the base and then at the end.
const SIDES: [f64; 4] = [-WIDTH, WIDTH, WIDTH, -WIDTH];

impl<T: Real> Visible<T> for VisibleChain {
    type Workspace = ();

    fn workspace(&self) {}

    fn scene(&self) -> Scene<T> {
        let mut scene = Scene::<T>::default();
        let strip = Mesh::new(vec![Vec3::zero(); 4], vec![[0, 2, 1], [0, 3, 2]]);
        for i in 0..self.rods.len() {
            let surface = Surface::new(&strip, Paint::Uniform(ROD), Material::unlit());
            scene.surfaces.push(surface.map(T::lit));
            let [r, g, b] = BALLS[i % BALLS.len()];
            let ball = Sphere { center: Vec3::zero(), radius: T::lit(RADIUS), color: Vec3::new(r, g, b).map(T::lit) };
            scene.spheres.push(ball);
        }
        scene
    }

    fn place(&self, _ws: &mut (), at: Point<'_, T>, scene: &mut Scene<T>) {
        let mut base = Vec3::zero();
        for (i, (angle, length)) in self.rods.iter().enumerate() {
            let (angle, length) = (at.state[*angle], at.params[*length]);
            let tip = end(base, angle, length);
            for (k, vertex) in scene.surfaces[i].vertices.iter_mut().enumerate() {
                *vertex = beside(if k < 2 { base } else { tip }, angle, T::lit(SIDES[k]));
            }
            scene.spheres[i].center = tip;
            base = tip;
        }
    }

    fn place_vjp(&self, _ws: &mut (), at: Point<'_, T>, scene_bar: &Scene<T>, bars: Bars<'_, T>) {
        let mut bases = vec![Vec3::zero()];
        for (angle, length) in &self.rods {
            bases.push(end(bases[bases.len() - 1], at.state[*angle], at.params[*length]));
        }
        // From the last rod to the first, whose tips are the bases of those after them.
        let mut tip_bar = Vec3::zero();
        for (i, (angle, length)) in self.rods.iter().enumerate().rev() {
            tip_bar += scene_bar.spheres[i].center;
            let mut base_bar = Vec3::zero();
            for (k, bar) in scene_bar.surfaces[i].vertices.iter().enumerate() {
                let x = bases[i + usize::from(k >= 2)];
                let (x_bar, angle_bar, ()) = beside_vjp(x, at.state[*angle], T::lit(SIDES[k]), *bar);
                bars.state[*angle] += angle_bar;
                if k < 2 {
                    base_bar += x_bar;
                } else {
                    tip_bar += x_bar;
                }
            }
            let (from_tip, angle_bar, length_bar) =
                end_vjp(bases[i], at.state[*angle], at.params[*length], tip_bar);
            bars.state[*angle] += angle_bar;
            bars.params[*length] += length_bar;
            tip_bar = base_bar + from_tip;
        }
    }
}

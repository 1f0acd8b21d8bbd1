//! Pictures of pendula and of points that bounce: balls and rods before the sky.

use pullback_core::layout::Layout;
use pullback_math::{Transform, Vec3};
use pullback_physics::articulated::{Geom, Model, Shape};
use pullback_video::look::{Depict, Look, Moment};

use super::ByLook;

/// Radii of what is drawn, m.
const BOB: f64 = 0.09;
const ROD: f64 = 0.025;
const COLORS: [[f64; 3]; 3] = [[0.35, 0.38, 0.42], [0.86, 0.48, 0.25], [0.25, 0.52, 0.78]];

fn color(i: usize) -> Vec3<f64> {
    let [r, g, b] = COLORS[i % COLORS.len()];
    Vec3::new(r, g, b)
}

/// A look with a floor at this height.
fn above_floor(height: f64) -> Look {
    let mut model = Model::new("floor");
    model.geoms.push(Geom { position: Vec3::new(0.0, 0.0, height), ..Geom::new("floor", 0, Shape::Plane) });
    let mut look = Look::of_robot(&model, &[]);
    (look.free.azimuth, look.free.elevation) = (90.0, -6.0);
    look
}

/// Draws a pendulum of any number of links: the state holds their angles from hanging, and the parameters lengths.
pub(crate) fn depict_pendulum(layout: &Layout) -> Box<dyn Depict> {
    let entries = |names: Vec<String>, ending: &str| -> Vec<usize> {
        let wanted = names.iter().enumerate().filter(|(_, name)| name.contains(ending));
        wanted.map(|(i, _)| i).collect()
    };
    let angles = entries(layout.state.entry_names(), "angle");
    let lengths = entries(layout.params.entry_names(), "length");
    let defaults = layout.params.defaults();
    let reach: f64 = lengths.iter().map(|i| defaults[*i]).sum();
    let mut look = above_floor(-1.3 * reach);
    look.add_ball(0, 1.5 * ROD * reach, color(0));
    for link in 0..angles.len() {
        look.add_rod([link, link + 1], ROD * reach, color(0));
        look.add_ball(link + 1, BOB * reach, color(link + 1));
    }
    let corners = [Vec3::new(-reach, 0.0, -reach), Vec3::new(reach, 0.0, reach)];
    look.frame(&corners);
    let links: Vec<(usize, usize)> = angles.into_iter().zip(lengths).collect();
    Box::new(ByLook::new(look, move |at, moment: &mut Moment| {
        stand(moment);
        let mut end = Vec3::zero();
        moment.particles = vec![end];
        for (angle, length) in &links {
            let (sin, cos) = at.state[*angle].sin_cos();
            end += Vec3::new(sin, 0.0, -cos) * at.params[*length];
            moment.particles.push(end);
        }
    }))
}

/// Draws a point at the height that a state begins with, over the surface at 0.
pub(crate) fn depict_height() -> Box<dyn Depict> {
    let mut look = above_floor(0.0);
    look.add_ball(0, BOB, color(1));
    look.frame(&[Vec3::new(-0.5, 0.0, 0.0), Vec3::new(0.5, 0.0, 1.2)]);
    // The ball stands on the surface where the point touches it.
    Box::new(ByLook::new(look, move |at, moment: &mut Moment| {
        stand(moment);
        moment.particles = vec![Vec3::new(0.0, 0.0, at.state[0] + BOB)];
    }))
}

/// The world is the only body.
fn stand(moment: &mut Moment) {
    moment.poses = vec![Transform::identity()];
}

//! Small rollouts that are filmed and compared.

use pullback_core::input_map::{InputEntry, LinearMap, Transform, Variable};
use pullback_core::integrator::{Integrated, Integrator, Method as Stepping};
use pullback_core::rollout::{Inputs, Rollout};
use pullback_core::{Schedule, VectorField};
use pullback_math::{Dual, Vec3};
use pullback_optim::least_squares::{Part, RolloutResiduals};
use pullback_render::{Camera, Lens, Method, Projection, Settings, SoftRas};
use pullback_video::{Footage, Pixels, Shot, Visible, film};

/// Soft enough that a picture of few pixels shows everything, and without a cutoff that differences could see.
const BLURRED: SoftRas = SoftRas { sigma: 3e-3, gamma: 2e-2, epsilon: 1e-1, cutoff: 1e-12 };

/// Pictures of 16 × 16 pixels from 2 m away.
pub fn shot() -> Shot {
    let lens = Lens::new(Projection::Perspective, 0.5, 6.0);
    Shot {
        camera: Camera::orbit(lens, Vec3::zero(), 2.0, -1.1, 0.4, 0.4),
        settings: Settings::new(16, 16).with_method(Method::SoftRas(BLURRED)),
    }
}

/// An unknown of a test: an entry of the inputs, and its name.
pub type Entry = (InputEntry, &'static str);

/// The residuals of a motion against a video of the same motion from other inputs, with these entries unknown.
pub fn compared<F, V>(
    field: F,
    dt: f64,
    steps: usize,
    visible: V,
    pixels: Pixels,
    entries: &[Entry],
) -> (RolloutResiduals<Integrated<F>, Footage<V>, LinearMap>, Vec<f64>)
where
    F: VectorField<f64> + VectorField<Dual<f64>>,
    V: Visible<f64> + Visible<Dual<f64>> + Clone,
{
    let system = Integrated::new(field, dt, Integrator::fixed(Stepping::SemiImplicitEuler)).unwrap();
    let layout = pullback_core::Described::layout(&system).clone();
    let (state, params) = (layout.state.defaults(), layout.params.defaults());
    let controls = layout.control.defaults().repeat(steps);
    let inputs = Inputs { state: state.clone(), controls: controls.clone(), params: params.clone() };

    // The recording is of a motion that begins elsewhere.
    let mut moved = inputs.clone();
    entries.iter().for_each(|(entry, _)| *entry.of(&mut moved) *= 1.1);
    let rollout = Rollout::new(&system, steps, Schedule::StoreAll).unwrap();
    let shots = [0, steps / 2, steps];
    let frames = film(&rollout, &moved, &visible, &shot(), &shots).unwrap();

    let footage = Footage::new(visible, shot(), pixels, vec![frames]).unwrap();
    let residuals = footage.residual_count(0);
    let part = Part { state, controls, steps, residuals, ..Part::default() };
    let mut base = inputs;
    let start: Vec<f64> = entries.iter().map(|(entry, _)| *entry.of(&mut base)).collect();
    let variable = |((_, name), x): (&Entry, &f64)| Variable::new(*name, "1", (-1e9, 1e9), *x);
    let variables = entries.iter().zip(&start).map(variable).collect();
    let map = LinearMap::direct(variables, entries.iter().map(|(entry, _)| *entry));
    let transforms = vec![Transform::Identity; entries.len()];
    (RolloutResiduals::new(system, footage, (map, transforms), params, vec![part]).unwrap(), start)
}

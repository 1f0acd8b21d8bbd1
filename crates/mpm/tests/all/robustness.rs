//! Ten thousand random states of the material point method: no substep and no pullback gives NaN or infinity,
//! in `f64` and `f32`.

use pullback_articulated::{Model, Shape};
use pullback_core::random::Random;
use pullback_core::{Bars, Described, Point, System};
use pullback_math::{Flat, Mat3, Quat, Scalar, Vec3};
use pullback_mpm::material::{Elastic, Material};
use pullback_mpm::particles::random_box;
use pullback_mpm::workspace::MpmWorkspace;
use pullback_mpm::{Floor, Grid, Mpm, Particles};

use crate::common::{MATERIALS, sliding, v3};

/// One particle of each material beside a collider.
fn scene(shape: Shape, flat: bool, floor: Floor) -> Mpm {
    let plain = if flat { Grid::square(12) } else { Grid::cube(12) };
    let grid = Grid { floor, floor_friction: 0.4, softness: 30.0, ..plain };
    let mut particles = Particles::default();
    for (i, material) in MATERIALS.into_iter().enumerate() {
        let positions = random_box(1, v3(0.4, 0.4, 0.4), v3(0.1, 0.1, 0.1), i as u64);
        particles.add(&format!("part {i}"), material, 1.3, 1.7e-4, &positions, Vec3::zero()).unwrap();
    }
    let model = sliding(shape, v3(0.45, 0.4, 0.4), v3(0.6, 0.0, 0.8), 0.6, v3(1.0, -9.8, -9.8));
    Mpm::new(grid, particles, model, 2e-4).unwrap()
}

fn rotation(random: &mut Random) -> Mat3<f64> {
    Quat::new(random.normal(), random.normal(), random.normal(), random.normal()).normalize().to_mat3()
}

/// Usual, inverted, nearly singular, singular, with equal singular values, tiny, large.
fn deformation(random: &mut Random, kind: usize) -> Mat3<f64> {
    let tiny = 10f64.powf(random.uniform(-12.0, -1.0));
    let mut noise = |size: f64| {
        let mut column = || v3(random.normal(), random.normal(), random.normal()) * size;
        Mat3::from_cols(column(), column(), column())
    };
    let sigma = match kind % 12 {
        0 => return Mat3::identity(),
        1 => return Mat3::identity() + noise(0.1),
        2 => return Mat3::identity() + noise(tiny),
        3 => return noise(1.0),
        4 => return noise(tiny),
        5 => return noise(10.0),
        6 => [1.0, 0.7, -0.7],
        7 => [1.3, 1.3, 1.3 + tiny],
        8 => [1.0, 0.5, tiny],
        9 => [1.0, tiny, -tiny],
        10 => [0.9, 0.9, 0.9],
        _ => [1.2, 0.0, 0.0],
    };
    rotation(random) * Mat3::diagonal(v3(sigma[0], sigma[1], sigma[2])) * rotation(random).transpose()
}

/// A random state, control and cotangent.
fn anything(mpm: &Mpm, random: &mut Random, round: usize) -> [Vec<f64>; 3] {
    let layout = mpm.layout();
    let mut state = layout.state.defaults();
    // Somewhere in the grid, close together or not, at its edge now and then.
    let center = v3(random.uniform(0.1, 0.8), random.uniform(0.1, 0.8), random.uniform(0.1, 0.8));
    let apart = [0.0, 0.02, 0.2][round % 3];
    let fast = 10f64.powf(random.uniform(-3.0, 3.0));
    let turning = 10f64.powf(random.uniform(-3.0, 4.0));
    for slice in layout.state.slices() {
        let of = &mut state[slice.range.clone()];
        match slice.name.rsplit('.').next() {
            Some("position") if slice.range.len() == 3 => {
                for (x, c) in of.iter_mut().zip([center.x, center.y, center.z]) {
                    *x = (c + apart * random.normal()).clamp(1.0 / 12.0, 10.0 / 12.0);
                }
            }
            Some("velocity") => of.iter_mut().for_each(|v| *v = fast * random.normal()),
            Some("affine") => of.iter_mut().for_each(|c| *c = turning * random.normal()),
            Some("deformation") => {
                let kind = (random.bits() >> 40) as usize;
                let f = deformation(random, kind);
                f.write(of);
            }
            // The collider, so that it is near.
            _ => of[0] = random.uniform(-0.3, 0.3),
        }
    }
    let control = layout.control.defaults().iter().map(|_| 3.0 * random.normal()).collect();
    let bar = state.iter().map(|_| random.normal()).collect();
    [state, control, bar]
}

/// A system, its memory and the vectors of one substep.
struct Trial<'m, T: Scalar> {
    mpm: &'m Mpm,
    ws: MpmWorkspace<T>,
    params: Vec<T>,
}

impl<'m, T: Scalar> Trial<'m, T> {
    fn new(mpm: &'m Mpm) -> Self {
        let params = mpm.layout().params.defaults().iter().map(|p| T::lit(*p)).collect();
        Trial { mpm, ws: System::<T>::workspace(mpm), params }
    }

    /// Whether everything that one substep and its pullback give is finite.
    fn finite(&mut self, inputs: &[Vec<f64>; 3]) -> bool {
        let [state, control, bar] =
            inputs.each_ref().map(|x| x.iter().map(|x| T::lit(*x)).collect::<Vec<T>>());
        let mut next = state.clone();
        let (ws, params) = (&mut self.ws, &self.params);
        self.mpm.step(ws, Point { params, state: &state, control: &control }, &mut next).unwrap();
        let zeros = |n: usize| vec![T::zero(); n];
        let (mut s, mut c, mut p) = (zeros(state.len()), zeros(control.len()), zeros(params.len()));
        self.mpm
            .step_vjp(
                ws,
                Point { params, state: &state, control: &control },
                &bar,
                Bars { params: &mut p, state: &mut s, control: &mut c },
            )
            .unwrap();
        [next, s, c, p].iter().flatten().all(|x| x.lane(0).is_finite())
    }
}

#[test]
fn no_random_state_gives_nan_or_infinity() {
    let shapes = [
        Shape::Sphere { radius: 0.1 },
        Shape::Box { half: v3(0.1, 0.07, 0.05) },
        Shape::Capsule { radius: 0.05, half_length: 0.1 },
        Shape::Plane,
    ];
    let mut random = Random::new(11);
    let mut round = 0;
    for shape in shapes {
        for (flat, floor) in [(false, Floor::Friction), (true, Floor::Friction), (false, Floor::Sticky)] {
            let mpm = scene(shape, flat, floor);
            let (mut double, mut single) = (Trial::<f64>::new(&mpm), Trial::<f32>::new(&mpm));
            for _ in 0..834 {
                let inputs = anything(&mpm, &mut random, round);
                round += 1;
                assert!(double.finite(&inputs), "f64, {shape:?}, flat {flat}: {inputs:?}");
                assert!(single.finite(&inputs), "f32, {shape:?}, flat {flat}: {inputs:?}");
            }
        }
    }
    println!("{round} states of six particles");
    assert!(round >= 10_000);
}

#[test]
fn a_step_that_no_scene_survives_is_refused() {
    let made = |dt: f64, gravity: f64, young: f64| {
        let mut particles = Particles::default();
        let material = Material::FixedCorotated(Elastic { young, poisson: 0.2 });
        let positions = random_box(8, v3(0.4, 0.4, 0.4), v3(0.1, 0.1, 0.1), 0);
        particles.add("jelly", material, 1e3, 1e-6, &positions, Vec3::zero()).unwrap();
        let mut model = Model::new("none");
        model.options.gravity = v3(0.0, 0.0, gravity);
        Mpm::new(Grid::cube(32), particles, model.compile().unwrap(), dt)
            .map(|_| ())
            .map_err(|e| e.to_string())
    };
    // Waves of 11 m/s, cells of 1/32 m.
    assert!(made(2e-3, -9.8, 1e5).is_ok());
    let message = made(1.0, -9.8, 1e5).unwrap_err();
    assert!(message.contains("a step of 1 s cannot be stable: waves in `jelly` cross"), "{message}");
    let message = made(0.1, -9.8, 1.0).unwrap_err();
    assert!(message.contains("particles that fall from rest cross 3.1 cells"), "{message}");
    assert!(made(0.1, 0.0, 1.0).is_ok());
    assert!(made(f64::INFINITY, 0.0, 1.0).is_err() && made(f64::NAN, 0.0, 1.0).is_err());
}

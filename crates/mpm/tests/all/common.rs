//! Scenes that the tests of the material point method share.

use pullback_articulated::{Body, Geom, Joint, JointKind, Model, Shape};
use pullback_core::random::Random;
use pullback_core::{Described, Point, System};
use pullback_math::{Flat, Quat, SymMat3, Vec3};
use pullback_mpm::view::View;
use pullback_mpm::workspace::MpmWorkspace;
use pullback_mpm::{Elastic, Elastoplastic, Granular, Grid, Material, Mpm, Particles};

pub const MATERIALS: [Material; 6] = [
    Material::FixedCorotated(Elastic { young: 5e3, poisson: 0.2 }),
    Material::NeoHookean(Elastic { young: 5e3, poisson: 0.2 }),
    Material::VonMises(Elastoplastic { young: 5e3, poisson: 0.2, yield_stress: 50.0 }),
    Material::Plasticine(Elastoplastic { young: 5e3, poisson: 0.2, yield_stress: 50.0 }),
    Material::Fluid(Elastic { young: 5e3, poisson: 0.3 }),
    Material::Sand(Granular { young: 5e3, poisson: 0.3, friction_angle: 0.5 }),
];

pub fn v3(x: f64, y: f64, z: f64) -> Vec3<f64> {
    Vec3::new(x, y, z)
}

/// No colliders.
pub fn empty(gravity: Vec3<f64>) -> Model {
    let mut model = Model::new("none");
    model.options.gravity = gravity;
    model.compile().unwrap()
}

fn geom(body: usize, shape: Shape, position: Vec3<f64>, orientation: Quat<f64>, friction: f64) -> Geom {
    Geom {
        position,
        orientation,
        friction: [friction, 0.0, 0.0],
        ..Geom::new(format!("geom {body}"), body, shape)
    }
}

/// A collider that stands still.
pub fn fixed(
    shape: Shape,
    position: Vec3<f64>,
    orientation: Quat<f64>,
    friction: f64,
    gravity: Vec3<f64>,
) -> Model {
    let mut model = Model::new("fixed");
    model.options.gravity = gravity;
    model.geoms.push(geom(0, shape, position, orientation, friction));
    model.compile().unwrap()
}

/// A collider that slides along an axis.
pub fn sliding(
    shape: Shape,
    position: Vec3<f64>,
    axis: Vec3<f64>,
    friction: f64,
    gravity: Vec3<f64>,
) -> Model {
    let mut model = Model::new("sliding");
    model.options.gravity = gravity;
    model.bodies.push(Body {
        name: "tool".into(),
        parent: 0,
        position,
        orientation: Quat::identity(),
        mass: 1.0,
        com: Vec3::zero(),
        inertia: SymMat3::identity(),
        ..Body::default()
    });
    model.joints.push(Joint::new("slide", 1, JointKind::Slide, axis));
    model.geoms.push(geom(1, shape, Vec3::zero(), Quat::identity(), friction));
    model.compile().unwrap()
}

/// Particles on a lattice, two along each edge of a cell of size `h`; one layer where a count of cells is 0.
pub fn lattice(low: Vec3<f64>, cells: [usize; 3], h: f64) -> Vec<Vec3<f64>> {
    let n = cells.map(|c| (2 * c).max(1));
    let at =
        |low: f64, cells: usize, i: usize| if cells == 0 { low } else { low + (i as f64 + 0.5) * h / 2.0 };
    let mut positions = Vec::new();
    for i in 0..n[0] {
        for j in 0..n[1] {
            for k in 0..n[2] {
                positions.push(v3(at(low.x, cells[0], i), at(low.y, cells[1], j), at(low.z, cells[2], k)));
            }
        }
    }
    positions
}

/// One part called `block`; every particle has the volume of its place in a lattice of cells of size h.
pub fn block(
    grid: Grid,
    material: Material,
    density: f64,
    positions: &[Vec3<f64>],
    model: Model,
    dt: f64,
) -> Mpm {
    let mut particles = Particles::default();
    let volume = (grid.spacing / 2.0).powi(if grid.flat { 2 } else { 3 });
    particles.add("block", material, density, volume, positions, Vec3::zero()).unwrap();
    Mpm::new(grid, particles, model, dt).unwrap()
}

/// State, control and parameters of a layout, shaken: F and C off their symmetric starts.
pub fn shaken(mpm: &Mpm, seed: u64) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let mut random = Random::new(seed);
    let layout = mpm.layout();
    let mut state = layout.state.defaults();
    for slice in layout.state.slices() {
        let by = match slice.name.rsplit('.').next() {
            Some("affine") => 0.5,
            Some("deformation") => 0.06,
            Some("velocity") => 0.2,
            _ => 0.003,
        };
        state[slice.range.clone()].iter_mut().for_each(|x| *x += by * random.normal());
    }
    let control = layout.control.defaults().iter().map(|_| random.normal()).collect();
    let params = layout.params.defaults().iter().map(|p| p * random.uniform(0.9, 1.1)).collect();
    (state, control, params)
}

/// A system on its way.
pub struct Run<'m> {
    pub mpm: &'m Mpm,
    ws: MpmWorkspace<f64>,
    pub params: Vec<f64>,
    pub state: Vec<f64>,
    pub control: Vec<f64>,
    next: Vec<f64>,
}

impl<'m> Run<'m> {
    pub fn new(mpm: &'m Mpm) -> Self {
        let layout = mpm.layout();
        let state = layout.state.defaults();
        Run {
            mpm,
            ws: System::<f64>::workspace(mpm),
            params: layout.params.defaults(),
            next: state.clone(),
            control: layout.control.defaults(),
            state,
        }
    }

    pub fn steps(&mut self, count: usize) {
        for _ in 0..count {
            self.mpm
                .step(
                    &mut self.ws,
                    Point { params: &self.params, state: &self.state, control: &self.control },
                    &mut self.next,
                )
                .unwrap();
            std::mem::swap(&mut self.state, &mut self.next);
        }
    }

    /// Substeps in a medium that takes the part `drag` of every velocity each time.
    pub fn dragged(&mut self, count: usize, drag: f64) {
        for _ in 0..count {
            self.steps(1);
            let view = self.mpm.split_mut(&mut self.state);
            let velocities = view.v.as_flattened_mut().iter_mut().chain(view.c.as_flattened_mut());
            velocities.for_each(|v| *v *= 1.0 - drag);
        }
    }

    pub fn at(&self) -> View<'_, f64> {
        self.mpm.split(&self.state)
    }

    /// Position and velocity of particle `p`.
    pub fn particle(&self, p: usize) -> (Vec3<f64>, Vec3<f64>) {
        (Vec3::read(&self.at().x[p]), Vec3::read(&self.at().v[p]))
    }

    /// The entries of slices whose name ends like this.
    pub fn entries(&self, what: &str) -> std::ops::Range<usize> {
        let layout = self.mpm.layout();
        let of: Vec<_> = layout.state.slices().iter().filter(|s| s.name.ends_with(what)).collect();
        of[0].range.start..of[of.len() - 1].range.end
    }
}

/// Slope and value at zero of the line through (x, y) by least squares.
pub fn line(points: &[(f64, f64)]) -> (f64, f64) {
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x / n, b + y / n));
    let (xx, xy) =
        points.iter().fold((0.0, 0.0), |(a, b), p| (a + (p.0 - x).powi(2), b + (p.0 - x) * (p.1 - y)));
    (xy / xx, y - xy / xx * x)
}

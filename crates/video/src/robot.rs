//! [`VisibleRobot`]: surfaces that the bodies of a robot carry.

use pullback_core::{Bars, ConfigError, Point, VectorField, Workspace};
use pullback_math::{Force, Real, Transform, Vec3};
use pullback_physics::articulated::contact::MotionBars;
use pullback_physics::articulated::{Articulated, ArticulatedWorkspace};
use pullback_render::{Light, Material, Mesh, Paint, Scene, Surface};

use crate::geom::geom_mesh;
use crate::visible::Visible;

/// What the bodies of a robot carry: its geoms, or meshes of their own, beside what stands still.
///
/// Shapes are those of the model: parameters of geoms change contacts, not pictures. Bodies whose poses are inputs (mocap)
/// stand as described.
#[derive(Clone, Debug)]
pub struct VisibleRobot {
    robot: Articulated,
    scene: Scene<f64>,
    carried: Vec<Carried>,
}

/// A surface that a body carries.
#[derive(Clone, Debug)]
struct Carried {
    /// Name of the geom, or of the body of a mesh of its own.
    name: String,
    /// Which surface of the scene.
    surface: usize,
    body: usize,
    /// Vertices in the frame of the body, m.
    vertices: Vec<Vec3<f64>>,
}

/// Memory of [`VisibleRobot`].
#[derive(Clone, Debug, Workspace)]
pub struct RobotView<T> {
    robot: ArticulatedWorkspace<T>,
    velocities: Vec<Force<T>>,
    wrenches: Vec<Force<T>>,
}

impl VisibleRobot {
    /// Bodies that carry nothing yet.
    pub fn bare(robot: &Articulated) -> Self {
        VisibleRobot { robot: robot.clone(), scene: Scene::default(), carried: Vec::new() }
    }

    /// Bodies with their geoms, matt and in the geoms' colors; geoms that are transparent are left out.
    pub fn new(robot: &Articulated) -> Self {
        let mut visible = VisibleRobot::bare(robot);
        let model = robot.model();
        for geom in model.geoms.iter().filter(|geom| geom.rgba[3] > 0.0) {
            let local = Transform::from_quat(geom.orientation.normalize(), geom.position);
            let mesh = geom_mesh(model, geom).moved(|x| local.point(x));
            let [r, g, b, _] = geom.rgba.map(linear);
            visible.carry(geom.name.clone(), geom.body, &mesh, Paint::Uniform(Vec3::new(r, g, b)));
        }
        visible
    }

    /// Lets a body carry a mesh, given in the body's frame.
    pub fn with_mesh(
        mut self,
        body: &str,
        mesh: &Mesh,
        paint: Paint<f64>,
        material: Material<f64>,
    ) -> Result<Self, ConfigError> {
        let found = self.robot.model().bodies.iter().position(|b| b.name == body);
        let Some(index) = found else {
            return Err(ConfigError::new(format!("no body is called `{body}`")));
        };
        self.carry(body.to_owned(), index, mesh, paint);
        if let Some(surface) = self.scene.surfaces.last_mut() {
            surface.material = material;
        }
        Ok(self)
    }

    /// Gives a geom, or the mesh of a body, another color and material.
    pub fn with_look(
        mut self,
        name: &str,
        paint: Paint<f64>,
        material: Material<f64>,
    ) -> Result<Self, ConfigError> {
        let Some(carried) = self.carried.iter().find(|c| c.name == name) else {
            let names: Vec<&str> = self.carried.iter().map(|c| c.name.as_str()).collect();
            return Err(ConfigError::new(format!(
                "nothing called `{name}` is seen; there is {}",
                names.join(", ")
            )));
        };
        let surface = &mut self.scene.surfaces[carried.surface];
        (surface.paint, surface.material) = (paint, material);
        Ok(self)
    }

    /// Adds something that stands still, such as a ground.
    #[must_use]
    pub fn with_still(mut self, mesh: &Mesh, paint: Paint<f64>, material: Material<f64>) -> Self {
        self.scene.surfaces.push(Surface::new(mesh, paint, material));
        self
    }

    /// Other lights and another background.
    #[must_use]
    pub fn with_light(mut self, lights: Vec<Light<f64>>, background: Vec3<f64>) -> Self {
        (self.scene.lights, self.scene.background) = (lights, background);
        self
    }

    fn carry(&mut self, name: String, body: usize, mesh: &Mesh, paint: Paint<f64>) {
        let surface = self.scene.surfaces.len();
        self.scene.surfaces.push(Surface::new(mesh, paint, Material::matt()));
        // The world does not move.
        if body > 0 {
            self.carried.push(Carried { name, surface, body, vertices: mesh.vertices.clone() });
        }
    }
}

/// Linear light of a color as files write it (sRGB).
fn linear(encoded: f32) -> f64 {
    let x = f64::from(encoded);
    if x <= 0.04045 { x / 12.92 } else { ((x + 0.055) / 1.055).powf(2.4) }
}

impl<T: Real> Visible<T> for VisibleRobot {
    type Workspace = RobotView<T>;

    fn workspace(&self) -> RobotView<T> {
        let bodies = self.robot.model().bodies.len();
        RobotView {
            robot: VectorField::<T>::workspace(&self.robot),
            velocities: vec![Force::zero(); bodies],
            wrenches: vec![Force::zero(); bodies],
        }
    }

    fn scene(&self) -> Scene<T> {
        self.scene.map(T::lit)
    }

    /// x = R x_body + p
    fn place(&self, ws: &mut RobotView<T>, at: Point<'_, T>, scene: &mut Scene<T>) {
        self.robot.motion(&mut ws.robot, at.params, at.state);
        for Carried { surface, body, vertices, .. } in &self.carried {
            let pose = ws.robot.kinematics.world_from_body[*body];
            for (x, local) in scene.surfaces[*surface].vertices.iter_mut().zip(vertices) {
                *x = pose.point(local.map(T::lit));
            }
        }
    }

    /// A force x̄ at x acts on small motions of the body as a wrench does.
    fn place_vjp(&self, ws: &mut RobotView<T>, at: Point<'_, T>, scene_bar: &Scene<T>, bars: Bars<'_, T>) {
        let RobotView { robot, velocities, wrenches } = ws;
        velocities.fill(Force::zero());
        wrenches.fill(Force::zero());
        for Carried { surface, body, vertices, .. } in &self.carried {
            let (pose, origin) = (robot.kinematics.world_from_body[*body], robot.kinematics.origins[*body]);
            for (x_bar, local) in scene_bar.surfaces[*surface].vertices.iter().zip(vertices) {
                let x = pose.point(local.map(T::lit));
                wrenches[*body] += Force::at_point(*x_bar, x - origin);
            }
        }
        let motion_bars = MotionBars { velocities, wrenches, params: bars.params };
        self.robot.motion_vjp(robot, at.params, at.state, motion_bars, bars.state);
    }
}

//! [`Look::of_robot`]: from a model to a look.
//!
//! What a file says is drawn as MuJoCo draws it: geoms and sites of groups up to 2, materials, textures, lights, the
//! headlight, the sky, cameras. Where it says nothing, there are things to show a robot by: light from above with
//! shadows, a sky, a checkered floor, and a free camera that follows what floats.

use pullback_math::{Quat, Transform, Vec3};
use pullback_physics::articulated::{JointKind, Model, Shape, TextureKind};
use pullback_render::{Finish, Haze, Paint, Scene, Shadows, Sky, Surface, Texture};

use super::camera::{Eye, FreeView};
use super::light::light_up;
use super::material::Dress;
use super::shape::triangles;
use super::texture::{Pixels, pixels, sky};
use super::{Look, Moment, Mover};

/// Geoms and sites of higher groups are hidden.
const LAST_GROUP: i32 = 2;
/// Color of geoms that say nothing of it.
const GRAY: [f32; 4] = [0.5, 0.5, 0.5, 1.0];
/// Their colors where the whole model says nothing: what moves, and what stands still.
const MOVING: [f32; 4] = [0.86, 0.52, 0.26, 1.0];
const STILL: [f32; 4] = [0.58, 0.61, 0.66, 1.0];
/// Fields of the floor.
const FLOOR: [[f64; 3]; 2] = [[0.50, 0.56, 0.64], [0.58, 0.64, 0.72]];
/// The sky of models that have none.
const SKY: Sky = Sky { above: Vec3 { x: 0.30, y: 0.47, z: 0.70 }, below: Vec3 { x: 0.94, y: 0.96, z: 0.99 } };
/// MuJoCo's smallest and largest depth, in extents.
const DEPTHS: [f64; 2] = [0.01, 50.0];
/// Texels of a shadow map along each side, at most.
const MOST_SHADOW_TEXELS: u32 = 8192;
/// Half size of endless planes, and where haze begins and ends, in extents.
const ENDLESS: f64 = 40.0;
const HAZE: [f64; 2] = [8.0, 34.0];
/// The free camera stands so many extents away: MuJoCo's.
const DISTANCE: f64 = 1.5;
/// Part of the mass that a body must carry to be followed.
const MAIN: f64 = 0.6;

/// A geom or a site.
struct Part<'a> {
    body: usize,
    shape: Shape,
    pose: Transform<f64>,
    extent: [f64; 2],
    dress: Dress<'a>,
}

impl Look {
    /// What a model shows, without the geoms in `hidden`.
    pub fn of_robot(model: &Model, hidden: &[usize]) -> Look {
        let mut look = Look { scene: Scene { lights: Vec::new(), ..Scene::default() }, ..Look::default() };
        look.notes.clone_from(&model.visual.notes);
        look.masses = model.bodies.iter().map(|b| (b.mass, b.com, b.parent)).collect();
        let pose =
            |(position, orientation): (Vec3<f64>, Quat<f64>)| Transform::from_quat(orientation, position);
        let reference =
            Moment { poses: model.reference_poses().into_iter().map(pose).collect(), particles: Vec::new() };

        let textures = look.read_textures(model);
        let parts = parts(model, hidden, &textures);
        look.bounds = bounds(model, &parts, &reference);
        let (center, extent) = statistic(model, look.bounds);
        for part in parts {
            look.add_part(model, part, extent);
        }
        look.place_in_reference(&reference);
        light_up(&mut look, model, &reference);
        look.add_surroundings(model, extent);
        look.add_cameras(model, &reference, center, extent);
        look
    }

    /// Pixels of the textures that materials name; others are noted.
    fn read_textures(&mut self, model: &Model) -> Vec<Option<Pixels>> {
        let used = |t: usize| model.materials.iter().any(|m| m.texture == Some(t));
        let mut read = |(i, texture)| {
            if !used(i) {
                return None;
            }
            match pixels(texture) {
                Ok(pixels) => Some(pixels),
                Err(why) => {
                    self.notes.push(format!("texture `{}` is not drawn: {why}", texture.name));
                    None
                }
            }
        };
        let textures = model.textures.iter().enumerate().map(&mut read).collect();
        for material in model.materials.iter().filter(|m| m.reflectance > 0.0) {
            self.notes.push(format!("material `{}`: its mirror image is not drawn", material.name));
        }
        textures
    }

    fn add_part(&mut self, model: &Model, part: Part<'_>, extent: f64) {
        let Part { body, shape, pose, extent: size, dress } = part;
        if let (Shape::Mesh { mesh }, Some(Pixels::Plane(_))) = (shape, dress.pixels) {
            let name = &model.meshes[mesh].name;
            self.notes.push(format!(
                "mesh `{name}`: texture coordinates of files are not read; its texture lies in the plane of x and y"
            ));
        }
        let shown = triangles(model, shape, size, ENDLESS * extent);
        let vertices: Vec<Vec3<f64>> = shown.vertices.iter().map(|x| pose.point(*x)).collect();
        let (mut surface, mut finish) = dress.surface(shown);
        surface.vertices.clone_from(&vertices);
        finish.casts_shadow = !matches!(shape, Shape::Plane | Shape::Heightfield { .. });
        self.push(surface, finish);
        self.movers.push(Mover { surface: self.scene.surfaces.len() - 1, body, vertices });
    }

    fn push(&mut self, surface: Surface<f64>, finish: Finish) {
        self.scene.surfaces.push(surface);
        self.effects.finishes.push(finish);
    }

    /// Moves all to where the model describes it.
    fn place_in_reference(&mut self, reference: &Moment) {
        let mut scene = std::mem::take(&mut self.scene);
        self.place(reference, &mut scene);
        self.scene = scene;
    }

    /// Sky, haze and shadows.
    fn add_surroundings(&mut self, model: &Model, extent: f64) {
        let own = model.textures.iter().find(|t| t.kind == TextureKind::Skybox).map(sky);
        let (shown, note) = own.unwrap_or((SKY, None));
        self.notes.extend(note);
        self.effects.sky = Some(shown);
        self.scene.background = (shown.above + shown.below) * 0.5;
        self.effects.haze = Some(Haze { start: HAZE[0] * extent, end: HAZE[1] * extent });
        let texels = model.visual.shadow_texels.unwrap_or(Shadows::default().resolution as u32);
        if texels > MOST_SHADOW_TEXELS {
            self.notes
                .push(format!("<visual> <quality> `shadowsize`: {MOST_SHADOW_TEXELS} in place of {texels}"));
        }
        let resolution = texels.min(MOST_SHADOW_TEXELS) as usize;
        self.effects.shadows = (resolution > 0).then_some(Shadows { resolution });
        if model.visual.haze.is_some() {
            self.notes.push("<visual> <rgba> `haze`: what is far fades into the sky instead".into());
        }
    }

    fn add_cameras(&mut self, model: &Model, reference: &Moment, center: Vec3<f64>, extent: f64) {
        let visual = &model.visual;
        let [near, far] = [0, 1].map(|i| visual.near_and_far[i].unwrap_or(DEPTHS[i]) * extent);
        let depths = [near, far.max(near * 1.01)];
        let mut notes = Vec::new();
        self.cameras = Eye::of_model(model, self, reference, depths, &mut notes);
        self.notes.extend(notes);
        self.first_camera = visual.camera.filter(|i| *i < self.cameras.len());
        let plain = FreeView::default();
        self.free = FreeView {
            lookat: center,
            distance: DISTANCE * extent,
            azimuth: visual.azimuth.unwrap_or(plain.azimuth),
            elevation: visual.elevation.unwrap_or(plain.elevation),
            orthographic: visual.orthographic,
            fovy: visual.fovy.unwrap_or(plain.fovy),
            depths,
        };
        self.followed = main_body(model).filter(|_| visual.center.is_none());
    }
}

/// Geoms and sites that are seen.
fn parts<'a>(model: &'a Model, hidden: &[usize], textures: &'a [Option<Pixels>]) -> Vec<Part<'a>> {
    let plain = model.materials.is_empty() && model.geoms.iter().all(|g| g.rgba == GRAY);
    let still = fixed_bodies(model);
    let shown = |group: i32, rgba: [f32; 4]| group <= LAST_GROUP && rgba[3] > 0.0;
    let mut parts = Vec::new();
    for (i, geom) in model.geoms.iter().enumerate() {
        if hidden.contains(&i) || !shown(geom.group, geom.rgba) {
            continue;
        }
        let rgba = match (plain, still[geom.body]) {
            (false, _) => geom.rgba,
            (true, false) => MOVING,
            (true, true) => STILL,
        };
        let mut dress = Dress::new(model, rgba, geom.material, textures);
        if geom.shape == Shape::Plane {
            dress.endless = geom.extent.map(|half| half == 0.0);
            let undressed = geom.material.is_none() && geom.rgba == GRAY;
            dress.checkered = undressed.then(floor);
        }
        parts.push(Part {
            body: geom.body,
            shape: geom.shape,
            pose: Transform::from_quat(geom.orientation, geom.position),
            extent: geom.extent,
            dress,
        });
    }
    for site in model.sites.iter().filter(|s| shown(s.group, s.rgba)) {
        parts.push(Part {
            body: site.body,
            shape: site.shape,
            pose: Transform::from_quat(site.orientation, site.position),
            extent: [0.0; 2],
            dress: Dress::new(model, site.rgba, site.material, textures),
        });
    }
    parts
}

/// The checkerboard of a floor that says nothing.
fn floor() -> Paint<f64> {
    let fields = FLOOR.map(|[r, g, b]| Vec3::new(r, g, b));
    Paint::Texture(Texture::checkerboard(2, 8, fields).repeated())
}

/// Which bodies stand still in the world.
fn fixed_bodies(model: &Model) -> Vec<bool> {
    let mut fixed = vec![true; model.bodies.len()];
    for (b, body) in model.bodies.iter().enumerate().skip(1) {
        fixed[b] = fixed[body.parent] && !body.mocap && model.joints_of(b).next().is_none();
    }
    fixed
}

/// The box around what the model shows: around what moves, if anything does; planes and terrain do not count.
fn bounds(model: &Model, parts: &[Part<'_>], reference: &Moment) -> Option<(Vec3<f64>, Vec3<f64>)> {
    let fixed = fixed_bodies(model);
    let counts = |p: &&Part<'_>| !matches!(p.shape, Shape::Plane | Shape::Heightfield { .. });
    let moving = parts.iter().filter(counts).any(|p| !fixed[p.body]);
    let all = |x: f64| Vec3::new(x, x, x);
    let (mut low, mut high) = (all(f64::INFINITY), all(f64::NEG_INFINITY));
    for part in parts.iter().filter(counts).filter(|p| !(moving && fixed[p.body])) {
        for x in triangles(model, part.shape, part.extent, 1.0).vertices {
            let x = reference.poses[part.body].point(part.pose.point(x));
            low = low.zip(x, f64::min);
            high = high.zip(x, f64::max);
        }
    }
    low.x.is_finite().then_some((low, high))
}

/// What the free camera looks at, and the size of the model, m: as the model says, or by the box around it.
fn statistic(model: &Model, bounds: Option<(Vec3<f64>, Vec3<f64>)>) -> (Vec3<f64>, f64) {
    let measured = bounds.map(|(low, high)| {
        let size = high - low;
        ((low + high) * 0.5, size.x.max(size.y).max(size.z))
    });
    let (center, extent) = measured.filter(|(_, extent)| *extent > 0.0).unwrap_or((Vec3::zero(), 2.0));
    let visual = &model.visual;
    (visual.center.unwrap_or(center), visual.extent.filter(|e| *e > 0.0).unwrap_or(extent))
}

/// The body that carries most of the mass, if it floats: by a free joint, or by two slides.
fn main_body(model: &Model) -> Option<usize> {
    let mut carried: Vec<f64> = model.bodies.iter().map(|b| b.mass).collect();
    for b in (1..model.bodies.len()).rev() {
        carried[model.bodies[b].parent] += if model.bodies[b].parent == 0 { 0.0 } else { carried[b] };
    }
    let total: f64 = model.bodies.iter().skip(1).map(|b| b.mass).sum();
    let floats = |b: &usize| {
        let kinds = |kind| model.joints_of(*b).filter(|j| j.kind == kind).count();
        kinds(JointKind::Free) > 0 || kinds(JointKind::Slide) >= 2
    };
    let main = |b: &usize| model.bodies[*b].parent == 0 && carried[*b] > MAIN * total;
    (1..model.bodies.len()).filter(floats).find(main)
}

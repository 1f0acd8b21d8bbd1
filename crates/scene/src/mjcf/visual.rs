//! Textures and materials, cameras and lights: kept for rendering, without effect on motion.
//!
//! What is not kept (`output` of cameras, texture layers beyond color ...) is named in [`Visual::notes`].

use std::collections::HashMap;
use std::path::PathBuf;

use pullback_articulated::{
    Camera, Following, Light, LightKind, Material, Projection, Texture, TextureKind, TextureMark,
    TexturePattern, TextureSource, Visual,
};
use pullback_math::{Quat, Vec3};

use super::ImportOptions;
use super::assets::locate;
use super::pose::{Pose, read_orientation};
use super::settings::Compiler;
use crate::xml::{Element, Lenient};
use crate::{ImportError, confine};

/// Attributes of `<visual>` that are settings of windows and marks, not of what is seen.
const NOT_OF_PICTURES: [&str; 18] = [
    "offwidth",
    "offheight",
    "realtime",
    "ipd",
    "linewidth",
    "glow",
    "ellipsoidinertia",
    "bvactive",
    "stiffness",
    "stiffnessrot",
    "force",
    "torque",
    "alpha",
    "actuatortendon",
    "numslices",
    "numstacks",
    "numquads",
    "offsamples",
];

/// Color of geoms and sites that say nothing.
pub(super) const GRAY: [f64; 4] = [0.5, 0.5, 0.5, 1.0];

/// The textures and materials of a model.
#[derive(Default)]
pub(super) struct Looks {
    pub textures: Vec<Texture>,
    pub materials: Vec<Material>,
    texture_index: HashMap<String, usize>,
    material_index: HashMap<String, usize>,
    notes: Vec<String>,
    confined_to: Vec<PathBuf>,
}

impl Looks {
    /// Nothing yet.
    pub fn new(options: &ImportOptions) -> Self {
        Looks { confined_to: options.confined_to.clone(), ..Looks::default() }
    }

    /// Reads one `<texture>` of `<asset>`, begun with those of its class.
    pub fn add_texture(
        &mut self,
        spec: &TextureSpec,
        e: &Element,
        compiler: &Compiler,
    ) -> Result<(), ImportError> {
        let mut spec = spec.clone();
        spec.apply(e)?;
        let path = |name: &str| e.text(name).map(|file| locate(file, &compiler.texture_folder, compiler));
        let sides = ["fileright", "fileleft", "fileup", "filedown", "filefront", "fileback"].map(path);
        let file = path("file");
        let stem = |f: &PathBuf| f.file_stem().map(|s| s.to_string_lossy().into_owned());
        let name = e.text("name").map(str::to_string).or(file.as_ref().and_then(stem)).unwrap_or_default();
        let source = if let Some(pattern) = spec.pattern {
            TextureSource::Builtin {
                pattern,
                rgb1: spec.rgb1.map(|c| c as f32),
                rgb2: spec.rgb2.map(|c| c as f32),
                mark: spec.mark,
                markrgb: spec.markrgb.map(|c| c as f32),
                random: spec.random as f32,
                width: spec.size[0],
                height: spec.size[1],
            }
        } else if let Some(path) = file {
            TextureSource::File { path, gridsize: spec.gridsize, gridlayout: spec.gridlayout }
        } else if sides.iter().any(Option::is_some) {
            TextureSource::Sides { paths: sides, rgb1: spec.rgb1.map(|c| c as f32) }
        } else {
            return Err(e.error("needs a `file` or a `builtin` pattern"));
        };
        // Pixels are read when something is drawn.
        let named: Vec<&PathBuf> = match &source {
            TextureSource::Builtin { .. } => Vec::new(),
            TextureSource::File { path, .. } => vec![path],
            TextureSource::Sides { paths, .. } => paths.iter().flatten().collect(),
        };
        for file in named {
            let refuse = |why: String| e.error(format!("`{}` {why}", file.display()));
            confine::check(file, &self.confined_to).map_err(refuse)?;
        }
        self.note_unused(e);
        let index = self.textures.len();
        if !name.is_empty() && self.texture_index.insert(name.clone(), index).is_some() {
            return Err(e.error(format!("two textures are called `{name}`; rename one")));
        }
        self.textures.push(Texture {
            name,
            kind: spec.kind,
            source,
            flip: spec.flip,
            srgb: spec.srgb,
            channels: spec.channels,
        });
        Ok(())
    }

    /// Reads one `<material>` of `<asset>`, begun with those of its class; textures are read before.
    pub fn add_material(&mut self, spec: &MaterialSpec, e: &Element) -> Result<(), ImportError> {
        let mut spec = spec.clone();
        spec.apply(e)?;
        let name = e.required("name")?.to_string();
        let texture = match &spec.texture {
            None => None,
            Some(texture) => Some(self.texture(texture, e)?),
        };
        self.note_unused(e);
        for role in &spec.layers {
            self.note(format!("<layer> of role `{role}` is not drawn"));
        }
        if self.material_index.insert(name.clone(), self.materials.len()).is_some() {
            return Err(e.error(format!("two materials are called `{name}`; rename one")));
        }
        let [emission, specular, shininess, reflectance, metallic, roughness] =
            spec.factors.map(|x| x as f32);
        self.materials.push(Material {
            name,
            rgba: spec.rgba.map(|c| c as f32),
            texture,
            texrepeat: spec.texrepeat.map(|x| x as f32),
            texuniform: spec.texuniform,
            emission,
            specular,
            shininess,
            reflectance,
            metallic,
            roughness,
        });
        Ok(())
    }

    /// Notes attributes of an element that nobody read, once per kind.
    pub fn note_unused(&mut self, e: &Element) {
        let unused =
            e.attributes.iter().filter(|a| !a.used.get() && !["class", "user"].contains(&a.name.as_str()));
        for attribute in unused {
            self.note(format!("<{}> `{}` is not drawn", e.tag, attribute.name));
        }
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Reads `<visual>` or `<statistic>`.
    pub fn read_visual(&mut self, e: &Element, visual: &mut Visual) -> Result<(), ImportError> {
        if e.tag == "statistic" {
            visual.center = e.vec3("center")?.or(visual.center);
            visual.extent = e.number("extent")?.or(visual.extent);
            return Ok(());
        }
        for part in &e.children {
            self.read_visual_part(part, visual)?;
        }
        Ok(())
    }

    fn read_visual_part(&mut self, e: &Element, visual: &mut Visual) -> Result<(), ImportError> {
        let color = |name: &str, into: &mut [f32; 3]| -> Result<(), ImportError> {
            *into = e.array::<3>(name)?.map_or(*into, |c| c.map(|x| x as f32));
            Ok(())
        };
        match e.tag.as_str() {
            "headlight" => {
                let mut light = visual.headlight.unwrap_or_default();
                light.active = e.integer("active")?.map_or(light.active, |on| on != 0);
                color("ambient", &mut light.ambient)?;
                color("diffuse", &mut light.diffuse)?;
                color("specular", &mut light.specular)?;
                visual.headlight = Some(light);
            }
            "global" => {
                // The older name of the projection, as of cameras.
                visual.orthographic = e.boolean("orthographic")?.unwrap_or(visual.orthographic);
                visual.fovy = e.number("fovy")?.or(visual.fovy);
                visual.azimuth = e.number("azimuth")?.or(visual.azimuth);
                visual.elevation = e.number("elevation")?.or(visual.elevation);
                let camera = e.integer("cameraid")?.map(|i| usize::try_from(i).ok());
                visual.camera = camera.unwrap_or(visual.camera);
            }
            "map" => {
                let [near, far] = &mut visual.near_and_far;
                *near = e.number("znear")?.or(*near);
                *far = e.number("zfar")?.or(*far);
            }
            "quality" => {
                let texels = e.integer("shadowsize")?.map(|n| n.max(0) as u32);
                visual.shadow_texels = texels.or(visual.shadow_texels);
            }
            "rgba" => {
                visual.haze = e.array::<4>("haze")?.map(|c| c.map(|x| x as f32)).or(visual.haze);
                // The others are colors of marks that pictures do not have, as of forces and joints.
                return Ok(());
            }
            // Sizes of such marks.
            "scale" => return Ok(()),
            _ => {}
        }
        let unused = |name: &str| !NOT_OF_PICTURES.contains(&name);
        for attribute in e.attributes.iter().filter(|a| !a.used.get() && unused(&a.name)) {
            self.note(format!("<visual> <{}> `{}` is not drawn", e.tag, attribute.name));
        }
        Ok(())
    }

    /// What was noted.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    fn texture(&self, name: &str, e: &Element) -> Result<usize, ImportError> {
        let found = self.texture_index.get(name).copied();
        found.ok_or_else(|| e.error_in("texture", format!("no texture is called `{name}`")))
    }

    /// The material that an element names, and the color it gives to what has none of its own.
    pub fn dress(
        &self,
        name: Option<&str>,
        rgba: [f64; 4],
        e: &Element,
        options: &ImportOptions,
    ) -> Result<(Option<usize>, [f32; 4]), ImportError> {
        let own = rgba.map(|c| c as f32);
        let Some(name) = name else { return Ok((None, own)) };
        let Some(index) = self.material_index.get(name).copied() else {
            if options.ignores(&e.tag, "material") {
                return Ok((None, own));
            }
            let why =
                format!("no material is called `{name}`; add it or allow `{}.material` to be ignored", e.tag);
            return Err(e.error_in("material", why));
        };
        Ok((Some(index), if rgba == GRAY { self.materials[index].rgba } else { own }))
    }
}

/// A texture as written; also a default.
#[derive(Clone, Debug)]
pub(super) struct TextureSpec {
    kind: TextureKind,
    pattern: Option<TexturePattern>,
    rgb1: [f64; 3],
    rgb2: [f64; 3],
    mark: TextureMark,
    markrgb: [f64; 3],
    random: f64,
    size: [u32; 2],
    gridsize: [u32; 2],
    gridlayout: String,
    flip: [bool; 2],
    srgb: Option<bool>,
    channels: u32,
}

impl Default for TextureSpec {
    fn default() -> Self {
        TextureSpec {
            kind: TextureKind::Cube,
            pattern: None,
            rgb1: [0.8; 3],
            rgb2: [0.5; 3],
            mark: TextureMark::None,
            markrgb: [0.0; 3],
            random: 0.01,
            size: [0; 2],
            gridsize: [1; 2],
            gridlayout: String::new(),
            flip: [false; 2],
            srgb: None,
            channels: 3,
        }
    }
}

impl TextureSpec {
    /// Overwrites what the element says.
    pub fn apply(&mut self, e: &Element) -> Result<(), ImportError> {
        use TexturePattern::{Checker, Flat, Gradient};
        if let Some(i) = e.keyword("type", &["2d", "cube", "skybox"])? {
            self.kind = [TextureKind::TwoD, TextureKind::Cube, TextureKind::Skybox][i];
        }
        if let Some(i) = e.keyword("builtin", &["none", "gradient", "checker", "flat"])? {
            self.pattern = [None, Some(Gradient), Some(Checker), Some(Flat)][i];
        }
        if let Some(i) = e.keyword("mark", &["none", "edge", "cross", "random"])? {
            self.mark = [TextureMark::None, TextureMark::Edge, TextureMark::Cross, TextureMark::Random][i];
        }
        if let Some(i) = e.keyword("colorspace", &["auto", "linear", "sRGB"])? {
            self.srgb = [None, Some(false), Some(true)][i];
        }
        e.overlay("rgb1", 3, &mut self.rgb1)?;
        e.overlay("rgb2", 3, &mut self.rgb2)?;
        e.overlay("markrgb", 3, &mut self.markrgb)?;
        e.set("random", &mut self.random)?;
        let count = |name: &str, into: &mut u32| {
            e.integer(name).map(|n| *into = n.map_or(*into, |n| u32::try_from(n).unwrap_or(0)))
        };
        count("width", &mut self.size[0])?;
        count("height", &mut self.size[1])?;
        count("nchannel", &mut self.channels)?;
        if let Some(grid) = e.array::<2>("gridsize")? {
            self.gridsize = grid.map(|n| n as u32);
        }
        self.gridlayout = e.text("gridlayout").map_or(std::mem::take(&mut self.gridlayout), str::to_string);
        self.flip =
            [e.boolean("hflip")?.unwrap_or(self.flip[0]), e.boolean("vflip")?.unwrap_or(self.flip[1])];
        Ok(())
    }
}

/// A material as written; also a default.
#[derive(Clone, Debug)]
pub(super) struct MaterialSpec {
    rgba: [f64; 4],
    texture: Option<String>,
    texrepeat: [f64; 2],
    texuniform: bool,
    /// Emission, specular, shininess, reflectance, metallic, roughness.
    factors: [f64; 6],
    /// Roles of textures that are not drawn.
    layers: Vec<String>,
}

impl Default for MaterialSpec {
    fn default() -> Self {
        MaterialSpec {
            rgba: [1.0; 4],
            texture: None,
            texrepeat: [1.0; 2],
            texuniform: false,
            factors: [0.0, 0.5, 0.5, 0.0, -1.0, -1.0],
            layers: Vec::new(),
        }
    }
}

impl MaterialSpec {
    /// Overwrites what the element says.
    pub fn apply(&mut self, e: &Element) -> Result<(), ImportError> {
        e.overlay("rgba", 4, &mut self.rgba)?;
        e.overlay("texrepeat", 2, &mut self.texrepeat)?;
        self.texuniform = e.boolean("texuniform")?.unwrap_or(self.texuniform);
        let names = ["emission", "specular", "shininess", "reflectance", "metallic", "roughness"];
        for (name, into) in names.into_iter().zip(&mut self.factors) {
            e.set(name, into)?;
        }
        let layers = e.children.iter().filter(|c| c.tag == "layer");
        let color =
            layers.filter(|c| matches!(c.text("role"), Some("rgb" | "rgba"))).find_map(|c| c.text("texture"));
        let plain = |role: &str| matches!(role, "rgb" | "rgba");
        let layers = e.children.iter().filter(|c| c.tag == "layer");
        self.layers =
            layers.filter_map(|c| c.text("role")).filter(|r| !plain(r)).map(str::to_string).collect();
        self.texture = e.text("texture").or(color).map(str::to_string).or(self.texture.take());
        Ok(())
    }
}

/// Something that follows a body whose name is looked up once all bodies are known.
#[derive(Clone, Debug)]
pub(super) struct Seen<T> {
    pub item: T,
    pub target: Option<String>,
}

/// A camera as written; also a default.
#[derive(Clone, Debug)]
pub(super) struct CameraSpec {
    mode: usize,
    position: Vec3<f64>,
    orientation: Quat<f64>,
    fovy: f64,
    orthographic: bool,
    ipd: f64,
    resolution: Option<[f64; 2]>,
    sensorsize: Option<[f64; 2]>,
    /// Focal length and offset of the axis, m, then both in pixels.
    lens: [Option<[f64; 2]>; 4],
}

impl Default for CameraSpec {
    fn default() -> Self {
        CameraSpec {
            mode: 0,
            position: Vec3::zero(),
            orientation: Quat::identity(),
            fovy: 45.0,
            orthographic: false,
            ipd: 0.068,
            resolution: None,
            sensorsize: None,
            lens: [None; 4],
        }
    }
}

const MODES: [&str; 5] = ["fixed", "track", "trackcom", "targetbody", "targetbodycom"];

/// How it follows, the target still open.
fn following(mode: usize) -> Following {
    [
        Following::Fixed,
        Following::Track,
        Following::TrackCom,
        Following::TargetBody { target: 0 },
        Following::TargetBodyCom { target: 0 },
    ][mode]
}

impl CameraSpec {
    /// Overwrites what the element says.
    pub fn apply(&mut self, e: &Element, compiler: &Compiler) -> Result<(), ImportError> {
        self.mode = e.keyword("mode", &MODES)?.unwrap_or(self.mode);
        self.position = e.vec3("pos")?.unwrap_or(self.position);
        self.orientation = read_orientation(e, compiler)?.unwrap_or(self.orientation);
        e.set("fovy", &mut self.fovy)?;
        e.set("ipd", &mut self.ipd)?;
        if let Some(i) = e.keyword("projection", &["perspective", "orthographic"])? {
            self.orthographic = i == 1;
        }
        // The older name of the projection.
        self.orthographic = e.boolean("orthographic")?.unwrap_or(self.orthographic);
        self.resolution = e.array("resolution")?.or(self.resolution);
        self.sensorsize = e.array("sensorsize")?.or(self.sensorsize);
        let names = ["focal", "principal", "focalpixel", "principalpixel"];
        for (name, into) in names.into_iter().zip(&mut self.lens) {
            *into = e.array(name)?.or(*into);
        }
        Ok(())
    }

    /// The camera in `frame` of its body.
    pub fn build(&self, e: &Element, frame: Pose) -> Seen<Camera> {
        let pose = frame.compose(Pose { position: self.position, orientation: self.orientation });
        let pixels = self.resolution.map(|r| r.map(|n| n.max(1.0)));
        let projection = match (self.orthographic, self.sensorsize, pixels) {
            (true, ..) => Projection::Orthographic { height: self.fovy },
            (_, Some(sensorsize), Some(pixels)) => {
                let [focal, principal, focal_pixels, principal_pixels] = self.lens;
                let meters = |in_pixels: [f64; 2]| [0, 1].map(|i| in_pixels[i] * sensorsize[i] / pixels[i]);
                Projection::Intrinsic {
                    focal: focal_pixels.map(meters).or(focal).unwrap_or([0.01; 2]),
                    principal: principal_pixels.map(meters).or(principal).unwrap_or_default(),
                    sensorsize,
                }
            }
            _ => Projection::Perspective { fovy: self.fovy },
        };
        let item = Camera {
            name: e.text("name").unwrap_or_default().to_string(),
            body: 0,
            position: pose.position,
            orientation: pose.orientation,
            following: following(self.mode),
            projection,
            resolution: pixels.map(|r| r.map(|n| n as u32)),
            ipd: self.ipd,
        };
        Seen { item, target: e.text("target").map(str::to_string) }
    }
}

/// A light as written; also a default.
#[derive(Clone, Debug)]
pub(super) struct LightSpec {
    light: Light,
    mode: usize,
}

impl Default for LightSpec {
    fn default() -> Self {
        let light = Light {
            name: String::new(),
            body: 0,
            position: Vec3::zero(),
            direction: Vec3::new(0.0, 0.0, -1.0),
            following: Following::Fixed,
            kind: LightKind::Spot,
            texture: None,
            active: true,
            castshadow: true,
            attenuation: [1.0, 0.0, 0.0],
            cutoff: 45.0,
            exponent: 10.0,
            bulbradius: 0.02,
            intensity: 0.0,
            range: 10.0,
            ambient: [0.0; 3],
            diffuse: [0.7; 3],
            specular: [0.3; 3],
        };
        LightSpec { light, mode: 0 }
    }
}

impl LightSpec {
    /// Overwrites what the element says.
    pub fn apply(&mut self, e: &Element) -> Result<(), ImportError> {
        use LightKind::{Directional, Image, Point, Spot};
        let light = &mut self.light;
        self.mode = e.keyword("mode", &MODES)?.unwrap_or(self.mode);
        light.position = e.vec3("pos")?.unwrap_or(light.position);
        light.direction = e.vec3("dir")?.unwrap_or(light.direction);
        if let Some(directional) = e.boolean("directional")? {
            light.kind = if directional { Directional } else { Spot };
        }
        if let Some(i) = e.keyword("type", &["spot", "directional", "point", "image"])? {
            light.kind = [Spot, Directional, Point, Image][i];
        }
        light.active = e.boolean("active")?.unwrap_or(light.active);
        light.castshadow = e.boolean("castshadow")?.unwrap_or(light.castshadow);
        for (name, into) in [
            ("attenuation", &mut light.attenuation),
            ("ambient", &mut light.ambient),
            ("diffuse", &mut light.diffuse),
            ("specular", &mut light.specular),
        ] {
            *into = e.array::<3>(name)?.map_or(*into, |v| v.map(|x| x as f32));
        }
        for (name, into) in [
            ("cutoff", &mut light.cutoff),
            ("exponent", &mut light.exponent),
            ("bulbradius", &mut light.bulbradius),
            ("intensity", &mut light.intensity),
            ("range", &mut light.range),
        ] {
            *into = e.number(name)?.map_or(*into, |x| x as f32);
        }
        Ok(())
    }

    /// The light in `frame` of its body.
    pub fn build(&self, e: &Element, frame: Pose, looks: &Looks) -> Result<Seen<Light>, ImportError> {
        let texture = match e.text("texture") {
            None => None,
            Some(name) => Some(looks.texture(name, e)?),
        };
        let direction = frame.orientation.rotate(self.light.direction);
        let length = direction.norm();
        let item = Light {
            name: e.text("name").unwrap_or_default().to_string(),
            position: frame.point(self.light.position),
            direction: if length > 0.0 { direction * (1.0 / length) } else { Vec3::new(0.0, 0.0, -1.0) },
            following: following(self.mode),
            texture,
            ..self.light.clone()
        };
        Ok(Seen { item, target: e.text("target").map(str::to_string) })
    }
}

/// Whom a camera or light follows, its target found among the bodies; one that is not there is looked away
/// from.
pub(super) fn aim(open: Following, target: Option<usize>) -> Following {
    match (open, target) {
        (Following::TargetBody { .. }, Some(target)) => Following::TargetBody { target },
        (Following::TargetBodyCom { .. }, Some(target)) => Following::TargetBodyCom { target },
        (Following::TargetBody { .. } | Following::TargetBodyCom { .. }, None) => Following::Fixed,
        (other, _) => other,
    }
}

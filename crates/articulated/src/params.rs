//! Parameters of a model: blocks of named scalars, and where each lies in the flat vector.
//!
//! Every physical quantity of a model is a parameter. Its layout and the blocks that the physics reads are
//! built together, so that neither can be wrong about the other.

use pullback_core::layout::{Layout, LayoutBuilder, Slice};
use pullback_core::{Block, ConfigError};
use pullback_math::{Cotangent, Quat, SpatialInertia, SymMat3, Transform, Vec3, differentiable};

use super::actuator::params::{ActuatorBlocks, actuator_blocks};
use super::complementarity::params::ComplementarityIndex;
use super::constraint::params::ConstraintIndex;
use super::contact::{PENALTY_DEFAULTS, PenaltyLaw};
use super::coupling::ties;
use super::fluid::{self, FluidIndex};
use super::joint_forces::has_range;
use super::kinematic_params::KinematicIndex;
use super::model::{
    Body, ContactDamping, ContactMaterials, ContactModel, Geom, Joint, JointKind, Model, PathItem, Site,
    Tendon, TendonPath, Transmission,
};
use super::tendon::TendonBlocks;

/// Parameters of a body.
#[derive(Clone, Copy, Debug, PartialEq, Cotangent)]
pub struct BodyParams<T> {
    /// Mass, kg.
    pub mass: T,
    /// Center of mass in the body frame, m.
    pub com: Vec3<T>,
    /// Inertia about the center of mass in the body frame, kg m².
    pub inertia: SymMat3<T>,
}

impl<T: pullback_math::Real> BodyParams<T> {
    /// The spatial inertia about the origin of the body frame.
    #[differentiable]
    #[inline(always)]
    pub fn spatial_inertia(self) -> SpatialInertia<T> {
        SpatialInertia::from_com(self.mass, self.com, self.inertia)
    }
}

/// Parameters of a joint. Units are those of a joint that turns; one that slides has N and m for N m and rad.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub struct JointParams<T> {
    /// Damping, N m s/rad.
    pub damping: T,
    /// Stiffness of the spring, N m/rad.
    pub stiffness: T,
    /// Inertia added to the diagonal of the mass matrix, kg m².
    pub armature: T,
    /// Coordinate at which the spring is at rest, rad.
    pub springref: T,
}

/// The spring that the penalty model puts at the ends of a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub struct LimitSpring<T> {
    /// Stiffness beyond the range, N m/rad.
    pub stiffness: T,
    /// Damping beyond the range: per radian beyond it, N m s/rad², or plain, N m s/rad.
    pub damping: T,
}

/// Range of a limited hinge or slide, rad or m.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub struct JointRange<T> {
    /// Lower end.
    pub lower: T,
    /// Upper end.
    pub upper: T,
}

/// Parameters of a joint that follows another: q = multiplier·q_leader + offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Cotangent)]
pub struct MimicParams<T> {
    /// Ratio of the coordinates.
    pub multiplier: T,
    /// Coordinate where that of the leader is 0.
    pub offset: T,
}

/// Pose of a site in its body.
#[derive(Clone, Copy, Debug, PartialEq, Cotangent)]
pub struct SiteParams<T> {
    /// Position, m.
    pub position: Vec3<T>,
    /// Orientation, normalized where it is used.
    pub orientation: Quat<T>,
}

impl<T: pullback_math::Real> SiteParams<T> {
    /// As the model has it.
    pub fn of(site: &Site) -> Self {
        let o = site.orientation;
        let orientation = Quat::new(T::lit(o.w), T::lit(o.x), T::lit(o.y), T::lit(o.z));
        SiteParams { position: site.position.map(T::lit), orientation }
    }

    /// The frame of the site in that of its body.
    #[differentiable]
    #[inline(always)]
    pub fn body_from_site(self) -> Transform<T> {
        Transform::from_quat(self.orientation.normalize(), self.position)
    }
}

/// Parameters of a geom.
#[derive(Clone, Copy, Debug, PartialEq, Cotangent)]
pub struct GeomParams<T> {
    /// Sizes as its shape has them, m.
    pub size: Vec3<T>,
    /// Position in the body frame, m.
    pub position: Vec3<T>,
    /// Orientation in the body frame, normalized where it is used.
    pub orientation: Quat<T>,
    /// Sliding friction.
    pub friction: T,
}

/// Where the parameters of a joint lie.
#[derive(Clone, Copy, Debug)]
pub struct JointBlocks {
    /// Spring, damping, armature.
    pub params: Block<JointParams<f64>>,
    /// Range, of a limited hinge or slide.
    pub range: Option<Block<JointRange<f64>>>,
    /// The spring at its ends, under the penalty model.
    pub limit_spring: Option<Block<LimitSpring<f64>>>,
}

/// Where the constants of compliant contact lie.
#[derive(Clone, Debug)]
pub enum LawBlocks {
    /// One law for all contacts.
    Shared(Block<PenaltyLaw<f64>>),
    /// One law per geom.
    PerGeom(Vec<Block<PenaltyLaw<f64>>>),
}

/// Where each parameter lies.
#[derive(Clone, Debug)]
pub struct ParamIndex {
    /// Gravity, m/s².
    pub gravity: Block<Vec3<f64>>,
    bodies: Vec<Block<BodyParams<f64>>>,
    /// Bodies of which a part of the weight is carried, and that part.
    pub compensation: Vec<(usize, Block<[f64; 1]>)>,
    /// Joints.
    pub joints: Vec<JointBlocks>,
    /// Joints that follow others, in the order of [`Model::mimics`].
    pub mimics: Vec<Block<MimicParams<f64>>>,
    /// Sites that tendons and actuators hold.
    pub sites: Vec<Option<Block<SiteParams<f64>>>>,
    /// Tendons.
    pub tendons: Vec<TendonBlocks>,
    /// Actuators.
    pub actuators: Vec<ActuatorBlocks>,
    /// Constants of compliant contact; none where nothing can touch, and under other models.
    pub law: Option<LawBlocks>,
    /// Geoms; empty where nothing can touch and no tendon wraps.
    pub geoms: Vec<Block<GeomParams<f64>>>,
    /// The medium around bodies; none in a vacuum.
    pub fluid: Option<FluidIndex>,
    /// Poses of bodies, axes and anchors of joints, where they were asked for.
    pub kinematics: Option<KinematicIndex>,
    /// Constraints, under the convex model.
    pub constraints: Option<ConstraintIndex>,
    /// Rows of impulses, under the complementarity model.
    pub complementarity: Option<ComplementarityIndex>,
}

impl ParamIndex {
    /// The block of a body other than the world.
    #[inline(always)]
    pub fn body(&self, body: usize) -> Block<BodyParams<f64>> {
        self.bodies[body - 1]
    }
}

/// Stiffness and damping of joint limits when nothing else is said; ours, MuJoCo's limits are constraints.
pub const LIMIT_DEFAULTS: (f64, f64) = (1e3, 10.0);

/// Names, units and defaults of a model's state, control and parameters, and where the parameters lie.
pub fn layout(model: &Model) -> Result<(Layout, ParamIndex), ConfigError> {
    let mut builder = state_and_control(model)?;
    let g = model.options.gravity;
    let gravity = builder.param_block([Slice::new("gravity", 3, "m/s^2").default(&[g.x, g.y, g.z])]);
    let bodies = model.bodies.iter().skip(1).map(|b| builder.param_block(body_slices(b))).collect();
    let mut compensation = Vec::new();
    for (b, body) in model.bodies.iter().enumerate().filter(|(_, body)| body.gravity_compensation != 0.0) {
        let slice =
            Slice::new(format!("{}.gravcomp", body.name), 1, "1").default(&[body.gravity_compensation]);
        compensation.push((b, builder.param_block([slice])));
    }
    let joints = model.joints.iter().map(|j| joint_blocks(model, j, &mut builder)).collect();
    let mut mimics = Vec::new();
    for tie in &ties(model)? {
        let joint = &model.joints[tie.joint];
        mimics.push(builder.param_block([
            Slice::new(format!("{}.multiplier", joint.name), 1, "1").default(&[tie.multiplier]),
            Slice::new(format!("{}.offset", joint.name), 1, coordinate_unit(joint)).default(&[tie.offset]),
        ]));
    }
    let held = held_sites(model);
    let sites = model.sites.iter().enumerate();
    let sites = sites.map(|(i, s)| held[i].then(|| builder.param_block(site_slices(s)))).collect();
    let tendons = model.tendons.iter().map(|t| tendon_blocks(model, t, &mut builder)).collect();
    let actuators = model.actuators.iter().map(|a| actuator_blocks(model, a, &mut builder)).collect();
    let (law, geoms) = contact_blocks(model, &mut builder);
    let fluid = fluid::add_slices(model, &mut builder);
    let index = ParamIndex {
        gravity,
        bodies,
        compensation,
        joints,
        mimics,
        sites,
        tendons,
        actuators,
        law,
        geoms,
        fluid,
        kinematics: None,
        constraints: None,
        complementarity: None,
    };
    Ok((builder.build()?, index))
}

/// What a joint adds to the state: name, length and unit of its coordinates, name and unit of their
/// velocities.
type StateSlice = (&'static str, usize, &'static str, &'static str, &'static str);

fn state_slices(kind: JointKind) -> &'static [StateSlice] {
    match kind {
        JointKind::Hinge => &[("q", 1, "rad", "v", "rad/s")],
        JointKind::Slide => &[("q", 1, "m", "v", "m/s")],
        JointKind::Ball => &[("orientation", 4, "1", "spin", "rad/s")],
        JointKind::Free => {
            &[("position", 3, "m", "velocity", "m/s"), ("orientation", 4, "1", "spin", "rad/s")]
        }
    }
}

/// State of the joints that follow no other and activations; controls of the actuators.
fn state_and_control(model: &Model) -> Result<LayoutBuilder, ConfigError> {
    let mut builder = Layout::builder();
    let q0 = model.reference_configuration();
    let ties = ties(model)?;
    let follows = |j: usize| ties.iter().any(|t| t.joint == j);
    let independent = || model.joints.iter().enumerate().filter(|(j, _)| !follows(*j)).map(|(_, j)| j);
    for joint in independent() {
        for (what, count, unit, _, _) in state_slices(joint.kind) {
            let first = joint.q + if *what == "orientation" { joint.kind.coordinates() - 4 } else { 0 };
            let slice = Slice::new(format!("{}.{what}", joint.name), *count, *unit);
            let slice = slice.default(&q0[first..first + count]);
            builder = builder.state(if *what == "orientation" { slice.normalized() } else { slice });
        }
    }
    for joint in independent() {
        for (_, _, _, what, unit) in state_slices(joint.kind) {
            let count = joint.kind.velocities().min(3);
            builder = builder.state(Slice::new(format!("{}.{what}", joint.name), count, *unit));
        }
    }
    for actuator in model.actuators.iter().filter(|a| a.has_activation()) {
        let (low, high) = actuator.activation_range.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        builder = builder.state(Slice::new(format!("{}.act", actuator.name), 1, "1").bounds(low, high));
    }
    for actuator in &model.actuators {
        let (low, high) = actuator.control_range.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        builder = builder.control(Slice::new(actuator.name.clone(), 1, "1").bounds(low, high));
    }
    for body in model.bodies.iter().filter(|b| b.mocap) {
        let (p, o) = (body.position, body.orientation);
        let name = |what: &str| format!("{}.{what}", body.name);
        builder = builder
            .control(Slice::new(name("mocap_pos"), 3, "m").default(&[p.x, p.y, p.z]))
            .control(Slice::new(name("mocap_quat"), 4, "1").default(&[o.w, o.x, o.y, o.z]).normalized());
    }
    Ok(builder)
}

/// Slices of [`BodyParams`].
fn body_slices(body: &Body) -> [Slice; 3] {
    let (c, i, name) = (body.com, body.inertia, &body.name);
    let mass = Slice::new(format!("{name}.mass"), 1, "kg").default(&[body.mass]);
    let inertia = [i.xx, i.yy, i.zz, i.xy, i.xz, i.yz];
    [
        mass.bounds(0.0, f64::INFINITY),
        Slice::new(format!("{name}.com"), 3, "m").default(&[c.x, c.y, c.z]),
        Slice::new(format!("{name}.inertia"), 6, "kg m^2").default(&inertia),
    ]
}

/// Unit of a joint's coordinate; a free joint is named by its rotation.
fn coordinate_unit(joint: &Joint) -> &'static str {
    if joint.kind == JointKind::Slide { "m" } else { "rad" }
}

fn joint_blocks(model: &Model, joint: &Joint, builder: &mut LayoutBuilder) -> JointBlocks {
    let name = |what: &str| format!("{}.{what}", joint.name);
    let slides = joint.kind == JointKind::Slide;
    let slice = |what: &str, turning: &'static str, sliding: &'static str, value: f64| {
        Slice::new(name(what), 1, if slides { sliding } else { turning }).default(&[value])
    };
    let params = builder.param_block([
        slice("damping", "N m s/rad", "N s/m", joint.damping),
        slice("stiffness", "N m/rad", "N/m", joint.stiffness),
        slice("armature", "kg m^2", "kg", joint.armature),
        slice("springref", "rad", "m", joint.spring_reference),
    ]);
    let range = joint.range.filter(|_| has_range(model, joint)).map(|(low, high)| {
        builder.param_block([Slice::new(name("range"), 2, coordinate_unit(joint)).default(&[low, high])])
    });
    let penalty = model.options.contact_model == ContactModel::Penalty;
    let limit_spring = range.filter(|_| penalty).map(|_| {
        let (stiffness, damping) = LIMIT_DEFAULTS;
        let [turning, sliding] = match model.options.limit_damping {
            ContactDamping::ByDepth => ["N m s/rad^2", "N s/m^2"],
            ContactDamping::Plain => ["N m s/rad", "N s/m"],
        };
        builder.param_block([
            slice("limit_stiffness", "N m/rad", "N/m", stiffness),
            slice("limit_damping", turning, sliding, damping),
        ])
    });
    JointBlocks { params, range, limit_spring }
}

/// Whether each site is part of a tendon or holds an actuator.
fn held_sites(model: &Model) -> Vec<bool> {
    let mut held = vec![false; model.sites.len()];
    for tendon in &model.tendons {
        let TendonPath::Spatial(items) = &tendon.path else { continue };
        for item in items {
            match *item {
                PathItem::Site(site) | PathItem::Wrap { sidesite: Some(site), .. } => held[site] = true,
                PathItem::Wrap { sidesite: None, .. } | PathItem::Pulley(_) => {}
            }
        }
    }
    for actuator in &model.actuators {
        match actuator.transmission {
            Transmission::Site { site, reference } => {
                held[site] = true;
                reference.into_iter().for_each(|site| held[site] = true);
            }
            Transmission::SliderCrank { crank, slider, .. } => (held[crank], held[slider]) = (true, true),
            _ => {}
        }
    }
    held
}

/// Slices of [`SiteParams`].
fn site_slices(site: &Site) -> [Slice; 2] {
    let (p, o) = (site.position, site.orientation);
    [
        Slice::new(format!("{}.site_position", site.name), 3, "m").default(&[p.x, p.y, p.z]),
        Slice::new(format!("{}.site_orientation", site.name), 4, "1")
            .default(&[o.w, o.x, o.y, o.z])
            .normalized(),
    ]
}

fn tendon_blocks(model: &Model, tendon: &Tendon, builder: &mut LayoutBuilder) -> TendonBlocks {
    let name = |what: &str| format!("{}.tendon_{what}", tendon.name);
    let coefficients = match &tendon.path {
        TendonPath::Fixed(terms) if !terms.is_empty() => {
            let values: Vec<f64> = terms.iter().map(|(_, c)| *c).collect();
            builder.param_range(Slice::new(name("coef"), values.len(), "1").default(&values))
        }
        _ => 0..0,
    };
    let spring = (tendon.stiffness != 0.0 || tendon.damping != 0.0).then(|| {
        let (low, high) = tendon.springlength.unwrap_or((0.0, 0.0));
        builder.param_block([
            Slice::new(name("stiffness"), 1, "N/m").default(&[tendon.stiffness]),
            Slice::new(name("damping"), 1, "N s/m").default(&[tendon.damping]),
            Slice::new(name("springlength"), 2, "m").default(&[low, high]),
        ])
    });
    let range = tendon
        .range
        .filter(|_| model.options.limits)
        .map(|(low, high)| builder.param_block([Slice::new(name("range"), 2, "m").default(&[low, high])]));
    let armature = (tendon.armature != 0.0)
        .then(|| builder.param_block([Slice::new(name("armature"), 1, "kg").default(&[tendon.armature])]));
    TendonBlocks { coefficients, spring, armature, range }
}

/// Slices of [`PenaltyLaw`].
fn law_slices(of: &str, form: ContactDamping) -> [Slice; 3] {
    let [ke, kd, kf] = PENALTY_DEFAULTS;
    let damping = match form {
        ContactDamping::ByDepth => "N s/m^2",
        ContactDamping::Plain => "N s/m",
    };
    [("stiffness", "N/m", ke), ("damping", damping, kd), ("friction_slope", "N s/m", kf)].map(
        |(what, unit, value)| {
            Slice::new(format!("{of}.{what}"), 1, unit).default(&[value]).bounds(0.0, f64::INFINITY)
        },
    )
}

/// Slices of [`GeomParams`].
fn geom_slices(model: &Model, geom: &Geom) -> [Slice; 4] {
    let size = model.collider::<f64>(geom).size;
    let (p, o, name) = (geom.position, geom.orientation, &geom.name);
    [
        Slice::new(format!("{name}.size"), 3, "m").default(&[size.x, size.y, size.z]),
        Slice::new(format!("{name}.position"), 3, "m").default(&[p.x, p.y, p.z]),
        Slice::new(format!("{name}.orientation"), 4, "1").default(&[o.w, o.x, o.y, o.z]).normalized(),
        Slice::new(format!("{name}.friction"), 1, "1").default(&[geom.friction[0]]),
    ]
}

/// Laws and geoms; nothing where nothing can touch and no tendon wraps.
fn contact_blocks(
    model: &Model,
    builder: &mut LayoutBuilder,
) -> (Option<LawBlocks>, Vec<Block<GeomParams<f64>>>) {
    let wraps = |t: &Tendon| match &t.path {
        TendonPath::Spatial(items) => items.iter().any(|item| matches!(item, PathItem::Wrap { .. })),
        TendonPath::Fixed(_) => false,
    };
    if model.geoms.is_empty() || !(model.options.contact || model.tendons.iter().any(wraps)) {
        return (None, Vec::new());
    }
    let form = model.options.contact_damping;
    if model.options.contact_model != ContactModel::Penalty || !model.options.contact {
        return (None, model.geoms.iter().map(|g| builder.param_block(geom_slices(model, g))).collect());
    }
    let mut geoms = Vec::new();
    let law = match model.options.contact_materials {
        ContactMaterials::Shared => {
            let law = builder.param_block(law_slices("contact", form));
            geoms.extend(model.geoms.iter().map(|g| builder.param_block(geom_slices(model, g))));
            LawBlocks::Shared(law)
        }
        ContactMaterials::PerGeom => {
            let mut laws = Vec::new();
            for geom in &model.geoms {
                geoms.push(builder.param_block(geom_slices(model, geom)));
                laws.push(builder.param_block(law_slices(&geom.name, form)));
            }
            LawBlocks::PerGeom(laws)
        }
    };
    (Some(law), geoms)
}

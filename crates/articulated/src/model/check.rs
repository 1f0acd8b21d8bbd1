//! What [`Model::compile`] refuses: bodies, joints, terrain and references that make no sense.

use pullback_core::ConfigError;
use pullback_math::Vec3;

use super::{
    Actuator, Bias, EqualityKind, Following, FrameObject, Gain, Heightfield, Joint, JointKind, Model,
    PathItem, SensorKind, Shape, Tendon, TendonPath, Transmission,
};

impl Model {
    pub(super) fn check_bodies(&self) -> Result<(), ConfigError> {
        if self.bodies.is_empty() {
            return Err(ConfigError::new("a model needs a world"));
        }
        unique("body", self.bodies.iter().map(|b| b.name.as_str()))?;
        for (i, body) in self.bodies.iter().enumerate().skip(1) {
            let refuse = |why: String| Err(ConfigError::new(format!("body `{}`: {why}", body.name)));
            if body.parent >= i {
                return refuse("its parent must stand before it".into());
            }
            if !(body.mass.is_finite() && body.mass >= 0.0) {
                return refuse(format!("mass {} is not a mass", body.mass));
            }
            let finite = |v: Vec3<f64>| v.x.is_finite() && v.y.is_finite() && v.z.is_finite();
            if !(finite(body.position) && finite(body.com)) {
                return refuse("its position or center of mass is not finite".into());
            }
            if (body.orientation.norm_squared() - 1.0).abs() > 1e-9 {
                return refuse("its orientation is not a unit quaternion".into());
            }
            if !body.gravity_compensation.is_finite() {
                return refuse("its gravity compensation is not finite".into());
            }
            if body.mocap && (body.parent != 0 || self.joints_of(i).next().is_some()) {
                return refuse("a mocap body is a child of the world without joints".into());
            }
        }
        Ok(())
    }

    pub(super) fn check_joints(&self) -> Result<(), ConfigError> {
        unique("joint", self.joints.iter().map(|j| j.name.as_str()))?;
        for (i, joint) in self.joints.iter().enumerate() {
            let refuse = |why: &str| Err(ConfigError::new(format!("joint `{}`: {why}", joint.name)));
            if joint.body == 0 || joint.body >= self.bodies.len() {
                return refuse("it belongs to no body");
            }
            if i > 0 && self.joints[i - 1].body > joint.body {
                return refuse("joints must stand in body order");
            }
            // Joints stand in body order, so those of one body are neighbors.
            let same_body = |other: Option<&Joint>| other.is_some_and(|j| j.body == joint.body);
            let alone = !same_body(self.joints.get(i + 1)) && (i == 0 || !same_body(self.joints.get(i - 1)));
            if joint.kind == JointKind::Free && (self.bodies[joint.body].parent != 0 || !alone) {
                return refuse("a free joint must be the only joint of a child of the world");
            }
            let directed = matches!(joint.kind, JointKind::Hinge | JointKind::Slide);
            if directed && (joint.axis.norm() - 1.0).abs() > 1e-9 {
                return refuse("its axis is not a unit vector");
            }
            for value in [joint.damping, joint.stiffness, joint.armature, joint.frictionloss] {
                if !(value.is_finite() && value >= 0.0) {
                    return refuse("damping, stiffness, armature and frictionloss must not be negative");
                }
            }
            if !joint.margin.is_finite() {
                return refuse("its margin is not finite");
            }
            let empty = |(low, high): (f64, f64)| low.is_nan() || high.is_nan() || low > high;
            if joint.actuator_force_range.is_some_and(|range| !directed || empty(range)) {
                return refuse("only a hinge or slide limits its actuators, to a range that is not empty");
            }
            if joint.range.is_some_and(|(low, high)| low.is_nan() || high.is_nan() || low > high) {
                return refuse("its range is empty");
            }
        }
        Ok(())
    }

    /// Terrain does not move.
    fn check_terrain(&self) -> Result<(), ConfigError> {
        for g in &self.geoms {
            let Shape::Heightfield { field } = g.shape else { continue };
            let refuse = |why: &str| Err(ConfigError::new(format!("geom `{}`: {why}", g.name)));
            if field >= self.heightfields.len() {
                return refuse("its heightfield does not exist");
            }
            let mut body = g.body;
            while body != 0 {
                if self.joints_of(body).next().is_some() {
                    return refuse("a heightfield must be on a body that does not move; put it in the world");
                }
                body = self.bodies[body].parent;
            }
        }
        Ok(())
    }

    pub(super) fn check_the_rest(&self) -> Result<(), ConfigError> {
        unique("actuator", self.actuators.iter().map(|a| a.name.as_str()))?;
        unique("geom", self.geoms.iter().map(|g| g.name.as_str()))?;
        unique("site", self.sites.iter().map(|s| s.name.as_str()))?;
        unique("sensor", self.sensors.iter().map(|s| s.name.as_str()))?;
        self.check_sensors()?;
        self.check_medium()?;
        let bodies = self.bodies.len();
        if self.geoms.iter().any(|g| g.body >= bodies) || self.sites.iter().any(|s| s.body >= bodies) {
            return Err(ConfigError::new("a geom or site belongs to no body"));
        }
        self.check_looks()?;
        let softness = self.options.collision_softness;
        if !(softness.is_finite() && softness >= 0.0) {
            let why = "is not a length; 0 chooses the features of contacts hard";
            return Err(ConfigError::new(format!("collision softness {softness} {why}")));
        }
        unique("heightfield", self.heightfields.iter().map(|f| f.name.as_str()))?;
        self.heightfields.iter().try_for_each(Heightfield::check)?;
        self.check_terrain()?;
        self.check_tendons()?;
        self.actuators.iter().try_for_each(|a| self.check_actuator(a))?;
        for mimic in &self.mimics {
            let scalar = |j: usize| self.joints.get(j).is_some_and(|j| j.kind.coordinates() == 1);
            if !scalar(mimic.joint) || !scalar(mimic.of) || mimic.joint == mimic.of {
                return Err(ConfigError::new("a mimic ties a hinge or slide to another hinge or slide"));
            }
        }
        self.check_equalities()?;
        let geoms = self.geoms.len();
        for pair in &self.pairs {
            if pair.geoms.0 >= geoms || pair.geoms.1 >= geoms {
                return Err(ConfigError::new("a contact pair names no geom"));
            }
            if ![1, 3, 4, 6].contains(&pair.condim) {
                return Err(ConfigError::new("the `condim` of a contact pair must be 1, 3, 4 or 6"));
            }
        }
        let mocaps = self.bodies.iter().filter(|b| b.mocap).count();
        for key in &self.keyframes {
            let sizes = [
                (key.q.len(), self.nq),
                (key.v.len(), self.nv),
                (key.activation.len(), self.activations()),
                (key.control.len(), self.actuators.len()),
                (key.mocap.len(), 7 * mocaps),
            ];
            if sizes.iter().any(|(given, wanted)| given != wanted) {
                return Err(ConfigError::new(format!("keyframe `{}` does not fit the model", key.name)));
            }
        }
        Ok(())
    }

    fn check_actuator(&self, actuator: &Actuator) -> Result<(), ConfigError> {
        let refuse = |why: &str| Err(ConfigError::new(format!("actuator `{}` {why}", actuator.name)));
        let (joints, sites) = (self.joints.len(), self.sites.len());
        match actuator.transmission {
            Transmission::Joint(j) | Transmission::JointInParent(j) if j >= joints => {
                return refuse("pulls on no joint");
            }
            Transmission::Tendon(t) if t >= self.tendons.len() => return refuse("pulls on no tendon"),
            Transmission::Site { site, reference } if site.max(reference.unwrap_or(0)) >= sites => {
                return refuse("pushes at no site");
            }
            Transmission::SliderCrank { crank, slider, rod } => {
                if crank.max(slider) >= sites {
                    return refuse("names no site for its crank or slider");
                }
                if !(rod.is_finite() && rod > 0.0) {
                    return refuse("needs a rod of positive length");
                }
            }
            Transmission::Body(b) if b >= self.bodies.len() => return refuse("adheres to no body"),
            _ => {}
        }
        let muscle = matches!(actuator.gain, Gain::Muscle(_)) || matches!(actuator.bias, Bias::Muscle(_));
        match actuator.length_range {
            Some((low, high)) if low < high => Ok(()),
            _ if muscle => refuse("is a muscle without a length range; see `Model::with_length_ranges`"),
            None => Ok(()),
            Some(_) => refuse("has an empty length range"),
        }
    }

    fn check_tendons(&self) -> Result<(), ConfigError> {
        unique("tendon", self.tendons.iter().map(|t| t.name.as_str()))?;
        for tendon in &self.tendons {
            let refuse = |why: &str| Err(ConfigError::new(format!("tendon `{}`: {why}", tendon.name)));
            for value in [tendon.stiffness, tendon.damping, tendon.armature, tendon.frictionloss] {
                if !(value.is_finite() && value >= 0.0) {
                    return refuse("stiffness, damping, armature and frictionloss must not be negative");
                }
            }
            let wraps = |path: &[PathItem]| path.iter().any(|item| matches!(item, PathItem::Wrap { .. }));
            if tendon.armature > 0.0 && matches!(&tendon.path, TendonPath::Spatial(path) if wraps(path)) {
                return refuse("a tendon that wraps around geoms has no armature");
            }
            match &tendon.path {
                TendonPath::Fixed(terms) => {
                    if !terms.iter().all(|(j, c)| *j < self.joints.len() && c.is_finite()) {
                        return refuse("a fixed tendon is a sum over joints");
                    }
                }
                TendonPath::Spatial(items) => self.check_path(tendon, items)?,
            }
        }
        Ok(())
    }

    /// A path is branches of two sites or more, with pulleys between them and geoms between sites.
    fn check_path(&self, tendon: &Tendon, items: &[PathItem]) -> Result<(), ConfigError> {
        let refuse = |why: &str| Err(ConfigError::new(format!("tendon `{}`: {why}", tendon.name)));
        let site = |item: Option<&PathItem>| matches!(item, Some(PathItem::Site(_)));
        let before = |i: usize| i.checked_sub(1).and_then(|i| items.get(i));
        for (i, item) in items.iter().enumerate() {
            match *item {
                PathItem::Site(s) if s >= self.sites.len() => return refuse("names no site"),
                PathItem::Site(_) => {}
                PathItem::Wrap { geom, sidesite } => {
                    let shape = self.geoms.get(geom).map(|g| &g.shape);
                    if !matches!(shape, Some(Shape::Sphere { .. } | Shape::Cylinder { .. })) {
                        return refuse("wraps around spheres and cylinders alone");
                    }
                    if sidesite.is_some_and(|s| s >= self.sites.len()) {
                        return refuse("names no sidesite");
                    }
                    if !(site(before(i)) && site(items.get(i + 1))) {
                        return refuse("a geom stands between two sites");
                    }
                }
                PathItem::Pulley(divisor) => {
                    if !(divisor.is_finite() && divisor > 0.0) {
                        return refuse("the divisor of a pulley must be positive");
                    }
                    if i + 1 == items.len() || matches!(items[i + 1], PathItem::Pulley(_)) {
                        return refuse("a pulley is followed by a site");
                    }
                }
            }
        }
        match items.iter().any(|item| matches!(item, PathItem::Site(_))) {
            true => Ok(()),
            false => refuse("a path needs two sites"),
        }
    }

    /// What is seen refers to what is there.
    fn check_looks(&self) -> Result<(), ConfigError> {
        let (bodies, materials, textures) = (self.bodies.len(), self.materials.len(), self.textures.len());
        let follows = |following: Following| match following {
            Following::TargetBody { target } | Following::TargetBodyCom { target } => target < bodies,
            Following::Fixed | Following::Track | Following::TrackCom => true,
        };
        let within = |index: Option<usize>, count: usize| index.is_none_or(|i| i < count);
        let sound = self.cameras.iter().all(|c| c.body < bodies && follows(c.following))
            && self
                .lights
                .iter()
                .all(|l| l.body < bodies && follows(l.following) && within(l.texture, textures))
            && self.materials.iter().all(|m| within(m.texture, textures))
            && self.geoms.iter().all(|g| within(g.material, materials))
            && self.sites.iter().all(|s| within(s.material, materials));
        if sound {
            return Ok(());
        }
        Err(ConfigError::new(
            "a camera, light, material, geom or site refers to a body, material or texture that is not there",
        ))
    }

    fn check_sensors(&self) -> Result<(), ConfigError> {
        let frame = |object: FrameObject| match object {
            FrameObject::Inertial(b) | FrameObject::Body(b) => b < self.bodies.len(),
            FrameObject::Geom(g) => g < self.geoms.len(),
            FrameObject::Site(s) => s < self.sites.len(),
        };
        for sensor in &self.sensors {
            let there = match &sensor.kind {
                SensorKind::Joint(j, _) => *j < self.joints.len(),
                SensorKind::Actuator(a, _) => *a < self.actuators.len(),
                SensorKind::Tendon(t, _) => *t < self.tendons.len(),
                SensorKind::Frame { object, reference, .. } => frame(*object) && reference.is_none_or(frame),
                SensorKind::Site(s, _) => *s < self.sites.len(),
                SensorKind::Subtree(b, _) => *b < self.bodies.len(),
                _ => true,
            };
            if !there || !sensor.cutoff.is_finite() {
                let why = "it measures what is not there, or its cutoff is not finite";
                return Err(ConfigError::new(format!("sensor `{}`: {why}", sensor.name)));
            }
        }
        Ok(())
    }

    fn check_medium(&self) -> Result<(), ConfigError> {
        let (density, viscosity) = (self.options.density, self.options.viscosity);
        if ![density, viscosity].iter().all(|x| x.is_finite() && *x >= 0.0) {
            let why = "must not be negative";
            return Err(ConfigError::new(format!("density {density} and viscosity {viscosity} {why}")));
        }
        Ok(())
    }

    fn check_equalities(&self) -> Result<(), ConfigError> {
        unique("equality", self.equalities.iter().map(|e| e.name.as_str()))?;
        let scalar = |j: usize| self.joints.get(j).is_some_and(|j| j.kind.coordinates() == 1);
        for equality in &self.equalities {
            let refuse = |why: &str| Err(ConfigError::new(format!("equality `{}`: {why}", equality.name)));
            match &equality.kind {
                EqualityKind::Connect { bodies, .. } | EqualityKind::Weld { bodies, .. } => {
                    if bodies.iter().any(|b| *b >= self.bodies.len()) {
                        return refuse("it names no body");
                    }
                }
                EqualityKind::Joint { joint, other, .. } => {
                    if !scalar(*joint) || other.is_some_and(|o| !scalar(o) || o == *joint) {
                        return refuse("it ties a hinge or slide to another hinge or slide");
                    }
                }
                EqualityKind::Tendon { tendon, other, .. } => {
                    let known = |t: usize| t < self.tendons.len();
                    if !known(*tendon) || other.is_some_and(|o| !known(o) || o == *tendon) {
                        return refuse("it ties a tendon to another tendon");
                    }
                }
            }
            if let EqualityKind::Weld { orientations, .. } = &equality.kind
                && orientations.iter().any(|q| (q.norm_squared() - 1.0).abs() > 1e-9)
            {
                return refuse("its orientation is not a unit quaternion");
            }
        }
        Ok(())
    }
}

fn unique<'a>(kind: &str, names: impl Iterator<Item = &'a str>) -> Result<(), ConfigError> {
    let mut seen = std::collections::HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(ConfigError::new(format!("two {kind}s are called `{name}`")));
        }
    }
    Ok(())
}

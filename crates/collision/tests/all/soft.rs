//! Soft contacts: exact gradients where hard features switch, continuity, the hard limit, lanes.

use pullback_collision::{
    Collider, Contact, Hull, INACTIVE, Kind, MAX_CONTACTS, ShapeBar, collide, collide_soft, collide_soft_vjp,
    max_contacts, max_soft_contacts,
};
use pullback_core::gradcheck::{Differentiable, Options, Report, Verdict, gradcheck};
use pullback_core::random::Random;
use pullback_math::{Dual, Flat, Quat, Real, Transform, Vec3, f64x4};

/// Pairs whose features are chosen softly.
const PAIRS: [(Kind, Kind); 23] = [
    (Kind::Plane, Kind::Box),
    (Kind::Plane, Kind::Mesh),
    (Kind::Plane, Kind::Cylinder),
    (Kind::Sphere, Kind::Capsule),
    (Kind::Sphere, Kind::Ellipsoid),
    (Kind::Sphere, Kind::Cylinder),
    (Kind::Sphere, Kind::Box),
    (Kind::Capsule, Kind::Capsule),
    (Kind::Capsule, Kind::Ellipsoid),
    (Kind::Capsule, Kind::Cylinder),
    (Kind::Capsule, Kind::Box),
    (Kind::Ellipsoid, Kind::Ellipsoid),
    (Kind::Ellipsoid, Kind::Cylinder),
    (Kind::Ellipsoid, Kind::Box),
    (Kind::Cylinder, Kind::Cylinder),
    (Kind::Cylinder, Kind::Box),
    (Kind::Box, Kind::Box),
    (Kind::Sphere, Kind::Mesh),
    (Kind::Capsule, Kind::Mesh),
    (Kind::Ellipsoid, Kind::Mesh),
    (Kind::Cylinder, Kind::Mesh),
    (Kind::Box, Kind::Mesh),
    (Kind::Mesh, Kind::Mesh),
];

/// A prism on a pentagon, its axis along z.
fn prism() -> Vec<Vec3<f64>> {
    (0..10)
        .map(|i| {
            let angle = 0.3 + (i % 5) as f64 * std::f64::consts::TAU / 5.0;
            Vec3::new(0.4 * angle.cos(), 0.4 * angle.sin(), if i < 5 { -0.3 } else { 0.3 })
        })
        .collect()
}

/// A pair as a function of both positions, quaternions and sizes.
struct SoftPair {
    kinds: (Kind, Kind),
    softness: f64,
    prism: Vec<Vec3<f64>>,
    hull: Hull,
}

/// Position, unnormalized quaternion, sizes.
type Placed<T> = (Vec3<T>, Quat<T>, Vec3<T>);

impl SoftPair {
    fn new(kinds: (Kind, Kind), softness: f64) -> Self {
        let prism = prism();
        SoftPair { kinds, softness, hull: Hull::around(&prism), prism }
    }
    fn collider<T: Real>(&self, kind: Kind, size: Vec3<T>) -> Collider<'_, T> {
        match kind {
            Kind::Mesh => Collider::mesh(&self.prism, &self.hull),
            _ => Collider::new(kind, size),
        }
    }
    fn slots(&self) -> usize {
        max_soft_contacts(self.kinds.0, self.kinds.1, self.softness)
    }
    fn contacts<T: Real>(&self, x: &[T]) -> ([Contact<T>; MAX_CONTACTS], usize) {
        let ((xa, qa, sa), (xb, qb, sb)) = <(Placed<T>, Placed<T>) as Flat<T>>::read(x);
        let (a, b) = (self.collider(self.kinds.0, sa), self.collider(self.kinds.1, sb));
        let (pa, pb) = (Transform::from_quat(qa.normalize(), xa), Transform::from_quat(qb.normalize(), xb));
        let mut out = [Contact::inactive(); MAX_CONTACTS];
        let slots = collide_soft(&a, pa, &b, pb, self.softness, &mut out);
        (out, slots)
    }
    fn write<T: Real>(&self, x: &[T], y: &mut [T]) {
        let (out, slots) = self.contacts(x);
        for (contact, y) in out[..slots].iter().zip(y.chunks_mut(7)) {
            contact.write(y);
        }
    }
    /// The same pair without softness.
    fn hard(&self) -> Self {
        SoftPair::new(self.kinds, 0.0)
    }
    fn lowest(&self, x: &[f64]) -> f64 {
        let (out, slots) = self.contacts(x);
        out[..slots].iter().map(|c| c.distance).fold(f64::INFINITY, f64::min)
    }
}

impl Differentiable for SoftPair {
    fn input_names(&self) -> Vec<String> {
        let of = |s: &str| -> Vec<String> {
            [("x", 3), ("q", 4), ("s", 3)]
                .iter()
                .flat_map(|(n, len)| (0..*len).map(move |i| format!("{n}{s}[{i}]")))
                .collect()
        };
        [of("a"), of("b")].concat()
    }
    fn outputs(&self) -> usize {
        7 * self.slots()
    }
    fn eval(&self, x: &[f64], y: &mut [f64]) -> Result<(), String> {
        self.write(x, y);
        Ok(())
    }
    fn jvp(&self, x: &[f64], x_dot: &[f64], y: &mut [f64], y_dot: &mut [f64]) -> Result<(), String> {
        let x: Vec<_> = x.iter().zip(x_dot).map(|(x, d)| Dual::new(*x, *d)).collect();
        let mut out = vec![Dual::default(); y.len()];
        self.write(&x, &mut out);
        for (i, out) in out.iter().enumerate() {
            (y[i], y_dot[i]) = (out.value, out.tangent);
        }
        Ok(())
    }
    fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) -> Result<(), String> {
        let ((xa, qa, sa), (xb, qb, sb)) = <(Placed<f64>, Placed<f64>) as Flat<f64>>::read(x);
        let (a, b) = (self.collider(self.kinds.0, sa), self.collider(self.kinds.1, sb));
        let (pa, pb) = (Transform::from_quat(qa.normalize(), xa), Transform::from_quat(qb.normalize(), xb));
        let bars: Vec<Contact<f64>> = y_bar.chunks(7).map(Flat::<f64>::read).collect();
        let (mut a_bar, mut b_bar) = (ShapeBar::default(), ShapeBar::default());
        collide_soft_vjp(&a, pa, &b, pb, self.softness, &bars, &mut a_bar, &mut b_bar);
        let placed = |x: Vec3<f64>, q: Quat<f64>, bar: ShapeBar<f64>| {
            let (r_bar, x_bar) = Transform::from_quat_vjp(q.normalize(), x, bar.pose);
            (x_bar, q.normalize_vjp(r_bar), bar.size)
        };
        Flat::<f64>::add_to((placed(xa, qa, a_bar), placed(xb, qb, b_bar)), x_bar);
        Ok(())
    }
}

/// All three derivatives agree, and differences have a limit in every entry.
#[track_caller]
fn assert_smooth(name: &str, pair: &SoftPair, x: &[f64]) -> Report {
    let options = Options { forward_tolerance: 1e-8, probes: 2, ..Options::default() };
    let report = gradcheck(pair, x, &options);
    let smooth = report.entries.iter().all(|e| e.verdict == Verdict::Ok);
    assert!(report.passed() && smooth, "{name} {:?} at {x:?}\n{report}", pair.kinds);
    report
}

const UPRIGHT: [f64; 4] = [1.0, 0.0, 0.0, 0.0];

/// Positions, orientations and sizes as one list.
fn inputs(a: ([f64; 3], [f64; 4], [f64; 3]), b: ([f64; 3], [f64; 4], [f64; 3])) -> Vec<f64> {
    [&a.0[..], &a.1, &a.2, &b.0, &b.1, &b.2].concat()
}

/// Random orientations and sizes, and a gap of about `gap` along a random direction.
fn draw(random: &mut Random, pair: &SoftPair, gap: f64) -> Vec<f64> {
    let mut quat = || [random.normal(), random.normal(), random.normal(), random.normal()];
    let (qa, qb) = (quat(), quat());
    let mut size = || [random.uniform(0.2, 0.5), random.uniform(0.2, 0.5), random.uniform(0.2, 0.5)];
    let (sa, sb) = (size(), size());
    let along = Vec3::new(random.normal(), random.normal(), random.normal()).normalize();
    let axis = Quat::new(qa[0], qa[1], qa[2], qa[3]).normalize().to_mat3().c2;
    let along = if pair.kinds.0 == Kind::Plane { axis } else { along };
    let at = |s: f64| {
        inputs(
            ([0.1, 0.2, -0.1], qa, sa),
            ([0.1 + s * along.x, 0.2 + s * along.y, s * along.z - 0.1], qb, sb),
        )
    };
    let hard = pair.hard();
    let (mut near, mut far) = (0.05, 3.0);
    for _ in 0..40 {
        let middle = 0.5 * (near + far);
        let lowest = hard.lowest(&at(middle));
        (near, far) = if lowest < gap { (middle, far) } else { (near, middle) };
    }
    at(far)
}

#[test]
fn every_pair_is_smooth() {
    let mut random = Random::new(3);
    for kinds in PAIRS {
        let pair = SoftPair::new(kinds, 0.02);
        for gap in [-0.03, 0.0, 0.06] {
            let x = draw(&mut random, &pair, gap);
            assert_smooth("random", &pair, &x);
        }
    }
}

/// Poses in which hard features switch: resting on faces, on edges, along axes, on medial surfaces.
fn switches() -> Vec<(&'static str, (Kind, Kind), Vec<f64>)> {
    use Kind::{Box, Capsule, Cylinder, Mesh, Plane, Sphere};
    let half = std::f64::consts::FRAC_1_SQRT_2;
    let eighth = (std::f64::consts::PI / 8.0).sin_cos();
    let (lying, tipped) = ([half, half, 0.0, 0.0], [eighth.1, eighth.0, 0.0, 0.0]);
    let table = ([0.0, 0.0, 0.0], UPRIGHT, [0.5, 0.5, 0.3]);
    let ground = ([0.0; 3], UPRIGHT, [0.0; 3]);
    let (cube, rod) = ([0.2, 0.2, 0.2], [0.1, 0.3, 0.0]);
    let diagonal = 0.2 * 2.0f64.sqrt();
    vec![
        ("flat on a face", (Plane, Box), inputs(ground, ([0.1, 0.0, 0.2], UPRIGHT, cube))),
        ("on an edge", (Plane, Box), inputs(ground, ([0.0, 0.0, diagonal], tipped, cube))),
        ("standing", (Plane, Cylinder), inputs(ground, ([0.0, 0.0, 0.3], UPRIGHT, rod))),
        ("lying", (Plane, Cylinder), inputs(ground, ([0.0, 0.0, 0.1], lying, rod))),
        ("standing", (Plane, Mesh), inputs(ground, ([0.0, 0.0, 0.3], UPRIGHT, [0.0; 3]))),
        ("flat", (Box, Mesh), inputs(([0.1, 0.0, -0.5], UPRIGHT, cube), ([0.0; 3], UPRIGHT, [0.0; 3]))),
        (
            "standing",
            (Cylinder, Mesh),
            inputs(([0.1, 0.0, -0.6], UPRIGHT, rod), ([0.0; 3], UPRIGHT, [0.0; 3])),
        ),
        ("lying", (Capsule, Mesh), inputs(([0.1, 0.0, 0.4], lying, rod), ([0.0; 3], UPRIGHT, [0.0; 3]))),
        (
            "over a face",
            (Sphere, Mesh),
            inputs(([0.0, 0.0, 0.4], UPRIGHT, [0.1, 0.0, 0.0]), ([0.0; 3], UPRIGHT, [0.0; 3])),
        ),
        (
            "face on face",
            (Mesh, Mesh),
            inputs(([0.1, 0.0, -0.6], UPRIGHT, [0.0; 3]), ([0.0; 3], UPRIGHT, [0.0; 3])),
        ),
        ("flush", (Mesh, Mesh), inputs(([0.0, 0.0, -0.6], UPRIGHT, [0.0; 3]), ([0.0; 3], UPRIGHT, [0.0; 3]))),
        (
            "edge on face",
            (Mesh, Mesh),
            inputs(([0.0, 0.0, -0.66], UPRIGHT, [0.0; 3]), ([0.0; 3], lying, [0.0; 3])),
        ),
        ("over an edge", (Sphere, Box), inputs(([0.5, 0.1, 0.4], UPRIGHT, [0.1, 0.0, 0.0]), table)),
        ("over a corner", (Sphere, Box), inputs(([0.5, 0.5, 0.4], UPRIGHT, [0.1, 0.0, 0.0]), table)),
        ("between two faces", (Sphere, Box), inputs(([0.45, 0.1, 0.25], UPRIGHT, [0.1, 0.0, 0.0]), table)),
        (
            "on the axis",
            (Sphere, Cylinder),
            inputs(([0.0, 0.0, 0.4], UPRIGHT, [0.1, 0.0, 0.0]), ([0.0; 3], UPRIGHT, [0.2, 0.3, 0.0])),
        ),
        (
            "over the rim",
            (Sphere, Cylinder),
            inputs(([0.2, 0.0, 0.4], UPRIGHT, [0.1, 0.0, 0.0]), ([0.0; 3], UPRIGHT, [0.2, 0.3, 0.0])),
        ),
        (
            "over the end",
            (Sphere, Capsule),
            inputs(([0.2, 0.0, 0.3], UPRIGHT, [0.1, 0.0, 0.0]), ([0.0; 3], UPRIGHT, rod)),
        ),
        ("parallel", (Capsule, Capsule), inputs(([0.0; 3], UPRIGHT, rod), ([0.2, 0.0, 0.1], UPRIGHT, rod))),
        ("end to end", (Capsule, Capsule), inputs(([0.0; 3], UPRIGHT, rod), ([0.2, 0.0, 0.6], UPRIGHT, rod))),
        ("crossed", (Capsule, Capsule), inputs(([0.0; 3], UPRIGHT, rod), ([0.2, 0.0, 0.0], lying, rod))),
        ("parallel to a face", (Capsule, Box), inputs(([0.0, 0.0, 0.4], lying, rod), table)),
        ("along an edge", (Capsule, Box), inputs(([0.5, 0.0, 0.4], lying, rod), table)),
        ("upright on a face", (Capsule, Box), inputs(([0.1, 0.0, 0.7], UPRIGHT, rod), table)),
        ("standing", (Cylinder, Box), inputs(([0.1, 0.0, 0.6], UPRIGHT, rod), table)),
        ("lying", (Cylinder, Box), inputs(([0.1, 0.0, 0.4], lying, rod), table)),
        (
            "coaxial",
            (Cylinder, Cylinder),
            inputs(([0.0; 3], UPRIGHT, rod), ([0.0, 0.0, 0.6], UPRIGHT, [0.2, 0.3, 0.0])),
        ),
        ("flat", (Box, Box), inputs(table, ([0.1, 0.0, 0.5], UPRIGHT, cube))),
        ("over the side", (Box, Box), inputs(table, ([0.5, 0.0, 0.5], UPRIGHT, cube))),
        ("flush", (Box, Box), inputs(([0.0; 3], UPRIGHT, cube), ([0.0, 0.0, 0.39], UPRIGHT, cube))),
        ("on an edge", (Box, Box), inputs(table, ([0.1, 0.0, 0.3 + diagonal], tipped, cube))),
        (
            "edge on edge",
            (Box, Box),
            inputs(
                ([0.0; 3], [eighth.1, 0.0, eighth.0, 0.0], cube),
                ([0.0, 0.0, 2.0 * diagonal], tipped, cube),
            ),
        ),
    ]
}

#[test]
fn gradients_are_exact_where_hard_features_switch() {
    for (name, kinds, x) in switches() {
        assert_smooth(name, &SoftPair::new(kinds, 0.02), &x);
        assert_smooth(name, &SoftPair::new(kinds, 0.005), &x);
    }
}

/// Largest change of any active slot between two lists of contacts: position, normal and distance.
fn change(old: &[Contact<f64>], new: &[Contact<f64>]) -> f64 {
    let of = |(old, new): (&Contact<f64>, &Contact<f64>)| {
        let jump = (new.position - old.position).norm() + (new.normal - old.normal).norm();
        jump + (new.distance - old.distance).abs().min(1.0)
    };
    old.iter().zip(new).map(of).fold(0.0, f64::max)
}

/// Along paths through a switch no slot moves faster than a few sizes per softness; hard ones jump.
#[test]
fn contacts_move_continuously_where_hard_ones_jump() {
    use Kind::{Box, Capsule, Cylinder, Plane, Sphere};
    let turned = |angle: f64| [(0.5 * angle).cos(), (0.5 * angle).sin(), 0.0, 0.0];
    let table = ([0.0, 0.0, 0.0], UPRIGHT, [0.5, 0.5, 0.3]);
    let ground = ([0.0; 3], UPRIGHT, [0.0; 3]);
    type Path = std::boxed::Box<dyn Fn(f64) -> Vec<f64>>;
    let quarter = std::f64::consts::FRAC_PI_2;
    let paths: [(&str, (Kind, Kind), Path); 5] = [
        (
            "a cylinder leans to the other side",
            (Plane, Cylinder),
            std::boxed::Box::new(move |s| inputs(ground, ([0.0, 0.0, 0.3], turned(s), [0.1, 0.3, 0.0]))),
        ),
        (
            "a ball sinks past the medial plane",
            (Sphere, Box),
            std::boxed::Box::new(move |s| inputs(([0.45 + s, 0.1, 0.25], UPRIGHT, [0.1, 0.0, 0.0]), table)),
        ),
        (
            "a capsule becomes parallel to another",
            (Capsule, Capsule),
            std::boxed::Box::new(move |s| {
                inputs(([0.0; 3], UPRIGHT, [0.1, 0.3, 0.0]), ([0.2, 0.0, 0.1], turned(s), [0.1, 0.3, 0.0]))
            }),
        ),
        (
            "a capsule lies down on a face",
            (Capsule, Box),
            std::boxed::Box::new(move |s| {
                inputs(([0.0, 0.0, 0.4], turned(quarter + s), [0.1, 0.3, 0.0]), table)
            }),
        ),
        (
            "a box turns on one of the same size",
            (Box, Box),
            std::boxed::Box::new(move |s| {
                let yaw = [(0.5 * s).cos(), 0.0, 0.0, (0.5 * s).sin()];
                inputs(([0.0; 3], UPRIGHT, [0.2; 3]), ([0.0, 0.0, 0.39], yaw, [0.2; 3]))
            }),
        ),
    ];
    let (steps, step, softness) = (400, 1e-5, 0.01);
    for (name, kinds, path) in paths {
        let pair = SoftPair::new(kinds, softness);
        let fastest = |pair: &SoftPair| {
            let at = |i: i32| {
                let (out, slots) = pair.contacts(&path((f64::from(i) - 0.5 * f64::from(steps) + 0.3) * step));
                out[..slots].to_vec()
            };
            (0..steps).map(|i| change(&at(i), &at(i + 1))).fold(0.0, f64::max) / step
        };
        let (soft, hard) = (fastest(&pair), fastest(&pair.hard()));
        assert!(soft < 2.0 / softness, "{name}: soft contacts move by {soft} per unit");
        assert!(hard > 10.0 * soft, "{name}: hard contacts move by {hard} per unit, soft ones by {soft}");
    }
}

/// The lowest distance is the hard one up to a few times the softness, and ever closer.
#[test]
fn soft_contacts_tend_to_hard_ones() {
    let mut random = Random::new(5);
    for kinds in PAIRS {
        for gap in [-0.004, 0.0, 0.004] {
            let x = draw(&mut random, &SoftPair::new(kinds, 0.0), gap);
            let hard = SoftPair::new(kinds, 0.0).lowest(&x);
            for softness in [1e-2, 1e-3, 1e-4] {
                let soft = SoftPair::new(kinds, softness).lowest(&x);
                let error = (soft - hard).abs();
                // The direction of growth is not that of the least distance.
                let bound = 2.0 * softness + 0.5 * f64::abs(gap);
                assert!(error < bound, "{kinds:?}: {soft} at {softness}, hard {hard}");
            }
        }
    }
}

#[test]
fn no_softness_is_the_hard_contact() {
    let mut random = Random::new(7);
    for kinds in PAIRS {
        let pair = SoftPair::new(kinds, 0.0);
        let x = draw(&mut random, &pair, -0.01);
        let ((xa, qa, sa), (xb, qb, sb)) = <(Placed<f64>, Placed<f64>) as Flat<f64>>::read(&x);
        let (a, b) = (pair.collider(kinds.0, sa), pair.collider(kinds.1, sb));
        let (pa, pb) = (Transform::from_quat(qa.normalize(), xa), Transform::from_quat(qb.normalize(), xb));
        let mut hard = [Contact::inactive(); MAX_CONTACTS];
        let slots = collide(&a, pa, &b, pb, &mut hard);
        assert_eq!(pair.contacts(&x), (hard, slots));
        // In the other order, normals are flipped.
        if kinds.0 == kinds.1 {
            continue;
        }
        let (mut there, mut back) = (hard, hard);
        let slots = collide_soft(&a, pa, &b, pb, 0.01, &mut there);
        assert_eq!(collide_soft(&b, pb, &a, pa, 0.01, &mut back), slots);
        assert_eq!(there[..slots].to_vec(), back[..slots].iter().map(|c| c.swapped()).collect::<Vec<_>>());
    }
}

#[test]
fn lanes_are_scalars() {
    let mut random = Random::new(11);
    for kinds in PAIRS {
        let pair = SoftPair::new(kinds, 0.01);
        let lanes: Vec<Vec<f64>> = (0..4).map(|_| draw(&mut random, &pair, 0.0)).collect();
        let packed: Vec<f64x4> =
            (0..lanes[0].len()).map(|i| f64x4::from_lanes(|lane| lanes[lane][i])).collect();
        let (all, slots) = pair.contacts(&packed);
        for (lane, x) in lanes.iter().enumerate() {
            let (one, _) = pair.contacts(x);
            let single: Vec<f32> = x.iter().map(|x| *x as f32).collect();
            let (short, _) = pair.contacts(&single);
            for slot in 0..slots {
                let (mut of_lane, mut of_one, mut of_short) = ([f64x4::zero(); 7], [0.0; 7], [0.0f32; 7]);
                all[slot].write(&mut of_lane);
                one[slot].write(&mut of_one);
                short[slot].write(&mut of_short);
                for i in 0..7 {
                    let (a, b, c) = (of_lane[i].lane(lane), of_one[i], f64::from(of_short[i]));
                    assert!((a - b).abs() < 1e-9, "{kinds:?} lane {lane} slot {slot}: {a} for {b}");
                    assert!((c - b).abs() < 2e-3, "{kinds:?} slot {slot} entry {i}: {c} in f32 for {b}");
                }
            }
        }
    }
}

/// What is not soft says so: its contacts are the hard ones.
#[test]
fn other_pairs_are_hard() {
    let kinds = (Kind::Sphere, Kind::Torus);
    assert_eq!(max_soft_contacts(kinds.0, kinds.1, 0.01), max_contacts(kinds.0, kinds.1));
    let pair = SoftPair::new(kinds, 0.01);
    let x = draw(&mut Random::new(13), &pair, -0.01);
    assert_eq!(pair.contacts(&x), pair.hard().contacts(&x));
    assert!(pair.contacts(&x).0.iter().any(|c| c.distance < INACTIVE));
}

/// Meshes of which only corners are known touch in one hard point.
#[test]
fn corners_without_faces_are_hard() {
    let points = prism();
    let hull = Hull::around(&points);
    let mesh = Collider::<f64>::points(&points, &hull.corners);
    let at =
        |z: f64| Transform::from_quat(Quat::new(1.0, 0.1, 0.2, 0.3).normalize(), Vec3::new(0.05, 0.02, z));
    let (mut soft, mut hard) = ([Contact::default(); MAX_CONTACTS], [Contact::inactive(); MAX_CONTACTS]);
    let slots = collide_soft(&mesh, at(0.0), &mesh, at(0.58), 0.01, &mut soft);
    collide(&mesh, at(0.0), &mesh, at(0.58), &mut hard);
    assert_eq!(soft[..slots], hard[..slots]);
    assert!(soft[0].distance < INACTIVE);
    let (mut a, mut b) = (ShapeBar::default(), ShapeBar::default());
    collide_soft_vjp(&mesh, at(0.0), &mesh, at(0.58), 0.01, &soft[..slots], &mut a, &mut b);
    assert!(b.pose.translation.norm() > 0.0);
}

/// Deep, far apart, centers together, softness from a thousandth to the size of the solids.
#[test]
fn contacts_are_finite_everywhere() {
    let mut random = Random::new(17);
    for kinds in PAIRS {
        for (spread, softness) in [(0.0, 0.3), (0.05, 0.05), (0.3, 1e-2), (0.5, 1e-3), (3.0, 1e-4)] {
            let pair = SoftPair::new(kinds, softness);
            let mut x: Vec<f64> = (0..20).map(|_| random.uniform(0.1, 0.5)).collect();
            for i in 0..3 {
                x[i] = spread * random.uniform(-1.0, 1.0);
                x[10 + i] = spread * random.uniform(-1.0, 1.0);
            }
            let (mut y, mut x_bar) = (vec![0.0; pair.outputs()], vec![0.0; 20]);
            pair.write(&x, &mut y);
            pair.vjp(&x, &vec![1.0; y.len()], &mut x_bar).unwrap();
            let finite = y.iter().chain(&x_bar).all(|v| v.is_finite());
            assert!(finite, "{kinds:?} at {spread} with {softness}\n{y:?}\n{x_bar:?}");
        }
    }
}

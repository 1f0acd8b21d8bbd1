//! Which geoms of a model may ever collide, by MuJoCo's rules (`mj_collision`, "Collision detection" in its
//! documentation).
//!
//! Explicit pairs always collide, each by its own law: geoms that are paired twice have every contact twice. Others need matching bits, must not be on the same body, nor on parent and
//! child unless the parent is the world or the model says so, nor on excluded bodies. Bodies without joints
//! count as part of the body they are fixed to.

use std::collections::BTreeSet;

use pullback_collision::broad_phase::Pair;
use pullback_core::ConfigError;

use super::model::{ContactPair, Model, Shape};

/// Two geoms that collide, and the law by which they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GeomPair {
    /// The geoms.
    pub geoms: (usize, usize),
    /// Number of the explicit pair whose law they follow; `None` for that of the two geoms.
    pub explicit: Option<usize>,
}

impl GeomPair {
    /// The explicit pairs of a model, sorted; the smaller geom first.
    pub fn explicit(model: &Model) -> Vec<GeomPair> {
        let pair = |(number, pair): (usize, &ContactPair)| {
            let (a, b) = pair.geoms;
            GeomPair { geoms: (a.min(b), a.max(b)), explicit: Some(number) }
        };
        let mut pairs: Vec<GeomPair> = model.pairs.iter().enumerate().map(pair).collect();
        pairs.sort_unstable();
        pairs
    }

    /// All pairs of two geoms, the smaller first: those of `explicit`, which is sorted, or else one by the law of
    /// the geoms.
    pub fn all(explicit: &[GeomPair], geoms: (usize, usize)) -> impl Iterator<Item = GeomPair> {
        let own = &explicit[explicit.partition_point(|pair| pair.geoms < geoms)..];
        let own = &own[..own.partition_point(|pair| pair.geoms == geoms)];
        let shared = own.is_empty().then_some(GeomPair { geoms, explicit: None });
        own.iter().copied().chain(shared)
    }
}

/// The pairs of geoms of a model that may ever collide, sorted; those that are paired twice once.
pub fn candidate_pairs(model: &Model) -> Vec<Pair> {
    // The moving body that each body belongs to, and the one above that.
    let mut fixed_to: Vec<usize> = (0..model.bodies.len()).collect();
    for i in 1..model.bodies.len() {
        if model.joints_of(i).next().is_none() && !model.bodies[i].mocap {
            fixed_to[i] = fixed_to[model.bodies[i].parent];
        }
    }
    let above = |body: usize| fixed_to[model.bodies[fixed_to[body]].parent];
    // A body without degrees of freedom: the world, or one whose pose is an input.
    let still = |geom: usize| {
        let body = fixed_to[model.geoms[geom].body];
        body == 0 || model.bodies[body].mocap
    };
    let excluded: BTreeSet<Pair> = model.excludes.iter().flat_map(|&(x, y)| [(x, y), (y, x)]).collect();
    let by_rule = |&(i, j): &Pair| {
        let (a, b) = (&model.geoms[i], &model.geoms[j]);
        let (x, y) = (fixed_to[a.body], fixed_to[b.body]);
        let related = above(a.body) == y || above(b.body) == x;
        let family = model.options.filter_parent && x != 0 && y != 0 && related;
        let bits = a.collision_bits & b.collides_with | b.collision_bits & a.collides_with;
        bits != 0 && x != y && !family && !excluded.contains(&(a.body, b.body))
    };
    let grounds = |&(i, j): &Pair| {
        let ground =
            |geom: usize| matches!(model.geoms[geom].shape, Shape::Plane | Shape::Heightfield { .. });
        ground(i) && ground(j)
    };
    // What stands still is asked about what moves alone: a scene may have thousands of obstacles.
    let geoms = 0..model.geoms.len();
    let (obstacles, movers): (Vec<usize>, Vec<usize>) = geoms.partition(|geom| still(*geom));
    let apart = movers.iter().flat_map(|i| obstacles.iter().map(|j| (*i.min(j), *i.max(j))));
    let among = movers.iter().enumerate().flat_map(|(k, i)| movers[k + 1..].iter().map(|j| (*i, *j)));
    let mut pairs: Vec<Pair> = apart.chain(among).filter(by_rule).collect();
    pairs.extend(GeomPair::explicit(model).iter().map(|pair| pair.geoms));
    pairs.retain(|pair| !grounds(pair));
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// An error for the first pair of a torus with anything but a sphere.
pub(crate) fn check_tori(model: &Model, pairs: &[Pair]) -> Result<(), ConfigError> {
    let is = |geom: usize| matches!(model.geoms[geom].shape, Shape::Torus { .. });
    let ball = |geom: usize| matches!(model.geoms[geom].shape, Shape::Sphere { .. });
    match pairs.iter().find(|(a, b)| (is(*a) && !ball(*b)) || (is(*b) && !ball(*a))) {
        None => Ok(()),
        Some((a, b)) => Err(ConfigError::new(format!(
            "geoms `{}` and `{}` may collide, but a torus collides only with spheres; exclude their bodies or give the two \
             collision bits that do not match",
            model.geoms[*a].name, model.geoms[*b].name
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Articulated;
    use crate::model::{Body, Geom, Joint, JointKind};
    use pullback_math::{Quat, SymMat3, Vec3};

    fn body(name: &str, parent: usize) -> Body {
        Body {
            name: name.into(),
            parent,
            position: Vec3::zero(),
            orientation: Quat::identity(),
            mass: 1.0,
            com: Vec3::zero(),
            inertia: SymMat3::zero(),
            ..Body::default()
        }
    }

    fn hinge(body: usize) -> Joint {
        Joint::new(format!("hinge {body}"), body, JointKind::Hinge, Vec3::new(0.0, 1.0, 0.0))
    }

    /// World with a floor; a chain 1 – 2 – 3, and 4 fixed to 3.
    fn chain() -> Model {
        let ball = Shape::Sphere { radius: 0.1 };
        let mut model = Model::new("chain");
        model.bodies.extend([body("one", 0), body("two", 1), body("three", 2), body("four", 3)]);
        model.joints.extend([hinge(1), hinge(2), hinge(3)]);
        model.geoms.push(Geom::new("floor", 0, Shape::Plane));
        for i in 1..5 {
            model.geoms.push(Geom::new(format!("ball {i}"), i, ball));
        }
        model
    }

    #[test]
    fn the_rules_are_those_of_mujoco() {
        // Parent and child apart; the fixed body counts as its parent; the world is no parent.
        let all = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 3), (1, 4)];
        assert_eq!(candidate_pairs(&chain()), all);
        let mut model = chain();
        model.excludes.push((3, 1));
        model.geoms[4].collides_with = 0;
        model.geoms[4].collision_bits = 2;
        model.pairs.push(ContactPair::new(2, 1));
        assert_eq!(candidate_pairs(&model), [(0, 1), (0, 2), (0, 3), (1, 2)]);
        // Without the filter of parents only geoms that are fixed to each other stay apart.
        let mut model = chain();
        model.options.filter_parent = false;
        let all = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4), (2, 3), (2, 4)];
        assert_eq!(candidate_pairs(&model), all);
    }

    #[test]
    fn twenty_thousand_obstacles_are_set_up_at_once() {
        let mut model = chain();
        let wall = Shape::Box { half: Vec3::new(0.1, 0.1, 0.1) };
        model.geoms.extend((0..20_000).map(|i| Geom::new(format!("wall {i}"), 0, wall)));
        // With a test of each of the 200 million pairs of obstacles this took seconds.
        let start = std::time::Instant::now();
        assert_eq!(candidate_pairs(&model).len(), 6 + 4 * 20_000);
        assert!(start.elapsed().as_secs_f64() < 1.0, "{:?}", start.elapsed());
    }

    /// A torus and another geom on bodies of their own.
    fn two(shape: Shape, collides_with: u32) -> Result<Articulated, ConfigError> {
        let mut model = Model::new("two");
        for (i, (name, shape)) in
            [("tyre", Shape::Torus { ring: 0.5, tube: 0.2 }), ("other", shape)].into_iter().enumerate()
        {
            model.bodies.push(Body {
                name: name.into(),
                parent: 0,
                position: Vec3::zero(),
                orientation: Quat::identity(),
                mass: 1.0,
                com: Vec3::zero(),
                inertia: SymMat3::identity(),
                ..Body::default()
            });
            model.joints.push(Joint::new(name, i + 1, JointKind::Free, Vec3::new(0.0, 0.0, 1.0)));
            model.geoms.push(Geom {
                collides_with,
                friction: [0.5, 0.0, 0.0],
                ..Geom::new(name, i + 1, shape)
            });
        }
        Articulated::new(model.compile()?)
    }

    #[test]
    fn pairs_with_anything_but_spheres_are_refused() {
        assert!(two(Shape::Sphere { radius: 0.1 }, 1).is_ok());
        for shape in [
            Shape::Plane,
            Shape::Capsule { radius: 0.1, half_length: 0.1 },
            Shape::Box { half: Vec3::new(0.1, 0.1, 0.1) },
            Shape::Torus { ring: 0.3, tube: 0.1 },
        ] {
            let error = two(shape, 1).err().map(|e| e.to_string()).unwrap_or_default();
            assert!(
                error.contains("`tyre`") && error.contains("`other`") && error.contains("spheres"),
                "{error}"
            );
            // Bits that do not match keep both as colliders of soft matter.
            assert!(two(shape, 2).is_ok());
        }
    }
}

//! What a model needs, found before anything is allocated: a small file may describe a model that no machine holds.
//!
//! | bounded | why |
//! |---|---|
//! | products in a factorization of the mass matrix, Σ depth² over degrees of freedom | time of one evaluation |
//! | memory of the convex contact model, which grows with the square of the degrees of freedom | memory |
//! | pairs of geoms that are asked whether they may touch | time of the set-up |
//! | pairs of geoms that may touch, and their contacts | memory |

use pullback_collision::broad_phase::Pair;
use pullback_core::ConfigError;

use super::model::{ContactModel, Model};

/// Products in one factorization: a serial chain of three thousand joints, some seconds.
const MOST_PRODUCTS: f64 = 1e10;
/// Bytes of the convex model in `f64`: 4 GiB, ten thousand degrees of freedom.
const MOST_BYTES: f64 = (1u64 << 32) as f64;
/// Pairs of geoms that are tried: of twenty thousand that move, each with each.
const MOST_TRIED: f64 = 2e8;
/// Contacts that all pairs together may have: of two thousand balls, each with each.
const MOST_CONTACTS: usize = 1 << 21;

/// Refuses a model of more degrees of freedom, or more geoms, than can be simulated.
pub(super) fn check(model: &Model) -> Result<(), ConfigError> {
    let mut own = vec![0usize; model.bodies.len()];
    for joint in &model.joints {
        own[joint.body] += joint.kind.velocities();
    }
    // Degrees of freedom from the world to each body; Σ_{d=a+1}^{b} d² of a body that adds b − a of them.
    let squares = |n: usize| n as f64 * (n as f64 + 1.0) * (2.0 * n as f64 + 1.0) / 6.0;
    let (mut above, mut products) = (vec![0usize; model.bodies.len()], 0.0);
    for (b, body) in model.bodies.iter().enumerate().skip(1) {
        let before = above[body.parent];
        above[b] = before + own[b];
        products += squares(above[b]) - squares(before);
    }
    if products > MOST_PRODUCTS {
        let longest = above.iter().max().unwrap_or(&0);
        return Err(ConfigError::new(format!(
            "{}: {longest} degrees of freedom hang from each other; factorizing their mass matrix takes {products:.0e} \
             products, and at most {MOST_PRODUCTS:.0e} are allowed: split the chain, or fix joints",
            model.name
        )));
    }
    // H and where it is not zero, then one row over all columns for each limit and dry friction.
    let nv = model.nv as f64;
    let bytes = nv * nv * (8.0 + 4.0 + 32.0);
    if model.options.contact_model == ContactModel::Convex && bytes > MOST_BYTES {
        return Err(ConfigError::new(format!(
            "{}: the convex contact model needs {bytes:.0e} bytes for {nv} degrees of freedom, and at most \
             {MOST_BYTES:.0e} are allowed: use the penalty model (--contact penalty), or fewer bodies",
            model.name
        )));
    }
    // G and Gᵀ M G of joints that follow others.
    let bytes = nv * nv * 16.0;
    if model.options.contact_model == ContactModel::Penalty && !model.mimics.is_empty() && bytes > MOST_BYTES
    {
        return Err(ConfigError::new(format!(
            "{}: joints that follow others need {bytes:.0e} bytes for {nv} degrees of freedom under the penalty model, and at \
             most {MOST_BYTES:.0e} are allowed: let fewer follow",
            model.name
        )));
    }
    let movers = model.geoms.iter().filter(|geom| above[geom.body] > 0).count();
    let others = model.geoms.len() - movers;
    let tried = movers as f64 * (0.5 * movers as f64 + others as f64);
    if model.options.contact && tried > MOST_TRIED {
        return Err(ConfigError::new(format!(
            "{}: {movers} moving geoms and {others} others make {tried:.0e} pairs, and at most {MOST_TRIED:.0e} are tried: \
             use fewer geoms",
            model.name
        )));
    }
    Ok(())
}

/// Refuses pairs that may have more contacts than memory should hold.
pub(super) fn check_pairs(model: &Model, pairs: &[Pair]) -> Result<(), ConfigError> {
    let kind = |geom: usize| model.collider::<f64>(&model.geoms[geom]).kind;
    let slots = pairs.iter().map(|(a, b)| model.contact_slots(kind(*a), kind(*b)));
    let contacts: usize = slots.sum();
    if contacts <= MOST_CONTACTS {
        return Ok(());
    }
    Err(ConfigError::new(format!(
        "{}: {} pairs of geoms may touch in {contacts} places, and at most {MOST_CONTACTS} are allowed: let fewer geoms \
         collide by their contype and conaffinity",
        model.name,
        pairs.len()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Articulated;
    use crate::model::{Body, Geom, Joint, JointKind, Shape};
    use pullback_math::{Quat, SymMat3, Vec3};

    /// So many bodies, each on a joint to the one before or to the world.
    fn bodies(count: usize, chained: bool, kind: JointKind) -> Model {
        let mut model = Model::new("many");
        for i in 0..count {
            model.bodies.push(Body {
                name: format!("b{i}"),
                parent: if chained { i } else { 0 },
                orientation: Quat::identity(),
                mass: 1.0,
                inertia: SymMat3::diagonal(Vec3::new(1.0, 1.0, 1.0)),
                ..Body::default()
            });
            model.joints.push(Joint::new(format!("j{i}"), i + 1, kind, Vec3::new(0.0, 1.0, 0.0)));
        }
        model
    }

    fn refused(model: Model) -> String {
        Articulated::new(model.compile().unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn a_chain_of_ten_thousand_joints_is_refused() {
        let model = bodies(10_000, true, JointKind::Hinge);
        assert!(refused(model).contains("10000 degrees of freedom hang from each other"));
    }

    #[test]
    fn three_thousand_floating_bodies_are_refused_by_the_convex_model_alone() {
        let mut model = bodies(3_000, false, JointKind::Free);
        model.options.contact_model = ContactModel::Convex;
        let message = refused(model);
        assert!(
            message.contains("for 18000 degrees of freedom") && message.contains("--contact penalty"),
            "{message}"
        );
        let mut model = bodies(3_000, false, JointKind::Free);
        model.options.contact_model = ContactModel::Penalty;
        Articulated::new(model.compile().unwrap()).unwrap();
    }

    #[test]
    fn balls_that_all_touch_each_other_are_refused() {
        let mut model = bodies(3_000, false, JointKind::Slide);
        model.options.contact_model = ContactModel::Penalty;
        let ball = Shape::Sphere { radius: 0.1 };
        model.geoms.extend((0..3_000).map(|i| Geom::new(format!("g{i}"), i + 1, ball)));
        let message = refused(model);
        assert!(message.contains("4498500 pairs of geoms may touch in 4498500 places"), "{message}");
    }
}

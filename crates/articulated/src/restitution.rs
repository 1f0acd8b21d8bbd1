//! Damping of compliant contact from a coefficient of restitution.
//!
//! Both forms damp only while the bodies approach, so the rebound is that of the spring alone: from the
//! greatest depth x the bodies part at ω x, ω² = k/m. The approach from speed v₀ decides x; weight during the
//! contact is neglected.
//!
//! - [`ContactDamping::Plain`]: m ẍ = −k x − c ẋ. With ζ = c / (2 √(k m)), e = exp(−ζ arccos ζ / √(1 − ζ²))
//!   (arcosh and ζ² − 1 for ζ > 1): the same at every speed.
//! - [`ContactDamping::ByDepth`]: m ẍ = −k x − c x ẋ separates to v dv/(k + c v) = −x dx/m. With s = c v₀ /
//!   k, e² = 2 (s − ln(1 + s)) / s²: the same for every mass, less for faster impacts.

use pullback_core::ConfigError;

use super::model::ContactDamping;

/// An impact that a damping is sought for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impact {
    /// m₁ m₂ / (m₁ + m₂) of the bodies; against the ground, the mass of the body, kg.
    pub mass: f64,
    /// Stiffness of all points that touch at once, N/m.
    pub stiffness: f64,
    /// Speed of approach, m/s.
    pub speed: f64,
}

/// The damping, of all points that touch at once, with which `impact` has the coefficient of restitution
/// wanted: N s/m for [`ContactDamping::Plain`], N s/m² for [`ContactDamping::ByDepth`].
///
/// ```
/// use pullback_articulated::ContactDamping;
/// use pullback_articulated::restitution::{Impact, damping_for_restitution};
///
/// let impact = Impact { mass: 2.0, stiffness: 1e4, speed: 3.0 };
/// assert_eq!(damping_for_restitution(ContactDamping::Plain, 1.0, impact).unwrap(), 0.0);
/// assert!(damping_for_restitution(ContactDamping::ByDepth, 0.0, impact).is_err());
/// ```
pub fn damping_for_restitution(
    form: ContactDamping,
    restitution: f64,
    impact: Impact,
) -> Result<f64, ConfigError> {
    let Impact { mass, stiffness, speed } = impact;
    if !(restitution > 0.0 && restitution <= 1.0) {
        return Err(ConfigError::new(format!(
            "restitution {restitution}: give more than 0 and at most 1; compliant contact always rebounds"
        )));
    }
    if ![mass, stiffness, speed].iter().all(|x| x.is_finite() && *x > 0.0) {
        return Err(ConfigError::new("an impact needs a positive mass, stiffness and speed"));
    }
    if restitution == 1.0 {
        return Ok(0.0);
    }
    Ok(match form {
        ContactDamping::Plain => {
            2.0 * (stiffness * mass).sqrt() * inverse(restitution, restitution_of_damping_ratio)
        }
        ContactDamping::ByDepth => stiffness / speed * inverse(restitution, restitution_of_relative_damping),
    })
}

/// e(ζ) of the plain form.
fn restitution_of_damping_ratio(ζ: f64) -> f64 {
    let d = 1.0 - ζ * ζ;
    // arccos ζ / √(1 − ζ²), continued through ζ = 1 by its series.
    let angle = if d.abs() < 1e-6 {
        1.0 + (1.0 - ζ) / 3.0
    } else if d > 0.0 {
        ζ.acos() / d.sqrt()
    } else {
        ζ.acosh() / (-d).sqrt()
    };
    (-ζ * angle).exp()
}

/// e(s) of the form that damps by depth.
fn restitution_of_relative_damping(s: f64) -> f64 {
    // (s − ln(1 + s)) / s² loses its digits near 0, where it is ½ − s/3 + s²/4.
    let half = if s < 1e-4 { 0.5 - s / 3.0 + s * s / 4.0 } else { (s - s.ln_1p()) / (s * s) };
    (2.0 * half).sqrt()
}

/// x > 0 with e(x) = `wanted`, for an e that falls from 1 to 0: halving, until no number lies between.
fn inverse(wanted: f64, e: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while e(high) > wanted {
        (low, high) = (high, 2.0 * high);
    }
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return middle;
        }
        if e(middle) > wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Speed ratio of a mass that meets the surface, by small steps of the law itself.
    fn simulated(form: ContactDamping, damping: f64, impact: Impact) -> f64 {
        let Impact { mass, stiffness, speed } = impact;
        let dt = 1e-5 * (mass / stiffness).sqrt();
        let (mut depth, mut rate) = (0.0f64, speed);
        loop {
            let scale = if form == ContactDamping::ByDepth { depth } else { 1.0 };
            let force = stiffness * depth + damping * scale * rate.max(0.0);
            rate -= dt * force / mass;
            depth += dt * rate;
            if depth < 0.0 {
                return -rate / speed;
            }
        }
    }

    #[test]
    fn a_bounce_has_the_restitution_asked_for() {
        for form in [ContactDamping::Plain, ContactDamping::ByDepth] {
            for (mass, stiffness, speed) in [(2.0, 1e4, 3.0), (0.1, 500.0, 0.2)] {
                let impact = Impact { mass, stiffness, speed };
                for e in [0.15, 0.3679, 0.5, 0.9, 0.99] {
                    let damping = damping_for_restitution(form, e, impact).unwrap();
                    let seen = simulated(form, damping, impact);
                    assert!((seen - e).abs() < 2e-3 * e, "{form:?}, e = {e}: {seen}");
                }
            }
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let impact = Impact { mass: 1.0, stiffness: 1.0, speed: 1.0 };
        for e in [0.0, -0.1, 1.1, f64::NAN] {
            assert!(damping_for_restitution(ContactDamping::Plain, e, impact).is_err());
        }
        let still = Impact { speed: 0.0, ..impact };
        assert!(damping_for_restitution(ContactDamping::ByDepth, 0.5, still).is_err());
    }
}

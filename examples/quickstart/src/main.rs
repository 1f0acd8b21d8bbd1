//! A system of your own in one file: a planet in drag, its law identified from its track.
//!
//! `cargo run --release -p quickstart`

use pullback::core::step_check::check_step;
use pullback::prelude::*;

/// What pulls the planet: gravity μ/r² towards the sun, and drag.
#[derive(Clone, Copy, Debug, Cotangent)]
pub struct Law<T> {
    /// Gravitational parameter, m³/s².
    pub mu: T,
    /// Drag per unit mass, 1/s.
    pub drag: T,
}

/// ẍ = −μ x / |x|³ − c ẋ
#[differentiable]
pub fn acceleration<T: Real>(position: Vec3<T>, velocity: Vec3<T>, law: Law<T>) -> Vec3<T> {
    let distance = position.norm();
    position * (-law.mu / (distance * distance * distance)) - velocity * law.drag
}

/// State: position and velocity; parameters: the law.
pub struct Planet {
    layout: Layout,
}

impl Planet {
    fn new() -> Result<Self, pullback::core::ConfigError> {
        let layout = Layout::builder()
            .state(Slice::new("position", 3, "m").default(&[1.0, 0.0, 0.0]))
            .state(Slice::new("velocity", 3, "m/s").default(&[0.0, 0.9, 0.1]))
            .param(Slice::new("mu", 1, "m^3/s^2").default(&[1.0]).bounds(0.5, 2.0))
            .param(Slice::new("drag", 1, "1/s").default(&[0.01]).bounds(0.0, 0.1))
            .build()?;
        Ok(Planet { layout })
    }
}

impl Described for Planet {
    fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl FieldShape for Planet {}

impl<T: Real> VectorField<T> for Planet {
    type Workspace = ();
    fn workspace(&self) {}

    fn eval(&self, _ws: &mut (), at: Point<'_, T>, _time: T, rate: &mut [T]) {
        let (position, velocity) = <(Vec3<T>, Vec3<T>)>::read(at.state);
        (velocity, acceleration(position, velocity, Law::read(at.params))).write(rate);
    }

    fn eval_vjp(&self, _ws: &mut (), at: Point<'_, T>, _time: T, rate_bar: &[T], bars: Bars<'_, T>) -> T {
        let (position, velocity) = <(Vec3<T>, Vec3<T>)>::read(at.state);
        let (velocity_bar, acceleration_bar) = <(Vec3<T>, Vec3<T>)>::read(rate_bar);
        let (position, velocity, law) =
            acceleration_vjp(position, velocity, Law::read(at.params), acceleration_bar);
        (position, velocity_bar + velocity).add_to(bars.state);
        law.add_to(bars.params);
        T::zero()
    }
}

/// L = Σₜ |xₜ − track(t)|²
pub struct Follow {
    track: Vec<Vec3<f64>>,
}

impl Follow {
    fn miss<T: Real>(&self, at: Sample<'_, T>) -> Vec3<T> {
        Vec3::read(at.state) - self.track[at.step].map(T::lit)
    }
}

impl<T: Real> Loss<T> for Follow {
    fn value(&self, at: Sample<'_, T>) -> T {
        self.miss(at).norm_squared()
    }
    fn vjp(&self, at: Sample<'_, T>, state_bar: &mut [T], _control_bar: &mut [T]) {
        self.miss(at).norm_squared_vjp(T::one()).add_to(state_bar);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let integrator = Integrator::adaptive(Method::Tsit5, PidController::new(1e-10));
    let system = Integrated::new(Planet::new()?, 0.5, integrator)?;

    // Check the gradients first.
    let state = system.layout().state.defaults();
    let options = GradcheckOptions { difference_tolerance: 1e-4, ..GradcheckOptions::default() };
    println!(
        "{}\n",
        check_step(&system, Point { params: &[1.2, 0.03], state: &state, control: &[] }, &options)
    );

    // Watch a planet with μ = 1.2 and c = 0.03 for 10 s, then find both from its track.
    let rollout = Rollout::new(system, 20, Schedule::StoreAll)?;
    let mut ws = rollout.workspace::<f64>();
    let mut track = Vec::new();
    rollout.simulate(&mut ws, &Inputs { state, controls: vec![], params: vec![1.2, 0.03] }, |at| {
        track.push(Vec3::read(at.state))
    })?;
    let base = Inputs::defaults(&rollout.system, 20);
    let objective = RolloutObjective::select(rollout, Follow { track }, base, "params.*")?;
    let found =
        bfgs(&objective, &objective.start(), &BfgsConfig { first_step: 0.05, ..BfgsConfig::default() })?;
    for (name, x) in objective.names().iter().zip(&found.best().x) {
        println!("{name:12} {x:.9}");
    }
    println!("{} gradients, loss {:.1e}", found.gradients, found.best().value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradient_of_a_users_system_is_exact() {
        let system = Integrated::new(Planet::new().unwrap(), 0.05, Integrator::fixed(Method::Rk4)).unwrap();
        let state = system.layout().state.defaults();
        check_step(
            &system,
            Point { params: &[1.2, 0.03], state: &state, control: &[] },
            &GradcheckOptions::default(),
        )
        .assert_passed();
    }
}

//! Gradient checks of networks: the pullback against dual numbers and differences.

use pullback_core::gradcheck::{Differentiable, Options, gradcheck};
use pullback_core::random::Random;
use pullback_math::Dual;

use super::activation::Activation;
use super::init::Init;
use super::layer_norm::LayerNorm;
use super::network::{InputShape, Network, NetworkConfig};
use crate::Number;

/// A map that runs on any number, with its pullback on `f64`.
pub trait Map {
    /// Names of groups of inputs and how many numbers each has.
    fn groups(&self) -> Vec<(&'static str, usize)>;
    /// Number of outputs.
    fn outputs(&self) -> usize;
    /// y = f(x).
    fn run<F: Number>(&self, x: &[F], y: &mut [F]);
    /// x̄ += Jᵀ ȳ.
    fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]);
}

struct Checked<'a, M>(&'a M);

impl<M: Map> Differentiable for Checked<'_, M> {
    fn input_names(&self) -> Vec<String> {
        let groups = self.0.groups().into_iter();
        groups.flat_map(|(name, count)| (0..count).map(move |i| format!("{name}[{i}]"))).collect()
    }
    fn outputs(&self) -> usize {
        self.0.outputs()
    }
    fn eval(&self, x: &[f64], y: &mut [f64]) -> Result<(), String> {
        self.0.run(x, y);
        Ok(())
    }
    fn jvp(&self, x: &[f64], x_dot: &[f64], y: &mut [f64], y_dot: &mut [f64]) -> Result<(), String> {
        let x: Vec<Dual<f64>> = x.iter().zip(x_dot).map(|(x, d)| Dual::new(*x, *d)).collect();
        let mut result = vec![Dual::fixed(0.0); y.len()];
        self.0.run(&x, &mut result);
        for (i, dual) in result.iter().enumerate() {
            (y[i], y_dot[i]) = (dual.value, dual.tangent);
        }
        Ok(())
    }
    fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) -> Result<(), String> {
        self.0.vjp(x, y_bar, x_bar);
        Ok(())
    }
}

/// Checks the pullback of `map` at `x`, to 10⁻¹⁰ against dual numbers.
#[track_caller]
pub fn check(map: &impl Map, x: &[f64]) {
    gradcheck(&Checked(map), x, &Options::default()).assert_passed();
}

/// Standard normal numbers.
pub fn normals(n: usize, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    (0..n).map(|_| random.normal()).collect()
}

/// A configuration without encoder.
pub fn config(hidden: &[usize], activation: Activation, layer_norm: LayerNorm) -> NetworkConfig {
    NetworkConfig { hidden: hidden.to_vec(), activation, layer_norm, init: Init::Default, encoder: None }
}

/// A network as a map of its inputs, then its parameters.
struct NetworkMap {
    network: Network,
    rows: usize,
}

impl Map for NetworkMap {
    fn groups(&self) -> Vec<(&'static str, usize)> {
        vec![("input", self.rows * self.network.inputs()), ("parameter", self.network.num_params())]
    }
    fn outputs(&self) -> usize {
        self.rows * self.network.outputs()
    }
    fn run<F: Number>(&self, x: &[F], y: &mut [F]) {
        let (input, params) = x.split_at(self.rows * self.network.inputs());
        y.copy_from_slice(self.network.forward(params, input, &mut self.network.tape(self.rows)));
    }
    fn vjp(&self, x: &[f64], y_bar: &[f64], x_bar: &mut [f64]) {
        let (input, params) = x.split_at(self.rows * self.network.inputs());
        let (input_bar, params_bar) = x_bar.split_at_mut(input.len());
        // More rows than are used, and an earlier run that leaves other numbers behind.
        let mut tape = self.network.tape(self.rows + 1);
        self.network.forward(params, &vec![0.5; input.len() + self.network.inputs()], &mut tape);
        self.network.forward(params, input, &mut tape);
        self.network.backward(params, &mut tape, y_bar, Some(input_bar), Some(params_bar));
    }
}

/// Checks inputs and parameters of a network on a batch of `rows` rows.
#[track_caller]
pub fn check_network(input: InputShape, outputs: usize, config: &NetworkConfig, rows: usize) {
    let network = Network::new(input, outputs, config).unwrap();
    let mut x = normals(rows * network.inputs(), 5);
    let params = network.init(&mut Random::new(7));
    // Scales and shifts away from one and zero.
    x.extend(params.iter().zip(normals(params.len(), 8)).map(|(p, n)| p + 0.1 * n));
    check(&NetworkMap { network, rows }, &x);
}

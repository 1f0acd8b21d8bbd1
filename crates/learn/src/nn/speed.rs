//! Times of networks at the sizes of SHAC and SAPO, on one core:
//! `cargo test --release -p pullback-learn speed -- --ignored --nocapture`.

use std::time::Instant;

use pullback_core::random::Random;

use super::activation::Activation;
use super::check::config;
use super::encoder::EncoderConfig;
use super::layer_norm::LayerNorm;
use super::network::{InputShape, Network, NetworkConfig};
use super::normalizer::{Normalizer, Statistics};
use super::optimizer::{Optimizer, OptimizerConfig};
use crate::nn::clip::clip_norm;

/// Least time of many runs, μs.
fn least(runs: usize, mut f: impl FnMut()) -> f64 {
    let time = |f: &mut dyn FnMut()| {
        let start = Instant::now();
        f();
        start.elapsed().as_secs_f64() * 1e6
    };
    (0..runs).map(|_| time(&mut f)).fold(f64::INFINITY, f64::min)
}

fn single(n: usize) -> Vec<f32> {
    let mut random = Random::new(1);
    (0..n).map(|_| random.normal() as f32).collect()
}

fn network(input: InputShape, outputs: usize, config: &NetworkConfig, rows: usize, input_gradient: bool) {
    let network = Network::new(input, outputs, config).unwrap();
    let params: Vec<f32> = network.init(&mut Random::new(0)).iter().map(|x| *x as f32).collect();
    let (x, y_bar) = (single(rows * network.inputs()), single(rows * outputs));
    let (mut x_bar, mut params_bar) = (vec![0.0; x.len()], vec![0.0; params.len()]);
    let mut tape = network.tape::<f32>(rows);
    let runs = if input.points > 0 { 100 } else { 2000 };
    let forward = least(runs, || _ = network.forward(&params, &x, &mut tape));
    let both = least(runs, || {
        network.forward(&params, &x, &mut tape);
        let x_bar = input_gradient.then_some(&mut x_bar[..]);
        network.backward(&params, &mut tape, &y_bar, x_bar, Some(&mut params_bar));
    });
    let (activation, norm, per_row) = (config.activation, config.layer_norm, both / rows as f64);
    println!(
        "{} points, {} numbers, {:?}, {outputs}; {activation:?}, norm {norm:?}; {rows} rows: \
         forward {forward:.1} μs, with backward {both:.1} μs, {per_row:.3} μs per row",
        input.points, input.vector, config.hidden
    );
}

#[test]
#[ignore = "a measurement"]
fn speed() {
    for (activation, norm) in [(Activation::Silu, LayerNorm::Before), (Activation::Elu, LayerNorm::None)] {
        network(InputShape::vector(37), 1, &config(&[64, 64], activation, norm), 512, false);
        for rows in [1, 16, 64] {
            network(InputShape::vector(37), 16, &config(&[128, 64, 32], activation, norm), rows, true);
        }
        network(InputShape::vector(37), 8, &config(&[128, 64, 32], activation, norm), 64, true);
    }
    let encoder = NetworkConfig {
        encoder: Some(EncoderConfig::default()),
        ..config(&[512, 256], Activation::Silu, LayerNorm::Before)
    };
    network(InputShape { points: 250, vector: 24 }, 6, &encoder, 32, true);

    let n = 15_000;
    let (mut params, mut gradient) = (single(n), single(n));
    let mut optimizer = Optimizer::new(OptimizerConfig::adam_w([0.7, 0.95]), n).unwrap();
    let step = least(2000, || optimizer.step(1e-3, &mut params, &gradient));
    let clip = least(2000, || _ = clip_norm(&mut gradient, 0.5));
    let rows = single(64 * 37);
    let mut normalized = rows.clone();
    let mut normalizer = Normalizer::new(InputShape::vector(37), 1.0, Statistics::PerEntry).unwrap();
    let update = least(2000, || normalizer.update(&rows).unwrap());
    let normalize = least(2000, || normalizer.normalize(&rows, &mut normalized));
    println!("{n} parameters: AdamW {step:.1} μs, clip {clip:.1} μs");
    println!("64 rows of 37: statistics {update:.1} μs, normalization {normalize:.1} μs");
}

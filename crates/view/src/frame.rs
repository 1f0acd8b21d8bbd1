//! What is sent for each picture, as little-endian binary messages.
//!
//! A message is its length without these four bytes (u32), its kind (u32), the length of a JSON object padded by
//! spaces to a multiple of four (u32), that object, and f32 numbers. Those of a picture are seven per body
//! (position, orientation wxyz), ten per contact (position, normal, force, distance), three per soft vertex. A
//! gradient has none.

use pullback_tasks::recording::Instant;
use serde_json::{Value, json};

use crate::gradient::GradientReport;
use crate::simulation::Simulation;

/// A picture.
const PICTURE: u32 = 0;
/// A gradient.
const GRADIENT: u32 = 1;
/// Controls that are told with each picture, at most.
const MOST_CONTROLS: usize = 256;

/// The picture of a simulation now, `share` of the speed asked for.
pub(crate) fn picture(simulation: &mut Simulation<'_>, share: Option<f64>) -> Vec<u8> {
    let Instant { poses, contacts, soft } = simulation.instant();
    let report = simulation.drag().map(|drag| {
        let from = poses.get(drag.body).map(|pose| drag.place(pose));
        json!({ "from": from, "to": drag.target, "force": drag.force })
    });
    let control = simulation.values(crate::Vector::Control);
    let head = json!({
        "time": simulation.time(),
        "step": simulation.step(),
        "playing": simulation.playing(),
        "speed": simulation.speed(),
        "share": share,
        "halted": simulation.halted(),
        "drag": report,
        "control": &control[..control.len().min(MOST_CONTROLS)],
        "contacts": contacts.len(),
    });
    let poses = poses.iter().flat_map(|([x, y, z], [a, b, c, d])| [*x, *y, *z, *a, *b, *c, *d]);
    let contacts = contacts.iter().flat_map(|mark| {
        let ([px, py, pz], [nx, ny, nz], [fx, fy, fz]) = (mark.position, mark.normal, mark.force);
        [px, py, pz, nx, ny, nz, fx, fy, fz, mark.distance]
    });
    let soft = soft.iter().flatten().flatten().copied();
    message(PICTURE, &head, poses.chain(contacts).chain(soft))
}

/// A gradient, or why there is none.
pub(crate) fn gradient(result: &Result<GradientReport, String>) -> Vec<u8> {
    let head = match result {
        Ok(report) => json!({ "gradient": report }),
        Err(why) => json!({ "error": why }),
    };
    message(GRADIENT, &head, std::iter::empty())
}

fn message(kind: u32, head: &Value, numbers: impl Iterator<Item = f64>) -> Vec<u8> {
    let mut text = head.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    let mut bytes = vec![0; 4];
    bytes.extend(kind.to_le_bytes());
    bytes.extend((text.len() as u32).to_le_bytes());
    bytes.extend(text);
    numbers.for_each(|x| bytes.extend((x as f32).to_le_bytes()));
    let length = (bytes.len() - 4) as u32;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_message_are_aligned() {
        let bytes = message(7, &json!({ "a": 1 }), [1.5, -2.0].into_iter());
        let word = |k: usize| u32::from_le_bytes(bytes[4 * k..4 * k + 4].try_into().unwrap());
        assert_eq!((word(0) as usize, word(1), word(2)), (bytes.len() - 4, 7, 8));
        assert_eq!(&bytes[12..20], b"{\"a\":1} ");
        assert_eq!(&bytes[20..], [1.5f32.to_le_bytes(), (-2.0f32).to_le_bytes()].concat());
    }
}

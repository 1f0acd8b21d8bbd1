//! Refuses a replay that would not play, and says where it is wrong.
//!
//! Values are checked as `f32`, which is what the page receives: a position of 1e39 m is as bad as a NaN.

use crate::error::ReplayError;
use crate::model::{Frame, Pose, Replay, ReplayGeom, ReplayShape, ReplaySoft};

/// Checks lengths, indices and that every number is finite.
pub(crate) fn validate(replay: &Replay) -> Result<(), ReplayError> {
    if !(replay.fps.is_finite() && replay.fps > 0.0) {
        return Err(ReplayError::FrameRate(replay.fps));
    }
    if replay.frames.is_empty() {
        return Err(ReplayError::NoFrames);
    }
    replay.geoms.iter().try_for_each(|geom| check_geom(geom, replay.bodies.len()))?;
    replay.soft.iter().try_for_each(|soft| check_soft(soft, replay.frames.len()))?;
    let mut before = f64::NEG_INFINITY;
    for (index, frame) in replay.frames.iter().enumerate() {
        if !frame.time.is_finite() || frame.time <= before {
            return Err(ReplayError::BadTime { frame: index, time: frame.time });
        }
        before = frame.time;
        check_frame(index, frame, &replay.bodies)?;
    }
    replay.series.iter().try_for_each(|(name, values)| check_series(name, values, replay.frames.len()))
}

fn check_frame(index: usize, frame: &Frame, bodies: &[String]) -> Result<(), ReplayError> {
    let (found, expected) = (frame.poses.len(), bodies.len());
    if found != expected {
        return Err(ReplayError::PoseCount { frame: index, found, expected });
    }
    if let Some(body) = frame.poses.iter().position(|pose| !is_pose(pose)) {
        return Err(ReplayError::BadPose { frame: index, body: bodies[body].clone() });
    }
    let is_good = |c: &crate::ContactMark| {
        finite(&c.position) && finite(&c.normal) && finite(&c.force) && finite(&[c.distance])
    };
    match frame.contacts.iter().position(|contact| !is_good(contact)) {
        Some(contact) => Err(ReplayError::BadContact { frame: index, contact }),
        None => Ok(()),
    }
}

fn check_geom(geom: &ReplayGeom, bodies: usize) -> Result<(), ReplayError> {
    let fail = |reason: String| Err(ReplayError::BadGeom { geom: geom.name.clone(), reason });
    if geom.body >= bodies {
        return fail(format!("body {} does not exist; there are {bodies}", geom.body));
    }
    if !is_pose(&(geom.position, geom.orientation)) {
        return fail("its pose is not finite or its quaternion is zero".into());
    }
    if !geom.rgba.iter().all(|c| c.is_finite()) {
        return fail("its color is not finite".into());
    }
    if !sizes(&geom.shape).iter().all(|s| (*s as f32).is_finite() && *s >= 0.0) {
        return fail("its sizes must be finite and not negative".into());
    }
    if let ReplayShape::Mesh { vertices, triangles } = &geom.shape {
        if let Some(vertex) = vertices.iter().position(|v| !finite(v)) {
            return fail(format!("vertex {vertex} is not finite"));
        }
        let outside = |t: &[u32; 3]| t.iter().any(|&corner| corner as usize >= vertices.len());
        if let Some(triangle) = triangles.iter().position(outside) {
            return fail(format!("triangle {triangle} names a vertex past {}", vertices.len()));
        }
    }
    Ok(())
}

fn check_soft(soft: &ReplaySoft, frames: usize) -> Result<(), ReplayError> {
    let fail = |reason: String| Err(ReplayError::BadSoft { soft: soft.name.clone(), reason });
    if soft.vertices.len() != frames {
        return fail(format!("vertices of {} frames for {frames} frames", soft.vertices.len()));
    }
    let count = soft.vertices.first().map_or(0, Vec::len);
    for (frame, vertices) in soft.vertices.iter().enumerate() {
        if vertices.len() != count {
            return fail(format!("frame {frame} has {} vertices, the first has {count}", vertices.len()));
        }
        if let Some(vertex) = vertices.iter().position(|v| !finite(v)) {
            return fail(format!("vertex {vertex} at frame {frame} is not finite"));
        }
    }
    let named = soft.triangles.iter().flatten().chain(soft.lines.iter().flatten()).chain(&soft.dots);
    if let Some(vertex) = named.into_iter().find(|v| **v as usize >= count) {
        return fail(format!("it names vertex {vertex} of {count}"));
    }
    if !(soft.rgba.iter().all(|c| c.is_finite()) && finite(&[soft.dot_radius]) && soft.dot_radius >= 0.0) {
        return fail("its color and the radius of its dots must be finite and not negative".into());
    }
    Ok(())
}

fn check_series(name: &str, values: &[f64], frames: usize) -> Result<(), ReplayError> {
    let fail = |reason: String| Err(ReplayError::BadSeries { series: name.into(), reason });
    if values.len() != frames {
        return fail(format!("{} values for {frames} frames", values.len()));
    }
    match values.iter().position(|v| !(*v as f32).is_finite()) {
        Some(frame) => fail(format!("the value at frame {frame} is not finite")),
        None => Ok(()),
    }
}

fn sizes(shape: &ReplayShape) -> Vec<f64> {
    match shape {
        ReplayShape::Plane { half_x, half_y } => vec![*half_x, *half_y],
        ReplayShape::Sphere { radius } => vec![*radius],
        ReplayShape::Capsule { radius, half_length } | ReplayShape::Cylinder { radius, half_length } => {
            vec![*radius, *half_length]
        }
        ReplayShape::Ellipsoid { radii: three } | ReplayShape::Box { half: three } => three.to_vec(),
        ReplayShape::Torus { ring, tube } => vec![*ring, *tube],
        ReplayShape::Mesh { .. } => Vec::new(),
    }
}

fn is_pose((position, quaternion): &Pose) -> bool {
    let norm = quaternion.iter().map(|c| c * c).sum::<f64>();
    finite(position) && norm.is_finite() && norm > 1e-12
}

fn finite(values: &[f64]) -> bool {
    values.iter().all(|v| (*v as f32).is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ContactMark;

    fn two_bodies() -> Replay {
        let pose = ([0.0; 3], [1.0, 0.0, 0.0, 0.0]);
        let mut replay = Replay::new("test", 30.0);
        replay.bodies = vec!["left".into(), "right".into()];
        replay.geoms = vec![ReplayGeom::new("ball", 1, ReplayShape::Sphere { radius: 1.0 })];
        replay.frames = (0..5)
            .map(|k| Frame { time: k as f64, poses: vec![pose; 2], contacts: vec![ContactMark::default()] })
            .collect();
        replay.series = vec![("height".into(), vec![0.0; 5])];
        replay
    }

    fn message(change: impl Fn(&mut Replay)) -> String {
        let mut replay = two_bodies();
        change(&mut replay);
        validate(&replay).unwrap_err().to_string()
    }

    #[test]
    fn a_sound_replay_passes() {
        validate(&two_bodies()).unwrap();
    }

    #[test]
    fn a_nan_is_reported_with_its_frame_and_body() {
        let text = message(|r| r.frames[3].poses[1].0[2] = f64::NAN);
        assert!(text.contains("frame 3") && text.contains("\"right\""), "{text}");
        let text = message(|r| r.frames[2].poses[0].1 = [0.0; 4]);
        assert!(text.contains("frame 2") && text.contains("\"left\""), "{text}");
        assert!(message(|r| r.frames[1].contacts[0].force[0] = 1e300).contains("frame 1: contact 0"));
    }

    #[test]
    fn lengths_must_match() {
        assert!(message(|r| r.frames[4].poses.truncate(1)).contains("frame 4 has 1 poses for 2 bodies"));
        assert!(message(|r| r.series[0].1.truncate(2)).contains("2 values for 5 frames"));
        assert!(message(|r| r.frames.clear()).contains("no frames"));
    }

    #[test]
    fn times_must_grow_and_the_rate_be_positive() {
        assert!(message(|r| r.frames[2].time = 1.0).contains("frame 2"));
        assert!(message(|r| r.fps = 0.0).contains("frame rate"));
    }

    #[test]
    fn soft_shapes_must_be_drawable() {
        let soft = || ReplaySoft {
            name: "cloth".into(),
            triangles: vec![[0, 1, 2]],
            vertices: vec![vec![[0.0; 3]; 3]; 5],
            ..ReplaySoft::default()
        };
        let with = |change: fn(&mut ReplaySoft)| {
            message(move |r| {
                let mut soft = soft();
                change(&mut soft);
                r.soft = vec![soft];
            })
        };
        assert!(with(|s| s.vertices.truncate(2)).contains("vertices of 2 frames for 5 frames"));
        assert!(with(|s| s.vertices[3].truncate(2)).contains("frame 3 has 2 vertices"));
        assert!(with(|s| s.vertices[4][1][0] = f64::NAN).contains("vertex 1 at frame 4"));
        assert!(with(|s| s.lines = vec![[0, 3]]).contains("vertex 3 of 3"));
    }

    #[test]
    fn geoms_must_be_drawable() {
        assert!(message(|r| r.geoms[0].body = 2).contains("body 2 does not exist"));
        assert!(message(|r| r.geoms[0].shape = ReplayShape::Sphere { radius: -1.0 }).contains("\"ball\""));
        let mesh = ReplayShape::Mesh { vertices: vec![[0.0; 3]; 3], triangles: vec![[0, 1, 3]] };
        assert!(message(|r| r.geoms[0].shape = mesh.clone()).contains("triangle 0"));
    }
}

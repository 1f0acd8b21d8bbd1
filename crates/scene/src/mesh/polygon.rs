//! Polygons into triangles, as MuJoCo's reader of OBJ files cuts them.
//!
//! A quadrilateral is cut along its shorter diagonal, from the second corner if both are as long. A larger
//! polygon is cut ear by ear in the plane of two coordinates, those across the largest component of its
//! normal. A corner counts as convex if it turns the way in which the edge before it passes the origin, so
//! cuts depend on where the polygon stands, and corners may be left over, which leaves a hole. All in single
//! precision, so that ties fall the same way.

use pullback_math::Vec3;

/// Most tests of a point against a triangle for all polygons of a file.
const MAX_WORK: u64 = 1 << 30;

/// A point of the plane.
type Point = [f32; 2];

/// Adds the triangles of one polygon; `work` counts tests of points over a whole file.
pub(super) fn cut(
    corners: &[usize],
    vertices: &[Vec3<f64>],
    work: &mut u64,
    into: &mut Vec<[usize; 3]>,
) -> Result<(), String> {
    // A corner named twice makes no triangle.
    let mut add = |a: usize, b: usize, c: usize| {
        if a != b && b != c && a != c {
            into.push([a, b, c]);
        }
    };
    match *corners {
        [] | [_] | [_, _] => Err(format!("a face needs three corners, this has {}", corners.len())),
        [a, b, c] => {
            add(a, b, c);
            Ok(())
        }
        [a, b, c, d] => {
            let squared = |i: usize, j: usize| {
                let [x, y, z] = difference(single(vertices[j]), single(vertices[i]));
                x * x + y * y + z * z
            };
            if squared(a, c) < squared(b, d) {
                add(a, b, c);
                add(a, c, d);
            } else {
                add(a, b, d);
                add(b, c, d);
            }
            Ok(())
        }
        _ => cut_ears(corners, vertices, work, add),
    }
}

fn single(v: Vec3<f64>) -> [f32; 3] {
    [v.x as f32, v.y as f32, v.z as f32]
}

fn difference([a, b, c]: [f32; 3], [x, y, z]: [f32; 3]) -> [f32; 3] {
    [a - x, b - y, c - z]
}

/// The two coordinates across the largest component of the normal at the first corner that has one.
fn plane(corners: &[usize], vertices: &[Vec3<f64>]) -> [usize; 2] {
    let n = corners.len();
    for k in 0..n {
        let [a, b, c] = [0, 1, 2].map(|i| single(vertices[corners[(k + i) % n]]));
        let ([ax, ay, az], [bx, by, bz]) = (difference(b, a), difference(c, b));
        let [x, y, z] = [ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx].map(f32::abs);
        if x > f32::EPSILON || y > f32::EPSILON || z > f32::EPSILON {
            return match (x > y && x > z, z > x && z > y) {
                (true, _) => [1, 2],
                (_, true) => [0, 1],
                _ => [0, 2],
            };
        }
    }
    [1, 2]
}

fn cut_ears(
    corners: &[usize],
    vertices: &[Vec3<f64>],
    work: &mut u64,
    mut add: impl FnMut(usize, usize, usize),
) -> Result<(), String> {
    let axes = plane(corners, vertices);
    let flat = |i: usize| -> Point {
        let v = single(vertices[i]);
        axes.map(|axis| v[axis])
    };
    let mut left = corners.to_vec();
    let (mut at, mut tries, mut found) = (0, corners.len(), false);
    // An ear found by the last try renews nothing: what is left stays a hole, as in MuJoCo.
    while left.len() > 3 && tries > 0 {
        let n = left.len();
        at %= n;
        tries = if std::mem::take(&mut found) { n } else { tries - 1 };
        let corner = |k: usize| left[(at + k) % n];
        let [a, b, c] = [0, 1, 2].map(corner);
        let triangle = [flat(a), flat(b), flat(c)];
        *work += n as u64;
        if *work > MAX_WORK {
            return Err("its polygons are too large or too tangled to cut; export triangles".into());
        }
        if !convex(triangle) || (3..n).any(|k| inside(triangle, flat(corner(k)))) {
            at += 1;
            continue;
        }
        add(a, b, c);
        left.remove((at + 1) % n);
        found = true;
    }
    if let [a, b, c] = left[..] {
        add(a, b, c);
    }
    Ok(())
}

/// Whether the corner turns the way in which its first edge passes the origin.
fn convex([[ax, ay], [bx, by], [cx, cy]]: [Point; 3]) -> bool {
    let turn = (bx - ax) * (cy - by) - (by - ay) * (cx - bx);
    let passes = (ax * by - ay * bx) * 0.5;
    // Not `>= 0`: what is not a number counts as convex.
    !matches!((turn * passes).partial_cmp(&0.0), Some(std::cmp::Ordering::Less))
}

/// Whether a ray from the point crosses the sides of the triangle an odd number of times.
fn inside(triangle: [Point; 3], [x, y]: Point) -> bool {
    let mut crossings = 0;
    for i in 0..3 {
        let ([ax, ay], [bx, by]) = (triangle[i], triangle[(i + 2) % 3]);
        if (ay > y) != (by > y) && x < (bx - ax) * (y - ay) / (by - ay) + ax {
            crossings += 1;
        }
    }
    crossings % 2 == 1
}

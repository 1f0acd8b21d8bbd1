//! [`Camera`]: one ray per pixel.

use pullback_core::ConfigError;
use pullback_math::Vec3;

/// How rays of a camera run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lens {
    /// Parallel; the picture is so many meters high.
    Orthographic(f64),
    /// From one point; the picture spans this angle from top to bottom, rad.
    Perspective(f64),
}

/// A camera that looks at a point, with the z axis up in the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Where it stands, m.
    pub position: Vec3<f64>,
    /// What it looks at, m.
    pub target: Vec3<f64>,
    /// How its rays run.
    pub lens: Lens,
    /// Pixels per row, and rows.
    pub pixels: (usize, usize),
}

/// A ray: position = origin + t direction, for t ≥ 0 in m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ray {
    pub origin: Vec3<f64>,
    pub direction: Vec3<f64>,
}

impl Camera {
    /// Refuses cameras without a picture.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let forward = self.target - self.position;
        let level = (forward.x * forward.x + forward.y * forward.y).sqrt();
        let (width, height) = self.pixels;
        let lens = match self.lens {
            Lens::Orthographic(height) => height > 0.0 && height.is_finite(),
            Lens::Perspective(angle) => angle > 0.0 && angle < std::f64::consts::PI,
        };
        if level.is_finite() && level > 1e-9 && lens && width > 0 && height > 0 {
            return Ok(());
        }
        Err(ConfigError::new(
            "a camera needs pixels, a positive height or an angle below pi, and must not look straight up or down",
        ))
    }

    /// The ray through the middle of a pixel.
    pub(crate) fn ray(&self, column: usize, row: usize) -> Ray {
        let forward = (self.target - self.position).normalize();
        let right = forward.cross(Vec3::new(0.0, 0.0, 1.0)).normalize();
        let up = right.cross(forward);
        let (width, height) = (self.pixels.0 as f64, self.pixels.1 as f64);
        // −½ to ½ from bottom to top; pixels are square.
        let x = (column as f64 + 0.5 - 0.5 * width) / height;
        let y = (0.5 * height - row as f64 - 0.5) / height;
        match self.lens {
            Lens::Orthographic(size) => {
                Ray { origin: self.position + right * (x * size) + up * (y * size), direction: forward }
            }
            Lens::Perspective(angle) => {
                let size = 2.0 * (0.5 * angle).tan();
                let direction = forward + right * (x * size) + up * (y * size);
                Ray { origin: self.position, direction: direction.normalize() }
            }
        }
    }
}

impl Ray {
    /// Where the ray is within a box from the origin to `extent`: t from and to, if it is.
    pub fn within(&self, extent: [f64; 3]) -> Option<(f64, f64)> {
        let (origin, direction) = (self.origin, self.direction);
        let axes = [(origin.x, direction.x), (origin.y, direction.y), (origin.z, direction.z)];
        let (mut near, mut far) = (0.0f64, f64::INFINITY);
        for ((o, d), size) in axes.into_iter().zip(extent) {
            if d == 0.0 {
                if !(0.0..=size).contains(&o) {
                    return None;
                }
                continue;
            }
            let (a, b) = (-o / d, (size - o) / d);
            (near, far) = (near.max(a.min(b)), far.min(a.max(b)));
        }
        (near < far).then_some((near, far))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rays_pass_the_middle_and_the_corners() {
        let camera = |lens| Camera {
            position: Vec3::new(0.5, -2.0, 0.5),
            target: Vec3::new(0.5, 0.5, 0.5),
            lens,
            pixels: (2, 2),
        };
        // The left upper pixel of an orthographic picture is left of the middle and above it.
        let ray = camera(Lens::Orthographic(1.0)).ray(0, 0);
        assert!((ray.origin - Vec3::new(0.25, -2.0, 0.75)).norm() < 1e-12);
        assert_eq!(ray.within([1.0; 3]), Some((2.0, 3.0)));
        assert_eq!(camera(Lens::Orthographic(5.0)).ray(0, 0).within([1.0; 3]), None);
        let ray = camera(Lens::Perspective(1.0)).ray(1, 1);
        assert!(ray.direction.x > 0.0 && ray.direction.z < 0.0 && (ray.direction.norm() - 1.0).abs() < 1e-12);
        let above = Camera { position: Vec3::new(0.5, 0.5, 3.0), ..camera(Lens::Perspective(1.0)) };
        assert!(above.check().is_err());
    }
}

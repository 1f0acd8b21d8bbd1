//! Materials of geoms: colors, highlights, textures and where they lie.

use std::sync::Arc;

use pullback_math::Vec3;
use pullback_physics::articulated::{self, Model};
use pullback_render::{Finish, Material, Paint, Surface, Texture, Topology};

use super::shape::Triangles;
use super::texture::Pixels;

/// MuJoCo's shininess 1 is an exponent of 128 of the cosine between normal and half vector; that of the mirrored ray
/// is about a quarter of it.
const EXPONENT: f64 = 128.0 / 4.0;
/// Highlights of geoms without a material.
const PLAIN: [f32; 2] = [0.5, 0.5];

/// Texture coordinates of each side of a cube: which axis of the object runs along u and v, with its sign.
const CUBE_AXES: [[(usize, f64); 2]; 6] = [
    [(2, -1.0), (1, 1.0)],
    [(2, 1.0), (1, 1.0)],
    [(0, 1.0), (2, -1.0)],
    [(0, 1.0), (2, 1.0)],
    [(0, 1.0), (1, 1.0)],
    [(0, -1.0), (1, 1.0)],
];

/// What a geom or a site looks like.
#[derive(Clone, Debug)]
pub(super) struct Dress<'a> {
    pub rgba: [f32; 4],
    pub material: Option<&'a articulated::Material>,
    pub pixels: Option<&'a Pixels>,
    /// Whether a plane is endless, along x and y.
    pub endless: [bool; 2],
    /// A picture in place of the color, which repeats every 2 m.
    pub checkered: Option<Paint<f64>>,
}

impl<'a> Dress<'a> {
    pub fn new(
        model: &'a Model,
        rgba: [f32; 4],
        material: Option<usize>,
        pixels: &'a [Option<Pixels>],
    ) -> Self {
        let material = material.map(|i| &model.materials[i]);
        let pixels = material.and_then(|m| m.texture).and_then(|t| pixels[t].as_ref());
        Dress { rgba, material, pixels, endless: [false; 2], checkered: None }
    }

    /// The surface of these triangles, and its optical properties.
    pub fn surface(&self, triangles: Triangles) -> (Surface<f64>, Finish) {
        let [r, g, b, opacity] = self.rgba.map(f64::from);
        let color = Vec3::new(r, g, b);
        let (specular, shininess) = self.material.map_or((PLAIN[0], PLAIN[1]), |m| (m.specular, m.shininess));
        let exponent = (f64::from(shininess) * EXPONENT).max(1.0);
        let material = Material::shiny(f64::from(specular), exponent).smoothed();
        let emission = self.material.map_or(0.0, |m| f64::from(m.emission));
        let finish = Finish { opacity, emission, ..Finish::default() };

        let times = |texture: &Texture<f64>| texture.clone().tinted(color);
        let (uv, paint) = match self.pixels {
            None if self.checkered.is_some() => {
                let endless = Dress { endless: [true; 2], ..self.clone() };
                (endless.plane_places(&triangles), self.checkered.clone().unwrap_or(Paint::Uniform(color)))
            }
            None => (Vec::new(), Paint::Uniform(color)),
            Some(Pixels::Plane(texture)) => {
                (self.plane_places(&triangles), Paint::Texture(times(texture).repeated()))
            }
            Some(Pixels::Cube(sides)) => {
                (cube_places(&triangles, self.uniform()), Paint::Texture(times(&strip(sides))))
            }
        };
        let Triangles { vertices, faces, .. } = triangles;
        (Surface { topology: Arc::new(Topology { faces, uv }), vertices, paint, material }, finish)
    }

    fn uniform(&self) -> bool {
        self.material.is_some_and(|m| m.texuniform)
    }

    /// Places on a picture that lies in the plane of x and y: ½ r (x / s + 1) with half size s and r repetitions; per 2 m
    /// if the repetitions are uniform or the plane has no end.
    fn plane_places(&self, triangles: &Triangles) -> Vec<[[f64; 2]; 3]> {
        let repeat = self.material.map_or([1.0; 2], |m| m.texrepeat.map(f64::from));
        let half = [triangles.half.x, triangles.half.y];
        let place = |x: [f64; 2]| {
            [0, 1].map(|i| {
                if self.endless[i] {
                    0.5 + 0.5 * repeat[i] * x[i]
                } else if self.uniform() {
                    0.5 * repeat[i] * (x[i] + half[i])
                } else {
                    0.5 * repeat[i] * (x[i] / half[i] + 1.0)
                }
            })
        };
        let corner = |v: u32| {
            let x = triangles.vertices[v as usize];
            place([x.x, x.y])
        };
        triangles.faces.iter().map(|face| face.map(corner)).collect()
    }
}

/// The six sides beside each other.
fn strip(sides: &[Texture<f64>; 6]) -> Texture<f64> {
    let n = sides.iter().map(|s| s.width.max(s.height)).max().unwrap_or(1);
    Texture::from_fn(6 * n, n, |i, j| {
        let side = &sides[i / n];
        side.texels[j * side.height / n * side.width + i % n * side.width / n]
    })
}

/// Places on the strip of a cube around the object. A face belongs to the side that its middle looks at.
fn cube_places(triangles: &Triangles, uniform: bool) -> Vec<[[f64; 2]; 3]> {
    let half = if uniform { Vec3::new(1.0, 1.0, 1.0) } else { triangles.half };
    let seen = |v: u32| triangles.vertices[v as usize].zip(half, |x, h| x / h);
    let place = |face: &[u32; 3]| {
        let corners = face.map(seen);
        let middle = corners[0] + corners[1] + corners[2];
        let axis = (0..3).max_by(|a, b| middle[*a].abs().total_cmp(&middle[*b].abs())).unwrap_or(0);
        let side = 2 * axis + usize::from(middle[axis] < 0.0);
        corners.map(|x| {
            let along = |(i, sign): (usize, f64)| {
                let at = 0.5 + 0.5 * sign * x[i] / x[axis].abs().max(1e-9);
                // Not beyond the middles of the outermost pixels, where the next side begins.
                at.clamp(0.01, 0.99)
            };
            let [u, v] = CUBE_AXES[side].map(along);
            [(side as f64 + u) / 6.0, v]
        })
    };
    triangles.faces.iter().map(place).collect()
}

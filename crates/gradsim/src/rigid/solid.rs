//! Mass, center and inertia of solids of uniform density inside closed meshes.

use pullback_math::{SymMat3, Vec3};
use pullback_render::Mesh;

/// What a closed mesh holds per unit of density.
#[derive(Clone, Copy, Debug)]
pub struct Solid {
    /// Volume, m³.
    pub volume: f64,
    /// Center, m.
    pub center: Vec3<f64>,
    /// ∫ (|x|² 1 − x xᵀ) dV about the center, m⁵.
    pub inertia: SymMat3<f64>,
}

impl Solid {
    /// Sums over the tetrahedra between the origin and each face, with sign.
    pub fn of(mesh: &Mesh) -> Self {
        let (mut volume, mut first) = (0.0, Vec3::zero());
        // ∫ xᵢ xⱼ: xx, yy, zz, yz, xz, xy
        let mut second = [0.0; 6];
        for face in &mesh.topology.faces {
            let [a, b, c] = face.map(|v| mesh.vertices[v as usize]);
            let part = a.dot(b.cross(c)) / 6.0;
            let sum = a + b + c;
            volume += part;
            first += sum * (part / 4.0);
            // ∫ x xᵀ over a tetrahedron with a corner at the origin: V / 20 (s sᵀ + Σ x xᵀ)
            let products = |x: Vec3<f64>| [x.x * x.x, x.y * x.y, x.z * x.z, x.y * x.z, x.x * x.z, x.x * x.y];
            for x in [sum, a, b, c] {
                second.iter_mut().zip(products(x)).for_each(|(all, p)| *all += part / 20.0 * p);
            }
        }
        let center = first * (1.0 / volume);
        let c = center;
        let about = [c.x * c.x, c.y * c.y, c.z * c.z, c.y * c.z, c.x * c.z, c.x * c.y];
        let [xx, yy, zz, yz, xz, xy] = std::array::from_fn(|i| second[i] - volume * about[i]);
        let inertia = SymMat3 { xx: yy + zz, yy: xx + zz, zz: xx + yy, yz: -yz, xz: -xz, xy: -xy };
        Solid { volume, center, inertia }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullback_render::shapes::cuboid;

    #[test]
    fn a_box_has_the_moments_of_the_formula() {
        let at = Vec3::new(0.3, -0.7, 1.1);
        let solid = Solid::of(&cuboid(Vec3::new(1.0, 2.0, 3.0)).moved(|x| x + at));
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} for {b}");
        near(solid.volume, 6.0);
        near((solid.center - at).norm(), 0.0);
        // V (b² + c²) / 12
        near(solid.inertia.xx, 6.0 * 13.0 / 12.0);
        near(solid.inertia.yy, 6.0 * 10.0 / 12.0);
        near(solid.inertia.zz, 6.0 * 5.0 / 12.0);
        near(solid.inertia.xy.abs() + solid.inertia.xz.abs() + solid.inertia.yz.abs(), 0.0);
    }
}

/// Force on particle a of a damped spring.
#[inline]
pub fn spring_force<T: Real>(xa: Vec3<T>, xb: Vec3<T>, v: Vec3<T>, rest: T, ke: T, #[constant] kd: T) -> Vec3<T> {
    let d = xa - xb;
    let n = d.normalize();
    n * -(ke * (d.norm() - rest) + kd * n.dot(v))
}

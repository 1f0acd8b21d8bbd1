/// Pullback of [`spring_force`]: from the cotangent of its result, those of `xa`, `xb`, `v`, `rest`, `ke`; `()` for `kd`, held constant.
#[allow(
    unused_variables,
    unused_mut,
    unused_imports,
    unused_parens,
    unused_assignments,
    dead_code,
    rustdoc::broken_intra_doc_links,
    clippy::all,
    clippy::pedantic
)]
#[inline]
pub fn spring_force_vjp<T: Real>(
    xa: Vec3<T>,
    xb: Vec3<T>,
    v: Vec3<T>,
    rest: T,
    ke: T,
    kd: T,
    out_bar: Vec3<T>,
) -> (Vec3<T>, Vec3<T>, Vec3<T>, T, T, ()) {
    use ::pullback_math::Real as _;
    let d = xa - xb;
    let n = d.normalize();
    let t2 = d.norm();
    let t3 = t2 - rest;
    let t4 = ke * t3;
    let t5 = n.dot(v);
    let t6 = kd * t5;
    let t7 = t4 + t6;
    let t8 = -t7;
    let (mut n_bar, t8_bar) = ::pullback_math::MulVjp::mul_vjp(n, t8, out_bar);
    let t7_bar = ::pullback_math::NegVjp::neg_vjp(t7, t8_bar);
    let (t4_bar, t6_bar) = ::pullback_math::AddVjp::add_vjp(t4, t6, t7_bar);
    let (_, t5_bar) = ::pullback_math::MulVjp::mul_vjp(kd, t5, t6_bar);
    let (n_slot, v_slot) = n.dot_vjp(v, t5_bar);
    ::pullback_math::Accumulate::add_slot(&mut n_bar, n_slot);
    let v_bar = ::pullback_math::Accumulate::start(&v, v_slot);
    let (ke_bar, t3_bar) = ::pullback_math::MulVjp::mul_vjp(ke, t3, t4_bar);
    let (t2_bar, rest_bar) = ::pullback_math::SubVjp::sub_vjp(t2, rest, t3_bar);
    let mut d_bar = ::pullback_math::Accumulate::start(&d, d.norm_vjp(t2_bar));
    ::pullback_math::Accumulate::add_slot(&mut d_bar, d.normalize_vjp(n_bar));
    let (xa_bar, xb_bar) = ::pullback_math::SubVjp::sub_vjp(xa, xb, d_bar);
    (xa_bar, xb_bar, v_bar, rest_bar, ke_bar, ())
}

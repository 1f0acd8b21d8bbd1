/// Pullback of [`euler`]: from the cotangent of its result, those of `s`, `k`; `()` for `steps`, held constant.
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
fn euler_vjp<T: Real>(
    s: State<T>,
    k: T,
    steps: usize,
    mut out_bar: State<T>,
) -> (State<T>, T, ()) {
    use ::pullback_math::Real as _;
    let mut s_0 = s;
    let mut saved = ::std::vec::Vec::with_capacity((0..steps).size_hint().0);
    for step in 0..steps {
        saved.push(s_0);
        let t0 = s_0.x;
        let t1 = t0 * k;
        let t2 = s_0.v;
        let t3 = t2 - t1;
        let mut s_1 = s_0;
        s_1.v = t3;
        let t4 = s_1.v;
        let t5 = s_1.x;
        let t6 = t5 + t4;
        let mut s_2 = s_1;
        s_2.x = t6;
        s_0 = s_2;
    }
    let mut k_bar = ::pullback_math::Cotangent::zero_like(&k);
    for (step, &s_0) in (0..steps).rev().zip(saved.iter().rev()) {
        let t0 = s_0.x;
        let t1 = t0 * k;
        let t2 = s_0.v;
        let t3 = t2 - t1;
        let mut s_1 = s_0;
        s_1.v = t3;
        let t4 = s_1.v;
        let t5 = s_1.x;
        let t6_bar = out_bar.x;
        out_bar.x = ::pullback_math::Cotangent::zero_like(&out_bar.x);
        let (t5_bar, t4_bar) = ::pullback_math::AddVjp::add_vjp(t5, t4, t6_bar);
        out_bar.x = t5_bar;
        ::pullback_math::Cotangent::accumulate(&mut out_bar.v, t4_bar);
        let t3_bar = out_bar.v;
        out_bar.v = ::pullback_math::Cotangent::zero_like(&out_bar.v);
        let (t2_bar, t1_bar) = ::pullback_math::SubVjp::sub_vjp(t2, t1, t3_bar);
        out_bar.v = t2_bar;
        let (t0_bar, k_slot) = ::pullback_math::MulVjp::mul_vjp(t0, k, t1_bar);
        ::pullback_math::Cotangent::accumulate(&mut k_bar, k_slot);
        ::pullback_math::Cotangent::accumulate(&mut out_bar.x, t0_bar);
    }
    (out_bar, k_bar, ())
}

/// Pullback of [`array`]: from the cotangent of its result, those of `x`; `()` for `table`, held constant.
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
fn array_vjp<T: Real>(x: T, table: &[T], mut out_bar: [T; 8]) -> (T, ()) {
    use ::pullback_math::Real as _;
    let p = [T::one(); 8];
    let mut p_0 = p;
    let mut saved = [p_0; 7];
    for (i, slot) in (1..8).zip(&mut saved) {
        *slot = p_0;
        let t0 = i - 1;
        let t1 = p_0[t0];
        let t2 = t1 * x;
        let t3 = t2 + table[i];
        let mut p_1 = p_0;
        p_1[i] = t3;
        p_0 = p_1;
    }
    let mut x_bar = ::pullback_math::Cotangent::zero_like(&x);
    for (i, &p_0) in (1..8).rev().zip(saved.iter().rev()) {
        let t0 = i - 1;
        let t1 = p_0[t0];
        let t2 = t1 * x;
        let t3_bar = out_bar[i];
        out_bar[i] = ::pullback_math::Cotangent::zero_like(&out_bar[i]);
        let (t2_bar, _) = ::pullback_math::AddVjp::add_vjp(t2, table[i], t3_bar);
        let (t1_bar, x_slot) = ::pullback_math::MulVjp::mul_vjp(t1, x, t2_bar);
        ::pullback_math::Cotangent::accumulate(&mut x_bar, x_slot);
        ::pullback_math::Cotangent::accumulate(&mut out_bar[t0], t1_bar);
    }
    (x_bar, ())
}

/// Pullback of [`looped`]: from the cotangent of its result, those of `c`, `x`.
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
fn looped_vjp<T: Real, const N: usize>(c: [T; N], x: T, mut out_bar: T) -> ([T; N], T) {
    use ::pullback_math::Real as _;
    let sum = T::zero();
    let mut sum_0 = sum;
    let mut saved = [sum_0; N];
    for (i, slot) in (0..N).zip(&mut saved) {
        *slot = sum_0;
        let t0 = sum_0 * x;
        let t1 = c[i];
        let sum_1 = t0 + t1;
        sum_0 = sum_1;
    }
    let mut c_bar = ::pullback_math::Cotangent::zero_like(&c);
    let mut x_bar = ::pullback_math::Cotangent::zero_like(&x);
    for (i, &sum_0) in (0..N).rev().zip(saved.iter().rev()) {
        let t0 = sum_0 * x;
        let t1 = c[i];
        let (t0_bar, t1_bar) = ::pullback_math::AddVjp::add_vjp(t0, t1, out_bar);
        ::pullback_math::Cotangent::accumulate(&mut c_bar[i], t1_bar);
        let (sum_0_bar, x_slot) = ::pullback_math::MulVjp::mul_vjp(sum_0, x, t0_bar);
        ::pullback_math::Cotangent::accumulate(&mut x_bar, x_slot);
        out_bar = sum_0_bar;
    }
    (c_bar, x_bar)
}

/// Pullback of [`branch`]: from the cotangent of its result, those of `x`, `y`.
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
fn branch_vjp(x: f64, y: f64, out_bar: f64) -> (f64, f64) {
    use ::pullback_math::Real as _;
    let s = x * y;
    let c0 = s > 1.0;
    let (mut y_bar, s_bar) = if c0 {
        let t1 = s.sqrt();
        let (t1_bar, mut y_bar) = ::pullback_math::AddVjp::add_vjp(t1, y, out_bar);
        let s_bar = ::pullback_math::Accumulate::start(&s, s.sqrt_vjp(t1_bar));
        (y_bar, s_bar)
    } else {
        (::pullback_math::Cotangent::zero_like(&y), out_bar)
    };
    let (x_bar, y_slot) = ::pullback_math::MulVjp::mul_vjp(x, y, s_bar);
    ::pullback_math::Cotangent::accumulate(&mut y_bar, y_slot);
    (x_bar, y_bar)
}

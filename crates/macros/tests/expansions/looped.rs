fn looped<T: Real, const N: usize>(c: [T; N], x: T) -> T {
    let mut sum = T::zero();
    for i in 0..N {
        sum = sum * x + c[i];
    }
    sum
}

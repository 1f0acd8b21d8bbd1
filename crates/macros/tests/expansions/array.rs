fn array<T: Real>(x: T, table: &[T]) -> [T; 8] {
    let mut p = [T::one(); 8];
    for i in 1..8 {
        p[i] = p[i - 1] * x + table[i];
    }
    p
}

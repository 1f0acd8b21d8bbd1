fn euler<T: Real>(mut s: State<T>, k: T, steps: usize) -> State<T> {
    for _ in 0..steps {
        s.v -= s.x * k;
        s.x += s.v;
    }
    s
}

fn branch(x: f64, y: f64) -> f64 {
    let mut s = x * y;
    if s > 1.0 {
        s = s.sqrt() + y;
    }
    s
}

//! Numbers on the command line: what is out of its range is refused before anything runs.

/// A whole number of 1 or more.
pub fn count(text: &str) -> Result<usize, String> {
    match text.trim().parse() {
        Ok(n) if n > 0 => Ok(n),
        _ => Err("it must be a whole number of 1 or more".into()),
    }
}

/// The same for what is counted in 64 bits.
pub fn count_u64(text: &str) -> Result<u64, String> {
    count(text).map(|n| n as u64)
}

/// A number of threads; 0 stands for all.
pub fn thread_count(text: &str) -> Result<usize, String> {
    const MOST: usize = 1024;
    match text.trim().parse() {
        Ok(count) if count <= MOST => Ok(count),
        _ => Err(format!("a number of threads is from 0 (all) to {MOST}")),
    }
}

/// A positive number.
pub fn positive(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(x) if x > 0.0 && x.is_finite() => Ok(x),
        _ => Err("it must be a positive number".into()),
    }
}

/// A number of 0 or more.
pub fn not_negative(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(x) if x >= 0.0 && x.is_finite() => Ok(x),
        _ => Err("it must be a number of 0 or more".into()),
    }
}

/// A number that is neither infinite nor NaN.
pub fn finite(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(x) if x.is_finite() => Ok(x),
        _ => Err("it must be a finite number".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_their_names() {
        assert!(count("3") == Ok(3) && count("0").is_err() && count("-1").is_err() && count("1.5").is_err());
        assert!(positive("1e-3").is_ok() && positive("0").is_err() && positive("inf").is_err());
        assert!(not_negative("0").is_ok() && not_negative("-0.1").is_err() && not_negative("nan").is_err());
        assert!(finite("-2") == Ok(-2.0) && finite("inf").is_err() && finite("x").is_err());
        assert!(thread_count("0") == Ok(0) && thread_count("1025").is_err());
    }
}

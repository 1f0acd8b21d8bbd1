//! Changes of words and numbers in texts.

use std::ops::Range;

use pullback_core::random::Random;

use super::{below, pick};

/// Words that readers of numbers and names stumble over.
const WORDS: [&str; 30] = [
    "0",
    "-1",
    "1",
    "2",
    "1e308",
    "-1e308",
    "1e30",
    "1e-320",
    "nan",
    "inf",
    "-0",
    "0.1",
    "1e",
    "0x10",
    "2147483647",
    "2147483648",
    "-2147483648",
    "4294967295",
    "99999999",
    "18446744073709551616",
    "",
    "null",
    "true",
    "\u{e9}\u{1F980}",
    "../../../etc/passwd",
    "world",
    "auto",
    "\"",
    "[]",
    "{}",
];

pub fn change(input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let tokens = tokens(input);
    let Some(token) = pick(random, &tokens).cloned() else {
        input.extend_from_slice(other);
        return;
    };
    let fresh: Vec<u8> = match below(random, 8) {
        0..=2 => pick(random, &WORDS).map_or(Vec::new(), |word| word.as_bytes().to_vec()),
        3 => another(input, random),
        4 => another(other, random),
        5 => Vec::new(),
        // Once more, or very often.
        6 => {
            let text = [&input[token.clone()], b" "].concat();
            text.repeat(1 << below(random, 11))
        }
        _ => moved(&input[token.clone()], random),
    };
    input.splice(token, fresh);
}

/// Runs of letters and digits, and of what stands between them.
fn tokens(text: &[u8]) -> Vec<Range<usize>> {
    let kind = |b: u8| b.is_ascii_alphanumeric() || b"._-+".contains(&b) || b >= 0x80;
    let mut tokens = Vec::new();
    let mut start = 0;
    for end in 1..=text.len() {
        if end == text.len() || kind(text[end]) != kind(text[start]) {
            if kind(text[start]) {
                tokens.push(start..end);
            }
            start = end;
        }
    }
    tokens
}

/// A word of a text.
fn another(text: &[u8], random: &mut Random) -> Vec<u8> {
    pick(random, &tokens(text)).map_or(Vec::new(), |token| text[token.clone()].to_vec())
}

/// A number close to another, or of another size; a word with a letter more.
fn moved(token: &[u8], random: &mut Random) -> Vec<u8> {
    let text = String::from_utf8_lossy(token);
    if let Ok(n) = text.parse::<i64>() {
        let n =
            [n.wrapping_add(1), n.wrapping_sub(1), n.wrapping_neg(), n.wrapping_mul(1000)][below(random, 4)];
        return n.to_string().into_bytes();
    }
    match text.parse::<f64>() {
        Ok(x) => {
            let x = x * [-1.0, 0.0, 1e-12, 1e12, 1.000001][below(random, 5)];
            format!("{x:?}").into_bytes()
        }
        Err(_) => [token, b"_"].concat(),
    }
}

//! Mutations: a damaged file from sound ones, the same for the same random numbers.
//!
//! Half of the changes know the structure of the format: elements of XML, tokens and lines of texts, chunks and counts of
//! binary files. The other half are bytes, for what no format foresees. Afterwards checksums are mended now and then, as a
//! reader that stops at the checksum is not tested further in.

mod bytes;
mod lines;
mod repair;
mod tokens;
mod xml;

use pullback_core::random::Random;

/// How a format is built, as far as mutations make use of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structure {
    /// Nested elements with attributes.
    Xml,
    /// Words, numbers and punctuation, in lines.
    Text,
    /// Bytes, with counts among them.
    Binary,
    /// A PNG picture: chunks with checksums.
    Png,
    /// Lines of JSON with checksums, as logs of runs have them.
    SealedLines,
}

/// Longest input, bytes: small files with large cost are what is looked for.
pub const LONGEST: usize = 1 << 16;

/// A uniform choice among `n`, at least one.
pub(crate) fn below(random: &mut Random, n: usize) -> usize {
    (random.bits() % n.max(1) as u64) as usize
}

/// One of several.
pub(crate) fn pick<'a, T>(random: &mut Random, from: &'a [T]) -> Option<&'a T> {
    let place = below(random, from.len());
    from.get(place)
}

/// A range of something of length `len`, short more often than long.
pub(crate) fn stretch(random: &mut Random, len: usize) -> std::ops::Range<usize> {
    let start = below(random, len + 1);
    let longest = (len - start) >> below(random, 12);
    start..start + below(random, longest + 1)
}

/// A damaged copy of one of `corpus`, whose parts may come from others of them.
pub fn mutated(structure: Structure, corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = pick(random, corpus).cloned().unwrap_or_default();
    let other: &[u8] = pick(random, corpus).map_or(&[], Vec::as_slice);
    let most = 1 << below(random, 4);
    let changes = 1 + below(random, most);
    for _ in 0..changes {
        change(structure, &mut input, other, random);
        input.truncate(LONGEST);
    }
    if below(random, 4) > 0 {
        repair::repair(structure, &mut input);
    }
    input
}

fn change(structure: Structure, input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    match (structure, below(random, 4)) {
        (Structure::Xml, 0 | 1) => xml::change(input, other, random),
        (Structure::Xml | Structure::Text | Structure::SealedLines, 2) => {
            tokens::change(input, other, random);
        }
        (Structure::Text | Structure::SealedLines, 0) => lines::change(input, other, random),
        (Structure::Text, 1) => tokens::change(input, other, random),
        _ => bytes::change(input, other, random),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_random_numbers_damage_alike() {
        let corpus = [b"<a b='1'><c/></a>".to_vec(), b"<d e='2 3'/>".to_vec()];
        for structure in
            [Structure::Xml, Structure::Text, Structure::Binary, Structure::Png, Structure::SealedLines]
        {
            let all = |seed: u64| -> Vec<Vec<u8>> {
                (0..50).map(|i| mutated(structure, &corpus, &mut Random::stream(seed, &[i]))).collect()
            };
            assert_eq!(all(1), all(1));
            assert_ne!(all(1), all(2));
            assert!(all(1).iter().any(|input| !corpus.contains(input)));
            assert!(all(3).iter().all(|input| input.len() <= LONGEST));
        }
        // Nothing to begin with is no reason to panic.
        mutated(Structure::Xml, &[], &mut Random::new(0));
    }
}

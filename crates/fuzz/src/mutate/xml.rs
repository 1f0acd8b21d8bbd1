//! Changes of elements and attributes of XML, by a scan that knows just enough of it.

use std::ops::Range;

use pullback_core::random::Random;

use super::{below, pick};

pub fn change(input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let all = elements(input);
    let Some(one) = pick(random, &all).cloned() else { return super::bytes::change(input, other, random) };
    let two = pick(random, &all).cloned().unwrap_or(one.clone());
    match below(random, 9) {
        0 => {
            input.drain(one);
        }
        // Once more, or very often.
        1 => {
            let part = input[one.clone()].to_vec();
            let times = 1 << below(random, 9);
            let times = if part.len() * times > super::LONGEST { 1 } else { times };
            input.splice(one.end..one.end, part.repeat(times));
        }
        // To another place, in front of or into another element.
        2 => {
            let part = input[one].to_vec();
            let at = [two.start, tag_end(input, two.start)][below(random, 2)];
            input.splice(at..at, part);
        }
        // One of another file.
        3 => {
            let theirs = elements(other);
            let part = pick(random, &theirs).map_or(Vec::new(), |range| other[range.clone()].to_vec());
            let at = [one.start, one.end, tag_end(input, one.start)][below(random, 3)];
            input.splice(at..at, part);
        }
        // In place of another.
        4 => {
            let part = input[two].to_vec();
            input.splice(one, part);
        }
        // Inside copies of its own tag.
        5 => {
            let (name, part) = (name(input, one.start).to_vec(), input[one.clone()].to_vec());
            let depth = 1 << below(random, 8);
            let open = [b"<", &name[..], b">"].concat().repeat(depth);
            let close = [b"</", &name[..], b">"].concat().repeat(depth);
            input.splice(one, [open, part, close].concat());
        }
        // An attribute less, from elsewhere, or under another name.
        6 => {
            let range = one.start..tag_end(input, one.start);
            let own = attributes(input, range);
            if let Some(attribute) = pick(random, &own) {
                input.drain(attribute.clone());
            }
        }
        7 => {
            let (tag, theirs) = (tag_end(input, two.start), attributes(other, 0..other.len()));
            let attribute = match below(random, 2) {
                0 => pick(random, &theirs).map_or(Vec::new(), |range| other[range.clone()].to_vec()),
                _ => {
                    let own = attributes(input, two.start..tag);
                    pick(random, &own).map_or(Vec::new(), |range| input[range.clone()].to_vec())
                }
            };
            let at = one.start + 1 + name(input, one.start).len();
            input.splice(at..at, [b" ", &attribute[..]].concat());
        }
        // Another tag.
        _ => {
            let new = name(input, two.start).to_vec();
            let at = one.start + 1;
            let old = name(input, one.start).len();
            input.splice(at..at + old, new);
        }
    }
}

/// Ranges of elements, from their opening to their closing tags.
fn elements(text: &[u8]) -> Vec<Range<usize>> {
    let (mut found, mut open) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(start) = text[at..].iter().position(|b| *b == b'<').map(|i| at + i) {
        let end = tag_end(text, start);
        match text.get(start + 1) {
            Some(b'!' | b'?') | None => {}
            Some(b'/') => found.extend(open.pop().map(|first| first..end)),
            Some(_) if text[..end].ends_with(b"/>") => found.push(start..end),
            Some(_) => open.push(start),
        }
        at = end.max(start + 1);
    }
    found
}

/// Behind the `>` of a tag, or the end of the text.
fn tag_end(text: &[u8], start: usize) -> usize {
    text[start..].iter().position(|b| *b == b'>').map_or(text.len(), |i| start + i + 1)
}

/// The name of a tag.
fn name(text: &[u8], start: usize) -> &[u8] {
    let rest = text.get(start + 1..).unwrap_or(&[]);
    let len = rest.iter().position(|b| b" \t\r\n/>".contains(b)).unwrap_or(rest.len());
    &rest[..len]
}

/// Ranges of `name="value"`.
fn attributes(text: &[u8], within: Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = within.start;
    while let Some(equals) = text[at..within.end].iter().position(|b| *b == b'=').map(|i| at + i) {
        let named =
            text[at..equals].iter().rposition(|b| b" \t\r\n<>\"'".contains(b)).map_or(at, |i| at + i + 1);
        let quote = text.get(equals + 1).copied().filter(|q| b"\"'".contains(q));
        let close = quote.and_then(|q| text[equals + 2..within.end].iter().position(|b| *b == q));
        let end = close.map_or(equals + 1, |i| equals + 3 + i);
        if close.is_some() {
            found.push(named..end);
        }
        at = end;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_and_attributes_are_found() {
        let text = b"<a><!-- <x> --><b c='1' d=\"2\"/><e>t</e></a>";
        let found = elements(text);
        let texts: Vec<_> = found.iter().map(|r| std::str::from_utf8(&text[r.clone()]).unwrap()).collect();
        assert!(texts.contains(&"<b c='1' d=\"2\"/>") && texts.contains(&"<e>t</e>"), "{texts:?}");
        let found = attributes(text, 0..text.len());
        let texts: Vec<_> = found.iter().map(|r| std::str::from_utf8(&text[r.clone()]).unwrap()).collect();
        assert_eq!(texts, ["c='1'", "d=\"2\""]);
    }
}

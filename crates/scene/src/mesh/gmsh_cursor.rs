//! Where a Gmsh file is read: sections, words, and numbers that are text or bytes.

use super::MeshError;

/// A place in the bytes of a file, and how numbers are written there.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    file: &'a str,
    /// How the number that an error is about is written: text, little-endian or big-endian bytes.
    numbers: Numbers,
    /// Numbers of nodes and elements take eight bytes (4.1) or four (2.2).
    wide: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Numbers {
    Text,
    LittleEndian,
    BigEndian,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8], file: &'a str) -> Self {
        Cursor { bytes, at: 0, file, numbers: Numbers::Text, wide: false }
    }

    /// An error here: the line of a text, the byte of a binary file.
    pub(super) fn error(&self, reason: String) -> MeshError {
        if self.is_binary() {
            return MeshError::byte(self.file, self.at, reason);
        }
        let line = 1 + self.bytes[..self.at].iter().filter(|b| **b == b'\n').count();
        MeshError::line(self.file, line, reason)
    }

    pub(super) fn is_binary(&self) -> bool {
        self.numbers != Numbers::Text
    }

    /// The next word of text, without the blanks before it and the one after it.
    pub(super) fn word(&mut self) -> Result<String, MeshError> {
        let rest = &self.bytes[self.at..];
        let start = rest.iter().position(|b| !b.is_ascii_whitespace());
        let Some(start) = start else {
            self.at = self.bytes.len();
            return Err(self.error("the file ends here; save it again".into()));
        };
        let word = &rest[start..];
        let length = word.iter().position(|b| b.is_ascii_whitespace()).unwrap_or(word.len());
        self.at += start + length;
        // No word of the format is longer than a number.
        Ok(String::from_utf8_lossy(&word[..length.min(60)]).into_owned())
    }

    /// The name of the section that begins here, nothing at the end of the file.
    pub(super) fn section(&mut self) -> Result<Option<String>, MeshError> {
        if self.bytes[self.at..].iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        let word = self.word()?;
        let name = word.strip_prefix('$').filter(|n| !n.is_empty() && !n.starts_with("End"));
        let Some(name) = name else {
            return Err(
                self.error(format!("`{word}` stands where a section should begin; save the mesh again"))
            );
        };
        // Bytes begin after the line break.
        self.line_break()?;
        Ok(Some(name.into()))
    }

    /// Steps over the rest of a line, which must be blank.
    fn line_break(&mut self) -> Result<(), MeshError> {
        while let Some(byte) = self.bytes.get(self.at) {
            match byte {
                b'\n' => {
                    self.at += 1;
                    return Ok(());
                }
                b' ' | b'\t' | b'\r' => self.at += 1,
                _ => return Err(self.error("more on a line than there should be".into())),
            }
        }
        Err(self.error("the file ends here; save it again".into()))
    }

    /// The end of a section.
    pub(super) fn end(&mut self, name: &str) -> Result<(), MeshError> {
        let word = self.word()?;
        if word.strip_prefix("$End") != Some(name) {
            let reason =
                format!("`{word}` stands where $End{name} should; the counts do not fit the contents");
            return Err(self.error(reason));
        }
        Ok(())
    }

    /// Steps over a section that is not read.
    pub(super) fn skip(&mut self, name: &str) -> Result<(), MeshError> {
        let end = format!("$End{name}");
        let found = self.bytes[self.at..].windows(end.len()).position(|w| w == end.as_bytes());
        let Some(found) = found else {
            return Err(self.error(format!("section ${name} has no {end}; save the mesh again")));
        };
        self.at += found;
        self.end(name)
    }

    /// From here on numbers are bytes, those of nodes and elements eight if `wide`; the integer one that
    /// stands here tells their order.
    pub(super) fn start_binary(&mut self, wide: bool) -> Result<(), MeshError> {
        self.line_break()?;
        self.wide = wide;
        self.numbers = match self.take()? {
            [1, 0, 0, 0] => Numbers::LittleEndian,
            [0, 0, 0, 1] => Numbers::BigEndian,
            _ => return Err(self.error("the integer 1 should stand here to tell the byte order".into())),
        };
        Ok(())
    }

    /// Refuses a count that does not fit into what is left, at so many bytes each in binary and in text
    /// files.
    pub(super) fn expect_room(&self, count: u64, binary: usize, text: usize) -> Result<(), MeshError> {
        let each = if self.is_binary() { binary } else { text };
        let left = self.bytes.len() - self.at;
        if u128::from(count) * each as u128 > left as u128 + 1 {
            return Err(self.error(format!("{count} entries do not fit into the {left} bytes that are left")));
        }
        Ok(())
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], MeshError> {
        let Some(taken) = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<N>()) else {
            return Err(MeshError::byte(self.file, self.bytes.len(), "the file ends here; save it again"));
        };
        self.at += N;
        Ok(*taken)
    }

    fn parse<V: std::str::FromStr>(&mut self, what: &str) -> Result<V, MeshError> {
        let word = self.word()?;
        word.parse().map_err(|_| self.error(format!("`{word}` stands where {what} should")))
    }

    /// A count that is text in binary files too, and the line break after it.
    pub(super) fn text_count(&mut self) -> Result<u64, MeshError> {
        let count = self.parse("a count")?;
        self.line_break()?;
        Ok(count)
    }

    /// A small integer.
    pub(super) fn int(&mut self) -> Result<i64, MeshError> {
        match self.numbers {
            Numbers::Text => self.parse::<i32>("an integer").map(i64::from),
            Numbers::LittleEndian => self.take().map(i32::from_le_bytes).map(i64::from),
            Numbers::BigEndian => self.take().map(i32::from_be_bytes).map(i64::from),
        }
    }

    /// A count or number of eight bytes.
    pub(super) fn size(&mut self) -> Result<u64, MeshError> {
        match self.numbers {
            Numbers::Text => self.parse("a whole number"),
            Numbers::LittleEndian => self.take().map(u64::from_le_bytes),
            Numbers::BigEndian => self.take().map(u64::from_be_bytes),
        }
    }

    /// The number of a node or element.
    pub(super) fn number(&mut self) -> Result<u64, MeshError> {
        if self.wide || !self.is_binary() {
            return self.size();
        }
        let number = self.int()?;
        u64::try_from(number)
            .map_err(|_| self.error(format!("{number} stands where a number above 0 should")))
    }

    /// A coordinate.
    pub(super) fn double(&mut self) -> Result<f64, MeshError> {
        match self.numbers {
            Numbers::Text => self.parse("a coordinate"),
            Numbers::LittleEndian => self.take().map(f64::from_le_bytes),
            Numbers::BigEndian => self.take().map(f64::from_be_bytes),
        }
    }
}

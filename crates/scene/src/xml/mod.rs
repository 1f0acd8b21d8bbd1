//! XML for all readers: an element with typed access to its attributes, which remembers what was read.
//!
//! Strictness rests on that memory: [`Element::finish`] refuses every attribute that nobody asked for and
//! that neither the reader nor the user declared ignorable. Numbers must be finite and below [`LARGEST`] in
//! size, so that no product of a mass and two lengths overflows.

use std::cell::Cell;

use pullback_math::Vec3;

use crate::{ImportError, Place};

mod parse;

pub(crate) use parse::{MAX_BYTES, MAX_ELEMENTS, check, parse, read_text};

/// Largest number an attribute may hold.
const LARGEST: f64 = 1e30;

/// What the user lets a reader ignore: elements (`tendon`) and attributes (`geom.adhesion`).
pub(crate) trait Lenient {
    /// The names.
    fn ignorable(&self) -> &[String];

    /// Whether an attribute may be ignored.
    fn ignores(&self, tag: &str, attribute: &str) -> bool {
        self.ignorable().iter().any(|name| name.split_once('.') == Some((tag, attribute)))
    }

    /// Whether an element may be ignored.
    fn ignores_element(&self, tag: &str) -> bool {
        self.ignorable().iter().any(|name| name == tag)
    }
}

/// One attribute and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Attribute {
    pub name: String,
    pub value: String,
    pub place: Place,
    pub used: Cell<bool>,
}

/// One element.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    pub tag: String,
    pub attributes: Vec<Attribute>,
    pub children: Vec<Element>,
    pub place: Place,
    /// Where text stands between its children, if any does.
    pub stray_text: Option<Place>,
    /// Which file's settings it is read under, where a model attaches others; 0 is the main file.
    pub scope: usize,
}

impl Element {
    /// An error about this element.
    pub fn error(&self, why: impl AsRef<str>) -> ImportError {
        ImportError::new(&self.place, format!("<{}>: {}", self.tag, why.as_ref()))
    }

    /// An error about one of its attributes.
    pub fn error_in(&self, name: &str, why: impl AsRef<str>) -> ImportError {
        let place = self.attributes.iter().find(|a| a.name == name).map_or(&self.place, |a| &a.place);
        ImportError::new(place, format!("<{}> `{name}`: {}", self.tag, why.as_ref()))
    }

    /// Whether the attribute is there; does not count as reading it.
    pub fn has(&self, name: &str) -> bool {
        self.attributes.iter().any(|a| a.name == name)
    }

    /// The value as text.
    pub fn text(&self, name: &str) -> Option<&str> {
        let attribute = self.attributes.iter().find(|a| a.name == name)?;
        attribute.used.set(true);
        Some(&attribute.value)
    }

    /// The value as text, which must be there.
    pub fn required(&self, name: &str) -> Result<&str, ImportError> {
        self.text(name).ok_or_else(|| self.error(format!("needs `{name}`")))
    }

    /// All numbers of the value.
    pub fn list(&self, name: &str) -> Result<Option<Vec<f64>>, ImportError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let mut numbers = Vec::new();
        for word in text.split_ascii_whitespace() {
            match word.parse::<f64>() {
                Ok(x) if x.abs() <= LARGEST => numbers.push(x),
                Ok(_) => {
                    return Err(
                        self.error_in(name, format!("{word} is not a number of size up to {LARGEST:e}"))
                    );
                }
                Err(_) => {
                    let shown: String = word.chars().take(40).collect();
                    return Err(self.error_in(name, format!("`{shown}` is not a number")));
                }
            }
        }
        Ok(Some(numbers))
    }

    /// Overwrites the first numbers of `into`, at least `least` of them; whether the attribute was there.
    pub fn overlay(&self, name: &str, least: usize, into: &mut [f64]) -> Result<bool, ImportError> {
        let Some(numbers) = self.list(name)? else { return Ok(false) };
        if numbers.len() < least || numbers.len() > into.len() {
            let wanted =
                if least == into.len() { least.to_string() } else { format!("{least} to {}", into.len()) };
            return Err(self.error_in(name, format!("holds {} numbers where {wanted} belong", numbers.len())));
        }
        into[..numbers.len()].copy_from_slice(&numbers);
        Ok(true)
    }

    /// Exactly `N` numbers.
    pub fn array<const N: usize>(&self, name: &str) -> Result<Option<[f64; N]>, ImportError> {
        let mut numbers = [0.0; N];
        Ok(self.overlay(name, N, &mut numbers)?.then_some(numbers))
    }

    /// A vector.
    pub fn vec3(&self, name: &str) -> Result<Option<Vec3<f64>>, ImportError> {
        Ok(self.array(name)?.map(|[x, y, z]| Vec3::new(x, y, z)))
    }

    /// One number.
    pub fn number(&self, name: &str) -> Result<Option<f64>, ImportError> {
        Ok(self.array(name)?.map(|[x]| x))
    }

    /// One number into a place that has a default.
    pub fn set(&self, name: &str, into: &mut f64) -> Result<(), ImportError> {
        if let Some(value) = self.number(name)? {
            *into = value;
        }
        Ok(())
    }

    /// One whole number.
    pub fn integer(&self, name: &str) -> Result<Option<i32>, ImportError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        text.trim().parse().map(Some).map_err(|_| self.error_in(name, "is not a whole number of 32 bits"))
    }

    /// One of several words, as its index.
    pub fn keyword(&self, name: &str, words: &[&str]) -> Result<Option<usize>, ImportError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let found = words.iter().position(|word| *word == text);
        found.map(Some).ok_or_else(|| self.error_in(name, format!("must be one of {}", words.join(", "))))
    }

    /// `true` or `false`.
    pub fn boolean(&self, name: &str) -> Result<Option<bool>, ImportError> {
        Ok(self.keyword(name, &["false", "true"])?.map(|i| i == 1))
    }

    /// `true`, `false` or `auto`, which is `None`.
    pub fn tristate(&self, name: &str) -> Result<Option<Option<bool>>, ImportError> {
        Ok(self.keyword(name, &["false", "true", "auto"])?.map(|i| [Some(false), Some(true), None][i]))
    }

    /// Refuses a value other than the harmless one, unless the user lets it be ignored.
    pub fn refuse_unless(
        &self,
        name: &str,
        harmless: bool,
        options: &impl Lenient,
    ) -> Result<(), ImportError> {
        if harmless || options.ignores(&self.tag, name) {
            return Ok(());
        }
        Err(self.error_in(
            name,
            format!("is not supported; remove it or allow `{}.{name}` to be ignored", self.tag),
        ))
    }

    /// Refuses attributes nobody read, but for those in `ignorable` and those the user lets be ignored.
    pub fn finish(&self, options: &impl Lenient, ignorable: &[&str]) -> Result<(), ImportError> {
        for attribute in &self.attributes {
            let name = attribute.name.as_str();
            if !attribute.used.get() && !ignorable.contains(&name) {
                self.refuse_unless(name, false, options)?;
            }
        }
        Ok(())
    }

    /// Refuses child elements.
    pub fn no_children(&self, options: &impl Lenient) -> Result<(), ImportError> {
        self.children.iter().try_for_each(|child| child.refuse(options))
    }

    /// Refuses the whole element, unless the user lets it be ignored.
    pub fn refuse(&self, options: &impl Lenient) -> Result<(), ImportError> {
        if options.ignores_element(&self.tag) {
            return Ok(());
        }
        Err(self.error(format!("is not supported here; remove it or allow `{}` to be ignored", self.tag)))
    }
}

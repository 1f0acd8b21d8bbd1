//! Numbers of a result that are not finite: JSON has none, and `null` in their place says nothing.
//!
//! [`first_not_finite`] visits a result as it is serialized and names such numbers by their path.

use std::fmt::{self, Display};

use serde::Serialize;
use serde::ser::{
    self, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

/// Numbers that are not finite.
#[derive(Clone, Debug, PartialEq)]
pub struct NotFinite {
    /// Where the first one is: `rows[3].value`.
    pub path: String,
    /// What it is.
    pub value: f64,
    /// How many there are.
    pub count: usize,
}

impl Display for NotFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is {}", self.path, self.value)?;
        if self.count > 1 { write!(f, ", the first of {} such numbers", self.count) } else { Ok(()) }
    }
}

/// The numbers of a value that are not finite, if there are any.
pub fn first_not_finite(value: &impl Serialize) -> Option<NotFinite> {
    let mut visit = Visit::default();
    // A value that cannot be visited cannot be written either, and writing says why.
    let _ = value.serialize(&mut visit);
    visit.found
}

/// Where a visit is, and what it found.
#[derive(Default)]
struct Visit {
    path: String,
    found: Option<NotFinite>,
    /// Entries of the sequences that the visit is inside of; the innermost last.
    places: Vec<usize>,
}

/// A value that refuses to be serialized.
#[derive(Debug)]
struct Refused;

impl Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value cannot be serialized")
    }
}
impl std::error::Error for Refused {}
impl ser::Error for Refused {
    fn custom<T: Display>(_: T) -> Self {
        Refused
    }
}

type Visited = Result<(), Refused>;

impl Visit {
    fn number(&mut self, value: f64) -> Visited {
        if !value.is_finite() {
            let path = &self.path;
            let new = || NotFinite { path: path.clone(), value, count: 0 };
            self.found.get_or_insert_with(new).count += 1;
        }
        Ok(())
    }

    fn field(&mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Visited {
        let len = self.path.len();
        self.path.extend([if len > 0 { "." } else { "" }, name]);
        let visited = value.serialize(&mut *self);
        self.path.truncate(len);
        visited
    }

    fn begin(&mut self) -> Result<&mut Self, Refused> {
        self.places.push(0);
        Ok(self)
    }

    fn next(&mut self, value: &(impl Serialize + ?Sized)) -> Visited {
        let len = self.path.len();
        if let Some(place) = self.places.last_mut() {
            self.path += &format!("[{place}]");
            *place += 1;
        }
        let visited = value.serialize(&mut *self);
        self.path.truncate(len);
        visited
    }

    fn close(&mut self) -> Visited {
        self.places.pop();
        Ok(())
    }
}

/// Methods for values that hold no number with a fraction.
macro_rules! nothing {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, _: $type) -> Visited {
            Ok(())
        })*
    };
}

impl<'a> Serializer for &'a mut Visit {
    type Ok = ();
    type Error = Refused;
    type SerializeSeq = &'a mut Visit;
    type SerializeTuple = &'a mut Visit;
    type SerializeTupleStruct = &'a mut Visit;
    type SerializeTupleVariant = &'a mut Visit;
    type SerializeMap = MapVisit<'a>;
    type SerializeStruct = &'a mut Visit;
    type SerializeStructVariant = &'a mut Visit;

    nothing!(serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64);
    nothing!(serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_char: char);
    nothing!(serialize_str: &str, serialize_bytes: &[u8], serialize_unit_struct: &'static str);

    fn serialize_f32(self, value: f32) -> Visited {
        self.number(value.into())
    }
    fn serialize_f64(self, value: f64) -> Visited {
        self.number(value)
    }
    fn serialize_none(self) -> Visited {
        Ok(())
    }
    fn serialize_unit(self) -> Visited {
        Ok(())
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Visited {
        Ok(())
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Visited {
        value.serialize(self)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Visited {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Visited {
        self.field(variant, value)
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<Self, Refused> {
        self.begin()
    }
    fn serialize_tuple(self, _: usize) -> Result<Self, Refused> {
        self.begin()
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Refused> {
        self.begin()
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Refused> {
        self.begin()
    }
    fn serialize_map(self, _: Option<usize>) -> Result<MapVisit<'a>, Refused> {
        Ok(MapVisit { visit: self, key: String::new() })
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Refused> {
        Ok(self)
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Refused> {
        Ok(self)
    }
}

/// Traits of things whose entries are numbered.
macro_rules! numbered {
    ($($trait:ident::$method:ident),*) => {
        $(impl $trait for &mut Visit {
            type Ok = ();
            type Error = Refused;
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Visited {
                self.next(value)
            }
            fn end(self) -> Visited {
                self.close()
            }
        })*
    };
}
numbered!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

/// Traits of things whose entries have names.
macro_rules! named {
    ($($trait:ident),*) => {
        $(impl $trait for &mut Visit {
            type Ok = ();
            type Error = Refused;
            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Visited {
                self.field(name, value)
            }
            fn end(self) -> Visited {
                Ok(())
            }
        })*
    };
}
named!(SerializeStruct, SerializeStructVariant);

/// A visit inside a map.
struct MapVisit<'a> {
    visit: &'a mut Visit,
    /// The key whose value comes next.
    key: String,
}

impl SerializeMap for MapVisit<'_> {
    type Ok = ();
    type Error = Refused;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Visited {
        self.key = serde_json::to_string(key).map_err(|_| Refused)?.trim_matches('"').to_owned();
        Ok(())
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Visited {
        self.visit.field(&self.key, value)
    }
    fn end(self) -> Visited {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[derive(Serialize)]
    struct Row {
        name: &'static str,
        value: f64,
        pair: (usize, f32),
    }

    #[derive(Serialize)]
    enum Kind {
        One(f64),
        Two { x: Option<f64> },
    }

    #[test]
    fn the_first_number_that_is_not_finite_is_named() {
        let row = |value: f64, second: f32| Row { name: "a", value, pair: (1, second) };
        assert_eq!(first_not_finite(&[row(1.0, 2.0), row(-1e308, 0.0)]), None);
        let found = first_not_finite(&[row(1.0, f32::INFINITY), row(f64::NAN, 0.0)]).unwrap();
        assert_eq!((found.path.as_str(), found.value, found.count), ("[0].pair[1]", f64::INFINITY, 2));
        let of = |value: &dyn Fn() -> Option<NotFinite>| value().map(|found| found.path);
        let map = |x: f64| BTreeMap::from([("upper.mass", vec![0.0, x])]);
        assert_eq!(of(&|| first_not_finite(&map(f64::NAN))).as_deref(), Some("upper.mass[1]"));
        assert_eq!(of(&|| first_not_finite(&Kind::One(f64::NAN))).as_deref(), Some("One"));
        assert_eq!(of(&|| first_not_finite(&Kind::Two { x: Some(f64::NAN) })).as_deref(), Some("x"));
        assert_eq!(first_not_finite(&(Kind::Two { x: None }, serde_json::json!({"a": [1.5]}))), None);
        let words = found.to_string();
        assert_eq!(words, "`[0].pair[1]` is inf, the first of 2 such numbers");
    }
}

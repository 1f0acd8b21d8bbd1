//! [`Fields`]: a table of a loss file, field by field; what no field asks for is an error that suggests the
//! nearest.

use pullback_core::ConfigError;
use pullback_core::registry::nearest;
use serde_json::{Map, Value};

/// The fields of a table that are not yet read.
pub(super) struct Fields {
    /// What the table is, for errors: `reach.toml: term 2`.
    pub place: String,
    map: Map<String, Value>,
}

impl Fields {
    /// A table that may have these fields.
    pub fn new(place: String, value: Value, known: &[&str]) -> Result<Self, ConfigError> {
        let Value::Object(map) = value else {
            return Err(ConfigError::new(format!("{place}: a table with names is expected, not {value}")));
        };
        let fields = Fields { place, map };
        match fields.map.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(fields),
            Some(key) => {
                let near = nearest(key, known.iter().copied());
                let near = near.map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
                Err(fields.wrong(format!("nothing is called `{key}`{near}; there is {}", known.join(", "))))
            }
        }
    }

    /// An error of this table.
    pub fn wrong(&self, what: impl AsRef<str>) -> ConfigError {
        ConfigError::new(format!("{}: {}", self.place, what.as_ref()))
    }

    fn take<R>(
        &mut self,
        key: &str,
        expected: &str,
        read: impl FnOnce(&Value) -> Option<R>,
    ) -> Result<Option<R>, ConfigError> {
        match self.map.remove(key) {
            None => Ok(None),
            Some(value) => match read(&value) {
                Some(found) => Ok(Some(found)),
                None => Err(self.wrong(format!("`{key}` is {value}; {expected} is expected"))),
            },
        }
    }

    /// Whether a field is there.
    pub fn has(&self, key: &str) -> bool {
        self.map.contains_key(key)
    }

    /// A number above 0.
    pub fn positive(&mut self, key: &str) -> Result<Option<f64>, ConfigError> {
        self.take(key, "a number above 0", |value| number(value).filter(|x| *x > 0.0))
    }

    /// A number that is not negative.
    pub fn weight(&mut self, key: &str) -> Result<Option<f64>, ConfigError> {
        self.take(key, "a number that is not negative", |value| number(value).filter(|x| *x >= 0.0))
    }

    /// A whole number from 1 on.
    pub fn count(&mut self, key: &str) -> Result<Option<usize>, ConfigError> {
        let whole =
            |value: &Value| value.as_u64().filter(|n| (1..=1_000_000).contains(n)).map(|n| n as usize);
        self.take(key, "a whole number from 1 to 1000000", whole)
    }

    /// A text.
    pub fn text(&mut self, key: &str) -> Result<Option<String>, ConfigError> {
        self.take(key, "a text", |value| value.as_str().map(str::to_owned))
    }

    /// `true` or `false`.
    pub fn flag(&mut self, key: &str) -> Result<bool, ConfigError> {
        Ok(self.take(key, "true or false", Value::as_bool)?.unwrap_or(false))
    }

    /// A number, or several.
    pub fn numbers(&mut self, key: &str) -> Result<Option<Vec<f64>>, ConfigError> {
        self.take(key, "a number or a list of numbers", |value| match value {
            Value::Array(all) if !all.is_empty() => all.iter().map(number).collect(),
            one => number(one).map(|x| vec![x]),
        })
    }

    /// So many numbers.
    pub fn array<const N: usize>(&mut self, key: &str) -> Result<Option<[f64; N]>, ConfigError> {
        self.take(key, &format!("a list of {N} numbers"), |value| {
            let all: Option<Vec<f64>> = value.as_array()?.iter().map(number).collect();
            all?.try_into().ok()
        })
    }

    /// One of the names of a list.
    pub fn choice<R: Copy>(&mut self, key: &str, names: &[(&str, R)]) -> Result<Option<R>, ConfigError> {
        let Some(name) = self.text(key)? else { return Ok(None) };
        if let Some((_, found)) = names.iter().find(|(known, _)| *known == name) {
            return Ok(Some(*found));
        }
        let all: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        let near = nearest(&name, all.iter().copied());
        let near = near.map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
        Err(self.wrong(format!("`{key}` is `{name}`{near}; there is {}", all.join(", "))))
    }

    /// A list of tables.
    pub fn tables(&mut self, key: &str) -> Result<Vec<Value>, ConfigError> {
        Ok(self.take(key, "a list of tables", |value| value.as_array().cloned())?.unwrap_or_default())
    }

    /// Names with a number each, in their order.
    pub fn named_numbers(&mut self, key: &str) -> Result<Vec<(String, f64)>, ConfigError> {
        let pairs = |value: &Value| -> Option<Vec<(String, f64)>> {
            value.as_object()?.iter().map(|(name, value)| Some((name.clone(), number(value)?))).collect()
        };
        Ok(self.take(key, "a table of names with a number each", pairs)?.unwrap_or_default())
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|x| x.is_finite())
}

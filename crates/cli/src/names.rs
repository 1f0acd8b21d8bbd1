//! Names on the command line: parsed by the registries, listed in help.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command, Error};
use pullback_core::registry::{Entry, Registry};

/// Parses the name of an entry; nothing else will do.
#[derive(Clone, Copy)]
pub struct OneOf<V: 'static>(pub Registry<V>);

impl<V: Clone + Send + Sync> TypedValueParser for OneOf<V> {
    type Value = &'static Entry<V>;

    fn parse_ref(
        &self,
        command: &Command,
        _argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, Error> {
        let unknown = |error| Error::raw(ErrorKind::InvalidValue, error).with_cmd(command);
        self.0.find(&value.to_string_lossy()).map_err(unknown)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(values(&self.0))
    }
}

/// Takes any text, for names that may be paths or carry them; help lists the entries.
#[derive(Clone, Copy)]
pub struct NameOrPath<V: 'static>(pub Registry<V>);

impl<V: Clone + Send + Sync> TypedValueParser for NameOrPath<V> {
    type Value = String;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(values(&self.0))
    }
}

fn values<V>(registry: &Registry<V>) -> Box<dyn Iterator<Item = PossibleValue>> {
    Box::new(registry.entries().map(|entry| PossibleValue::new(entry.name).help(entry.description())))
}

//! Settings as JSON: the leaves of an object by path, and where two objects differ.

use std::collections::BTreeMap;

use serde_json::Value;

/// Values that are no objects, by path: `{"actor": {"rate": 0.1}}` has the leaf `actor.rate`.
pub(crate) fn leaves(value: &Value) -> BTreeMap<String, Value> {
    fn visit(path: &str, value: &Value, out: &mut BTreeMap<String, Value>) {
        match value {
            Value::Object(fields) if path.is_empty() || !fields.is_empty() => {
                for (key, value) in fields {
                    let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                    visit(&path, value, out);
                }
            }
            _ => {
                out.insert(path.to_owned(), value.clone());
            }
        }
    }
    let mut out = BTreeMap::new();
    visit("", value, &mut out);
    out
}

/// The first leaf in which the settings of a folder differ from those asked for, in words.
pub(crate) fn first_difference(stored: &Value, asked: &Value) -> Option<String> {
    let (stored, asked) = (leaves(stored), leaves(asked));
    let mut paths: Vec<&String> = stored.keys().chain(asked.keys()).collect();
    paths.sort();
    let path = paths.into_iter().find(|path| stored.get(*path) != asked.get(*path))?;
    Some(match (stored.get(path), asked.get(path)) {
        (Some(old), Some(new)) => format!("`{path}` is {old} there and {new} here"),
        (Some(old), None) => format!("`{path}` is {old} there and missing here"),
        (None, new) => format!("`{path}` is missing there and {} here", new.unwrap_or(&Value::Null)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_first_difference_is_named_by_its_path() {
        let stored = json!({"task": "hopper", "actor": {"rate": 0.1, "widths": [64, 32]}});
        assert_eq!(first_difference(&stored, &stored), None);
        let asked = json!({"task": "hopper", "actor": {"rate": 0.2, "widths": [64, 32]}});
        assert_eq!(first_difference(&stored, &asked).unwrap(), "`actor.rate` is 0.1 there and 0.2 here");
        let asked = json!({"task": "hopper", "actor": {"rate": 0.1}});
        assert_eq!(
            first_difference(&stored, &asked).unwrap(),
            "`actor.widths` is [64,32] there and missing here"
        );
        assert_eq!(
            first_difference(&asked, &stored).unwrap(),
            "`actor.widths` is missing there and [64,32] here"
        );
        assert!(first_difference(&json!({"a": {}}), &json!({})).is_some());
    }
}

//! Conversion from the TOML crate's spanned tree to the one of this module.

use std::ops::Range;

use toml::Spanned;
use toml::de::DeValue;

use super::tree::{Entry, Node, Origin, Table, Value, quoted};

/// Largest depth of tables within tables, and lists within lists.
pub(super) const DEEPEST: usize = 48;

/// Converts values; `origin` turns a span of the parsed text into an origin.
pub(super) struct Converter<'a> {
    pub origin: &'a dyn Fn(Range<usize>) -> Origin,
}

impl Converter<'_> {
    /// Converts `value`, or returns the mistake and its place.
    pub fn node(&self, value: &Spanned<DeValue<'_>>, depth: usize) -> Result<Node, (String, Range<usize>)> {
        let span = value.span();
        if depth > DEEPEST {
            return Err((format!("tables are nested more than {DEEPEST} levels deep"), span));
        }
        let converted = match value.get_ref() {
            DeValue::String(s) => Value::String(s.to_string()),
            DeValue::Integer(n) => match i128::from_str_radix(n.as_str(), n.radix()) {
                Ok(n) => Value::Integer(n),
                Err(_) => return Err((format!("the number {} is too large", quoted(n.as_str())), span)),
            },
            DeValue::Float(x) => match x.as_str().parse::<f64>() {
                Ok(v) if v.is_finite() || x.as_str().contains(['i', 'n']) => Value::Float(v),
                _ => return Err((format!("the number {} is too large", quoted(x.as_str())), span)),
            },
            DeValue::Boolean(b) => Value::Bool(*b),
            DeValue::Datetime(d) => Value::String(d.to_string()),
            DeValue::Array(items) => {
                let nodes: Result<Vec<Node>, _> = items.iter().map(|v| self.node(v, depth + 1)).collect();
                Value::Array(nodes?)
            }
            DeValue::Table(entries) => {
                let mut table = Table::default();
                for (key, value) in entries {
                    let entry = Entry { key: (self.origin)(key.span()), node: self.node(value, depth + 1)? };
                    table.0.insert(key.get_ref().to_string(), entry);
                }
                Value::Table(table)
            }
        };
        Ok(Node { value: converted, origin: (self.origin)(span) })
    }
}

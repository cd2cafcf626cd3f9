//! Conversion of the tree to TOML text.

use std::fmt::{self, Write as _};

use super::path::{key, push_key, push_quoted};
use super::tree::{Node, Table, Value};

/// Lists and inline tables longer than this are broken or get a header.
const WIDTH: usize = 100;

/// Writes the whole document.
pub(super) fn document(root: &Node) -> String {
    let mut out = String::new();
    if let Some(table) = root.as_table() {
        body(&mut out, table, &headers(table), &mut Vec::new());
    }
    out
}

/// Writes the keys of `table`: first those on one line, then those `with_header`.
fn body(out: &mut String, table: &Table, with_header: &[bool], path: &mut Vec<String>) {
    for ((name, node), _) in table.iter().zip(with_header).filter(|(_, header)| !**header) {
        push_entry(out, name, node);
        out.push('\n');
    }
    for ((name, node), _) in table.iter().zip(with_header).filter(|(_, header)| **header) {
        path.push(key(name));
        match &node.value {
            Value::Array(items) => {
                for item in items.iter().filter_map(Node::as_table) {
                    header(out, path, "[[", "]]");
                    body(out, item, &headers(item), path);
                }
            }
            Value::Table(inner) => {
                // `[flow]` alone is redundant if everything in it has its own header.
                let with_header = headers(inner);
                if inner.is_empty() || with_header.contains(&false) {
                    header(out, path, "[", "]");
                }
                body(out, inner, &with_header, path);
            }
            _ => {}
        }
        path.pop();
    }
}

fn header(out: &mut String, path: &[String], open: &str, close: &str) {
    if !out.is_empty() {
        out.push('\n');
    }
    let _ = writeln!(out, "{open}{}{close}", path.join("."));
}

/// Determines which keys of `table` have a header. After the first that does, all tables do: flows
/// keep their order.
fn headers(table: &Table) -> Vec<bool> {
    let first = table.iter().position(|(_, n)| has_header(n)).unwrap_or(table.len());
    table
        .iter()
        .enumerate()
        .map(|(i, (_, n))| has_header(n) || (i > first && n.as_table().is_some()))
        .collect()
}

/// Tables have headers, except an enum's short `{ kind = ... }`; lists of tables have headers too.
fn has_header(node: &Node) -> bool {
    match &node.value {
        Value::Table(t) => {
            let short = t.get("kind").is_some() && t.iter().all(|(_, n)| !matches!(n.value, Value::Table(_)));
            !(short && value(&node.value).len() <= WIDTH)
        }
        Value::Array(items) => {
            let short = || value(&node.value).len() <= WIDTH && items.iter().all(is_kind);
            !items.is_empty() && items.iter().all(|n| n.as_table().is_some()) && !short()
        }
        _ => false,
    }
}

fn is_kind(node: &Node) -> bool {
    node.as_table().is_some_and(|t| t.get("kind").is_some())
}

/// A value on one line.
pub(super) fn value(value: &Value) -> String {
    let mut out = String::new();
    push_value(&mut out, value);
    out
}

fn push_entry(out: &mut String, name: &str, node: &Node) {
    push_key(out, name);
    out.push_str(" = ");
    push_value(out, &node.value);
}

/// The same, appended to `out`: a scenario has tens of thousands of values.
fn push_value(out: &mut String, value: &Value) {
    let comma = |out: &mut String, i: usize| out.push_str(if i == 0 { "" } else { ", " });
    let written = match value {
        Value::String(s) => {
            push_quoted(out, s);
            Ok(())
        }
        Value::Integer(n) => write!(out, "{n}"),
        Value::Float(x) if x.is_nan() => out.write_str("nan"),
        Value::Float(x) => write!(out, "{x:?}"),
        Value::Bool(b) => out.write_str(if *b { "true" } else { "false" }),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                comma(out, i);
                push_value(out, &item.value);
            }
            out.write_str("]")
        }
        Value::Table(t) if t.is_empty() => out.write_str("{}"),
        Value::Table(t) => {
            out.push_str("{ ");
            for (i, (name, node)) in t.iter().enumerate() {
                comma(out, i);
                push_entry(out, name, node);
            }
            out.write_str(" }")
        }
    };
    debug_assert!(written.is_ok(), "text takes everything");
}

/// The value as TOML on one line.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&value(self))
    }
}

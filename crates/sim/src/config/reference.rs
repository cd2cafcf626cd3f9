//! Every key of a configuration with its type, default and meaning: `lasthop describe` and the
//! reference pages.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::path::push;
use super::schema::{Defs, schema};
use super::tree::{Table, Value as Toml};
use super::write;

/// The documentation of one key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KeyDoc {
    /// Dotted path; `<name>` stands for a name of the user's, `<n>` for the number of an element.
    pub path: String,
    /// "time", "whole number", "text", "table", or the names to choose from: `"bulk" | "cbr"`.
    #[serde(rename = "type")]
    pub ty: String,
    /// True if its table requires it.
    pub required: bool,
    /// The default in the notation of a file, or in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// The range of its values: "0 to 255".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<String>,
    /// A value with its unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<String>,
    /// The units it may be written in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<String>,
    /// The names to choose from, each with its meaning.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<(String, String)>,
    /// The `kind` that its table needs, or else the nearest table above that has kinds: `cbr`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its meaning.
    pub description: String,
}

/// All keys of `T`, in the order of its fields.
pub fn reference<T: JsonSchema>() -> Vec<KeyDoc> {
    let root = schema::<T>();
    let none = Map::new();
    let defs = Defs(root.get("$defs").and_then(Value::as_object).unwrap_or(&none));
    let mut walk = Walk { defs, out: Vec::new(), inside: Vec::new() };
    walk.properties(&root, "", None, None);
    // A table that two kinds of the table above share, as two mobility models share an area,
    // appears once.
    let mut seen = std::collections::BTreeSet::new();
    walk.out.retain(|doc| seen.insert((doc.path.clone(), doc.kind.clone(), format!("{doc:?}"))));
    walk.out
}

struct Walk<'a> {
    defs: Defs<'a>,
    out: Vec<KeyDoc>,
    /// The definitions on the path of the walk: a type may contain itself.
    inside: Vec<&'a Value>,
}

impl<'a> Walk<'a> {
    /// The keys of the table `schema`, whose path is `path`, if it or a table above is of that
    /// `kind`. A table may have a default, which then applies to its keys.
    fn properties(&mut self, schema: &'a Value, path: &str, kind: Option<&str>, table: Option<&'a Value>) {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
        let required = schema.get("required").and_then(Value::as_array);
        let own = kind_of(schema);
        let table = table.filter(|t| t.get("kind").and_then(Value::as_str) == own.as_deref());
        let in_words = text_of(schema, "x-default-of-keys");
        for (name, property) in properties.iter().filter(|(name, _)| own.is_none() || *name != "kind") {
            let mut inner = path.to_owned();
            push(&mut inner, name);
            let required = required.is_some_and(|r| r.iter().any(|k| k == name));
            let default =
                table.and_then(|t| t.get(name)).or(property.get("default")).or(property.get("x-default"));
            self.key(property, inner, required, kind, default, in_words.clone());
        }
    }

    fn key(
        &mut self,
        schema: &'a Value,
        path: String,
        required: bool,
        kind: Option<&str>,
        default: Option<&'a Value>,
        in_words: Option<String>,
    ) {
        let target = self.defs.resolve(schema);
        let mut doc = KeyDoc { path, required, kind: kind.map(str::to_owned), ..KeyDoc::default() };
        doc.description =
            text_of(schema, "description").or(text_of(target, "description")).unwrap_or_default();
        let default = default.or(target.get("default"));
        doc.default = default.and_then(default_of).or(in_words.filter(|_| !required));
        self.describe_type(target, &mut doc);
        // A key may allow less than its type.
        doc.range = text_of(schema, "x-range").or(doc.range);
        let path = doc.path.clone();
        self.out.push(doc);
        if self.inside.iter().any(|s| std::ptr::eq(*s, target)) {
            return;
        }
        self.inside.push(target);
        self.below(target, &path, kind, default);
        self.inside.pop();
    }

    /// The keys below a table, a table by name, a list of tables, or the kinds of an enum; `kind`
    /// is that of the nearest table above that has kinds.
    fn below(&mut self, target: &'a Value, path: &str, kind: Option<&str>, default: Option<&'a Value>) {
        for option in options(target) {
            if let Some(own) = kind_of(option) {
                self.properties(option, path, Some(&own), default);
            }
            // A text or a table: the type states this itself.
            if target.get("x-type").is_some() {
                self.properties(self.defs.resolve(option), path, kind, None);
            }
        }
        self.properties(target, path, kind, default);
        let named = target.get("additionalProperties").filter(|s| s.is_object()).map(|s| (s, "<name>"));
        let listed = target.get("items").filter(|s| s.is_object()).map(|s| (s, "<n>"));
        for (inner, placeholder) in named.into_iter().chain(listed) {
            let inner = self.defs.resolve(inner);
            self.below(inner, &format!("{path}.{placeholder}"), kind, None);
        }
    }

    fn describe_type(&self, target: &Value, doc: &mut KeyDoc) {
        if let Some(units) = target.get("x-units").and_then(Value::as_array) {
            // "a time, 0 s to 88888 h"
            let text = text_of(target, "description").unwrap_or_default();
            let (what, range) = text.split_once(", ").unwrap_or((&text, ""));
            doc.ty = what.trim_start_matches("an ").trim_start_matches("a ").to_owned();
            doc.range = Some(range.to_owned()).filter(|r| !r.is_empty());
            doc.units = units.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            doc.example = target.get("examples").and_then(|e| e.get(0)).and_then(default_of);
            return;
        }
        if let Some(text) = text_of(target, "x-type") {
            doc.ty = text;
            return;
        }
        doc.names = names_of(target);
        if !doc.names.is_empty() {
            let names: Vec<String> = doc.names.iter().map(|(name, _)| format!("\"{name}\"")).collect();
            doc.ty = names.join(" | ");
            return;
        }
        doc.ty = self.type_of(target);
        let bound = |key: &str| target.get(key).filter(|b| b.is_number()).map(Value::to_string);
        doc.range = match (bound("minimum"), bound("maximum")) {
            (Some(low), Some(high)) => Some(format!("{low} to {high}")),
            (Some(low), None) => Some(format!("from {low}")),
            (None, Some(high)) => Some(format!("up to {high}")),
            (None, None) => None,
        };
    }

    fn type_of(&self, target: &Value) -> String {
        match target.get("type").and_then(Value::as_str) {
            Some("string") => "text".to_owned(),
            Some("integer") => "whole number".to_owned(),
            Some("number") => "number".to_owned(),
            Some("boolean") => "true or false".to_owned(),
            Some("array") => {
                let mut item = KeyDoc::default();
                match target.get("items").filter(|i| i.is_object()) {
                    Some(items) => self.describe_type(self.defs.resolve(items), &mut item),
                    None => item.ty = "values".to_owned(),
                }
                match target.get("minItems").filter(|n| target.get("maxItems") == Some(n)) {
                    Some(n) => format!("list of {n}: {}", item.ty),
                    None => format!("list: {}", item.ty),
                }
            }
            Some("object") if target.get("additionalProperties").is_some_and(Value::is_object) => {
                let mut item = KeyDoc::default();
                self.describe_type(self.defs.resolve(&target["additionalProperties"]), &mut item);
                match item.ty.as_str() {
                    "table" => "table by name".to_owned(),
                    other => format!("table by name: {other}"),
                }
            }
            Some("object") => "table".to_owned(),
            _ => "value".to_owned(),
        }
    }
}

fn options(schema: &Value) -> impl Iterator<Item = &Value> {
    ["oneOf", "anyOf"].into_iter().filter_map(|k| schema.get(k)?.as_array()).flatten()
}

/// The kind of a table of this schema.
fn kind_of(schema: &Value) -> Option<String> {
    schema.get("properties")?.get("kind").and_then(|k| text_of(k, "const"))
}

/// The names of an enum with their descriptions.
fn names_of(target: &Value) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    for option in options(target).chain([target]) {
        let kind = option.get("properties").and_then(|p| p.get("kind"));
        let consts = option.get("const").or_else(|| kind?.get("const")).and_then(Value::as_str);
        let listed =
            option.get("enum").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        for name in consts.into_iter().chain(listed) {
            if !out.iter().any(|(n, _)| n == name) {
                let described = if consts.is_some() { text_of(option, "description") } else { None };
                out.push((name.to_owned(), described.unwrap_or_default()));
            }
        }
    }
    out
}

/// A text of the schema, its lines joined into paragraphs.
fn text_of(schema: &Value, key: &str) -> Option<String> {
    let text = schema.get(key)?.as_str()?;
    let paragraphs: Vec<String> =
        text.split("\n\n").map(|p| p.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    Some(paragraphs.join("\n\n"))
}

/// A default in the notation of a file. The default of a plain table is that of its keys.
fn default_of(json: &Value) -> Option<String> {
    match json {
        Value::Object(object) if !object.contains_key("kind") => None,
        other => toml_of(other).map(|v| write::value(&v)),
    }
}

fn toml_of(json: &Value) -> Option<Toml> {
    Some(match json {
        Value::Null => return None,
        Value::Bool(b) => (*b).into(),
        Value::String(s) => s.as_str().into(),
        Value::Number(n) => match n.as_i128() {
            Some(n) => Toml::Integer(n),
            None => n.as_f64()?.into(),
        },
        Value::Array(items) => Toml::Array(items.iter().filter_map(toml_of).map(Into::into).collect()),
        Value::Object(object) => {
            let mut table = Table::default();
            for (key, value) in object {
                if let Some(value) = toml_of(value) {
                    table.insert(key.as_str(), value);
                }
            }
            Toml::Table(table)
        }
    })
}

//! JSON Schema of a configuration, in the notation that [`Document::read`](super::Document::read)
//! accepts.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// Longest chain of `$ref`s that is followed.
const LONGEST_CHAIN: usize = 16;

/// JSON Schema 2020-12 of `T`: enums are `"name"` or `{ "kind": "name", ... }`, absent values have
/// no `null`, and defaults are in the same notation. An enum without any content is written by its
/// bare name only.
pub fn schema<T: JsonSchema>() -> Value {
    let generated = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
    let mut root = Value::from(generated);
    let defs = root.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
    rewrite(&mut root, &Defs(&defs));
    if let Some(defs) = root.get_mut("$defs").and_then(Value::as_object_mut) {
        for (name, def) in defs.iter_mut() {
            if let Some(def) = def.as_object_mut().filter(|d| !d.contains_key("title")) {
                def.insert("title".to_owned(), name.as_str().into());
            }
        }
    }
    prune(&mut root);
    let title = T::schema_name().to_lowercase();
    let mut out = Map::new();
    out.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    out.insert("$id".to_owned(), format!("urn:lasthop:{title}").into());
    if let Value::Object(root) = root {
        out.extend(root.into_iter().filter(|(k, _)| k != "$schema"));
    }
    Value::Object(out)
}

/// The definitions that `$ref`s point to.
#[derive(Clone, Copy)]
pub(super) struct Defs<'a>(pub &'a Map<String, Value>);

impl<'a> Defs<'a> {
    /// The target of `schema`, with its `$ref` followed.
    pub fn resolve(self, mut schema: &'a Value) -> &'a Value {
        for _ in 0..LONGEST_CHAIN {
            let target = schema.get("$ref").and_then(Value::as_str);
            let target = target.and_then(|r| r.strip_prefix("#/$defs/")).and_then(|name| self.0.get(name));
            match target {
                Some(target) => schema = target,
                None => break,
            }
        }
        schema
    }
}

/// Rewrites `schema` and all below it; `defs` are the definitions before the rewriting.
fn rewrite(schema: &mut Value, defs: &Defs<'_>) {
    if let Some(default) = schema.get("default").cloned() {
        let converted = notation(&default, schema, *defs);
        if let Some(object) = schema.as_object_mut() {
            match converted {
                Value::Null => object.remove("default"),
                converted => object.insert("default".to_owned(), converted),
            };
        }
    }
    let Some(object) = schema.as_object_mut() else { return };
    without_null(object);
    bounded(object);
    if let Some(variants) = object.get("oneOf").and_then(variants_of) {
        object.insert("oneOf".to_owned(), Value::Array(alternatives(&variants, defs)));
        return;
    }
    for (keyword, value) in object.iter_mut() {
        match (keyword.as_str(), value) {
            ("properties" | "$defs" | "patternProperties", Value::Object(map)) => {
                map.values_mut().for_each(|s| rewrite(s, defs));
            }
            ("oneOf" | "anyOf" | "allOf" | "prefixItems", Value::Array(list)) => {
                list.iter_mut().for_each(|s| rewrite(s, defs));
            }
            ("items" | "additionalProperties" | "not", value) => rewrite(value, defs),
            _ => {}
        }
    }
}

/// Removes null: TOML has no null, an optional value is absent.
fn without_null(object: &mut Map<String, Value>) {
    let is_null = |s: &Value| s.get("type").and_then(Value::as_str) == Some("null");
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|t| t != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(names)) = object.get_mut("enum") {
        names.retain(|n| !n.is_null());
    }
    let Some(Value::Array(options)) = object.get_mut("anyOf") else { return };
    options.retain(|o| !is_null(o));
    if options.len() == 1
        && let Some(Value::Object(only)) = options.pop()
    {
        object.shift_remove("anyOf");
        for (key, value) in only {
            object.entry(key).or_insert(value);
        }
    }
}

/// Adds the bounds of widths that schemars names but does not bound.
fn bounded(object: &mut Map<String, Value>) {
    let (low, high) = match object.get("format").and_then(Value::as_str) {
        Some("uint32") => (json!(0), json!(u32::MAX)),
        Some("uint64" | "uint") => (json!(0), json!(u64::MAX)),
        Some("int32") => (json!(i32::MIN), json!(i32::MAX)),
        Some("int64" | "int") => (json!(i64::MIN), json!(i64::MAX)),
        _ => return,
    };
    object.entry("minimum").or_insert(low);
    object.entry("maximum").or_insert(high);
}

/// A variant of an enum in serde's own representation.
struct Variant<'a> {
    name: &'a str,
    description: Option<&'a Value>,
    /// None for a unit variant.
    content: Option<&'a Value>,
}

/// The variants, if `one_of` is an enum of serde: names, and objects with one key.
fn variants_of(one_of: &Value) -> Option<Vec<Variant<'_>>> {
    let mut out = Vec::new();
    for option in one_of.as_array()? {
        let description = option.get("description");
        if let Some(name) = option.get("const") {
            out.push(Variant { name: name.as_str()?, description, content: None });
        } else if let Some(names) = option.get("enum") {
            for name in names.as_array()? {
                out.push(Variant { name: name.as_str()?, description: None, content: None });
            }
        } else {
            let properties = option.get("properties")?.as_object()?;
            let required = option.get("required")?.as_array()?;
            let (name, content) = properties.iter().next()?;
            if properties.len() != 1 || required.len() != 1 || content.get("const").is_some() {
                return None;
            }
            out.push(Variant { name, description, content: Some(content) });
        }
    }
    Some(out)
}

fn alternatives(variants: &[Variant<'_>], defs: &Defs<'_>) -> Vec<Value> {
    let mut out = Vec::new();
    let mixed = variants.iter().any(|v| v.content.is_some());
    for variant in variants {
        let table = mixed.then(|| table_of(variant, defs));
        let bare = table.as_ref().is_none_or(|t| t["required"].as_array().is_some_and(|r| r.len() == 1));
        if bare {
            let mut name = json!({ "type": "string", "const": variant.name });
            describe(&mut name, variant.description);
            out.push(name);
        }
        out.extend(table);
    }
    out
}

/// Writes a variant as `{ "kind": "name", ... }`.
fn table_of(variant: &Variant<'_>, defs: &Defs<'_>) -> Value {
    let mut properties = Map::new();
    let mut required = vec![json!("kind")];
    let mut kind = json!({ "const": variant.name });
    describe(&mut kind, variant.description);
    properties.insert("kind".to_owned(), kind);
    let mut others = json!(false);
    if let Some(content) = variant.content {
        let mut content = content.clone();
        if is_table(defs.resolve(&content)) {
            content = defs.resolve(&content).clone();
            rewrite(&mut content, defs);
            if let Some(Value::Object(inner)) = content.get_mut("properties") {
                properties.append(inner);
            }
            required.extend(content.get("required").and_then(Value::as_array).cloned().unwrap_or_default());
            others = content.get("additionalProperties").cloned().unwrap_or(json!(true));
        } else {
            rewrite(&mut content, defs);
            if content.get("description").is_none() {
                describe(&mut content, variant.description);
            }
            properties.insert("value".to_owned(), content);
            required.push(json!("value"));
        }
    }
    let mut table = json!({
        "title": variant.name,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": others,
    });
    describe(&mut table, variant.description);
    table
}

fn describe(schema: &mut Value, description: Option<&Value>) {
    if let (Some(object), Some(description)) = (schema.as_object_mut(), description) {
        object.insert("description".to_owned(), description.clone());
    }
}

fn is_table(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("object")
}

/// Converts `value` from serde's representation, of `schema` before its rewriting, to the notation
/// of files.
fn notation(value: &Value, schema: &Value, defs: Defs<'_>) -> Value {
    let schema = match schema.get("anyOf").and_then(Value::as_array).map(Vec::as_slice) {
        Some([only, null]) if null.get("type").is_some_and(|t| t == "null") => defs.resolve(only),
        _ => defs.resolve(schema),
    };
    match value {
        Value::Object(object) => match schema.get("oneOf").and_then(variants_of) {
            Some(variants) => variant_notation(object, &variants, defs),
            None => Value::Object(
                object
                    .iter()
                    .filter_map(|(key, v)| {
                        let property = schema.get("properties").and_then(|p| p.get(key));
                        let property =
                            property.or_else(|| schema.get("additionalProperties")).unwrap_or(&Value::Null);
                        Some((key.clone(), notation(v, property, defs))).filter(|(_, v)| !v.is_null())
                    })
                    .collect(),
            ),
        },
        Value::Array(items) => {
            let item = schema.get("items").unwrap_or(&Value::Null);
            items.iter().map(|v| notation(v, item, defs)).collect()
        }
        other => other.clone(),
    }
}

fn variant_notation(object: &Map<String, Value>, variants: &[Variant<'_>], defs: Defs<'_>) -> Value {
    let Some((name, content)) = object.iter().next() else { return Value::Null };
    let Some(schema) = variants.iter().find(|v| v.name == name).and_then(|v| v.content) else {
        return Value::Object(object.clone());
    };
    let content = notation(content, schema, defs);
    let mut out = Map::new();
    out.insert("kind".to_owned(), name.as_str().into());
    match content {
        Value::Object(inner) if is_table(defs.resolve(schema)) => out.extend(inner),
        other => {
            out.insert("value".to_owned(), other);
        }
    }
    if out.len() == 1 { name.as_str().into() } else { Value::Object(out) }
}

/// Removes the definitions without references.
fn prune(root: &mut Value) {
    loop {
        let text = root.to_string();
        let Some(defs) = root.get_mut("$defs").and_then(Value::as_object_mut) else { return };
        let before = defs.len();
        defs.retain(|name, _| text.contains(&format!("\"#/$defs/{name}\"")));
        if defs.len() == before {
            break;
        }
    }
    if let Some(object) = root.as_object_mut()
        && object.get("$defs").and_then(Value::as_object).is_some_and(Map::is_empty)
    {
        object.shift_remove("$defs");
    }
}

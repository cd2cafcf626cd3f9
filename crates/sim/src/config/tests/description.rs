//! Agreement of the schema with the deserializer, and of the reference with the schema.

use serde_json::{Value as Json, json};

use super::*;

/// True if `value` satisfies `schema`; only the keywords that the project's schemas use are
/// supported.
fn accepts(root: &Json, schema: &Json, value: &Json) -> bool {
    let Some(object) = schema.as_object() else { return schema == &json!(true) };
    object.iter().all(|(keyword, rule)| match keyword.as_str() {
        "$ref" => accepts(root, root.pointer(&rule.as_str().unwrap()[1..]).unwrap(), value),
        "type" if rule.is_array() => {
            rule.as_array().unwrap().iter().any(|t| accepts(root, &json!({ "type": t }), value))
        }
        "type" => match rule.as_str().unwrap() {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "boolean" => value.is_boolean(),
            other => panic!("type {other}"),
        },
        "const" => value == rule,
        "oneOf" => rule.as_array().unwrap().iter().filter(|s| accepts(root, s, value)).count() == 1,
        "required" => value
            .as_object()
            .is_none_or(|o| rule.as_array().unwrap().iter().all(|k| o.contains_key(k.as_str().unwrap()))),
        "properties" => value
            .as_object()
            .is_none_or(|o| o.iter().all(|(k, v)| rule.get(k).is_none_or(|s| accepts(root, s, v)))),
        "additionalProperties" => value.as_object().is_none_or(|o| {
            let known = |k: &String| object.get("properties").is_some_and(|p| p.get(k).is_some());
            o.iter().filter(|(k, _)| !known(k)).all(|(_, v)| accepts(root, rule, v))
        }),
        "items" => value.as_array().is_none_or(|a| a.iter().all(|v| accepts(root, rule, v))),
        "minItems" => value.as_array().is_none_or(|a| a.len() as u64 >= rule.as_u64().unwrap()),
        "maxItems" => value.as_array().is_none_or(|a| a.len() as u64 <= rule.as_u64().unwrap()),
        "minimum" => value.as_f64().is_none_or(|x| x >= rule.as_f64().unwrap()),
        "maximum" => value.as_f64().is_none_or(|x| x <= rule.as_f64().unwrap()),
        // The pattern of a quantity: a number and one of the units in the schema.
        "pattern" => value.as_str().is_none_or(|text| {
            let units: Vec<&str> =
                object["x-units"].as_array().unwrap().iter().filter_map(Json::as_str).collect();
            assert!(units.iter().all(|u| rule.as_str().unwrap().contains(u)));
            let mut numbers = units.iter().filter_map(|u| text.trim().strip_suffix(u));
            numbers.any(|n| n.trim().replace('_', "").parse::<f64>().is_ok())
        }),
        "$schema" | "$id" | "$defs" | "title" | "description" | "default" | "format" | "examples"
        | "x-units" => true,
        other => panic!("keyword {other}"),
    })
}

fn json_of(node: &Node) -> Json {
    match &node.value {
        Value::String(s) => json!(s),
        Value::Integer(n) => u64::try_from(*n).map_or(json!(*n as i64), |n| json!(n)),
        Value::Float(x) => json!(x),
        Value::Bool(b) => json!(b),
        Value::Array(a) => a.iter().map(json_of).collect(),
        Value::Table(t) => Json::Object(t.iter().map(|(k, n)| (k.to_owned(), json_of(n))).collect()),
    }
}

#[test]
fn the_schema_and_the_deserializer_agree() {
    let schema = schema::<Spec>();
    let base = GOOD.replace("loss = 0.01", "loss = \"1 %\"");
    let cases = [
        "",
        "flow.ftp.app={kind=\"bulk\"}",
        "flow.ftp.app={kind=\"bulk\", x=1}",
        "flow.ftp.app=bulkk",
        "flow.ftp.app=cbr",
        "flow.ftp.app={kind=\"cbr\", rate=\"1 bit/s\"}",
        "flow.voice.app.x=3",
        "link.wired.queue=drop-tail",
        "link.wired.queue=unlimited",
        "link.wired.queue=sized",
        "link.wired.queue={kind=\"sized\", value=\"1 B\"}",
        "link.wired.queue={kind=\"sized\", value=\"1 B\", x=2}",
        "link.wired.queue.packets=0",
        "link.wired.queue.packets=5000000000",
        "link.wired.queue={packets=3}",
        "link.wired.between=[\"a\"]",
        "link.wired.between=[1, 2]",
        "flow.ftp.tcp.iw=65536",
        "flow.ftp.tcp.iw=-1",
        "flow.ftp.tcp.iw=1.5",
        "flow.ftp.tcp.gain=2",
        "flow.ftp.tcp.sack=1",
        "flow.ftp.tcp.cc=cubic",
        "flow.ftp.tcp.cc=bbr",
        "scenario.runs=255",
        "scenario.runs=256",
        "scenario.sede=1",
        "at=[]",
        "at=3",
        "flow=[]",
        "scenario.duration=10",
        "scenario.duration=\"5 kbit/s\"",
        "scenario.duration=\"5 min\"",
        "link.wired.loss=\"0.01\"",
        "link.wired.loss=0.01",
        "flow.new.to=ue",
    ];
    let (mut good, mut bad) = (0, 0);
    for case in cases {
        let mut doc = Document::parse(&base, "a.toml").unwrap();
        if !case.is_empty() {
            doc.apply_set(case).unwrap();
        }
        let read = doc.read::<Spec>();
        assert_eq!(accepts(&schema, &schema, &json_of(doc.root())), read.is_ok(), "{case}: {read:?}");
        *if read.is_ok() { &mut good } else { &mut bad } += 1;
    }
    assert_eq!((good, bad), (12, 24));
}

#[test]
fn the_schema_has_a_name_and_refuses_unknown_keys() {
    let schema = schema::<Spec>();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["$id"], "urn:lasthop:spec");
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["$defs"]["Link"]["title"], "Link");
    assert_eq!(
        schema["$defs"]["Link"]["properties"]["queue"]["default"],
        json!({"kind": "drop-tail", "packets": 1000})
    );
    assert!(schema["$defs"].get("Cbr").is_none(), "it is inlined into its variant");
    assert_eq!(
        schema["$defs"]["App"]["oneOf"][2],
        json!({
            "title": "cbr",
            "type": "object",
            "description": "A constant rate.",
            "properties": {
                "kind": { "const": "cbr", "description": "A constant rate." },
                "rate": { "$ref": "#/$defs/Bitrate", "description": "The rate." },
                "packet": { "$ref": "#/$defs/Bytes", "description": "Size of a packet.", "default": "1 kB" },
            },
            "required": ["kind", "rate"],
            "additionalProperties": false,
        })
    );
}

#[test]
fn the_reference_lists_every_key_with_type_and_default() {
    let lines: Vec<String> = reference::<Spec>()
        .iter()
        .map(|k| {
            let default = k.default.as_ref().map_or(String::new(), |d| format!(" = {d}"));
            let kind = k.kind.as_ref().map_or(String::new(), |kind| format!(" (kind {kind})"));
            let range = k.range.as_ref().map_or(String::new(), |r| format!(" [{r}]"));
            format!("{}{}: {}{default}{range}{kind}", k.path, if k.required { "!" } else { "" }, k.ty)
        })
        .collect();
    let expected = [
        "scenario!: table",
        "scenario.name!: text",
        "scenario.duration: time = \"10 s\" [0 s to 88888 h]",
        "scenario.seed: whole number = 0 [0 to 18446744073709551615]",
        "scenario.runs: whole number [0 to 255]",
        "link: table by name",
        "link.<name>.between!: list of 2: text",
        "link.<name>.rate!: rate [0 bit/s to 100 Tbit/s]",
        "link.<name>.queue: \"unlimited\" | \"drop-tail\" | \"sized\" = { kind = \"drop-tail\", packets = 1000 }",
        "link.<name>.queue.packets: whole number = 1000 [1 to 4294967295] (kind drop-tail)",
        "link.<name>.queue.value!: size [0 B to 9000000 GB] (kind sized)",
        "link.<name>.loss: share = \"0 %\" [0 % to 100 % (or the number 0 to 1, without quotes)]",
        "flow: table by name",
        "flow.<name>.from!: text",
        "flow.<name>.to!: text",
        "flow.<name>.app: \"bulk\" | \"cbr\" = \"bulk\"",
        "flow.<name>.app.rate!: rate [0 bit/s to 100 Tbit/s] (kind cbr)",
        "flow.<name>.app.packet: size = \"1 kB\" [0 B to 9000000 GB] (kind cbr)",
        "flow.<name>.tcp: table",
        "flow.<name>.tcp.cc: \"reno\" | \"cubic\" | \"vegas\" = \"reno\"",
        "flow.<name>.tcp.iw: whole number = 0 [0 to 65535]",
        "flow.<name>.tcp.gain: number = 0.0",
        "flow.<name>.tcp.sack: true or false = false",
        "at: list: table",
        "at.<n>.t!: time [0 s to 88888 h]",
        "at.<n>.set: table by name: text",
    ];
    assert_eq!(lines, expected);
    let queue = &reference::<Spec>()[8];
    assert_eq!(queue.names[1], ("drop-tail".to_owned(), "First in, first out.".to_owned()));
    assert_eq!(queue.description, "Where packets wait.");
}

/// A table with kinds, which have tables of the same name.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Kinds {
    bearer: IndexMap<String, Bearer>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Bearer {
    /// One.
    Umts(Umts),
    /// The other.
    Lte(Lte),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Umts {
    rlc: UmtsRlc,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UmtsRlc {
    window: u8,
    app: App,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Lte {
    rlc: Vec<LteRlc>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LteRlc {
    window: bool,
}

#[test]
fn a_key_far_below_a_kind_says_which_kind_it_belongs_to() {
    let lines: Vec<String> = reference::<Kinds>()
        .iter()
        .map(|k| format!("{} {}: {}", k.path, k.kind.as_deref().unwrap_or("-"), k.ty))
        .collect();
    let expected = [
        "bearer -: table by name: \"umts\" | \"lte\"",
        "bearer.<name>.rlc umts: table",
        "bearer.<name>.rlc.window umts: whole number",
        "bearer.<name>.rlc.app umts: \"bulk\" | \"cbr\"",
        "bearer.<name>.rlc.app.rate cbr: rate",
        "bearer.<name>.rlc.app.packet cbr: size",
        "bearer.<name>.rlc lte: list: table",
        "bearer.<name>.rlc.<n>.window lte: true or false",
    ];
    assert_eq!(lines, expected);
}

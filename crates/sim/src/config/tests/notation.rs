//! Written configurations are read back.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn back<T: Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
    let text = to_toml_string(value).unwrap_or_else(|e| panic!("{e}"));
    let doc = Document::parse(&text, "back").unwrap_or_else(|e| panic!("{e}\n{text}"));
    doc.read().unwrap_or_else(|e| panic!("{e}\n{text}"))
}

#[test]
fn the_effective_configuration_is_complete_and_reads_back_equal() {
    let spec = read(GOOD).unwrap();
    assert_eq!(back(&spec), spec);
    let text = to_toml_string(&spec).unwrap();
    assert!(
        text.starts_with("[scenario]\nname = \"umts\"\nduration = \"100 s\"\nseed = 18446744073709551615\n")
    );
    assert!(text.contains("\n[flow.voice]\nfrom = \"server\"\nto = \"ue\"\n"), "{text}");
    assert!(text.contains("app = { kind = \"cbr\", rate = \"64 kbit/s\", packet = \"1 kB\" }\n"), "{text}");
    assert!(text.contains("app = \"bulk\"\n"), "{text}");
}

/// Every shape of serde.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shapes {
    whole: (i8, u8, i64, u64, i128),
    real: Vec<f64>,
    option: Option<u16>,
    nested: Option<Box<Shapes>>,
    numbers: BTreeMap<u32, Mixed>,
    names: BTreeMap<Cc2, bool>,
    enums: Vec<Mixed>,
    newtype: Newtype,
    text: char,
    empty: BTreeMap<String, u8>,
    tables: Vec<BTreeMap<String, u8>>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Newtype(String);

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Cc2 {
    Reno,
    Cubic,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Mixed {
    Unit,
    Number(i32),
    Pair(u8, String),
    Keys { a: Option<u8>, b: f64 },
    Inner(Box<Mixed>),
    Map(BTreeMap<String, u8>),
    List(Vec<u8>),
    Maybe(Option<u8>),
    Quantity(Duration),
}

fn shapes(nested: Option<Box<Shapes>>) -> Shapes {
    let map = BTreeMap::from([("x.y".to_owned(), 1), ("\u{e9} z".to_owned(), 2)]);
    Shapes {
        whole: (-128, 255, i64::MIN, u64::MAX, i128::from(u64::MAX) + 7),
        real: vec![0.1, 1e300, -0.0, 5e-324, f64::MAX, 3.0],
        option: Some(7),
        nested,
        numbers: BTreeMap::from([
            (3, Mixed::Unit),
            (1, Mixed::Number(-4)),
            (2, Mixed::Keys { a: None, b: 2.0 }),
        ]),
        names: BTreeMap::from([(Cc2::Cubic, true), (Cc2::Reno, false)]),
        enums: vec![
            Mixed::Unit,
            Mixed::Pair(1, "\"\\\n\u{e9}".to_owned()),
            Mixed::Inner(Box::new(Mixed::Keys { a: Some(1), b: 1.5 })),
            Mixed::Inner(Box::new(Mixed::Unit)),
            Mixed::Map(map.clone()),
            Mixed::Map(BTreeMap::new()),
            Mixed::List(vec![1, 2]),
            Mixed::Maybe(None),
            Mixed::Maybe(Some(3)),
            Mixed::Quantity(Duration::from_millis(3)),
        ],
        newtype: Newtype("= [x]".to_owned()),
        text: '\'',
        empty: BTreeMap::new(),
        tables: vec![map, BTreeMap::new()],
    }
}

#[test]
fn every_shape_of_serde_reads_back_equal() {
    let value = shapes(Some(Box::new(shapes(None))));
    assert_eq!(back(&value), value);
}

#[test]
fn values_without_notation_are_refused() {
    assert!(to_toml_string(&3).unwrap_err().to_string().contains("a configuration is a table of keys"));
    let holes = BTreeMap::from([("a", vec![Some(1), None])]);
    assert!(to_toml_string(&holes).unwrap_err().to_string().contains("a list cannot hold nothing"));
    let own_kind = BTreeMap::from([("a", Mixed::Map(BTreeMap::from([("kind".to_owned(), 1)])))]);
    assert!(to_toml_string(&own_kind).unwrap_err().to_string().contains("a key `kind` of its own"));
}

/// Trees of any shape.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<String>().prop_map(Value::String),
        any::<i64>().prop_map(|n| Value::Integer(n.into())),
        any::<f64>().prop_filter("NaN is not equal to itself", |x| !x.is_nan()).prop_map(Value::Float),
        any::<bool>().prop_map(Value::Bool),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        let node = inner.prop_map(Node::from);
        prop_oneof![
            prop::collection::vec(node.clone(), 0..4).prop_map(Value::Array),
            any_table(node).prop_map(Value::Table),
        ]
    })
}

fn any_table(node: impl Strategy<Value = Node>) -> impl Strategy<Value = Table> {
    let key = prop_oneof![Just("kind".to_owned()), "[a-z]{1,3}", any::<String>()];
    prop::collection::vec((key, node), 0..5).prop_map(|entries| {
        let mut table = Table::default();
        entries.into_iter().for_each(|(k, n)| table.insert(k, n));
        table
    })
}

proptest! {
    #[test]
    fn any_tree_is_written_and_parsed_back_equal(table in any_table(any_value().prop_map(Node::from))) {
        let mut doc = Document::empty("tree");
        doc.root = Value::Table(table).into();
        let text = doc.to_toml();
        let parsed = Document::parse(&text, "tree").map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        prop_assert_eq!(&parsed.root, &doc.root, "{}", text);
    }
}

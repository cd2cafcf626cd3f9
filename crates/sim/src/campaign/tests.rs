use std::path::Path;

use super::*;

const SMALL: &str = r#"[campaign]
name = "small"
base = "lte-download"
seeds = { first = 7, count = 3 }
where = "cc != 'reno'"

[axis.zeta]
key = "flow.ftp.tcp.cc"
values = ["reno", "cubic"]

[axis.alpha]
range = { from = "10 ms", to = "40 ms", step = "10 ms" }
key = ["link.a.delay", "link.b.delay"]

[metric]
goodput = 'flow("ftp").goodput_bps'
own = { python = "m.py:stalls", unit = "s" }
"#;

fn read(text: &str, sets: &[&str]) -> Result<CampaignFile, Error> {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    CampaignFile::parse(text, "c.toml", Path::new(""), &sets)
}

fn mistakes(text: &str, sets: &[&str]) -> Vec<(Option<usize>, Option<usize>, String, String)> {
    match read(text, sets) {
        Err(Error::Input(found)) => {
            found.into_iter().map(|d| (d.line, d.column, d.message, d.help.unwrap_or_default())).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_contents_of_the_file_keep_their_order_and_have_defaults() {
    let file = read(SMALL, &[]).unwrap();
    let spec = file.spec();
    assert_eq!(spec.campaign.seeds, Some(Seeds::From(SeedRange { first: 7, count: 3 })));
    assert_eq!(spec.campaign.filters.0, ["cc != 'reno'"]);
    assert_eq!(spec.campaign.limit, MOST_RUNS);
    assert_eq!(spec.axis.keys().collect::<Vec<_>>(), ["zeta", "alpha"]);
    assert_eq!(spec.axis["alpha"].key.0, ["link.a.delay", "link.b.delay"]);
    let MetricSpec::Function(function) = &spec.metric["own"] else { panic!("{:?}", spec.metric) };
    assert_eq!((function.unit.as_str(), function.tables.len()), ("s", 0));
    let again = read(&file.to_toml(), &[]).unwrap();
    assert_eq!(again.spec(), spec);
}

#[test]
fn a_set_changes_the_file_or_each_run() {
    let file = read(SMALL, &["campaign.seeds=[4, 2]", "flow.ftp.tcp.cc=vegas", "set.x=1"]).unwrap();
    assert_eq!(file.spec().campaign.seeds, Some(Seeds::List(vec![4, 2])));
    assert_eq!(file.spec().set["flow.ftp.tcp.cc"], Scalar::Text("vegas".to_owned()));
    assert_eq!(file.spec().set["x"], Scalar::Integer(1));
    let place = KeyPlace { key: vec!["set".to_owned(), "flow.ftp.tcp.cc".to_owned()], ..KeyPlace::default() };
    let found = file.error_at(&place, "no such control", Some("use another"));
    assert_eq!((found.file.as_str(), found.set, found.column), ("--set", Some(2), Some(17)));
}

#[test]
fn mistakes_of_keys_and_types_have_place_and_remedy() {
    let text = SMALL.replace("seeds = {", "seed = {").replace("[axis.zeta]", "[axes.zeta]");
    let found = mistakes(&text, &[]);
    assert_eq!((found[0].0, found[0].1), (Some(4), Some(1)));
    assert_eq!((found[0].2.as_str(), found[0].3.as_str()), ("unknown key `seed`", "did you mean `seeds`?"));
    assert_eq!((found[1].2.as_str(), found[1].3.as_str()), ("unknown key `axes`", "did you mean `axis`?"));
    let found = mistakes(&SMALL.replace("count = 3", "cuont = 3"), &[]);
    assert_eq!((found[0].0, found[0].3.as_str()), (Some(4), "did you mean `count`?"), "{found:?}");
    let found = mistakes(SMALL, &["campaign.seeds=many"]);
    let wanted =
        "expected a number of seeds, a list of them, or `{ first = 1, count = 5 }`; found the text \"many\"";
    assert_eq!((found[0].1, found[0].2.as_str()), (Some(16), wanted));
    let found = mistakes(SMALL, &["metric.own.pythn=x"]);
    assert_eq!(found[0].3, "did you mean `python`?", "{found:?}");
    let found = mistakes("[scenario]\nname = \"x\"\n", &[]);
    assert_eq!(found[0].2, "this is a scenario, not a campaign");
}

#[test]
fn a_mistake_within_a_text_has_its_column() {
    let file = read(SMALL, &[]).unwrap();
    let at = |key: &[&str], within| {
        let key = key.iter().map(|k| (*k).to_owned()).collect();
        file.error_at(&KeyPlace { key, within: Some(within), ..KeyPlace::default() }, "wrong", None)
    };
    let found = at(&["metric", "goodput"], 6..11);
    assert_eq!((found.line, found.column), (Some(16), Some(18)));
    let found = at(&["campaign", "where", "0"], 3..5);
    assert_eq!((found.line, found.column), (Some(5), Some(13)));
    assert_eq!(at(&["metric", "absent"], 0..1).line, Some(15), "the table that it belongs to");
}

#[test]
fn keys_and_schema_describe_every_table() {
    let keys = describe_campaign();
    let paths: Vec<&str> = keys.as_array().unwrap().iter().filter_map(|k| k["path"].as_str()).collect();
    for path in ["campaign.seeds", "campaign.where", "axis.<name>.range.factor", "metric.<name>.unit", "set"]
    {
        assert!(paths.contains(&path), "{path} is not in {paths:?}");
    }
    let tables: Vec<&str> = paths.iter().copied().filter(|p| !p.contains('.')).collect();
    assert_eq!(tables, TABLES);
    let schema = campaign_schema();
    assert_eq!(schema["title"], "Campaign");
    assert_eq!(schema["required"], serde_json::json!(["campaign"]));
}

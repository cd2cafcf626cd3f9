//! Layouts in a scenario: one table of cells becomes many, and UEs select their cells.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::common::{assert_balanced, run_text, whole};
use lasthop_sim::{RunOutput, Scenario};

const MACRO: &str = "[scenario]\nname = 'layout'\nduration = '1 s'\n\
    [radio]\nshadowing = '8 dB'\npath_loss = 'cost231-hata'\n\
    [link.core]\nbetween = ['server', 'macro']\ndelay = '5 ms'\n\
    [cell.macro]\nresource_blocks = 25\nradio = { antenna = 'sector' }\n\
    [layout.macro]\nsites = { kind = 'hex', rings = 1, isd = '500 m' }\nwrap_around = true\n\
    [ue.user]\ncount = 42\ndrop = { kind = 'sector', min_distance = '35 m' }\n\
    [flow.f]\nfrom = 'server'\nto = 'user'\ntransport = 'udp'\nstop = '800 ms'\n\
    app = { kind = 'cbr', rate = '80 kbit/s', size = '500 B' }\n\
    [output]\ninterval = '1 s'\n";

fn names(output: &RunOutput, table: &str, column: &str) -> Vec<String> {
    let (batches, _) = output.table(table).unwrap();
    let column = |b: &arrow::array::RecordBatch| {
        let column = b.column_by_name(column).unwrap().clone();
        (0..b.num_rows())
            .map(move |i| arrow::util::display::array_value_to_string(&column, i).unwrap())
            .collect::<Vec<_>>()
    };
    batches.iter().flat_map(column).collect()
}

/// 7 sites of 3 sectors, two UEs dropped in each sector. All are served, by cells of the layout,
/// and many not by the cell of the sector that they are in: shadowing of 8 dB moves the borders.
#[test]
fn ues_of_a_layout_are_served_by_its_cells() {
    let output = run_text(MACRO);
    assert_balanced(&output);
    assert!(whole(&output, "flows", "rx_packets").iter().all(|n| *n > 0));
    let cells: BTreeSet<String> = names(&output, "radio", "cell").into_iter().collect();
    assert!(cells.len() > 10, "{cells:?}");
    let known: BTreeSet<String> =
        (1..=7).flat_map(|s| (1..=3).map(move |c| format!("macro-{s}-{c}"))).collect();
    assert!(cells.is_subset(&known), "{cells:?}");
}

/// The manifest has the place and direction of each cell that a layout creates. Expected: the
/// second site is 500 m along the x axis, the third at 60 degrees; the sectors' directions are 30,
/// 150 and 270 degrees. A scenario without a layout has its cells' places in its text, and no such
/// entry.
#[test]
fn the_manifest_lists_the_places_of_the_cells_of_a_layout() {
    let output = run_text(MACRO);
    let cells = output.manifest()["places"].as_array().unwrap();
    assert_eq!(cells.len(), 21);
    let height = 500.0 * 3.0_f64.sqrt() / 2.0;
    for (name, x, y, azimuth) in
        [("macro-1-1", 0.0, 0.0, 30.0), ("macro-2-3", 500.0, 0.0, 270.0), ("macro-3-2", 250.0, height, 150.0)]
    {
        let cell = cells.iter().find(|c| c["name"] == name).unwrap();
        assert_eq!(cell["kind"], "cell");
        for (key, expected) in [("x_m", x), ("y_m", y), ("azimuth_deg", azimuth)] {
            let found = cell[key].as_f64().unwrap();
            assert!((found - expected).abs() < 1e-6, "{name} {key}: {found} and {expected}");
        }
    }
    let (table, rest) = MACRO.split_once("[layout.macro]\n").unwrap();
    let (_, ues) = rest.split_once("[ue.user]").unwrap();
    let alone =
        format!("{table}[ue.user]{ues}").replace("kind = 'sector', min_distance", "kind = 'disc', radius");
    assert!(run_text(&alone).manifest().get("places").is_none());
}

/// The manifest has the place of each station that is placed at random: on the ring around its
/// access point. A station with a position of its own has it in the scenario.
#[test]
fn the_manifest_lists_the_places_of_stations_of_a_ring() {
    let output = run_text(
        "[scenario]\nname = 'ring'\nduration = '100 ms'\n\
         [ap.home]\nradio = { position = ['100 m', '50 m', '2 m'] }\n\
         [station.phone]\ncount = 2\nring = { inner = '5 m', outer = '10 m' }\n\
         [station.laptop]\nradio = { position = ['90 m', '50 m', '1.5 m'] }\n\
         [link.a]\nbetween = ['server', 'home']\n[flow.f]\nfrom = 'server'\nto = 'phone'\n",
    );
    let places = output.manifest()["places"].as_array().unwrap();
    assert_eq!(
        places.iter().map(|p| p["name"].as_str().unwrap()).collect::<Vec<_>>(),
        ["phone-1", "phone-2"]
    );
    for place in places {
        let [x, y] = ["x_m", "y_m"].map(|key| place[key].as_f64().unwrap());
        let radius = (x - 100.0).hypot(y - 50.0);
        assert!((5.0..=10.0).contains(&radius), "{place}");
        assert_eq!(place["kind"], "station");
    }
}

/// A UE between two cells is served by the stronger one. Friis, 100 m and 200 m: 6 dB; a second
/// cell with 10 dB more power serves it, one with 3 dB more does not.
#[test]
fn the_strongest_cell_serves() {
    let text = |power: &str| {
        format!(
            "[scenario]\nname = 'two'\nduration = '300 ms'\n\
             [link.a]\nbetween = ['server', 'near']\n[link.b]\nbetween = ['server', 'far']\n\
             [cell.near]\n[cell.near.radio]\nposition = ['0 m', '0 m', '1.5 m']\npower = '30 dBm'\n\
             [cell.far]\n[cell.far.radio]\nposition = ['300 m', '0 m', '1.5 m']\npower = '{power}'\n\
             [ue.phone]\nradio = {{ position = ['100 m', '0 m', '1.5 m'] }}\n\
             [flow.f]\nfrom = 'server'\nto = 'phone'\ntransport = 'udp'\n\
             app = {{ kind = 'cbr', rate = '80 kbit/s', size = '500 B' }}\n"
        )
    };
    for (power, expected) in [("30 dBm", "near"), ("33 dBm", "near"), ("40 dBm", "far")] {
        let output = run_text(&text(power));
        let serving: BTreeSet<String> = names(&output, "radio", "cell").into_iter().collect();
        assert_eq!(serving, BTreeSet::from([expected.to_owned()]), "{power}");
    }
}

/// An added UE and an added group do not change the places of the others.
#[test]
fn more_ues_do_not_move_the_others() {
    let place = |text: &str| {
        let scenario = Scenario::parse(text, "t", Path::new(""), &[]).unwrap();
        let (batches, _) = lasthop_sim::survey::geometry(&scenario, 1, &mut |_| true).unwrap().into_parts();
        let text = |name: &str, i: usize| {
            let column = batches[0].column_by_name(name).unwrap();
            arrow::util::display::array_value_to_string(column, i).unwrap()
        };
        let row = |i| (text("ue", i), [text("x_m", i), text("y_m", i)]);
        (0..batches[0].num_rows()).map(row).collect::<BTreeMap<_, _>>()
    };
    let few = place(MACRO);
    let more = place(&format!(
        "{}\n[ue.a]\ncount = 3\ndrop = {{ kind = 'disc', radius = '250 m' }}\n",
        MACRO.replace("count = 42", "count = 50")
    ));
    assert_eq!(few.len() + 11, more.len());
    assert!(few.iter().all(|(ue, place)| more[ue] == *place));
    let square = |v: &String| v.parse::<f64>().map(|x| x * x).unwrap();
    let radius = |p: &[String; 2]| p.iter().map(square).sum::<f64>().sqrt();
    assert!((1..=3).all(|i| radius(&more[&format!("a-{i}")]) < 250.0));
}

/// Walkers in a disc and drivers in a square: the packets of the run balance, and the same seed
/// gives the same run.
#[test]
fn moving_ues_are_served() {
    let walk = |mobility: &str| {
        MACRO.replace("[ue.user]\n", &format!("[ue.user]\nradio = {{ mobility = {mobility} }}\n"))
    };
    for mobility in [
        "{ kind = 'levy-walk', area = { kind = 'disc', radius = '250 m' } }",
        "{ kind = 'random-waypoint', speed = ['1 m/s', '20 m/s'], pause = ['0 s', '10 s'], \
         area = { kind = 'rectangle', from = ['-400 m', '-400 m'], to = ['400 m', '400 m'] } }",
    ] {
        let (a, b) = (run_text(&walk(mobility)), run_text(&walk(mobility)));
        assert_balanced(&a);
        assert_eq!(a.digest(), b.digest());
        assert!(whole(&a, "flows", "rx_packets").iter().all(|n| *n > 0), "{mobility}");
    }
    let stands = walk(
        "{ kind = 'random-waypoint', speed = ['0 m/s', '2 m/s'], area = { kind = 'disc', radius = '50 m' } }",
    );
    let printed = Scenario::parse(&stands, "t", Path::new(""), &[]).unwrap_err().to_string();
    assert!(printed.contains("mean speed falls to nothing"), "{printed}");
}

#[test]
fn mistakes_about_layouts_are_reported_with_their_remedy() {
    let refused = |text: &str| match Scenario::parse(text, "test.toml", Path::new(""), &[]) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(e) => e.to_string(),
    };
    for (from, to, expected) in [
        ("[layout.macro]", "[layout.marco]", "did you mean `macro`?"),
        ("rings = 1", "rings = 4000000000", "at most 10 rings"),
        ("isd = '500 m'", "isd = '0 m'", "inter-site distance of 1 m"),
        ("'35 m'", "'251 m'", "less than half"),
        ("{ kind = 'hex', rings = 1, isd = '500 m' }", "{ kind = 'list', at = [] }", "1 to 400 places"),
        (
            "{ kind = 'hex', rings = 1, isd = '500 m' }",
            "{ kind = 'hall', columns = 2, isd = '60 m', size = ['120 m', '50 m'] }",
            "only a hexagonal layout can be repeated",
        ),
        ("wrap_around = true", "wrap_around = true\nsectors = 9", "1 to 6 sectors"),
        (
            "[layout.macro]\nsites = { kind = 'hex', rings = 1, isd = '500 m' }\nwrap_around = true",
            "",
            "no layout",
        ),
        ("[ue.user]", "[cell.other]\n[ue.user]\ncell = 'macro'", "repeated for all cells"),
        ("[ue.user]", "[cell.macro-1-1]\n[ue.user]\ncell = 'macro'", "has this name already"),
        ("[ue.user]\n", "[ue.user]\nring = { outer = '100 m' }\n", "both set where"),
        (
            "drop = { kind = 'sector', min_distance = '35 m' }",
            "ring = { outer = '100 m' }",
            "around which cell",
        ),
        ("antenna = 'sector'", "antenna = { kind = 'panel', elements = 0 }", "1 to 64 elements"),
    ] {
        let text = MACRO.replace(from, to);
        assert_ne!(text, MACRO, "{from}");
        let printed = refused(&text);
        assert!(printed.contains(expected), "expected `{expected}` in:\n{printed}");
    }
    let all_round = MACRO.replace("radio = { antenna = 'sector' }", "");
    let scenario = Scenario::parse(&all_round, "t", Path::new(""), &[]).unwrap();
    assert!(scenario.warnings().to_string().contains("omnidirectional antennas"), "{}", scenario.warnings());
}

/// Two cells with separate blocks for the edge: the keys are read; a range beyond the cell is
/// reported at its place, and so is a range without a whole group (3 blocks each in 10 MHz).
#[test]
fn frequency_reuse_is_a_key_of_the_cell() {
    let text = |reuse: &str| {
        format!(
            "[scenario]\nname = 'reuse'\nduration = '200 ms'\n[link.core]\nbetween = ['server', 'a']\n\
             [cell.a]\nresource_blocks = 50\n[cell.a.downlink]\nreuse = {reuse}\n\
             [cell.b]\nenb = 'a'\nresource_blocks = 50\nradio.position = ['500 m', '0 m', '30 m']\n\
             [ue.phone]\ncell = 'a'\nradio.position = ['250 m', '0 m', '1.5 m']\n\
             [flow.f]\nfrom = 'server'\nto = 'phone'\n"
        )
    };
    let parse = |reuse: &str| {
        Scenario::parse(&text(reuse), "test.toml", Path::new(""), &[])
            .map(|s| s.spec().cell["a"].downlink.reuse.is_some())
            .map_err(|e| e.to_string())
    };
    assert_eq!(parse("{ kind = 'soft', edge = { first = 0, count = 18 } }"), Ok(true));
    let strict = "{ kind = 'strict', common = { first = 0, count = 30 }, edge = { first = 30, count = 9 }, threshold = '5 dB' }";
    assert_eq!(parse(strict), Ok(true));
    let printed = parse("{ kind = 'soft', edge = { first = 1, count = 4000000000 } }").unwrap_err();
    assert!(printed.contains("within the carrier"), "{printed}");
    let printed = parse("{ kind = 'soft', edge = { first = 1, count = 3 } }").unwrap_err();
    assert!(printed.contains("a whole resource block group"), "{printed}");
    assert_balanced(&run_text(&text(strict)));
}

/// With a handover each site is a separate eNB with its sectors; a given eNB serves all.
#[test]
fn each_site_is_an_enb() {
    let enbs = |more: &str| -> Vec<String> {
        let text = MACRO.replace("[cell.macro]\n", &format!("[handover]\n[cell.macro]\n{more}"));
        let text = text.replace("['server', 'macro']", "['server', 'gateway']");
        let scenario = Scenario::parse(&text, "test.toml", Path::new(""), &[]).unwrap();
        let all = scenario.spec().cellular(&BTreeMap::new());
        all.config.cells.iter().map(|c| c.enb.clone().unwrap()).collect()
    };
    let own: Vec<String> = (1..=7).flat_map(|site| vec![format!("macro-{site}"); 3]).collect();
    assert_eq!(enbs(""), own);
    assert_eq!(enbs("enb = 'cloud'\n"), vec!["cloud"; 21]);
}

/// A car passes three masts of one layout: it changes from eNB to eNB, and packets that had come to
/// the old one are forwarded over X2.
#[test]
fn packets_are_forwarded_between_the_sites_of_a_layout() {
    let text = |enb: &str| {
        format!(
            "[scenario]\nname = 'row'\nduration = '12 s'\n\
             [link.core]\nbetween = ['server', 'gateway']\ndelay = '10 ms'\n\
             [radio]\npath_loss = {{ kind = 'log-distance', exponent = 3.0 }}\n[handover]\n\
             [cell.mast]\n{enb}resource_blocks = 25\n\
             [layout.mast]\nsectors = 1\nsites = {{ kind = 'list', at = [['0 m', '0 m'], ['500 m', '0 m']] }}\n\
             [ue.car.radio]\nposition = ['100 m', '10 m', '1.5 m']\nmobility = {{ kind = 'linear', speed = '120 km/h' }}\n\
             [flow.down]\nfrom = 'server'\nto = 'car'\n[output]\npackets = true\ninterval = '1 s'\n"
        )
    };
    let forwarded = |enb: &str| {
        let output = run_text(&text(enb));
        assert_balanced(&output);
        let kinds = names(&output, "events", "kind");
        assert!(kinds.iter().any(|k| k == "handover-complete"), "{kinds:?}");
        names(&output, "packets", "event").iter().filter(|e| *e == "forwarded").count()
    };
    assert!(forwarded("") > 0);
    assert_eq!(forwarded("enb = 'one'\n"), 0, "the cells of one eNB have one PDCP");
}

/// Sectors use successive blocks: 50 blocks, 16 for the edge of each of three sectors (or, with
/// hard reuse, for each of them).
#[test]
fn blocks_by_sector_follow_each_other() {
    let text = |keys: &str, by_sector: &str| {
        MACRO
            .replace("resource_blocks = 25\n", &format!("resource_blocks = 50\n{keys}"))
            .replace("wrap_around = true\n", &format!("wrap_around = true\n{by_sector}"))
    };
    let parse = |keys: &str, by_sector: &str| {
        Scenario::parse(&text(keys, by_sector), "test.toml", Path::new(""), &[]).map_err(|e| e.to_string())
    };
    let soft = "downlink = { reuse = { kind = 'soft', edge = { first = 0, count = 15 } } }\n";
    let hard = "downlink = { blocks = { first = 2, count = 16 } }\n";
    let first = |keys: &str, by_sector: &str| -> Vec<u32> {
        let all = parse(keys, by_sector).unwrap().spec().cellular(&BTreeMap::new());
        let own = |c: &lasthop_lte::network::CellConfig| {
            let downlink = c.downlink.clone();
            downlink.blocks.unwrap_or_else(|| *downlink.reuse.unwrap().edge()).first
        };
        all.config.cells.iter().take(4).map(own).collect()
    };
    assert_eq!(first(soft, "blocks_by_sector = true\n"), [0, 15, 30, 0]);
    assert_eq!(first(soft, ""), [0; 4]);
    assert_eq!(first(hard, "blocks_by_sector = true\n"), [2, 18, 34, 2]);
    let printed = parse(&hard.replace("16", "17"), "blocks_by_sector = true\n").unwrap_err();
    assert!(printed.contains("do not fit into 50"), "{printed}");
    let scenario = parse("", "blocks_by_sector = true\n").unwrap();
    assert!(scenario.warnings().iter().any(|w| w.message.contains("no blocks belong to a cell")));
    assert_balanced(&run_text(
        &text(soft, "blocks_by_sector = true\n").replace("'1 s'", "'300 ms'").replace("'800 ms'", "'200 ms'"),
    ));
}

/// `faded_interferers`: "all" is accepted, runs, reads back as itself, and gives another channel
/// than the strongest three.
#[test]
fn every_interferer_may_fade() {
    let text = |interferers: &str| {
        MACRO
            .replace("[radio]\n", &format!("[radio]\nfading = 'eva'\nfaded_interferers = {interferers}\n"))
            .replace("drop = {", "radio.speed = '3 km/h'\ndrop = {")
            .replace("'1 s'", "'300 ms'")
            .replace("'800 ms'", "'200 ms'")
    };
    let sinr = |interferers: &str| {
        let text = text(interferers);
        let scenario = Scenario::parse(&text, "test.toml", Path::new(""), &[]).unwrap();
        let again = Scenario::parse(&scenario.to_toml(), "test.toml", Path::new(""), &[]).unwrap();
        assert_eq!(again.spec().radio, scenario.spec().radio);
        let output = run_text(&text);
        assert_balanced(&output);
        crate::common::real(&output, "radio", "sinr_db")
    };
    let (all, three, none) = (sinr("'all'"), sinr("3"), sinr("0"));
    assert_eq!(all.len(), three.len());
    assert!(all != three && three != none);
    // A number above that of the interferers means all of them.
    assert!(sinr("20").iter().zip(&all).all(|(a, b)| a == b || (a.is_nan() && b.is_nan())));
}

/// `cell.NAME.down` of a layout switches all of its cells, that of one cell only this cell: at the
/// first time 21 cells stop transmitting, at the second one of them resumes, and its UEs receive
/// again.
#[test]
fn cells_of_a_layout_are_switched_together_or_alone() {
    let at = |changes: &str| run_text(&format!("{MACRO}{changes}"));
    let down = "[[at]]\nt = '300 ms'\nset = { 'cell.macro.down' = true }\n";
    let up = "[[at]]\nt = '500 ms'\nset = { 'cell.macro-1-1.down' = false }\n";
    let received = |o: &RunOutput| whole(o, "flows", "rx_packets").iter().sum::<u64>();
    let (all, none, one) = (at(""), at(down), at(&format!("{down}{up}")));
    let switched =
        |o: &RunOutput, kind: &str| names(o, "events", "kind").iter().filter(|k| *k == kind).count();
    assert_eq!((switched(&none, "cell-down"), switched(&none, "cell-up")), (21, 0));
    assert_eq!((switched(&one, "cell-down"), switched(&one, "cell-up")), (21, 1));
    // 800 ms of packets, 300 ms of them with a cell on.
    assert!(received(&none) < received(&all) / 2, "{} of {}", received(&none), received(&all));
    assert!(received(&one) > received(&none), "{} {}", received(&one), received(&none));
}

/// The object of a change must exist: an unknown cell, link, bearer or sidelink is an error, not a
/// new object.
#[test]
fn changes_of_unknown_objects_are_mistakes() {
    for (key, value, says, help) in [
        ("cell.macor.down", "true", "nothing is called `macor`", "did you mean `macro`?"),
        ("cell.macro-9-1.down", "true", "nothing is called `macro-9-1`", ""),
        ("cell.macro.down", "1", "expected true or false, found 1", ""),
        ("link.cor.delay", "'5 ms'", "nothing is called `cor`", "did you mean `core`?"),
        ("bearer.x.downlink.bler", "0.1", "nothing is called `x`", ""),
        ("sidelink.x.forward", "'direct'", "nothing is called `x`", ""),
    ] {
        let text = format!("{MACRO}[[at]]\nt = '300 ms'\nset = {{ '{key}' = {value} }}\n");
        let errors = Scenario::parse(&text, "x.toml", Path::new(""), &[]).unwrap_err().to_string();
        assert!(errors.contains(says) && errors.contains(help), "{key}: {errors}");
    }
}

//! The linter's warnings about LTE cells: each pitfall warns, and its remedy does not.

use std::path::Path;

use lasthop_sim::Scenario;

/// A cell of 1.4 MHz, whose highest rate is the 4.392 Mbit/s of TS 36.213 table 7.1.7.2.1-1 (6
/// blocks, I_TBS 26: 4392 bit).
const CELL: &str = "[scenario]\nname = 'pitfall'\nduration = '2 s'\n\
    [link.core]\nbetween = ['server', 'enb']\ndelay = '10 ms'\n\
    [cell.enb]\nresource_blocks = 6\n\
    [ue.phone]\ncount = 3\n";
const FLOW: &str = "[flow.f]\nfrom = 'server'\nto = 'phone'\n";

fn warnings(text: &str) -> Vec<String> {
    let scenario = Scenario::parse(text, "test.toml", Path::new(""), &[]).expect("it is valid");
    scenario.warnings().iter().map(|w| w.message.clone()).collect()
}

fn warned(text: &str, of: &str) -> bool {
    warnings(text).iter().any(|w| w.contains(of))
}

#[test]
fn a_usual_download_warns_of_nothing() {
    assert_eq!(warnings(&format!("{CELL}{FLOW}")), Vec::<String>::new());
}

#[test]
fn small_segments_over_a_cell() {
    let of = "segments of 536 B";
    assert!(warned(&format!("{CELL}{FLOW}tcp = {{ mss = '536 B' }}\n"), of));
    assert!(warned(&format!("{CELL}{FLOW}tcp = {{ profile = 'ns3-3.28' }}\n"), of));
    assert!(!warned(&format!("{CELL}{FLOW}tcp = {{ profile = 'ns3-3.28', mss = '1460 B' }}\n"), of));
    let wired = format!("{CELL}[flow.f]\nfrom = 'server'\nto = 'enb'\ntcp = {{ mss = '536 B' }}\n");
    assert!(!warned(&wired, of), "a wired flow may have what it likes");
}

/// System information takes 80 ms, then the messages 76 ms (the test of `lte::rrc` derives them).
#[test]
fn a_flow_before_the_ue_is_attached() {
    let attach = CELL.replace("resource_blocks = 6\n", "resource_blocks = 6\nrrc = { start = 'attach' }\n");
    let of = "no UE is attached before 156 ms";
    assert!(warned(&format!("{attach}{FLOW}"), of));
    assert!(warned(&format!("{attach}{FLOW}start = '155 ms'\n"), of));
    assert!(!warned(&format!("{attach}{FLOW}start = '500 ms'\n"), of));
    assert!(!warned(&format!("{CELL}{FLOW}"), of), "connected at the start");
    let ideal = attach.replace("'attach' }", "'attach', timing = 'ideal' }");
    assert!(!warned(&format!("{ideal}{FLOW}"), of));
}

#[test]
fn more_is_offered_than_the_cell_carries() {
    let of = "carries 4.392 Mbit/s down at best";
    let cbr = |rate: &str| {
        format!("{CELL}{FLOW}transport = 'udp'\napp = {{ kind = 'cbr', rate = '{rate}', size = '1000 B' }}\n")
    };
    assert!(warned(&cbr("1.5 Mbit/s"), of), "three UEs: 4.5 Mbit/s");
    assert!(!warned(&cbr("1.4 Mbit/s"), of), "4.2 Mbit/s");
    // On for half of the time: 1.5 Mbit/s each.
    let on_off = "app = { kind = 'on-off', rate = '3 Mbit/s', size = '1000 B', on = '1 s', off = '1 s' }\n";
    assert!(warned(&format!("{CELL}{FLOW}transport = 'udp'\n{on_off}"), of));
    // Three cells of a layout have three times the capacity: 13.176 Mbit/s, and three UEs offer
    // 13.2.
    let layout = |rate: &str| {
        let three = "radio = { antenna = 'sector' }\n[layout.enb]\nsites = { kind = 'hex', rings = 0, isd = '500 m' }\n[ue.phone]\n";
        cbr(rate).replace("[ue.phone]\n", three)
    };
    assert!(!warned(&layout("4.3 Mbit/s"), "at best"));
    assert!(warned(&layout("4.4 Mbit/s"), "its 3 cells carry 13.176 Mbit/s down at best"));
    let two_layers = cbr("1.5 Mbit/s")
        .replace("resource_blocks = 6\n", "resource_blocks = 6\ndownlink = { mimo = { mode = 3 } }\n");
    assert!(!warned(&two_layers, "at best"), "two layers carry twice as much");
    let up = cbr("1.5 Mbit/s").replace("from = 'server'\nto = 'phone'", "from = 'phone'\nto = 'server'");
    assert!(warned(&up, "carries 4.392 Mbit/s up at best"));
}

#[test]
fn a_bulk_transfer_before_an_unlimited_buffer() {
    let endless = CELL.replace("count = 3\n", "count = 3\nrlc = { buffer = { bytes = 'infinity' } }\n");
    let of = "unlimited RLC buffer";
    assert!(warned(&format!("{endless}{FLOW}"), of));
    assert!(!warned(&format!("{CELL}{FLOW}"), of));
    let slow = format!("{endless}{FLOW}app = {{ kind = 'cbr', rate = '10 kbit/s', size = '1000 B' }}\n");
    assert!(!warned(&slow, of));
}

#[test]
fn a_buffer_of_ten_kibibytes() {
    let small = CELL.replace("count = 3\n", "count = 3\nrlc = { buffer = { bytes = '10 KiB' } }\n");
    assert!(warned(&format!("{small}{FLOW}"), "below the bandwidth-delay product"));
}

#[test]
fn a_ring_that_is_none_is_refused() {
    for ring in
        ["{ inner = '50 m', outer = '50 m' }", "{ outer = '0 m' }", "{ inner = '-1 m', outer = '5 m' }"]
    {
        let text = format!("{CELL}{FLOW}").replace("count = 3\n", &format!("count = 3\nring = {ring}\n"));
        let note = Scenario::parse(&text, "test.toml", Path::new(""), &[]).unwrap_err().to_string();
        assert!(note.contains("inner < outer"), "{note}");
    }
}

/// The phones are 100 m from the mast. Hata's formulas are valid from 1 km and warn below 100 m,
/// the others warn below their lower limit.
#[test]
fn distances_outside_the_range_of_the_path_loss_model() {
    let of = "outside the range of the path loss model";
    let at = |model: &str, x: &str| {
        let radio =
            format!("[radio]\npath_loss = {model}\ndownlink = '2 GHz'\nuplink = '1.9 GHz'\n[ue.phone]\n");
        let place = format!("count = 3\nradio.position = ['{x}', '0 m', '1.5 m']\n");
        let cell = CELL.replace("[ue.phone]\n", &radio).replace("count = 3\n", &place);
        warned(&format!("{cell}{FLOW}"), of)
    };
    for (model, near, usual, far) in [
        ("'cost231-hata'", "99 m", "500 m", "21 km"),
        ("{ kind = 'uma', line_of_sight = true }", "9 m", "10 m", "5001 m"),
        ("{ kind = 'inh', line_of_sight = true }", "2.9 m", "100 m", "151 m"),
    ] {
        assert_eq!([near, usual, far].map(|x| at(model, x)), [true, false, true], "{model}");
    }
    assert!(!at("'friis'", "1 m") && !at("'friis'", "100 km"));
    // Log-distance uses the distance in space: 28.5 m down and 20 m aside are 34.8 m.
    let near = "nearer than `reference_distance` (100 m)";
    let log = |x: &str| {
        let radio =
            "[radio]\npath_loss = { kind = 'log-distance', reference_distance = '100 m' }\n[ue.phone]\n";
        let place = format!("count = 3\nradio.position = ['{x}', '0 m', '1.5 m']\n");
        let cell = CELL.replace("[ue.phone]\n", radio).replace("count = 3\n", &place);
        warnings(&format!("{cell}{FLOW}"))
    };
    let logs = log("20 m");
    assert!(logs.iter().any(|w| w.contains(near) && w.contains("3 of these 3 UEs start 35 m")), "{logs:?}");
    assert_eq!(log("100 m"), Vec::<String>::new());
}

/// Urban micro begins at 1.5 m for both ends (TR 38.901 table 7.4.1-1), free space knows all
/// heights.
#[test]
fn antennas_lower_than_the_path_loss_model_knows() {
    let at = |model: &str, cell: &str, ue: &str| {
        let place = |z: &str| format!("radio.position = ['100 m', '0 m', '{z}']\n");
        let radio = format!("{}[radio]\npath_loss = '{model}'\n[ue.phone]\n", place(cell));
        let cell = CELL.replace("[ue.phone]\n", &radio);
        let text = format!("{}{FLOW}", cell.replace("count = 3\n", &format!("count = 3\n{}", place(ue))));
        let all = warnings(&text);
        all.into_iter().filter(|w| w.contains("lower than the path loss model knows")).collect::<Vec<_>>()
    };
    assert_eq!(at("umi", "1.5 m", "1.5 m"), Vec::<String>::new());
    assert_eq!(at("friis", "0 m", "0 m"), Vec::<String>::new());
    let both = at("umi", "0 m", "0.5 m");
    assert!(both.len() == 2 && both[0].contains("0 m high") && both[1].contains("0.5 m high"), "{both:?}");
    assert!(both[1].contains("counts as at 1.5 m"), "{both:?}");
}

/// Frequency reuse without effect: the same blocks for the edges of two cells, or of all cells of a
/// layout.
#[test]
fn edges_with_the_same_blocks() {
    let of = "the same blocks and interfere";
    let two = |first: u32| {
        let reuse = |first: u32| {
            format!("downlink = {{ reuse = {{ kind = 'soft', edge = {{ first = {first}, count = 2 }} }} }}\n")
        };
        let cells = format!(
            "[cell.enb]\nresource_blocks = 6\n{}[cell.b]\nenb = 'enb'\nresource_blocks = 6\n{}",
            reuse(0),
            reuse(first)
        );
        warned(&format!("{}{FLOW}", CELL.replace("[cell.enb]\nresource_blocks = 6\n", &cells)), of)
    };
    assert!(two(0) && !two(2));
    let layout = |more: &str| {
        let cells = format!(
            "[cell.enb]\nresource_blocks = 6\nradio = {{ antenna = 'sector' }}\n\
             downlink = {{ reuse = {{ kind = 'soft', edge = {{ first = 0, count = 2 }} }} }}\n\
             [layout.enb]\nsites = {{ kind = 'hex', rings = 0, isd = '500 m' }}\n{more}"
        );
        format!("{}{FLOW}", CELL.replace("[cell.enb]\nresource_blocks = 6\n", &cells))
    };
    assert!(warned(&layout(""), of));
    let quiet = "does not reflect frequency reuse";
    assert!(warned(&layout("blocks_by_sector = true\n"), quiet));
    let data = layout("blocks_by_sector = true\n")
        .replace("downlink = {", "downlink = { cqi = { interference = 'data' },");
    assert_eq!(warnings(&data), Vec::<String>::new());
    assert!(!warned(&layout("blocks_by_sector = true\n"), of));
}

/// Two cells with a handover between them.
const TWO: &str = "[scenario]\nname = 'pitfall'\nduration = '2 s'\n\
    [link.core]\nbetween = ['server', 'gateway']\ndelay = '10 ms'\n\
    [cell.a]\n[cell.b]\nradio.position = ['500 m', '0 m', '30 m']\n[ue.phone]\n";

#[test]
fn a_lossless_bearer_over_unacknowledged_mode() {
    let of = "only a bearer over RLC AM can be lossless";
    let bearer = |pdcp: &str, rlc: &str| format!("{TWO}{pdcp}{rlc}[handover]\n");
    let (lossless, um) = ("pdcp = { handover = 'lossless' }\n", "rlc = { mode = 'um' }\n");
    assert!(warned(&bearer(lossless, um), of));
    assert!(!warned(&bearer(lossless, "rlc = { mode = 'am' }\n"), of));
    assert!(!warned(&bearer("", um), of), "no such request");
    let dedicated = format!("dedicated.talk = {{ flows = [], {}, {} }}\n", lossless.trim(), um.trim());
    assert!(warned(&bearer("", &dedicated), of));
}

#[test]
fn a_backhaul_without_a_buffer() {
    let of = "all but the first of a burst are dropped";
    assert!(warned(&format!("{TWO}[handover]\nx2 = {{ buffer = '0 B' }}\n"), of));
    assert!(!warned(&format!("{TWO}[handover]\nx2 = {{ buffer = '100 kB' }}\n"), of));
}

/// T304 stops with the random access response (TS 36.331 clause 5.3.5.4): 15 ms of processing, the
/// interruption, a preamble in the next TTI, and the response 3 TTIs later. 31 ms make it 50 ms.
#[test]
fn a_t304_that_ends_before_the_response() {
    let of = "every handover will fail";
    let handover = |ms: u64| format!("{TWO}[handover]\nt304 = '50 ms'\ninterruption = '{ms} ms'\n");
    assert!(warned(&handover(32), of));
    assert!(!warned(&handover(31), of));
}

/// TS 36.133 clause 9.1.4: RSRP is reported from -140 to -44 dBm.
#[test]
fn invalid_values_of_a_handover() {
    let refused = |line: &str| {
        let text = format!("{TWO}[handover]\n{line}\n");
        let errors = Scenario::parse(&text, "test.toml", Path::new(""), &[]).expect_err("it is not valid");
        errors.to_string()
    };
    let users = refused("users = -1");
    assert!(users.contains("`-1` is neither a whole number from 0 on nor \"infinity\""), "{users}");
    let users = refused("users = 'many'");
    assert!(users.contains("`many` is neither a whole number from 0 on nor \"infinity\""), "{users}");
    let buffer = refused("x2 = { buffer = '3 apples' }");
    assert!(buffer.contains("or \"infinity\"") && !buffer.contains("untagged"), "{buffer}");
    for suitable in ["'nan dBm'", "'inf dBm'", "'-141 dBm'", "'-43 dBm'", "-100"] {
        assert!(refused(&format!("suitable = {suitable}")).contains("dBm"), "{suitable}");
    }
    for suitable in ["nan", "inf"] {
        let message = refused(&format!("suitable = {suitable}"));
        assert!(message.contains("expected a finite number"), "{suitable}: {message}");
    }
    assert!(
        Scenario::parse(
            &format!("{TWO}[handover]\nsuitable = '-120 dBm'\nusers = 'infinity'\n"),
            "",
            Path::new(""),
            &[]
        )
        .is_ok()
    );
}

/// A UE at 145.5 dB (free space at 1930 MHz, isotropic antennas) has -6 dB on one resource block at
/// 23 dBm, and a rate by default (`lte`'s `uplink_edge`). Without `power_aware` it has none, nor
/// with P0 -100 dBm and alpha 0.8: it sends with 16 dBm, -12.7 dB.
#[test]
fn settings_of_the_uplink_that_silence_a_ue() {
    let far = |keys: &str| {
        format!(
            "{}{FLOW}",
            CELL.replace("resource_blocks = 6\n", &format!("resource_blocks = 50\nradio.power = '66 dBm'\nradio.position = ['0 m', '0 m', '0 m']\n{keys}"))
                .replace("count = 3\n", "radio.position = ['232.838 km', '0 m', '0 m']\n"),
        )
    };
    let (unaware, open_loop) = ("grants nothing", "no power control command");
    assert!(!warned(&far(""), unaware) && !warned(&far(""), open_loop), "{:?}", warnings(&far("")));
    assert!(warned(&far("uplink.power_aware = false\n"), unaware));
    assert!(warned(&far("uplink.power_control.p0 = '-100 dBm'\n"), open_loop));
    assert!(!warned(&far("uplink.power_control.p0 = '-92 dBm'\n"), open_loop));
    // At 1 km the uplink of both is decoded.
    for keys in ["uplink.power_aware = false\n", "uplink.power_control.p0 = '-100 dBm'\n"] {
        let near = far(keys).replace("232.838 km", "1 km");
        assert!(!warned(&near, unaware) && !warned(&near, open_loop), "{:?}", warnings(&near));
    }
}

/// `timing.uplink_fill` applies to the timers of RLC entities that report at events, and to no
/// others.
#[test]
fn a_fill_time_without_event_reports() {
    let cell = |timing: &str, ue: &str| {
        let cell = CELL.replace("resource_blocks = 6\n", &format!("resource_blocks = 6\n{timing}"));
        format!("{cell}{ue}{FLOW}")
    };
    let (fill, reports) = ("timing.uplink_fill = '214 us'\n", "rlc.shortcuts.event_reports = true\n");
    assert!(warned(&cell(fill, ""), "shortcuts.event_reports"));
    assert!(!warned(&cell(fill, reports), "shortcuts.event_reports"));
    assert!(!warned(&cell("", ""), "shortcuts.event_reports"));
}

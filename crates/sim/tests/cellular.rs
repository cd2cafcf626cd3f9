//! Cells and UEs in a scenario: the bearer of each UE, and the error message of each mistake.

use std::path::Path;

use crate::common::{assert_balanced, real, run_text, whole};
use lasthop_sim::Scenario;

const CELL: &str = "[scenario]\nname = 'cell'\nduration = '2 s'\n\
    [link.core]\nbetween = ['server', 'enb']\ndelay = '10 ms'\n\
    [cell.enb]\n\
    [ue.phone]\ncount = 3\nrlc = { mode = 'um' }\n\
    dedicated.voice = { flows = ['call'], rlc = { mode = 'um' } }\n";

fn refused(text: &str) -> String {
    match Scenario::parse(text, "test.toml", Path::new(""), &[]) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(e) => e.to_string(),
    }
}

/// A flow to a group goes to each of its UEs, over the bearer that its template selects.
#[test]
fn a_flow_to_a_group_reaches_every_ue_over_its_bearer() {
    let output = run_text(&format!(
        "{CELL}[flow.call]\nfrom = 'server'\nto = 'phone'\ntransport = 'udp'\nstop = '1 s'\n\
         app = {{ kind = 'cbr', rate = '80 kbit/s', size = '200 B' }}\n\
         [flow.file]\nfrom = 'server'\nto = 'phone-2'\ntransport = 'udp'\nstop = '1 s'\n\
         app = {{ kind = 'cbr', rate = '160 kbit/s', size = '1000 B' }}\n"
    ));
    assert_balanced(&output);
    // 80 kbit/s of 200 B: 50 datagrams in a second to each of three UEs, 20 of the file's.
    assert_eq!(whole(&output, "flows", "rx_packets"), [50, 50, 50, 20]);
    // 10 ms of wire, then the next TTI (the UEs may be served one after the other) and 4 TTIs until
    // it is decoded.
    for delay in real(&output, "flows", "delay_min_s") {
        assert!((0.015..=0.017).contains(&delay), "{delay}");
    }
    let (batches, _) = output.table("rlc").unwrap();
    let names = batches[0].column_by_name("bearer").unwrap();
    let names = arrow::util::display::array_value_to_string(names, 2).unwrap();
    assert_eq!(names, "phone-1.voice");
}

#[test]
fn mistakes_about_cells_and_ues_are_reported_with_their_remedy() {
    for (text, expected) in [
        (CELL.replace("[cell.enb]\n", ""), "a UE needs a cell"),
        (CELL.replace("[cell.enb]\n", "[cell.enb]\n[cell.other]\n"), "may be served by `enb` or `other`"),
        (CELL.replace("count = 3", "count = 3\ncell = 'emb'"), "did you mean `enb`?"),
        (CELL.replace("count = 3", "count = 0"), "no UE at all"),
        (CELL.replace("[ue.phone]", "[ue.server]\n").replace("count = 3", ""), "already"),
        (CELL.to_owned(), "no flow is called `call`"),
        (format!("{CELL}[flow.call]\nfrom = 'server'\nto = 'phones'\n"), "did you mean `phone`?"),
        (format!("{CELL}[flow.call]\nfrom = 'phone-1'\nto = 'phone'\n"), "two different nodes"),
        (CELL.replace("[cell.enb]\n", "[cell.enb]\nresource_blocks = 99\n"), "6, 15, 25, 50, 75 or 100"),
    ] {
        let printed = refused(&text);
        assert!(printed.contains(expected), "expected `{expected}` in:\n{printed}");
    }
}

/// GTP-U over UDP over IPv4 adds 8 + 8 + 20 B to each packet on S1-U (TS 29.281 clause 5.1): 1000 B
/// datagrams, 1028 B with their own headers, take 1064 B there, 8.512 ms at 1 Mbit/s.
#[test]
fn a_tunnels_header_takes_its_time_on_the_link() {
    let output = run_text(
        "[scenario]\nname = 'tunnel'\nduration = '2 s'\n\
         [link.s1u]\nbetween = ['pgw', 'enb']\nrate = '1 Mbit/s'\noverhead = '36 B'\n\
         [flow.f]\nfrom = 'pgw'\nto = 'enb'\ntransport = 'udp'\nstop = '1 s'\n\
         app = { kind = 'cbr', rate = '80 kbit/s', size = '1000 B' }\n",
    );
    assert!((real(&output, "flows", "delay_mean_s")[0] - 0.008_512).abs() < 1e-9);
    assert_eq!(whole(&output, "flows", "rx_bytes"), [10 * 1028]);
}

/// One UE near the cell, 5 MHz, a bulk TCP flow. Down: 25 blocks with I_TBS 26 carry 18 336 bits a
/// TTI. Up: PUCCH takes 2 of the 25, and 20 of the 23 are the largest SC-FDMA allocation: 14 688
/// bits. A segment of 1448 or 1460 B is sent in 1500 B of IP and at least 5 B of PDCP, RLC and MAC
/// headers; no flow exceeds that, and 4 s with a round trip of 40 ms lose less than a tenth to slow
/// start and RLC's acknowledgements. The other direction carries TCP's acknowledgements, which use
/// scheduling requests every 10 ms: without an uplink there would be no download. The UE's power
/// must not be the limit: full compensation to -80 dBm a block, 35 dB above the noise, where
/// default power control leaves 20 dB.
#[test]
fn bulk_tcp_fills_the_cell_in_either_direction() {
    for (from, to, bits) in [("server", "phone", 18_336.0), ("phone", "server", 14_688.0)] {
        let output = run_text(&format!(
            "[scenario]\nname = 'bulk'\nduration = '4 s'\n\
             [link.core]\nbetween = ['server', 'enb']\ndelay = '10 ms'\n\
             [cell.enb]\nresource_blocks = 25\n\
             uplink = {{ power_control = {{ p0 = '-80 dBm', alpha = 1.0 }} }}\n[ue.phone]\n\
             [flow.file]\nfrom = '{from}'\nto = '{to}'\ntransport = 'tcp'\napp = 'bulk'\n\
             tcp = {{ receive_buffer = '512 kB' }}\n"
        ));
        assert_balanced(&output);
        let goodput = real(&output, "flows", "goodput_bps")[0];
        let most = bits * 1e3 * 1460.0 / 1505.0;
        let rtt = real(&output, "flows", "rtt_min_s")[0];
        assert!(goodput < most && goodput > 0.9 * most, "{from} to {to}: {goodput} of {most}, {rtt} s");
    }
}

const PHONE: &str = "[scenario]\nname = 'cell'\nduration = '2 s'\n\
    [link.core]\nbetween = ['server', 'enb']\ndelay = '10 ms'\n\
    [cell.enb]\n[ue.phone]\n";

/// Friis at 2120 MHz over 1 km: 98.97 dB. P0 -82 dBm and 0.8 of that are -2.8 dBm on one block, and
/// 16.9 dBm on 94 of 98 at most. A request for an ACK is sent every few milliseconds; the table has
/// no power for the downlink.
#[test]
fn the_radio_table_has_the_uplink() {
    let text = format!(
        "{PHONE}radio.position = ['1 km', '0 m', '1.5 m']\n[flow.file]\nfrom = 'server'\nto = 'phone'\n\
         app = {{ kind = 'cbr', rate = '100 kbit/s', size = '1000 B' }}\n"
    );
    let output = run_text(&text);
    let (batches, _) = output.table("radio").unwrap();
    let direction = |b: &arrow::array::RecordBatch, i: usize| {
        arrow::util::display::array_value_to_string(b.column_by_name("direction").unwrap(), i).unwrap()
    };
    let rows = batches.iter().flat_map(|b| (0..b.num_rows()).map(move |i| direction(b, i) == "uplink"));
    let [ttis, requests] = ["ttis", "requests"].map(|c| whole(&output, "radio", c));
    let [power, sinr] = ["power_dbm", "sinr_db"].map(|c| real(&output, "radio", c));
    let mut seen = 0;
    for (i, uplink) in rows.enumerate() {
        // A row without a transmission: a request without a grant so far.
        let sent = uplink && ttis[i] > 0;
        assert_eq!((power[i].is_nan(), sinr[i] > 0.0), (!sent, ttis[i] > 0), "row {i}");
        assert!(!sent || (-2.9..=17.1).contains(&power[i]), "{} dBm", power[i]);
        seen += if uplink { requests[i] } else { 0 };
    }
    // 12.5 datagrams a second, each acknowledged by itself: at least one request each.
    assert!(seen >= 20, "{seen} requests");
}

/// A datagram of 160 B every 20 ms, to a UE that misses one assignment in ten: on persistent grants
/// none is missed. Values that RRC cannot signal are refused.
#[test]
fn semi_persistent_scheduling_is_a_key_of_the_ue() {
    let text = |keys: &str| {
        format!(
            "{PHONE}radio.pinned_sinr = '-5 dB'\nrlc = {{ mode = 'um' }}\n{keys}\n\
         [flow.call]\nfrom = 'server'\nto = 'phone'\ntransport = 'udp'\n\
         app = {{ kind = 'cbr', rate = '16 kbit/s', size = '40 B' }}\n"
        )
    };
    let errors = |keys: &str| {
        let output = run_text(&text(keys));
        whole(&output, "radio", "errors").into_iter().sum::<u64>()
    };
    let dynamic = errors("");
    let persistent = errors("persistent = { interval = 20, bytes = 80 }");
    assert!(
        persistent < dynamic,
        "{persistent} of 100 transmissions failed, and {dynamic} with an assignment each"
    );
    let printed = refused(&text("persistent = { interval = 30 }"));
    assert!(printed.contains("persistent.interval") || printed.contains("10, 20, 32, 40"), "{printed}");
}

/// Voice in the uplink, 40 B every 20 ms: each packet needs a scheduling request, or only the first
/// one does. Values that RRC cannot signal are refused, and so is a sidelink on the same UE.
#[test]
fn semi_persistent_grants_of_the_uplink_are_a_key_of_the_ue() {
    let text = |keys: &str| {
        format!(
            "{PHONE}rlc = {{ mode = 'um' }}\n{keys}\n\
             [flow.call]\nfrom = 'phone'\nto = 'server'\ntransport = 'udp'\n\
             app = {{ kind = 'cbr', rate = '16 kbit/s', size = '40 B' }}\n"
        )
    };
    let requests = |keys: &str| whole(&run_text(&text(keys)), "radio", "requests").into_iter().sum::<u64>();
    assert_eq!(requests(""), 100);
    assert_eq!(requests("persistent_uplink = { interval = 20, bytes = 80, release_after = 2 }"), 1);
    let printed = refused(&text("persistent_uplink = { release_after = 5 }"));
    assert!(printed.contains("2, 3, 4 or 8"), "{printed}");
    let pair = "persistent_uplink = {}\n[ue.other]\n[sidelink.pair]\nbetween = ['phone', 'other']\n";
    let printed = refused(&text(pair));
    assert!(printed.contains("share no cell yet"), "{printed}");
}

/// The defaults of TCP over a cell: acknowledged mode, a buffer of one bandwidth-delay product (2
/// MiB are 223 ms at the 75.376 Mbit/s of 100 blocks), segments of 1460 B. CoDel is enabled by one
/// word.
#[test]
fn a_cell_is_set_up_for_tcp() {
    let text = format!("{PHONE}[flow.file]\nfrom = 'server'\nto = 'phone'\n");
    let scenario = Scenario::parse(&text, "test.toml", Path::new(""), &[]).unwrap();
    assert!(scenario.warnings().iter().next().is_none());
    let rlc = &scenario.spec().ue["phone"].rlc;
    assert_eq!(rlc.mode, lasthop_lte_l2::rlc::Mode::Am);
    let bytes = rlc.buffer.bytes.value().unwrap().0 as f64;
    assert!((bytes * 8.0 / 75.376e6 - 0.223).abs() < 0.001 && rlc.buffer.aqm.is_none());
    // 20 + 20 B of headers fill 1500 B.
    let output = run_text(&text);
    let [bytes, packets] = ["rx_bytes", "rx_packets"].map(|c| whole(&output, "flows", c)[0] as f64);
    assert!(bytes / packets > 1499.0 && bytes / packets <= 1500.0, "{bytes} B in {packets} packets");
    let codel = text.replace("[ue.phone]\n", "[ue.phone]\nrlc.buffer.aqm = 'codel'\n");
    let drops = |text: &str| {
        let output = run_text(text);
        (real(&output, "flows", "delay_mean_s")[0], assert_balanced(&output)).0
    };
    assert!(drops(&codel) < drops(&text), "CoDel keeps the queue short");
}

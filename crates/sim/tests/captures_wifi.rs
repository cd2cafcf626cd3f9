//! Frames of 802.11 in captures: the contents of their management frames, and which of them are
//! retransmissions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::captures::{capture, count, installed, tshark};
use crate::common::{folder, scenario, whole};

/// Returns a network with the keys `ap`, one station and one transfer.
fn network(ap: &str, duration: &str, more: &str) -> String {
    format!(
        r#"
scenario = {{ name = "t", duration = "{duration}" }}
link.wire = {{ between = ["server", "home"], rate = "1 Gbit/s", delay = "1 ms" }}
[ap.home]
{ap}
[station.phone]
{more}
[flow.f]
from = "server"
to = "phone"
start = "0.2 s"
app = {{ kind = "file", size = "500 kB" }}
[output.capture]
interfaces = ["home.air"]
"#
    )
}

/// Returns all values of a field in the first frame that passes `filter`.
fn first(filter: &str, field: &str, file: &Path) -> String {
    let arguments = ["-Y", filter, "-T", "fields", "-E", "occurrence=a", "-e", field];
    tshark(&arguments, file).lines().next().unwrap_or_else(|| panic!("{filter}: no frame")).to_owned()
}

const BEACON: &str = "wlan.fc.type_subtype == 8";
const ASSOCIATION: &str = "wlan.fc.type_subtype == 1";
const REQUEST: &str = "wlan.fc.type_subtype == 0";

/// The expected contents of a network's frames: filter, field, value.
type Says<'a> = &'a [(&'a str, &'a str, &'a str)];

/// Each value as clause 9.4.2 has it. Rates are in 500 kbit/s, with 0x80 those of the basic set.
#[test]
#[allow(clippy::too_many_lines)] // a table of what frames say
fn management_frames_say_what_is_configured() {
    if !installed("management_frames_say_what_is_configured") {
        return;
    }
    let folder = folder("captures-wifi-elements");
    let ofdm = "0x8c,0x12,0x98,0x24,0xb0,0x48,0x60,0x6c";
    let cases: [(&str, Says<'_>, &str); 4] = [
        (
            "standard = '802.11b'\nchannel = 6\nrate = { kind = 'fixed', mcs = 3 }",
            &[
                (BEACON, "wlan.supported_rates", "0x82,0x84,0x0b,0x16"),
                (BEACON, "wlan.ds.current_channel", "6"),
                (BEACON, "wlan.fixed.beacon", "100"),
                (BEACON, "wlan.tim.dtim_period", "1"),
            ],
            "wlan.ht.capabilities or wlan.vht.capabilities or wlan.tag.number == 12",
        ),
        (
            "standard = '802.11a'\nbeacon = { interval = '51.2 ms', size = '120 B' }\nrate = { kind = 'fixed', mcs = 3 }",
            &[
                (BEACON, "wlan.supported_rates", ofdm),
                (BEACON, "wlan.fixed.beacon", "50"),
                // Without its check sequence, after 22 octets of radiotap.
                (BEACON, "frame.len", "138"),
            ],
            "wlan.ht.capabilities or wlan.vht.capabilities or wlan.tag.number == 12",
        ),
        (
            "standard = '802.11n'\nchannel = 40\nwidth = '40 MHz'\nguard_interval = 'short'\nstreams = 2\n\
             aggregation = { max_ampdu = '32767 B', mpdu_spacing = '4 us', max_mpdu = '7991 B', amsdu = true }\n\
             rate = { kind = 'fixed', mcs = 7 }",
            &[
                (BEACON, "wlan.ht.capabilities.width", "1"),
                (BEACON, "wlan.ht.capabilities.short20", "1"),
                (BEACON, "wlan.ht.capabilities.short40", "1"),
                (BEACON, "wlan.ht.capabilities.amsdu", "1"),
                // 2^(13 + 2) - 1; 4 us are number 5.
                (BEACON, "wlan.ht.ampduparam.maxlength", "0x02"),
                (BEACON, "wlan.ht.ampduparam.mpdudensity", "0x05"),
                // Two streams; the second value is of HT Operation: no MCS is mandatory.
                (BEACON, "wlan.ht.mcsset.rxbitmask.8to15", "0x000000ff,0x00000000"),
                (BEACON, "wlan.ht.mcsset.rxbitmask.16to23", "0x00000000,0x00000000"),
                (BEACON, "wlan.ht.info.primarychannel", "40"),
                // 36 and 40 belong together: the secondary channel is below.
                (BEACON, "wlan.ht.info.secchanoffset", "0x03"),
                (REQUEST, "wlan.ht.capabilities.width", "1"),
                (ASSOCIATION, "wlan.ht.capabilities.short40", "1"),
                ("wlan.fixed.baparams.amsdu", "wlan.fixed.baparams.amsdu", "1"),
            ],
            "wlan.vht.capabilities or wlan.vht.op",
        ),
        (
            "channel = 153\nwidth = '80 MHz'\nguard_interval = 'short'\nstreams = 3\n\
             edca.best_effort = { aifsn = 5, cw_min = 31, cw_max = 511, txop = '2528 us' }\n\
             rate = { kind = 'fixed', mcs = 8 }",
            &[
                (BEACON, "wlan.supported_rates", ofdm),
                (BEACON, "wlan.vht.capabilities.short80", "1"),
                (BEACON, "wlan.vht.capabilities.short160", "0"),
                (BEACON, "wlan.vht.capabilities.supportedchanwidthset", "0x00000000"),
                (BEACON, "wlan.vht.capabilities.maxampdu", "0x00000007"),
                (BEACON, "wlan.vht.mcsset.rxmcsmap.ss3", "0x0002"),
                (BEACON, "wlan.vht.mcsset.rxmcsmap.ss4", "0x0003"),
                (BEACON, "wlan.vht.op.channelwidth", "1"),
                // Channels 149 to 161.
                (BEACON, "wlan.vht.op.channelcenter0", "155"),
                (BEACON, "wlan.ht.info.primarychannel", "153"),
                (BEACON, "wlan.ht.info.secchanoffset", "0x03"),
                (ASSOCIATION, "wlan.vht.op.channelwidth", "1"),
                (REQUEST, "wlan.vht.mcsset.rxmcsmap.ss3", "0x0002"),
                ("wlan.fixed.baparams.amsdu", "wlan.fixed.baparams.amsdu", "0"),
                // Best effort as given (31 = 2^5 - 1, 511 = 2^9 - 1, 2528 us = 79 * 32 us), the
                // others of 802.11-2012 table 8-105.
                (ASSOCIATION, "wlan.wfa.ie.wme.acp.aifsn", "5,7,2,2"),
                (ASSOCIATION, "wlan.wfa.ie.wme.acp.ecw.min", "5,4,3,2"),
                (ASSOCIATION, "wlan.wfa.ie.wme.acp.ecw.max", "9,10,4,3"),
                (ASSOCIATION, "wlan.wfa.ie.wme.acp.txop_limit", "79,0,94,47"),
            ],
            "wlan.ds.current_channel",
        ),
    ];
    let mut wrong = Vec::new();
    for (ap, says, has_not) in cases {
        let file = folder.join("t.pcapng");
        capture(&scenario(&network(ap, "300 ms", "")), &file);
        for (filter, field, value) in says {
            let found = first(filter, field, &file);
            if found != *value {
                wrong.push(format!("{field} is {found}, not {value}\n{ap}"));
            }
        }
        assert_eq!((count(has_not, &file), count("_ws.malformed", &file)), (0, 0), "{ap}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A transfer that ends within the run over a poor link: each failed transmission of an MPDU (the
/// column `failed` of the table `wifi`, both directions) is followed by one more transmission, with
/// the Retry bit. An RTS without an answer is no transmission of the MPDU that it protects.
#[test]
fn the_retry_bit_is_set_in_what_was_on_the_air_before() {
    if !installed("the_retry_bit_is_set_in_what_was_on_the_air_before") {
        return;
    }
    let folder = folder("captures-wifi-retry");
    for (name, keys) in
        [("ampdu", ""), ("single", "aggregation = { ampdu = false }"), ("rts", "rts_threshold = '100 B'")]
    {
        let ap = format!(
            "{keys}\nrate = {{ kind = 'fixed', mcs = 5 }}\nshort_retry = 30\nlong_retry = 30\nlifetime = '100 s'"
        );
        let more = "radio = { position = ['POS m', '0 m', '1.5 m'] }".replace("POS", "70");
        let file: PathBuf = folder.join(format!("{name}.pcapng"));
        let output = capture(&scenario(&network(&ap, "10 s", &more)), &file);
        let sum = |column: &str| whole(&output, "wifi", column).iter().sum::<u64>();
        let data = "wlan.fc.type_subtype == 0x28";
        assert_eq!(count(data, &file) as u64, sum("mpdus"), "{name}");
        let retries = count(&format!("{data} and wlan.fc.retry == 1"), &file) as u64;
        assert_eq!(retries, sum("failed"), "{name}");
        assert!(retries < sum("mpdus") / 2, "{name}: {retries} of {}", sum("mpdus"));
        let [rts, cts] = [0x1b, 0x1c].map(|kind| count(&format!("wlan.fc.type_subtype == {kind}"), &file));
        if name == "rts" {
            // Collisions affect the RTS: the data frame is not transmitted.
            assert!(rts >= cts + 5 && retries == 0, "{name}: {rts} RTS, {cts} CTS, {retries} retries");
        } else {
            assert!(rts == 0 && retries > 50, "{name}: {retries}");
        }
    }
}

/// A station's management frames have numbers of its own, and one that is sent again keeps its
/// number (clauses 9.2.4.4.2 and 10.3.2.11): receivers discard it as a duplicate by that. Six
/// stations at 60 to 70 m lose many of them.
#[test]
fn a_management_frame_that_is_sent_again_keeps_its_number() {
    if !installed("a_management_frame_that_is_sent_again_keeps_its_number") {
        return;
    }
    let file: PathBuf = folder("captures-wifi-numbers").join("run.pcapng");
    let more = "count = 6\nring = { inner = '60 m', outer = '70 m' }";
    capture(&scenario(&network("rate = { kind = 'fixed', mcs = 5 }", "2 s", more)), &file);
    let fields =
        ["wlan.ta", "wlan.ra", "wlan.fc.type_subtype", "wlan.fixed.action_code", "wlan.fc.retry", "wlan.seq"];
    let mut arguments = vec!["-Y", "wlan.fc.type == 0", "-T", "fields"];
    arguments.extend(fields.iter().flat_map(|field| ["-e", *field]));
    let (mut last, mut by_frame) = (BTreeMap::<String, u16>::new(), BTreeMap::new());
    let mut again = 0;
    for line in tshark(&arguments, &file).lines() {
        let values: Vec<&str> = line.split('\t').collect();
        let [from, to, kind, action, retry, number] = values[..] else { panic!("{line}") };
        let number: u16 = number.parse().unwrap();
        let frame = [from, to, kind, action].map(str::to_owned);
        if retry == "1" || retry == "True" {
            again += 1;
            assert_eq!(by_frame.get(&frame), Some(&number), "{line}");
        } else {
            // Each device counts from 0.
            let next = last.get(from).map_or(0, |n| (n + 1) & 0xfff);
            assert_eq!(number, next, "{line}");
            last.insert(from.to_owned(), number);
            by_frame.insert(frame, number);
        }
    }
    assert!(again > 10 && last.len() == 7, "{again} of {} devices", last.len());
}

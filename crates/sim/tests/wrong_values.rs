//! Values that were accepted without effect, or with another effect than written: each is refused
//! or warned of, at its line, and the values beside it are not.

use std::path::Path;

use lasthop_sim::{Error, Scenario};

const HEAD: &str = "[scenario]\nname = 'x'\nduration = '10 s'\n";
const WIRED: &str = "[link.l]\nbetween = ['a', 'b']\nrate = '1 Mbit/s'\n[flow.f]\nfrom = 'a'\nto = 'b'\n";
const CELL: &str = "[link.l]\nbetween = ['a', 'c']\n[cell.c]\n[ue.u]\n[flow.f]\nfrom = 'a'\nto = 'u'\n";
const UMTS: &str = "[bearer.l]\nkind = 'umts'\nbetween = ['a', 'u']\n[flow.f]\nfrom = 'a'\nto = 'u'\n";
const WLAN: &str = "[ap.w]\n[station.s]\n[flow.f]\nfrom = 'w'\nto = 's'\n";

fn parse(body: &str, sets: &[&str]) -> Result<Scenario, Error> {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    Scenario::parse(&format!("{HEAD}{body}"), "t.toml", Path::new(""), &sets)
}

/// Returns the one error about `body`.
fn refused(body: &str, sets: &[&str]) -> lasthop_sim::config::Diagnostic {
    match parse(body, sets) {
        Err(Error::Input(found)) => {
            assert_eq!(found.len(), 1, "{found}");
            found.0[0].clone()
        }
        other => panic!("{sets:?}: {:?}", other.map(|_| "accepted")),
    }
}

fn warnings(body: &str, sets: &[&str]) -> String {
    parse(body, sets).unwrap_or_else(|e| panic!("{e}")).warnings().to_string()
}

#[test]
fn a_number_is_finite_whatever_its_key() {
    for (body, key) in [
        (CELL, "radio.path_loss={kind='log-distance', exponent=X}"),
        (CELL, "ue.u.radio.mobility={kind='linear', speed='1 m/s', heading=X}"),
        (CELL, "cell.c.downlink.window=X"),
        (WLAN, "wlan.path_loss={kind='p1411-rooftop', orientation=X}"),
        (WIRED, "flow.f.tcp.initial_ssthresh=X"),
        (WIRED, "link.l.loss=X"),
        (WIRED, "scenario.seed=X"),
        (WIRED, "at=[{t='1 s', set={'link.l.loss'=X}}]"),
    ] {
        for number in ["nan", "inf", "-inf"] {
            let note = refused(body, &[&key.replace('X', number)]);
            assert!(note.message.contains("expected a finite number"), "{key}: {}", note.message);
            assert_eq!(note.set, Some(1));
        }
    }
}

/// 5 TTIs until a sidelink's block is decoded and grants 4 TTIs ahead: the blocks of the
/// retransmission 8 TTIs later would be granted already.
#[test]
fn grants_of_a_cell_with_a_sidelink_come_after_the_decoding() {
    let late = "cell.c.timing={decode=5, feedback=5, uplink_decode=4}";
    assert!(parse(CELL, &[late]).is_ok());
    for more in ["[sidelink.p]\nbetween = ['u', 'v']\n", "[multicast.g]\nfrom = 'u'\nto = ['v']\n"] {
        let body = format!("{CELL}[ue.v]\n{more}");
        assert!(parse(&body, &[]).is_ok());
        assert!(refused(&body, &[late]).message.contains("8 TTIs after"));
    }
}

#[test]
fn exponents_headings_and_sites_have_ranges() {
    for (body, set, word) in [
        (CELL, "radio.path_loss={kind='log-distance', exponent=-3.0}", "0 to 20"),
        (CELL, "radio.sidelink_path_loss={kind='log-distance', exponent=-3.0}", "0 to 20"),
        (WLAN, "wlan.path_loss={kind='log-distance', exponent=-3.0}", "0 to 20"),
        (WLAN, "wlan.path_loss={kind='p1411-rooftop', orientation=91.0}", "0 to 90"),
        (CELL, "ue.u.radio.mobility={kind='linear', speed='1 m/s', heading=1e9}", "360"),
        (CELL, "cell.c.radio.site=4294967295", "65535"),
        (UMTS, "bearer.l.downlink.tti='1 ns'", "10 us"),
        (UMTS, "bearer.l.uplink.tti='1000 h'", "10 s"),
    ] {
        assert!(refused(body, &[set]).message.contains(word), "{set}");
    }
    parse(CELL, &["radio.path_loss={kind='log-distance', exponent=0.0}"]).unwrap();
    parse(UMTS, &["bearer.l.downlink.tti='2 ms'"]).unwrap();
}

/// A third end would be ignored, but the user must have meant something by it.
#[test]
fn lists_of_a_fixed_length_take_no_more() {
    for (body, set) in [
        (WIRED, "link.l.between=['a', 'b', 'c']"),
        (UMTS, "bearer.l.between=['a', 'u', 'c']"),
        (CELL, "ue.u.radio.position=['0 m', '0 m', '1 m', '1 m']"),
        (CELL, "ue.u.radio.mobility={kind='back-and-forth', speed='1 m/s', to=['1 m', '1 m', '1 m']}"),
    ] {
        let note = refused(body, &[set]).message;
        assert!(note.contains("expected a list of"), "{note}");
    }
}

#[test]
fn a_place_is_given_once() {
    for (body, path) in [(CELL, "ue.u"), (WLAN, "station.s")] {
        let ring = format!("{path}.ring={{inner='10 m', outer='50 m'}}");
        let place = |x: u32| format!("{path}.radio.position=['{x} m', '0 m', '3 m']");
        assert!(refused(body, &[&ring, &place(7)]).message.contains("`ring` and `radio.position`"));
        // The height alone, and the effective scenario, which writes every default out.
        parse(body, &[&ring, &place(0)]).unwrap();
        let effective = parse(body, &[&ring]).unwrap().to_toml();
        Scenario::parse(&effective, "effective.toml", Path::new(""), &[]).unwrap();
    }
}

#[test]
fn an_at_that_does_nothing_is_refused() {
    assert!(refused(WIRED, &["at=[{t='1 s'}]"]).message.contains("changes nothing"));
    assert!(refused(WIRED, &["at=[{t='1 s', set={}}]"]).message.contains("changes nothing"));
    let both = refused(WIRED, &["at=[{t='1 s', start='flow.f', stop='flow.f'}]"]);
    assert!(both.message.contains("starts and stops"));
}

#[test]
fn a_tcp_flow_that_has_stopped_is_not_started_again_without_a_report() {
    let again = "at=[{t='5 s', start='flow.f'}, {t='1 s', stop='flow.f'}]";
    let note = warnings(WIRED, &[again]);
    assert!(note.contains("closed its connection: nothing will be sent"), "{note}");
    assert!(warnings(WIRED, &["flow.f.stop='1 s'", "at=[{t='5 s', start='flow.f'}]"]).contains("closed its"));
    let udp = ["flow.f.transport=udp", "flow.f.app=cbr", again];
    assert_eq!(warnings(WIRED, &udp), "");
    let late = ["flow.f.autostart=false", "at=[{t='1 s', stop='flow.f'}, {t='5 s', start='flow.f'}]"];
    assert_eq!(warnings(WIRED, &late), "");
}

#[test]
fn what_never_carries_anything_is_warned_of() {
    let note = warnings(WIRED, &["link.l.rate='0 bit/s'"]);
    assert!(note.contains("0 bit/s throughout"), "{note}");
    let later = "at=[{t='1 s', set={'link.l.rate'='1 Mbit/s'}}]";
    assert!(!warnings(WIRED, &["link.l.rate='0 bit/s'", later]).contains("throughout"));
    assert!(warnings(UMTS, &["bearer.l.downlink.blocks=0"]).contains("no transport block"));
    assert!(warnings(CELL, &["cell.c.down=true"]).contains("the cell is down throughout"));
    let on = "at=[{t='1 s', set={'cell.c.down'=false}}]";
    assert!(!warnings(CELL, &["cell.c.down=true", on]).contains("throughout"));
}

#[test]
fn names_can_be_read() {
    for name in ["", " ", "x\u{202e}y", "x\u{7}y", "x\ny", "\u{200f}"] {
        let escaped: String = name.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
        let raw = if name.contains(['\n', '\u{7}']) { &escaped } else { name };
        let as_key = format!("{WIRED}[link.\"{raw}\"]\nbetween = ['a', 'c']\n");
        for body in [as_key, WIRED.replace("'b'", &format!("\"{escaped}\""))] {
            match parse(&body, &[]) {
                Err(Error::Input(found)) => {
                    let note = found.to_string();
                    assert!(note.contains("t.toml:"), "{note}");
                    assert!(!note.contains(['\u{202e}', '\u{7}', '\u{200f}']), "{note:?}");
                }
                other => panic!("{name:?}: {:?}", other.map(|_| "accepted")),
            }
        }
    }
    parse(&WIRED.replace("'b'", "'Würzburg'"), &[]).unwrap();
}

#[test]
fn a_share_in_quotes_has_its_unit() {
    let note = refused(WIRED, &["link.l.loss=\"0.01\""]);
    assert!(note.message.contains("`0.01` has no unit"), "{}", note.message);
    for good in ["link.l.loss=0.01", "link.l.loss='1 %'", "link.l.loss=0"] {
        parse(WIRED, &[good]).unwrap();
    }
    assert!(refused(WIRED, &["link.l.rate='10 MB/s'"]).message.contains("write `80 Mbit/s`"));
}

#[test]
fn a_mistake_in_a_queue_is_reported_once_and_at_its_line() {
    let queue = "queue = { kind = 'red', min_packets = 20, max_packets = 10 }\n";
    let at_link = WIRED.replacen("rate = '1 Mbit/s'\n", &format!("rate = '1 Mbit/s'\n{queue}"), 1);
    let note = refused(&at_link, &[]);
    assert_eq!((note.line, note.key.as_deref()), (Some(7), Some("link.l.queue.max_packets")));
    let at_side = at_link.replace(queue, &format!("reverse = {{ {} }}\n", queue.trim()));
    assert_eq!(refused(&at_side, &[]).key.as_deref(), Some("link.l.reverse.queue.max_packets"));
}

#[test]
fn a_wrong_parameter_of_a_control_is_shown_itself() {
    let body = format!("{WIRED}[flow.f.tcp]\ncc = 'cubic'\n[flow.f.tcp.cc_parameters]\nbetta = 1.0\n");
    let note = refused(&body, &[]);
    assert_eq!(note.line, Some(13), "{}", note.message);
}

/// The bandwidth-delay product applies to the direction of the data.
#[test]
fn a_queue_of_acknowledgements_is_not_too_short() {
    let long = ["link.l.delay='1 s'", "link.l.rate='100 Mbit/s'", "link.l.queue.packets=100"];
    let note = warnings(WIRED, &long);
    assert!(note.contains("the forward queue") && !note.contains("the reverse queue"), "{note}");
    let upload = [&long[..], &["flow.f.from=b", "flow.f.to=a"]].concat();
    assert!(warnings(WIRED, &upload).contains("the reverse queue"));
    let back = [&long[..], &["flow.f.app=request-response"]].concat();
    assert!(warnings(WIRED, &back).contains("the reverse queue"));
}

#[test]
fn a_set_below_a_default_uses_its_kind() {
    let toml =
        parse(WLAN, &["ap.w.buffer.target=\"7 ms\""]).map(|s| s.to_toml()).unwrap_or_else(|e| e.to_string());
    assert!(toml.contains("target = \"7 ms\""), "{toml}");
    let toml = parse(WIRED, &["link.l.queue.packets=50"]).unwrap().to_toml();
    assert!(toml.contains("packets = 50"), "{toml}");
    parse(WIRED, &["link.l.queue.kind=infinite"]).unwrap();
    assert!(refused(WIRED, &["link.l.queue.paquets=50"]).message.contains("unknown key"));
}

/// Radios that cannot be built were simulated: beams of 5e-324 degrees, amplifying cables, walls
/// with a gain of 400 dB.
#[test]
fn angles_gains_losses_and_deviations_are_physical() {
    let antenna = |kind: &str, rest: &str| format!("cell.c.radio.antenna={{kind='{kind}', {rest}}}");
    for kind in ["cosine", "sector", "sector-2d", "panel"] {
        for wrong in ["azimuth=1e308", "azimuth=-361", "beamwidth=5e-324", "beamwidth=361", "gain='400 dB'"] {
            refused(CELL, &[&antenna(kind, wrong)]);
        }
    }
    for (kind, wrong) in [
        ("omni", "gain='-400 dB'"),
        ("sector", "tilt=1e308"),
        ("sector", "tilt=-91"),
        ("sector", "vertical_beamwidth=0.5"),
        ("sector-2d", "front_to_back='-1 dB'"),
        ("panel", "tilt=91"),
    ] {
        refused(CELL, &[&antenna(kind, wrong)]);
    }
    for (body, set, word) in [
        (CELL, "radio.shadowing='-3 dB'", "0 dB"),
        (CELL, "radio.sidelink_shadowing='-400 dB'", "0 dB"),
        (CELL, "radio.sidelink_shadowing='-3 dB'", "0 dB"),
        (WLAN, "wlan.shadowing='-3 dB'", "0 dB"),
        (CELL, "radio.minimum_coupling_loss='-1 dB'", "0 dB"),
        (CELL, "radio.path_loss={kind='log-distance', reference_loss='-400 dB'}", "0 dB"),
        (CELL, "radio.path_loss={kind='rma', street_width='-20 m'}", "1 m to 1 km"),
        (CELL, "radio.path_loss={kind='p1411-rooftop', roof='0 m'}", "1 m to 1 km"),
        (CELL, "cell.c.radio.cable_loss='-400 dB'", "0 dB to 200 dB"),
        (CELL, "cell.c.radio.noise_figure='-400 dB'", "0 dB to 50 dB"),
        (CELL, "cell.c.radio.power='-300 dBm'", "-100 dBm to 90 dBm"),
        (CELL, "cell.c.radio.position=['0 m', '0 m', '-5 m']", "a height of 0 m to 100 km"),
        (CELL, "ue.u.radio.gain='400 dB'", "-50 dB to 60 dB"),
        (CELL, "ue.u.radio.penetration_loss='-400 dB'", "0 dB to 200 dB"),
        (CELL, "ue.u.radio.noise_figure='-1 dB'", "0 dB to 50 dB"),
        (CELL, "ue.u.radio.p_a='400 dB'", "-20 dB to 10 dB"),
        (CELL, "ue.u.radio.pinned_sinr='400 dB'", "100 dB"),
        (CELL, "ue.u.radio.position=['0 m', '0 m', '-5 m']", "a height of 0 m to 100 km"),
        (WLAN, "station.s.radio.position=['0 m', '0 m', '-5 m']", "a height of 0 m to 100 km"),
        (CELL, "cell.c.sidelink.reuse={kind='above', min_sir='-400 dB'}", "100 dB"),
        (CELL, "cell.c.downlink.mimo={mode=2, model='gains', diversity_gain='400 dB'}", "60 dB"),
        (CELL, "cell.c.downlink.outer_loop.target='1e-300 %'", "0.001 % to 99.9 %"),
        (CELL, "cell.c.downlink.outer_loop.step='400 dB'", "20 dB"),
        (CELL, "cell.c.uplink.outer_loop.target=0", "0.001 % to 99.9 %"),
        (CELL, "cell.c.downlink.amc={kind='bler-target', target='1e-300 %'}", "0.001 % to 99.9 %"),
        (CELL, "layout.c={sites={kind='hex', rings=1, isd='500 m'}, azimuth=1e308}", "360 degrees"),
    ] {
        let note = refused(body, &[set]);
        let note = format!("{} {}", note.message, note.help.unwrap_or_default());
        assert!(note.contains(word), "{set}: {note}");
    }
    for good in ["radio.sidelink_shadowing='0 dB'", "cell.c.radio.antenna={kind='sector', azimuth=-360}"] {
        parse(CELL, &[good]).unwrap();
    }
}

/// The height of a radio map is a UE's: NaN and heights below the ground gave plausible numbers.
#[test]
fn a_map_has_the_height_of_a_ue() {
    use lasthop_sim::survey::{MapRequest, radio_map};
    let scenario = parse(CELL, &[]).unwrap();
    let map = |area, height| {
        let request = MapRequest { step: 10.0, area: Some(area), height: Some(height), ue: None };
        radio_map(&scenario, &request, &mut |_| true).map(|_| ()).map_err(|e| e.to_string())
    };
    let near = [0.0, 0.0, 50.0, 50.0];
    for height in [f64::NAN, -5.0, f64::INFINITY, 1e300] {
        assert!(map(near, height).unwrap_err().contains("a height of 0 m to 100 km"), "{height}");
    }
    for corner in [f64::NAN, f64::NEG_INFINITY, -1e300] {
        assert!(map([corner, 0.0, 50.0, 50.0], 1.5).unwrap_err().contains("1000 km"), "{corner}");
    }
    map(near, 1.5).unwrap();
}

/// A timer that expires again after a nanosecond leaves no time for the run: a run of 0.3 s was at
/// 60 % after 20 s.
#[test]
fn whatever_comes_again_by_itself_has_a_shortest_period() {
    let pie = |kind: &str| format!("link.l.queue={{kind='{kind}', update='1 ns'}}");
    for set in ["timer_poll", "timer_poll_prohibit", "timer_poll_periodic", "timer_status_prohibit"] {
        let note = refused(UMTS, &[&format!("bearer.l.rlc.am.{set}='1 ns'")]);
        assert!(note.message.contains("0 s (off) or at least 1 ms"), "{}", note.message);
        parse(UMTS, &[&format!("bearer.l.rlc.am.{set}='0 s'")]).unwrap();
    }
    for set in ["timer_status_periodic", "timer_discard", "timer_rst", "timer_mrw"] {
        assert!(refused(UMTS, &[&format!("bearer.l.rlc.am.{set}='1 ns'")]).message.contains("at least 1 ms"));
    }
    for kind in ["pie", "dualpi2"] {
        assert!(refused(WIRED, &[&pie(kind)]).message.contains("at least 100 us"), "{kind}");
    }
    let walk = "ue.u.radio.mobility={kind='random-waypoint', speed=['1 m/s', '2 m/s'], area=AREA}";
    let levy = "ue.u.radio.mobility={kind='levy-walk', area=AREA}";
    for (body, sets, word) in [
        (CELL, vec!["ue.u.rlc.buffer.aqm={kind='pi2', update='1 ns'}"], "at least 100 us"),
        (WIRED, vec!["flow.f.tcp={min_rto='1 ns', max_rto='1 ns'}"], "below 1 ms"),
        (WIRED, vec!["flow.f.tcp.clock_granularity='1 ns'"], "at least 1 us"),
        (WIRED, vec!["node.b={kind='snoop', towards='l', min_timeout='1 ns'}"], "less than 1 ms"),
        (WIRED, vec!["flow.f.app={kind='ftp', model='3', interval='1 ns'}"], "at least 100 us"),
        (WIRED, vec!["flow.f.app={kind='dash', segment='1 ns'}"], "at least 1 ms"),
        (WIRED, vec!["flow.f.transport=udp", "flow.f.app={kind='game', tick='1 ns'}"], "at least 100 us"),
        (WIRED, vec!["flow.f.transport=udp", "flow.f.app={kind='on-off', on='1 ns'}"], "at least 1 us"),
        (CELL, vec![&walk.replace("AREA", "{kind='disc', radius='1e-9 m'}")], "1 m to 1000 km"),
        (
            CELL,
            vec![&walk.replace("AREA", "{kind='rectangle', from=['0 m', '0 m'], to=['1e-9 m', '9 m']}")],
            "at least 1 m",
        ),
        (
            CELL,
            vec![
                &levy
                    .replace("area", "flight=['1 m', '900 km'], area")
                    .replace("AREA", "{kind='disc', radius='1 m'}"),
            ],
            "10 000 times",
        ),
    ] {
        let note = refused(body, &sets);
        assert!(note.message.contains(word), "{sets:?}: {}", note.message);
    }
}

#[test]
fn nan_in_a_change_is_reported_as_nan() {
    let mut simulation = lasthop_sim::Simulation::new(&parse(WIRED, &[]).unwrap(), None).unwrap();
    let note = simulation.set("link.l.rate", lasthop_sim::Scalar::Float(f64::NAN)).unwrap_err().to_string();
    assert!(note.contains("`NaN` is not a rate") && !note.contains("both"), "{note}");
    let two = "at=[{t='1 s', set={'link.l.loss'=0.1}}, {t='1 s', set={'link.l.loss'=0.2}}]";
    assert!(refused(WIRED, &[two]).message.contains("becomes both 0.1 and 0.2 at 1 s"));
}

#[test]
fn remedies_are_those_of_their_key() {
    let help = |set: &str| refused(WIRED, &[set]).help.unwrap_or_default();
    assert!(help("at=[{t='1 s', stop='f'}]").contains("did you mean `flow.f`?"));
    assert!(help("at=[{t='1 s', stop='nobody'}]").contains("`flow.NAME`"));
    assert!(help("at=[{time='1 s', stop='flow.f'}]").contains("did you mean `t`?"));
    for key in ["max_mrw", "max_rst"] {
        let note = refused(UMTS, &[&format!("bearer.l.rlc.am.{key}=0")]).message;
        assert!(!note.contains("on_max_dat"), "{note}");
    }
    assert!(refused(UMTS, &["bearer.l.rlc.am.max_dat=0"]).message.contains("on_max_dat"));
    assert!(refused(WIRED, &["scenario.jitter='0.1 ns'"]).message.contains("would count as nothing"));
}

#[test]
fn a_queue_that_can_never_mark_is_warned_of() {
    for (queue, word) in [
        ("{kind='step', threshold_packets=500, packets=5}", "never reached: 500 packets, and 5 fit"),
        ("{kind='step', packets=20}", "never reached: 20 packets, and 20 fit"),
        ("{kind='red', packets=5, min_packets=50.0, max_packets=50.0}", "never reaches 50 packets"),
        ("{kind='red', harddrop=true, ecn=false}", "this key has no effect here"),
    ] {
        let note = warnings(WIRED, &[&format!("link.l.queue={queue}")]);
        assert_eq!(note.matches(word).count(), 1, "{queue}: {note}");
    }
    assert!(
        refused(WIRED, &["link.l.queue={kind='step', threshold_time='0 s'}"]).message.contains("above 0 s")
    );
    for good in ["{kind='step', packets=21}", "{kind='red', harddrop=true}", "{kind='red', packets=50}"] {
        let note = warnings(WIRED, &[&format!("link.l.queue={good}")]);
        assert!(!note.contains("never") && !note.contains("nothing"), "{good}: {note}");
    }
}

#[test]
fn what_needs_a_simulated_sender_is_warned_of() {
    let external = "node.a={kind='external'}";
    let kernel = "node={a={kind='linux'}, b={kind='linux'}}";
    let when = "when=[{var='cwnd', above=20, set={'link.l.loss'=0.1}}]";
    let fault = "fault.early={link='l.forward', action='drop', flow='f', every=9, rounds=3}";
    let stop = "at=[{t='1 s', stop='flow.f'}]";
    for (node, key, word) in [
        (external, when, "this never happens: flow `f` is left out"),
        (kernel, when, "this never happens: the variables and rounds of flow `f`"),
        (external, fault, "no packet is chosen: flow `f` is left out"),
        (kernel, fault, "the fault does not end so"),
        (external, stop, "this changes nothing: flow `f` is left out"),
        (external, "output.cc='ack'", "the table `cc` stays empty"),
        (kernel, "output.cc='ack'", "the table `cc` stays empty"),
    ] {
        let note = warnings(WIRED, &[node, key]);
        assert_eq!(note.matches(word).count(), 1, "{node}, {key}: {note}");
        let simulated = warnings(WIRED, &[key]);
        assert!(!simulated.contains(word), "{key}: {simulated}");
    }
    assert!(!warnings(WIRED, &[kernel, stop]).contains("changes nothing"));
}

#[test]
fn an_application_that_does_not_read_is_warned_of() {
    let note = warnings(WIRED, &["flow.f.tcp.manual_read=true"]);
    assert!(note.contains("no application reads"), "{note}");
    assert!(!warnings(WIRED, &["flow.f.tcp.manual_read=false"]).contains("no application reads"));
}

#[test]
fn keys_that_a_neighbour_makes_useless_are_warned_of() {
    for (tcp, key) in [
        ("accecn_option='full'", "accecn_option"),
        ("profile='rfc', gso=true", "gso"),
        ("send_tuning=false, send_buffer_max='1 MB'", "send_buffer_max"),
        ("send_buffer='1 MB', send_buffer_start='5 kB'", "send_buffer_start"),
        ("receive_buffer='1 MB', receive_buffer_start='5 kB'", "receive_buffer_start"),
        ("cc='cubic', vegas_alpha=1", "vegas_alpha"),
        ("cc='reno', cubic_beta=0.7", "cubic_beta"),
        ("cc='cubic', hint_gain=1", "hint_gain"),
        ("cc='cubic', hybla_rtt0='25 ms'", "hybla_rtt0"),
        ("abe_beta=0.8", "abe_beta"),
        ("profile='linux-6', ack_every=2", "ack_every"),
        ("burst_read=true, manual_read=true", "burst_read"),
        ("ack_ahead=10, split_acks=4", "split_acks"),
    ] {
        let note = warnings(WIRED, &[&format!("flow.f.tcp={{{tcp}}}")]);
        assert!(note.contains("this key has no effect here") && note.contains(key), "{tcp}: {note}");
    }
    for tcp in [
        "ecn='accurate', accecn_option='full'",
        "profile='linux-6', gso=true, send_buffer_max='1 MB'",
        "cc='cubic', cubic_beta=0.7, abe=true, abe_beta=0.8",
        "cc='radio-aware', hint_base='vegas', vegas_alpha=1, hint_gain=1",
        "cc='hybla', hybla_rtt0='25 ms'",
    ] {
        let note = warnings(WIRED, &[&format!("flow.f.tcp={{{tcp}}}")]);
        assert!(!note.contains("has no effect"), "{tcp}: {note}");
    }
    // A key that a profile of the scenario fills in was not written by the user.
    let note = warnings(WIRED, &["scenario.profile='ns3-3.44'"]);
    assert!(!note.contains("has no effect"), "{note}");
}

#[test]
fn a_link_that_stays_closed_to_the_end_is_warned_of() {
    let at = |t: u32, key: &str, value: &str| format!("{{t='{t} s', set={{'link.l.{key}'={value}}}}}");
    let all = |changes: &[String]| warnings(WIRED, &[&format!("at=[{}]", changes.join(", "))]);
    for closed in [at(2, "rate", "'0 bit/s'"), at(2, "loss", "1.0"), at(2, "forward.loss", "'100 %'")] {
        assert!(all(std::slice::from_ref(&closed)).contains("nothing passes the link from 2 s"), "{closed}");
    }
    assert_eq!(all(&[at(2, "rate", "'0 bit/s'"), at(3, "rate", "'1 Mbit/s'")]), "");
    assert_eq!(all(&[at(3, "loss", "0.5"), at(2, "loss", "1")]), "");
}

/// A receiver that skips what is lost never has the whole answer that these applications wait for,
/// and a proxy has nothing to forward in its place.
#[test]
fn acks_ahead_are_refused_where_octets_may_not_be_missing() {
    for app in ["request-response", "web-page", "ftp", "dash"] {
        let d = refused(WIRED, &[&format!("flow.f.app={app}"), "flow.f.tcp.ack_ahead=1"]);
        assert!(d.message.contains("waits for whole answers"), "{}", d.message);
    }
    for app in ["bulk", "{kind='file', size='1 kB'}", "cbr", "on-off"] {
        assert!(parse(WIRED, &[&format!("flow.f.app={app}"), "flow.f.tcp.ack_ahead=1"]).is_ok(), "{app}");
    }
    let d = refused(WIRED, &["flow.f.tcp.ack_ahead=1", "flow.f.tcp.manual_read=true"]);
    assert!(d.message.contains("manual_read = false"), "{}", d.message);
    let d = refused(WIRED, &["flow.f.tcp.ack_ahead=65536"]);
    assert!(d.message.contains("65536"), "{}", d.message);
    let proxy = ["link.l.between=['a', 'm']", "link.k.between=['m', 'b']", "node.m.kind=proxy"];
    let d = refused(WIRED, &[&proxy[..], &["node.m.connect.ack_ahead=1"]].concat());
    assert!(d.message.contains("nothing to forward"), "{}", d.message);
    assert!(parse(WIRED, &[&proxy[..], &["flow.f.tcp.ack_ahead=1"]].concat()).is_ok());
}

//! A flow that is paused and resumed.

use std::path::Path;

use crate::common::{assert_balanced, real, run_text, whole};
use lasthop_sim::Scenario;

/// 10 Mbit/s and 40 ms, paused from 4 s to 7 s.
fn paused(flow: &str) -> String {
    format!(
        "[scenario]\nname = 'pause'\nduration = '10 s'\n\
         [link.x]\nbetween = ['a', 'b']\nrate = '10 Mbit/s'\ndelay = '20 ms'\n\
         [flow.f]\nfrom = 'a'\nto = 'b'\n{flow}\n\
         [[at]]\nt = '4 s'\npause = 'flow.f'\n[[at]]\nt = '7 s'\nresume = 'flow.f'\n\
         [output]\ninterval = '10 ms'\n"
    )
}

/// Data already written is sent: 64 kB of the send buffer take 51 ms. Then nothing is in flight
/// until 7 s, and the window permits sending at once.
#[test]
fn a_paused_bulk_flow_drains_and_continues_over_the_same_connection() {
    let output = run_text(&paused("app = 'bulk'\ntcp = { profile = 'linux-6', send_buffer = '64 kB' }"));
    assert_balanced(&output);
    let time = real(&output, "tcp", "time_s");
    let (next, flying) = (whole(&output, "tcp", "snd_nxt"), whole(&output, "tcp", "unacked"));
    let at = |t: f64| time.iter().position(|x| *x >= t - 1e-6).unwrap();
    assert!(flying[at(3.9)] > 10);
    for i in at(5.0)..at(7.0) {
        assert_eq!((flying[i], next[i]), (0, next[at(5.0)]), "{} s", time[i]);
    }
    assert!(flying[at(7.1)] > 0 && next[at(9.9)] > next[at(7.0)] + 2_000_000);
}

/// 1 Mbit/s in packets of 1250 octets, one each 10 ms: 400 from 0 s to 3.99 s, 300 from 7 s to
/// 9.99 s, and one at 10 s.
#[test]
fn a_paused_cbr_flow_leaves_out_the_packets_of_the_pause() {
    let output =
        run_text(&paused("transport = 'udp'\napp = { kind = 'cbr', rate = '1 Mbit/s', size = '1250 B' }"));
    assert_eq!(whole(&output, "flows", "tx_packets"), [701]);
}

#[test]
fn an_invalid_pause_is_refused_with_a_remedy() {
    for (change, message) in [
        ("pause = 'flow.g'", "did you mean `flow.f`"),
        ("pause = 'node.x'", "flows can be paused and resumed"),
        ("pause = 'flow.f'\nresume = 'flow.f'", "is paused and resumed at 1 s"),
    ] {
        let text = format!("{}[[at]]\nt = '1 s'\n{change}\n", paused("app = 'bulk'"));
        let error = Scenario::parse(&text, "t.toml", Path::new(""), &[]).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

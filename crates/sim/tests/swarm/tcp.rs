//! Random TCP options: every key of `[flow.<name>.tcp]`.

use super::words::Words;

/// The probability of writing a key.
const P: f64 = 0.12;

pub fn options(w: &mut Words, name: &str, hints: bool) {
    w.table(format!("flow.{name}.tcp"));
    let ns2 = w.chance(0.3);
    w.key("profile", if ns2 { "\"ns2\"" } else { "\"rfc\"" });
    if hints && w.chance(0.5) {
        listener(w, ns2);
    } else {
        w.maybe(0.6, "cc", |w| w.word(&["reno", "vegas"]));
    }
    let recovery = w.pick(&["", "tahoe", "reno", "newreno", "sack"]);
    if !recovery.is_empty() {
        w.key("recovery", format!("\"{recovery}\""));
    }
    // `sack` recovery with `sack = false` is refused in a profile without it.
    if recovery != "sack" {
        w.maybe(0.3, "sack", Words::flag);
    }
    window(w);
    receiver(w);
    timers(w);
    recovery_details(w);
    vegas(w);
}

/// Congestion controls; those with special ECN behaviour twice.
const CONTROLS: &str = "abc bic cdg cubic cubic dctcp dctcp highspeed htcp hybla illinois ledbat lp nv prague \
                        reno scalable vegas veno westwood westwood-plus yeah bbr bbr3";

/// Writes RACK and the related keys of Linux: clock, buffers, ACKs, offload, accurate ECN; each
/// congestion control.
pub fn linux(w: &mut Words, name: &str) {
    w.table(format!("flow.{name}.tcp"));
    let profile = w.pick(&["linux-6", "linux-6", "linux-2.6.26", "rfc"]);
    w.key("profile", format!("\"{profile}\""));
    let rack = profile == "linux-6" || w.chance(0.5);
    if rack && profile != "linux-6" {
        w.key("recovery", "\"rack\"");
    }
    let all: Vec<&str> = CONTROLS.split_whitespace().collect();
    let cc = w.pick(&all);
    // BBR includes its recovery; otherwise it is refused without RACK.
    w.key("cc", format!("\"{cc}\""));
    // Prague sends L4S, which needs ECN-capable packets.
    let words: &[&str] = match cc {
        "prague" => &["on", "accurate", "accurate-in"],
        _ => &["off", "on", "passive", "accurate", "accurate", "accurate-in", "accurate-passive"],
    };
    w.maybe(0.7, "ecn", |w| w.word(words));
    w.maybe(0.4, "accecn_option", |w| w.word(&["off", "minimum", "full"]));
    w.maybe(0.4, "kernel_clock", |w| w.word(&["exact", "hz-1000", "hz-250", "hz-100"]));
    w.maybe(0.4, "ack_rule", |w| w.word(&["octets", "segments", "linux", "linux-6.0"]));
    w.maybe(0.2, "ack_every", |w| w.int(1, 64).to_string());
    w.maybe(0.2, "quick_acks", |w| w.int(0, 1000).to_string());
    w.maybe(0.4, "gso", Words::flag);
    if w.chance(0.2) {
        let buffer = w.bytes(1, 1_000_000);
        w.key("send_buffer", buffer);
    } else {
        w.maybe(0.4, "send_tuning", Words::flag);
        if w.chance(0.3) {
            let most = w.log(4096, 10_000_000);
            w.key("send_buffer_max", format!("\"{most} B\""));
            w.maybe(0.5, "send_buffer_start", |w| w.bytes(4096, most));
        }
    }
    w.maybe(0.2, "receive_buffer", |w| w.bytes(256, 10_000_000));
    w.maybe(0.2, "receive_tuning", Words::flag);
    w.maybe(0.2, "pacing", Words::flag);
    w.maybe(0.2, "mss", |w| w.bytes(64, 9000));
    w.maybe(0.1, "timestamps", Words::flag);
    w.maybe(0.1, "loss_probe", Words::flag);
    w.maybe(0.1, "loss_detection", |w| w.word(&["rack", "fack"]));
    w.maybe(0.1, "window_reduction", |w| w.word(&["prr", "rate-halving"]));
    w.maybe(0.1, "nagle", Words::flag);
    w.maybe(0.1, "min_rto", |w| w.time(1000, 2_000_000));
    w.maybe(0.1, "syn_filler", |w| w.bytes(1, 9000));
}

/// Writes a congestion control that uses hints.
fn listener(w: &mut Words, ns2: bool) {
    let cc = w.word(&["radio-aware", "radio-aware", "guided"]);
    w.key("cc", cc);
    let bases: &[&str] =
        if ns2 { &["reno", "vegas"] } else { &["reno", "cubic", "vegas", "westwood", "cdg"] };
    w.maybe(0.6, "hint_base", |w| w.word(bases));
    w.maybe(0.5, "hint_rtt", |w| w.word(&["min", "srtt", "predicted"]));
    w.maybe(0.3, "hint_queue_term", Words::flag);
    w.maybe(0.3, "hint_queue_threshold", |w| w.bytes(1, 1_000_000));
    w.maybe(0.2, "hint_gain", |w| format!("{:.2}", w.int(1, 1000) as f64 / 100.0));
    w.maybe(0.2, "hint_timeout", |w| w.time(1000, 10_000_000));
    w.maybe(0.2, "pacing", Words::flag);
}

fn window(w: &mut Words) {
    w.maybe(0.4, "mss", |w| w.bytes(64, 9000));
    w.maybe(P, "initial_window", |w| w.log(1, 1000).to_string());
    w.maybe(P, "initial_ssthresh", |w| format!("{:.1}", w.log(20, 10_000) as f64 / 10.0));
    w.maybe(P, "max_window", |w| w.log(1, 4000).to_string());
    w.maybe(P, "whole_segments", Words::flag);
    w.maybe(P, "growth", |w| w.word(&["bytes", "acks"]));
    w.maybe(P, "abc_limit", |w| w.int(1, 64).to_string());
    w.maybe(P, "ssthresh_basis", |w| w.word(&["flight", "window"]));
    w.maybe(P, "window_validation", Words::flag);
    w.maybe(P, "idle_restart", Words::flag);
    w.maybe(P, "max_pacing_rate", |w| w.rate(10_000, 100_000_000));
    w.maybe(P, "nagle", Words::flag);
    w.maybe(P, "send_buffer", |w| w.bytes(1, 1_000_000));
}

fn receiver(w: &mut Words) {
    w.maybe(0.25, "receive_buffer", |w| w.bytes(256, 10_000_000));
    w.maybe(P, "manual_read", Words::flag);
    w.maybe(P, "timestamps", Words::flag);
    w.maybe(P, "window_scaling", Words::flag);
    w.maybe(P, "ack_every", |w| w.int(1, 64).to_string());
    w.maybe(P, "ack_delay", |w| if w.chance(0.1) { "\"0 s\"".to_owned() } else { w.time(100, 500_000) });
}

fn timers(w: &mut Words) {
    w.maybe(P, "rtt_estimator", |w| w.word(&["rfc6298", "ns2-ticks"]));
    w.maybe(P, "rtt_sampling", |w| w.word(&["every-ack", "one-segment"]));
    w.maybe(P, "clock_granularity", |w| w.time(1, 1_000_000));
    w.maybe(P, "initial_rto", |w| w.time(10_000, 10_000_000));
    w.maybe(P, "min_rto", |w| if w.chance(0.1) { "\"0 s\"".to_owned() } else { w.time(1000, 2_000_000) });
    w.maybe(P, "max_rto", |w| w.time(2_000_000, 200_000_000));
    w.maybe(P, "max_backoff", |w| (1u32 << w.int(0, 12)).to_string());
    w.maybe(P, "backoff_floor", |w| w.word(&["before", "after"]));
    w.maybe(P, "max_retries", |w| w.int(0, 20).to_string());
    w.maybe(P, "syn_retries", |w| w.int(0, 10).to_string());
    w.maybe(P, "syn_filler", |w| if w.chance(0.3) { "\"0 B\"".to_owned() } else { w.bytes(1, 9000) });
    w.maybe(P, "time_wait", |w| if w.chance(0.3) { "\"0 s\"".to_owned() } else { w.time(1000, 10_000_000) });
}

fn recovery_details(w: &mut Words) {
    w.maybe(P, "sack_on_timeout", |w| w.word(&["keep", "clear"]));
    w.maybe(P, "dup_threshold", |w| w.log(1, 255).to_string());
    w.maybe(P, "limited_transmit", Words::flag);
    w.maybe(P, "bugfix", Words::flag);
    w.maybe(P, "timer_on_fast_retransmit", Words::flag);
    w.maybe(P, "timer_on_partial_ack", |w| w.word(&["first-only", "every"]));
}

fn vegas(w: &mut Words) {
    if w.chance(0.15) {
        let alpha = w.int(0, 60);
        let beta = alpha + w.int(0, 60);
        w.key("vegas_alpha", format!("{:.1}", alpha as f64 / 10.0));
        w.key("vegas_beta", format!("{:.1}", beta as f64 / 10.0));
        w.maybe(0.5, "vegas_gamma", |w| format!("{:.1}", w.int(0, 60) as f64 / 10.0));
    }
    w.maybe(P, "vegas_rto", |w| w.word(&["coarse", "fine"]));
    w.maybe(P, "vegas_base_start", |w| w.word(&["clock", "sample"]));
    w.maybe(P, "vegas_sample_order", |w| w.word(&["after-decision", "before-decision"]));
}

//! Comparison of expected packets with sent segments.
//!
//! A script that runs over a device with segmentation offload expects one long packet where the
//! endpoint sends segments. So segments are merged until their data is as long as the expected
//! packet's, as in the original tool: the sequence number is that of the first, all other fields
//! are those of the last.

use std::fmt::Write;

use lasthop_tcp::{AccEcn, Flags, Segment};
use lasthop_units::{Ecn, Instant};

use super::world::{Sent, World};
use super::{Window, seconds};
use crate::script::Packet;

/// Segments that are merged.
#[derive(Default)]
pub(super) struct Gathered {
    sent: Vec<Sent>,
    len: u64,
}

impl Gathered {
    pub fn add(&mut self, sent: Sent) {
        self.len += u64::from(sent.segment.len);
        self.sent.push(sent);
    }

    /// True if they have at least as much data as the expected packet.
    pub fn is_enough(&self, expected: &Packet, strict: bool) -> bool {
        strict || self.len >= u64::from(expected.len)
    }

    /// The merged packet.
    fn whole(&self) -> Option<(Instant, usize, Segment)> {
        let (first, last) = (self.sent.first()?, self.sent.last()?);
        let mut whole = last.segment.clone();
        whole.seq = first.segment.seq;
        whole.len = u32::try_from(self.len).unwrap_or(u32::MAX);
        if whole.flags.has(Flags::CWR) != first.segment.flags.has(Flags::CWR) {
            whole.flags.0 ^= Flags::CWR.0;
        }
        Some((last.at, last.connection, whole))
    }

    /// Compares the merged packet with the script.
    pub fn compare(&self, expected: &Packet, world: &mut World, window: Window) -> Result<(), String> {
        let Some((at, connection, segment)) = self.whole() else { return Err("nothing was sent".into()) };
        let tick = world.settings.tool.timestamp_tick;
        let connection = &mut world.connections[connection];
        if expected.flags.has(Flags::SYN) {
            connection.script_isn = expected.seq;
        }
        if let (Some((script, _)), Some(ours)) = (expected.timestamps, segment.timestamps) {
            connection.learn_clock(script, ours.value);
        }
        let actual = connection.spelled(&segment);
        let seen = self.sent.iter().map(|s| (s.at, &s.packet));
        self.continuous(expected)
            .and_then(|()| fields(expected, &actual))
            .and_then(|()| options(expected, &actual, tick, window))
            .and_then(|()| window.check(at, "the packet"))
            .map_err(|e| explain(&e, expected, window, seen))
    }

    /// Checks that there are no gaps between the segments.
    fn continuous(&self, expected: &Packet) -> Result<(), String> {
        if self.len != u64::from(expected.len) {
            return Err(format!("length: expected {} octets, actual {}", expected.len, self.len));
        }
        for pair in self.sent.windows(2) {
            let (a, b) = (&pair[0].segment, &pair[1].segment);
            if a.seq + a.len != b.seq || a.ack != b.ack {
                return Err("the segments do not follow each other".into());
            }
        }
        Ok(())
    }

    /// The message for an expected packet that was not sent.
    pub fn missing(&self, expected: &Packet, window: Window, now: Instant) -> String {
        let what = format!("the packet did not come before {} s", seconds(now));
        explain(&what, expected, window, self.sent.iter().map(|s| (s.at, &s.packet)))
    }
}

fn explain<'a>(
    what: &str,
    expected: &Packet,
    window: Window,
    actual: impl Iterator<Item = (Instant, &'a Packet)>,
) -> String {
    let mut text = format!("{what}\n  expected: {}  {}", seconds(window.from), spell(expected));
    let mut any = false;
    for (at, packet) in actual {
        any = true;
        let _ = write!(text, "\n  actual:   {}  {}", seconds(at), spell(packet));
    }
    if !any {
        text.push_str("\n  actual:   nothing");
    }
    text
}

fn fields(expected: &Packet, actual: &Packet) -> Result<(), String> {
    for (bit, name) in [
        (Flags::FIN, "FIN"),
        (Flags::SYN, "SYN"),
        (Flags::RST, "RST"),
        (Flags::PSH, "PSH"),
        (Flags::ACK, "ACK"),
        (Flags::URG, "URG"),
        (Flags::ECE, "ECE"),
        (Flags::CWR, "CWR"),
    ] {
        let (e, a) = (expected.flags.has(bit), actual.flags.has(bit));
        if e != a {
            return Err(format!("flag {name}: expected {}, actual {}", u8::from(e), u8::from(a)));
        }
    }
    if expected.accurate != actual.accurate {
        let (e, a) = (u8::from(expected.accurate), u8::from(actual.accurate));
        return Err(format!("flag AE: expected {e}, actual {a}"));
    }
    let field = |name: &str, e: u32, a: u32| {
        if e == a { Ok(()) } else { Err(format!("{name}: expected {e}, actual {a}")) }
    };
    field("sequence number", expected.seq, actual.seq)?;
    field("acknowledgement number", expected.ack, actual.ack)?;
    if let (Some(e), Some(a)) = (expected.window, actual.window) {
        field("window", e.into(), a.into())?;
    }
    if let (Some(e), Some(a)) = (expected.ecn, actual.ecn) {
        field("ECN field", e.into(), a.into())?;
    }
    Ok(())
}

fn options(expected: &Packet, actual: &Packet, tick: i64, window: Window) -> Result<(), String> {
    if expected.any_options {
        return Ok(());
    }
    let differs = |name: &str, e: String, a: String| Err(format!("option {name}: expected {e}, actual {a}"));
    if expected.mss != actual.mss {
        return differs("mss", or_none(expected.mss), or_none(actual.mss));
    }
    if expected.window_scale != actual.window_scale {
        return differs("wscale", or_none(expected.window_scale), or_none(actual.window_scale));
    }
    if expected.sack_permitted != actual.sack_permitted {
        return differs("sackOK", expected.sack_permitted.to_string(), actual.sack_permitted.to_string());
    }
    if expected.sack != actual.sack {
        return differs("sack", format!("{:?}", expected.sack), format!("{:?}", actual.sack));
    }
    if expected.accecn != actual.accecn {
        return differs(
            "ECN",
            or_none(expected.accecn.as_ref().map(spell_accecn)),
            or_none(actual.accecn.as_ref().map(spell_accecn)),
        );
    }
    match (expected.timestamps, actual.timestamps) {
        (None, None) => Ok(()),
        (Some((ev, ee)), Some((av, ae))) => {
            let off =
                i64::from(av.wrapping_sub(ev) as i32).unsigned_abs().saturating_mul(tick.unsigned_abs());
            let tolerance = window.tolerance.as_micros().max(window.from.0 / 8000);
            if ee != ae {
                return differs("TS ecr", ee.to_string(), ae.to_string());
            }
            if tick > 0 && off > tolerance {
                return differs("TS val", ev.to_string(), av.to_string());
            }
            Ok(())
        }
        (e, a) => differs("TS", or_none(e.map(|t| t.0)), or_none(a.map(|t| t.0))),
    }
}

fn or_none<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "none".to_owned(), |v| v.to_string())
}

/// A packet in the syntax of scripts.
pub(super) fn spell(p: &Packet) -> String {
    let mut text = String::new();
    if let Some(ecn) = p.ecn.filter(|&e| e > 0) {
        let _ = write!(text, "[{}] ", ["noecn", "ect1", "ect0", "ce"][usize::from(ecn & 3)]);
    }
    let accurate = if p.accurate { "A" } else { "" };
    let _ = write!(text, "{}{accurate} {}:{}({})", p.flags, p.seq, p.seq.wrapping_add(p.len), p.len);
    if p.flags.has(Flags::ACK) {
        let _ = write!(text, " ack {}", p.ack);
    }
    if let Some(w) = p.window {
        let _ = write!(text, " win {w}");
    }
    let mut options = vec![];
    options.extend(p.mss.map(|m| format!("mss {m}")));
    options.extend(p.sack_permitted.then(|| "sackOK".to_owned()));
    options.extend(p.timestamps.map(|(v, e)| format!("TS val {v} ecr {e}")));
    options.extend(p.accecn.as_ref().map(spell_accecn));
    options.extend(p.window_scale.map(|w| format!("wscale {w}")));
    if !p.sack.is_empty() {
        let blocks: Vec<String> = p.sack.iter().map(|(a, b)| format!("{a}:{b}")).collect();
        options.push(format!("sack {}", blocks.join(" ")));
    }
    if p.any_options {
        options.push("...".to_owned());
    }
    if !options.is_empty() {
        let _ = write!(text, " <{}>", options.join(","));
    }
    text
}

fn spell_accecn(option: &AccEcn) -> String {
    let mut text = "ECN".to_owned();
    for (codepoint, counter) in option.iter() {
        let name = match codepoint {
            Ecn::Ect1 => "e1b",
            Ecn::Ce => "ceb",
            Ecn::Ect0 | Ecn::NotEct => "e0b",
        };
        let _ = write!(text, " {name} {counter}");
    }
    text
}

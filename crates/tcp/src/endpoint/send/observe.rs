//! The variables of every sender, in addition to those of its congestion control.

use super::super::connection::Connection;
use super::Sender;
use super::detector::Detector;
use super::dispatch::by_detector;
use crate::cc::{CongestionControl, Observer};
use crate::recovery::{CaState, Detection};

/// The variables of the sender, then those of its control. `state` is the sender's in Linux' terms.
pub fn observe(send: &Sender, c: &Connection, state: CaState, o: &mut Observer<'_>) {
    let (fly, counters) = (&send.fly, &c.meters.counters);
    let by_rack = matches!(fly.recovery.detection(), Detection::Rack);
    let delivered = counters.octets_acked + fly.recovery.board().sacked();
    let in_flight = by_detector!(fly, D => D::in_flight(fly));
    let undone = [counters.undone - counters.undone_timeouts, counters.undone_timeouts];
    o.number("cwnd", "segments", "congestion window, without inflation by duplicate ACKs", fly.cc.cwnd());
    o.number("ssthresh", "segments", "slow start threshold; inf: not set", fly.cc.ssthresh());
    o.maybe(
        "pacing_rate",
        "bit/s",
        "rate paced at; empty: not paced",
        fly.pacing_rate(c).map(|r| r.as_f64()),
    );
    o.state("ca_state", "state of loss recovery", &CaState::NAMES, state.name());
    o.count("inflight", "segments", "in the network, as loss recovery counts", u64::from(in_flight));
    o.count("delivered", "B", "acknowledged or SACKed since the start", delivered);
    let lost = by_rack.then_some(fly.rack.total_lost as f64);
    o.maybe("lost", "segments", "declared lost since the start; empty: loss recovery is not `rack`", lost);
    let limited = by_rack.then(|| f64::from(u8::from(fly.rack.app_limited > fly.delivered)));
    o.maybe(
        "app_limited",
        "",
        "1 until all is delivered that was sent when the application had no more; empty: loss recovery is not `rack`",
        limited,
    );
    o.count("undone_fast", "", "reductions by fast recovery or marks that were undone", undone[0]);
    o.count("undone_rto", "", "reductions by a timeout that were undone", undone[1]);
    o.count(
        "snd_una",
        "B",
        "oldest octet that is not acknowledged, from the start of the stream",
        send.seq.una,
    );
    o.count("snd_nxt", "B", "next octet to send, from the start of the stream", send.seq.nxt);
    fly.cc.observe(o);
}

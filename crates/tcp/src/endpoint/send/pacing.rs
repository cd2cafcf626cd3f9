//! Pacing: departures at a rate.

use lasthop_units::{Bitrate, Bytes, Instant};

use super::super::connection::Connection;
use super::super::timers::Timer;
use super::Sender;
use super::in_flight::InFlight;
use crate::cc::CongestionControl;
use crate::config::Config;

/// Departures at a rate.
#[derive(Clone, Copy, Debug)]
pub struct Pacing {
    /// A rate may be set, by the configuration or by the congestion control.
    pub enabled: bool,
    /// tcp_update_skb_after_send gives the time of the next departure. It does not use SACK.
    by_linux: bool,
    /// tcp_wstamp_ns: the departure time of the last segment, or when the next one may leave.
    paced_to: Instant,
}

impl Pacing {
    pub fn new(config: &Config) -> Pacing {
        let growth = &config.growth;
        let enabled =
            growth.pacing || growth.max_pacing_rate.is_some() || config.control_at_work().needs().paces;
        Pacing { enabled, by_linux: config.sends_as_linux(), paced_to: Instant::ZERO }
    }

    /// `data` octets have left, `on_wire` with their header: the next ones wait by the rate. With
    /// segmentation offload this is a packet with all its segments, of which Linux counts the data
    /// alone.
    #[inline(never)]
    pub fn left(&mut self, c: &mut Connection, fly: &InFlight, now: Instant, data: u32, on_wire: u32) {
        // A segment without octets delays nothing: a time that is now would be waited for again and
        // again.
        if !self.enabled || on_wire == 0 {
            return;
        }
        if self.by_linux {
            self.left_like_linux(c, fly, now, data);
        } else if let Some(rate) = fly.pacing_rate(c) {
            c.timers.set(Timer::Pacing, now.saturating_add(rate.time_for(Bytes(u64::from(on_wire)))));
        }
    }

    /// True if the time of the next departure is still in the future.
    #[inline(always)]
    pub fn holds(&self, c: &Connection, now: Instant) -> bool {
        self.enabled && c.timers.holds(Timer::Pacing, now)
    }

    /// A segment without data leaves: Linux takes its departure time too.
    #[inline]
    pub fn left_without_data(&mut self, now: Instant) {
        self.paced_to = self.paced_to.max(now);
    }

    /// Counts data only, takes no time for the first nine segments, so that the first ten leave at
    /// once, and takes up to half of a packet's time off for a late start.
    fn left_like_linux(&mut self, c: &mut Connection, fly: &InFlight, now: Instant, data: u32) {
        // __tcp_transmit_skb does this for every packet, before the number of segments is read.
        let due = self.paced_to;
        self.paced_to = due.max(now);
        // A bare FIN delays nothing either.
        if data == 0 {
            return;
        }
        let Some(rate) = fly.pacing_rate(c).filter(|_| c.meters.counters.data_segments_sent >= 10) else {
            return;
        };
        let time = rate.time_for(Bytes(u64::from(data)));
        let late = self.paced_to.since(due).min(time / 2);
        self.paced_to = self.paced_to.saturating_add(time - late);
        c.timers.set(Timer::Pacing, self.paced_to);
    }
}

impl Sender {
    /// True if pacing alone prevents a departure, so that its timer is needed.
    #[inline]
    pub fn pace_holds_something(&self, c: &Connection) -> bool {
        self.pacing.enabled
            && c.timers.runs(Timer::Pacing)
            && c.state.may_send()
            && self.seq.nxt.min(self.seq.una) < self.seq.end()
    }
}

impl InFlight {
    /// The rate in force: the smaller of the algorithm's and the configured ceiling.
    pub fn pacing_rate(&self, c: &Connection) -> Option<Bitrate> {
        let own = self.cc.pacing_rate().or_else(|| self.window_rate(c));
        match (own, c.config.growth.max_pacing_rate) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// With `pacing`: the window per smoothed round trip, twice that in the first half of slow
    /// start, else 120 % (Linux: tcp_pacing_ss_ratio, tcp_pacing_ca_ratio).
    fn window_rate(&self, c: &Connection) -> Option<Bitrate> {
        if !c.config.growth.pacing {
            return None;
        }
        let srtt = c.rtt.rto.srtt().filter(|s| !s.is_zero())?;
        let cwnd = self.cc.cwnd();
        let factor = if cwnd < self.cc.ssthresh() / 2.0 { 2.0 } else { 1.2 };
        let window = cwnd.max(self.flight.len() as f64) * f64::from(c.negotiated.mss);
        Some(Bitrate((8.0 * factor * window / srtt.as_secs_f64()).clamp(1.0, 1e14) as u64))
    }
}

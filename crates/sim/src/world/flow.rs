//! A flow: an application, its transport at both ends, and its counters.

use lasthop_net::app::{Action as AppAction, App, AppConfig};
use lasthop_units::{AccessId, FlowId, IndexVec, Instant, NodeId};

use super::control::{ControlWatch, Seen};
use super::limit::LimitTrack;
use crate::event::{End, Wake};
use crate::probe::Probes;
use crate::route::{Port, Routes};
use crate::transport::{Relays, SenderTotals, Shown, Transport};

/// A transport flow with both its ends.
pub struct Flow {
    pub(crate) name: Box<str>,
    /// Name of its table in the scenario.
    pub(crate) group: Box<str>,
    /// Node of end A (opened the flow) and of end B.
    pub(super) nodes: [NodeId; 2],
    /// The port of each end towards the other: routes do not change during a run.
    pub(super) ports: [Option<Port>; 2],
    /// The end that sends the bulk of the data: the flow statistics concern its direction.
    pub(crate) data_end: End,
    pub(crate) app: App,
    pub(super) app_wake: Wake,
    pub(crate) transport: Transport,
    pub(crate) started: Option<Instant>,
    /// Packets in reverse direction of the data: ACKs and requests.
    pub(crate) reverse: Reverse,
    /// Packets of the data's direction that arrived with a congestion mark.
    pub(crate) marked: u64,
    pub(crate) window: WindowStatistics,
    pub(crate) rtt: RttStatistics,
    /// Its position, if it is a part of a flow that proxies split.
    pub(crate) leg: Option<Box<Leg>>,
    /// For a flow to a multicast group: the number of its receiver.
    pub(super) member: u32,
    /// The flows of the other receivers, which this one, the first receiver's, drives.
    pub(super) copies: Box<[FlowId]>,
    /// True if the last ACK gave a round-trip sample.
    pub(super) fresh_sample: bool,
    /// The accesses in which packets of either end wait for their processing time.
    pub(super) processing: Option<[AccessId; 2]>,
    /// Octets after the headers of real packets that have arrived.
    pub(crate) real_octets: u64,
    /// The limits of its sender, with `output.explain`.
    pub(super) limit: Option<Box<LimitTrack>>,
    /// State of the table `cc` for the sender.
    pub(super) control: Option<Box<ControlWatch>>,
}

/// An order of a change for a flow's application.
#[derive(Clone, Copy)]
pub(super) enum AppCommand<'a> {
    /// It stops offering data.
    Stop,
    /// It offers no data for now.
    Pause,
    /// It continues after a pause.
    Resume,
    /// It gets other parameters.
    Change(&'a AppConfig),
}

/// The position of a connection in a flow that is split.
#[derive(Clone, Copy, Debug)]
pub struct Leg {
    /// The connection at the flow's `from`: its application is the flow's.
    pub first: FlowId,
    /// The connection at the flow's `to`.
    pub last: FlowId,
    pub previous: Option<FlowId>,
    pub next: Option<FlowId>,
    /// The relays at this connection's end in the next proxy.
    pub relays: Relays,
    /// True if one side of the next proxy has failed: the other is reset.
    pub broken: bool,
}

/// Packets of the other direction, apart from their bytes as in
/// [`Account`](lasthop_net::Account).
#[derive(Clone, Copy, Debug, Default)]
pub struct Reverse {
    pub tx_packets: u64,
    pub rx_packets: u64,
    pub tx_bytes: u64,
    pub rx_bytes: u64,
}

impl Reverse {
    #[inline]
    pub fn sent(&mut self, size: u32) {
        self.tx_packets += 1;
        self.tx_bytes += u64::from(size);
    }
    #[inline]
    pub fn received(&mut self, size: u32) {
        self.rx_packets += 1;
        self.rx_bytes += u64::from(size);
    }
}

impl Flow {
    pub(super) fn new(name: &str, group: &str, nodes: [NodeId; 2], app: App, transport: Transport) -> Flow {
        Flow {
            name: name.into(),
            group: group.into(),
            nodes,
            ports: [None; 2],
            data_end: app.data_end(),
            app,
            app_wake: Wake::default(),
            transport,
            started: None,
            reverse: Reverse::default(),
            marked: 0,
            window: WindowStatistics::default(),
            rtt: RttStatistics::default(),
            leg: None,
            member: 0,
            copies: Box::default(),
            fresh_sample: false,
            processing: None,
            real_octets: 0,
            limit: None,
            control: None,
        }
    }
    /// Looks up the ports of its ends, once all routes are known.
    pub(super) fn find_ports(&mut self, routes: &Routes) {
        let [a, b] = self.nodes;
        self.ports = [routes.port(a, b), routes.port(b, a)];
    }
    /// Carries out a change of its application; the resulting actions are appended to `actions`.
    /// Returns false if the flow is a copy and has no application.
    pub(super) fn command(
        &mut self,
        now: Instant,
        command: AppCommand<'_>,
        probes: &mut Probes,
        actions: &mut Vec<AppAction>,
    ) -> bool {
        match command {
            AppCommand::Stop => self.note(probes, now, "flow-stop", None, ""),
            AppCommand::Pause => self.note(probes, now, "flow-pause", None, ""),
            AppCommand::Resume => self.note(probes, now, "flow-resume", None, ""),
            AppCommand::Change(_) => {}
        }
        if self.is_copy() {
            return false;
        }
        match command {
            AppCommand::Stop => self.app.stop(now, actions),
            AppCommand::Pause => self.app.pause(),
            AppCommand::Resume => self.app.resume(now, actions),
            AppCommand::Change(app) => self.app.change(app, now, actions),
        }
        true
    }
    /// Its sender, for readings of variables.
    pub(super) fn seen(&self) -> Seen<'_> {
        Seen { name: &self.name, transport: &self.transport, app: &self.app, end: self.data_end }
    }
    /// The connection with the application's end.
    #[inline]
    pub(crate) fn connection(&self, id: FlowId, end: End) -> FlowId {
        self.leg.as_deref().map_or(id, |leg| if end == End::A { leg.first } else { leg.last })
    }
    /// True if another flow of its group drives this one.
    pub(super) fn is_copy(&self) -> bool {
        self.member > 0
    }
    /// The node of an end.
    #[inline]
    pub fn node(&self, end: End) -> NodeId {
        self.nodes[end as usize]
    }
    /// The end that sends the data, if its transport has counters.
    pub fn sender(&self) -> Option<SenderTotals<'_>> {
        self.transport.sender_totals(self.data_end)
    }
    /// Segments that the sender of its data has sent again; `None`: not TCP.
    pub fn sent_again(&self) -> Option<u64> {
        self.transport.sent_again(self.data_end)
    }
}

/// The flows of the table `group`; of those that proxies split, the first connection.
pub(super) fn flows_of(flows: &IndexVec<FlowId, Flow>, group: &str) -> Vec<FlowId> {
    flows
        .enumerate()
        .filter(|(_, f)| &*f.group == group && f.leg.as_deref().is_none_or(|leg| leg.previous.is_none()))
        .map(|(id, _)| id)
        .collect()
}

/// The congestion window over time: mean weighted by time, and maximum, in segments.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowStatistics {
    since: Instant,
    current: f64,
    area: f64,
    observed: f64,
    max: f64,
    /// The last values in the table `tcp`, for sampling on change.
    pub shown: Shown,
}

impl WindowStatistics {
    /// Sets the window to `cwnd` segments from `now` on.
    #[inline]
    pub fn set(&mut self, now: Instant, cwnd: f64) {
        if cwnd != self.current {
            self.settle(now);
            self.current = cwnd;
            self.max = self.max.max(cwnd);
        }
    }
    /// Adds the time up to `now`.
    pub fn settle(&mut self, now: Instant) {
        if self.current > 0.0 {
            let seconds = now.since(self.since).as_secs_f64();
            self.area += self.current * seconds;
            self.observed += seconds;
        }
        self.since = now;
    }
    /// Time-weighted mean; `None` before any time has passed.
    pub fn mean(&self) -> Option<f64> {
        (self.observed > 0.0).then(|| self.area / self.observed)
    }
    /// Maximum; `None` if there was no window.
    pub fn max(&self) -> Option<f64> {
        (self.max > 0.0).then_some(self.max)
    }
}

/// Round-trip samples of the sender's estimator.
#[derive(Clone, Copy, Debug, Default)]
pub struct RttStatistics {
    pub samples: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

impl RttStatistics {
    #[inline]
    pub fn add(&mut self, rtt: lasthop_units::Duration) {
        self.min_ns = if self.samples == 0 { rtt.0 } else { self.min_ns.min(rtt.0) };
        self.max_ns = self.max_ns.max(rtt.0);
        self.sum_ns += u128::from(rtt.0);
        self.samples += 1;
    }
    /// Minimum, mean and maximum in seconds; `None` without samples.
    pub fn min_mean_max_s(&self) -> Option<(f64, f64, f64)> {
        (self.samples > 0).then(|| {
            let s = |ns: f64| ns / 1e9;
            (s(self.min_ns as f64), s(self.sum_ns as f64 / self.samples as f64), s(self.max_ns as f64))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::Duration;

    #[test]
    fn the_window_mean_is_weighted_by_time() {
        let mut w = WindowStatistics::default();
        w.set(Instant::from_secs(1), 2.0);
        w.set(Instant::from_secs(2), 4.0);
        w.settle(Instant::from_secs(5));
        // 2 segments for 1 s and 4 for 3 s: (2 + 12) / 4 = 3.5; the second before the first window
        // does not count.
        assert_eq!((w.mean(), w.max()), (Some(3.5), Some(4.0)));
    }

    #[test]
    fn rtt_samples_are_averaged_exactly() {
        let mut r = RttStatistics::default();
        assert_eq!(r.min_mean_max_s(), None);
        r.add(Duration::from_millis(100));
        r.add(Duration::from_millis(300));
        assert_eq!(r.min_mean_max_s(), Some((0.1, 0.2, 0.3)));
    }
}

//! The results of each flow in each interval: the rows of the table `windows`.

use lasthop_net::FlowMonitor;
use lasthop_units::{Duration, FlowId, IndexVec, Instant};

use super::World;
use super::flow::Flow;
use crate::event::Event;
use crate::probe::{Probes, tables};
use crate::sink::Table;

/// The current interval.
pub(super) struct Windows {
    every: Duration,
    begun: Instant,
    flows: IndexVec<FlowId, Window>,
}

/// The counts of a flow in the interval.
#[derive(Default)]
struct Window {
    /// The counts at the start of the interval.
    before: Counts,
    /// Delays of the packets received in it [ns].
    delays: Vec<u64>,
    waits: Vec<u64>,
}

/// Counts since the start of the run.
#[derive(Clone, Copy, Default)]
struct Counts {
    sent: [u64; 2],
    delivered: [u64; 2],
    lost: u64,
    marked: u64,
}

impl Windows {
    pub fn new(every: Duration, flows: usize) -> Windows {
        let flows = (0..flows).map(|_| Window::default()).collect();
        Windows { every, begun: Instant::ZERO, flows }
    }

    /// Adds a flow, with the next id.
    pub fn add_flow(&mut self) {
        let _next = self.flows.push(Window::default());
    }

    /// Counts a received packet of `flow`.
    pub fn delivered(&mut self, flow: FlowId, delay: Duration, waited: Duration) {
        let window = &mut self.flows[flow];
        window.delays.push(delay.0);
        window.waits.push(waited.0);
    }

    /// Ends the interval and writes its rows, if it began before now. A flow that has not started
    /// has no row. Returns the end of the next interval.
    fn end(
        &mut self,
        now: Instant,
        flows: &IndexVec<FlowId, Flow>,
        monitor: &FlowMonitor,
        probes: &mut Probes,
    ) -> Instant {
        if let Some(table) = probes.windows.as_mut().filter(|_| self.begun < now) {
            self.write(now, flows, monitor, table);
        }
        now + self.every
    }

    fn write(
        &mut self,
        now: Instant,
        flows: &IndexVec<FlowId, Flow>,
        monitor: &FlowMonitor,
        table: &mut Table<tables::Windows<'static>>,
    ) {
        let begun = std::mem::replace(&mut self.begun, now);
        for (id, flow) in flows.enumerate().filter(|(_, flow)| flow.started.is_some()) {
            let Window { before, delays, waits } = &mut self.flows[id];
            let all = Counts::of(monitor, id, flow);
            let [delay, wait] = [delays, waits].map(|values| {
                values.sort_unstable();
                let of = |share: f64| quantile(values, share);
                let found = (of(0.5), of(0.95), of(0.99), of(1.0));
                values.clear();
                found
            });
            table.push(&tables::Windows {
                start_s: begun.as_secs_f64(),
                end_s: now.as_secs_f64(),
                flow: &flow.name,
                sent_packets: all.sent[0] - before.sent[0],
                sent_bytes: all.sent[1] - before.sent[1],
                delivered_packets: all.delivered[0] - before.delivered[0],
                delivered_bytes: all.delivered[1] - before.delivered[1],
                lost_packets: all.lost - before.lost,
                marked_packets: all.marked - before.marked,
                delay_p50_s: delay.0,
                delay_p95_s: delay.1,
                delay_p99_s: delay.2,
                wait_p50_s: wait.0,
                wait_p95_s: wait.1,
                wait_p99_s: wait.2,
                wait_max_s: wait.3,
            });
            *before = all;
        }
    }
}

impl Counts {
    fn of(monitor: &FlowMonitor, id: FlowId, flow: &Flow) -> Counts {
        let stats = monitor.flow(id);
        Counts {
            sent: [stats.tx_packets, stats.tx_bytes],
            delivered: [stats.rx_packets, stats.rx_bytes],
            lost: stats.lost_dropped(),
            marked: flow.marked,
        }
    }
}

/// Returns the smallest value that this share of the values does not exceed [s]; `None` if there
/// are none.
fn quantile(sorted: &[u64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).map(|ns| *ns as f64 / 1e9)
}

impl World {
    /// Ends an interval and begins the next.
    pub(super) fn on_window(&mut self, now: Instant) {
        let World { lives: Some(lives), flows, monitor, probes, queue, end, .. } = self else { return };
        let Some(windows) = &mut lives.windows else { return };
        let next = windows.end(now, flows, monitor, probes);
        if next <= *end {
            queue.schedule(next, Event::Window.class(), Event::Window);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of ten values 1 to 10: five do not exceed 5, nine and a half need the tenth.
    #[test]
    fn quantiles_are_values_of_the_sample() {
        let ten: Vec<u64> = (1..=10).map(|n| n * 1_000_000_000).collect();
        let found = [0.0, 0.5, 0.9, 0.95, 1.0].map(|share| quantile(&ten, share));
        assert_eq!(found, [Some(1.0), Some(5.0), Some(9.0), Some(10.0), Some(10.0)]);
        assert_eq!(quantile(&[], 0.5), None);
    }
}

//! What the world's queue holds, and the lazy wake-up that keeps it small.

use lasthop_engine::{Class, EventQueue};
use lasthop_units::{AccessId, FlowId, Instant, NodeId};

/// Which end of a flow: A opened it, B was opened to.
pub use lasthop_net::app::End;

/// Something that happens in the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// What carries packets is due.
    Access(AccessId, Clock),
    /// A timer of a TCP endpoint.
    Socket(FlowId, End),
    /// An application acts.
    App(FlowId),
    /// A timer of a snoop agent.
    Snoop(u32),
    /// The sources of a hint table report.
    HintReport(u32),
    /// A hint of that table reaches its sender.
    HintArrival(u32),
    /// Reassembly at a node gives up on a packet.
    Reassembly(NodeId),
    /// A flow begins.
    Start(FlowId),
    /// A flow's application stops.
    Stop(FlowId),
    /// Change number `n` of the scenario.
    Change(u32),
    /// The change of that `[[when]]` table, after its delay.
    When(u32),
    /// The sampling probe looks.
    Sample,
    /// An interval of the table `windows` ends.
    Window,
}

/// What an access is called for; several of a kind have numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// A transmission time interval starts.
    Tti(u8),
    /// Something comes out at the far end.
    Arrival(u8),
    /// A protocol timer expires.
    Timer,
}

impl Event {
    /// The event's place among those of the same instant.
    pub const fn class(self) -> Class {
        match self {
            Event::Change(_) | Event::When(_) => Class::Control,
            Event::Access(_, Clock::Tti(_)) => Class::Tti,
            Event::Access(_, Clock::Arrival(_)) => Class::Arrival,
            Event::Access(_, Clock::Timer)
            | Event::Socket(..)
            | Event::Reassembly(_)
            | Event::HintReport(_)
            | Event::HintArrival(_)
            | Event::Snoop(_) => Class::Timer,
            Event::App(_) | Event::Start(_) | Event::Stop(_) => Class::App,
            Event::Sample | Event::Window => Class::Probe,
        }
    }
}

/// The one pending event of an entity. An entity whose next deadline is later than the event that
/// is already waiting gets no new event: the old one fires, finds nothing due, and schedules a new
/// one. Restarting a retransmission timer at every ACK thus costs one comparison.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wake {
    pending: Option<Instant>,
}

impl Wake {
    /// Makes sure that `event` comes at `want` or earlier. Mostly it does already: that part is
    /// built into the caller.
    #[inline(always)]
    pub fn ensure(&mut self, queue: &mut EventQueue<Event>, want: Option<Instant>, event: Event) {
        if let Some(want) = want
            && self.pending.is_none_or(|at| want < at)
        {
            self.schedule(queue, want, event);
        }
    }

    #[inline(never)]
    fn schedule(&mut self, queue: &mut EventQueue<Event>, want: Instant, event: Event) {
        let at = want.max(queue.now());
        queue.schedule(at, event.class(), event);
        self.pending = Some(at);
    }

    /// The event of `now` has come. False: it was overtaken by an earlier one and is void.
    #[inline]
    pub fn take(&mut self, now: Instant) -> bool {
        if self.pending == Some(now) {
            self.pending = None;
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::Id;

    #[test]
    fn a_later_wish_schedules_nothing_and_an_earlier_one_overtakes() {
        let mut q = EventQueue::new();
        let mut w = Wake::default();
        let e = Event::App(FlowId::from_index(0));
        w.ensure(&mut q, Some(Instant(50)), e);
        w.ensure(&mut q, Some(Instant(80)), e);
        assert_eq!(q.len(), 1);
        w.ensure(&mut q, Some(Instant(20)), e);
        assert_eq!(q.len(), 2);
        let (t, _) = q.pop_until(Instant::MAX).unwrap();
        assert!(w.take(t));
        let (t, _) = q.pop_until(Instant::MAX).unwrap();
        assert_eq!(t, Instant(50));
        assert!(!w.take(t), "the overtaken event is void");
    }
}

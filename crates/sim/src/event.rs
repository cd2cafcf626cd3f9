//! Events of the world's queue, and the lazy wake-up that keeps the queue small.

use lasthop_engine::{Class, EventQueue};
use lasthop_units::{AccessId, FlowId, Instant, NodeId};

/// An end of a flow: A opens it, B is the passive end.
pub use lasthop_net::app::End;

/// An event of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A clock of an access is due.
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
    /// The timer of reassembly at a node has expired.
    Reassembly(NodeId),
    /// A flow begins.
    Start(FlowId),
    /// A flow's application stops.
    Stop(FlowId),
    /// Change number `n` of the scenario.
    Change(u32),
    /// The change of that `[[when]]` table, after its delay.
    When(u32),
    /// The sampling probe reads state.
    Sample,
    /// An interval of the table `windows` ends.
    Window,
}

/// The reason for which an access is called; several of a kind have numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// A transmission time interval starts.
    Tti(u8),
    /// Data arrives at the far end.
    Arrival(u8),
    /// A protocol timer expires.
    Timer,
}

impl Event {
    /// The event's place among those of the same instant.
    #[inline(always)] // known to the compiler where an event is scheduled
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

/// The one pending event of an entity. For an entity whose next deadline is later than the pending
/// event no new event is scheduled: the pending one is processed without effect, and schedules a
/// new one. Restarting a retransmission timer at every ACK thus costs one comparison.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wake {
    pending: Option<Instant>,
}

impl Wake {
    /// Ensures that `event` is scheduled at `want` or earlier. Mostly it is already: that part is
    /// inlined into the caller.
    #[inline(always)]
    pub fn ensure(&mut self, queue: &mut EventQueue<Event>, want: Option<Instant>, event: Event) {
        if let Some(want) = want
            && self.pending.is_none_or(|at| want < at)
        {
            self.schedule(queue, want, event.class(), event);
        }
    }

    #[inline(never)]
    fn schedule(&mut self, queue: &mut EventQueue<Event>, want: Instant, class: Class, event: Event) {
        let at = want.max(queue.now());
        queue.schedule(at, class, event);
        self.pending = Some(at);
    }

    /// When the pending event is due; [`Instant::MAX`] without one.
    #[inline(always)]
    pub fn pending(&self) -> Instant {
        self.pending.unwrap_or(Instant::MAX)
    }

    /// Takes the event of `now`. Returns false if the event is void because an earlier one has
    /// replaced it.
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
    fn a_later_deadline_schedules_nothing_and_an_earlier_one_replaces_the_event() {
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

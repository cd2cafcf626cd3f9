//! The world: one deterministic run. Its events are processed in one thread; only LTE cells may
//! share the work of a TTI among threads.
//!
//! It owns everything (packets, pipes, bearers, flows), takes events in the order `(time, class,
//! seq)` and routes the plain outputs of one entity to the next. No entity has a reference to
//! another.

mod account;
mod audit;
mod build;
mod change;
mod control;
mod end;
mod external;
mod flow;
mod fragment;
mod hint;
mod life;
mod limit;
mod packet;
mod place;
mod proxy;
mod sample;
mod snoop;
mod socket;
#[cfg(test)]
mod testing;
mod trigger;
mod window;

use lasthop_engine::{EventQueue, Slab};
use lasthop_net::FlowMonitor;
use lasthop_units::{AccessId, FlowId, IndexVec, Instant, NodeId, PacketId};

pub use account::{Account, Tally};
pub(crate) use end::Ended;
pub use external::{Departure, ExternalNode, FiveTuple, KernelFlow, KernelReport, Outside, RealPacket};
pub use flow::Flow;
pub use packet::Packet;

use crate::access::{Access, AccessOutput, Adapter, Step};
use crate::attention::Attention;
use crate::error::Error;
use crate::event::Event;
use crate::observe::Observer;
use crate::probe::Probes;
use crate::route::Routes;
use change::Changes;
use external::Externals;
use flow::AppCommand;
use fragment::NodeReassembly;
use snoop::SnoopNode;
use trigger::Triggers;

/// A node: its name and its handling of fragments.
struct Node {
    name: Box<str>,
    reassembly: NodeReassembly,
}

impl Node {
    fn new(name: &str) -> Node {
        Node { name: name.into(), reassembly: NodeReassembly::new() }
    }
}

/// Number of events between two checks that simulated time has advanced (a power of two, for a
/// cheap test).
const STANDSTILL: u64 = 1 << 21;

/// Number of events between two reads of the caller's attention flag: few, because a TTI of a large
/// network takes milliseconds, and a power of two.
const LOOK_UP: u64 = 1 << 4;

/// The simulated time at the last check that it advances.
#[derive(Default)]
struct Progress(Option<Instant>);

impl Progress {
    #[cold]
    fn check(&mut self, now: Instant) -> Result<(), Error> {
        if self.0.replace(now) != Some(now) {
            return Ok(());
        }
        let mut d = crate::config::Diagnostic::error(
            "",
            format!(
                "time does not advance at {now}: {} million events belong to this instant",
                STANDSTILL >> 20
            ),
        );
        d = d.help("packets circulate without using time: give a link of the way a `rate` or a `delay`");
        Err(d.into())
    }
}

/// A run in progress.
pub struct World {
    queue: EventQueue<Event>,
    end: Instant,
    packets: Slab<PacketId, Packet>,
    /// Number of the next packet: packets are numbered in the order in which they enter the world.
    serial: u64,
    account: Account,
    nodes: IndexVec<NodeId, Node>,
    routes: Routes,
    pub(crate) accesses: IndexVec<AccessId, Access>,
    pub(crate) flows: IndexVec<FlowId, Flow>,
    snoops: Vec<SnoopNode>,
    hinters: Vec<hint::Hinter>,
    pub(crate) monitor: FlowMonitor,
    pub(crate) changes: Changes,
    /// The conditions of the `[[when]]` tables.
    triggers: Option<Box<Triggers>>,
    progress: Progress,
    /// The error that ends the run: a caller's own policy has failed, or a change is invalid.
    fault: Option<Box<Error>>,
    /// Set when the caller must be called back.
    pub(crate) attention: Attention,
    pub(crate) probes: Probes,
    /// Packets are recorded on their path, in the table `packets` or in a capture.
    watched: bool,
    /// The packet capture.
    pub(crate) observer: Option<Box<Observer>>,
    /// Reused between calls, so that no entity allocates for its output.
    output: AccessOutput,
    /// Further lists of steps: a delivered packet may be answered at once, and the answer enters an
    /// access while the steps of the first are carried out.
    spare: Vec<Vec<Step>>,
    app_actions: Vec<lasthop_net::app::Action>,
    /// Real packets, if the run has some.
    external: Externals,
    /// The location of each packet, with `output.explain`.
    lives: Option<Box<life::Lives>>,
}

impl World {
    /// Returns the time of the last event.
    pub fn now(&self) -> Instant {
        self.queue.now()
    }
    /// Returns the end of the scenario.
    pub fn end(&self) -> Instant {
        self.end
    }
    /// Returns the number of events so far.
    pub fn events(&self) -> u64 {
        self.queue.events_taken()
    }
    /// Returns the work done: events, and packets sent, cut and copied (one event may move many
    /// packets that arrive at one instant).
    pub fn work(&self) -> u64 {
        self.queue.events_taken() + self.serial + self.account.made.packets
    }
    /// Returns the account of packets and octets.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Processes all events before `t` (at the end of the run: also those at `t`) and advances the
    /// clock to `t`, with no more work than `budget`. Returns false if the budget was used up first
    /// or the caller has set its attention flag.
    ///
    /// # Errors
    /// Time does not advance: millions of events belong to one instant. A caller's own policy has
    /// failed. A change that waited for a sender's variable is not valid with the configuration in
    /// force.
    pub fn step(&mut self, t: Instant, budget: u64) -> Result<bool, Error> {
        let limit = self.work().saturating_add(budget);
        let (t, last) =
            if t >= self.end { (self.end, self.end) } else { (t, Instant(t.0.saturating_sub(1))) };
        while t > Instant::ZERO
            && let Some((now, event)) = self.queue.pop_until(last)
        {
            self.dispatch(now, event);
            self.account.check_packets(self.packets.len());
            if self.fault.is_some() {
                break;
            }
            let taken = self.queue.events_taken();
            if cfg!(debug_assertions) && taken.is_multiple_of(EVENTS_PER_CHECK_OF_OCTETS) {
                self.check_octets();
            }
            if taken.is_multiple_of(LOOK_UP) {
                if taken.is_multiple_of(STANDSTILL) {
                    self.progress.check(now)?;
                }
                if self.attention.taken() {
                    return Ok(false);
                }
            }
            if self.work() >= limit {
                return Ok(false);
            }
        }
        if let Some(fault) = self.fault.take() {
            return Err(*fault);
        }
        self.check_octets();
        debug_assert_eq!(self.held_by_entities(), self.packets.len(), "packets that no entity holds");
        self.queue.advance_to(t);
        Ok(true)
    }

    /// Checks the account's octets against the packets that exist, and the octets of every TCP
    /// stream.
    fn check_octets(&self) {
        self.account.check_bytes(self.packets.iter().map(|(_, p)| p.size));
        if cfg!(debug_assertions) {
            let wrong = audit::audit_streams(&self.flows);
            assert!(wrong.is_empty(), "conservation of octets: {wrong:?}");
        }
    }

    #[inline]
    fn dispatch(&mut self, now: Instant, event: Event) {
        match event {
            Event::Access(id, clock) => self.on_access(now, id, clock),
            Event::Socket(flow, end) => self.on_socket_timer(now, flow, end),
            Event::App(flow) => self.on_app_timer(now, flow),
            Event::HintReport(n) => {
                let (hinters, mut x) = self.hints();
                hinters[n as usize].report(now, &mut x);
            }
            Event::HintArrival(n) => self.on_hint_arrival(now, n),
            Event::Snoop(n) => self.on_snoop_timer(now, n),
            Event::Reassembly(node) => self.on_reassembly_timer(now, node),
            Event::Start(flow) => self.start_flow(now, flow),
            Event::Stop(flow) => self.command_flow(now, flow, AppCommand::Stop),
            Event::Change(n) => self.on_change(now, n),
            Event::When(n) => self.on_when(now, n as usize),
            Event::Sample => self.on_sample(now),
            Event::Window => self.on_window(now),
        }
    }

    /// Returns the number of packets that the entities hold, counted one by one; it must equal the
    /// slab's count. A slow check for tests and for the end of a debug run.
    pub fn held_by_entities(&self) -> usize {
        let accesses: usize = self.accesses.iter().map(Access::packets_inside).sum();
        let fragmented: usize = self.nodes.iter().map(|n| n.reassembly.packets_inside()).sum();
        accesses + fragmented
    }
}

/// Events between two sums of all packet sizes in debug builds; a sum takes time in proportion to
/// the number of packets.
const EVENTS_PER_CHECK_OF_OCTETS: u64 = 64;

//! Management frames as far as they take airtime: association, block ack agreements.

use lasthop_units::{Instant, StationId};

use super::agenda::Event;
use super::output::{WlanEvent, WlanOutput};
use super::{End, Wlan};
use crate::mac::{ASSOCIATION_REQUEST, ASSOCIATION_RESPONSE, Agreement, Category};

/// The subject of a management frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// Authentication (open system), both ways.
    Authentication,
    /// Association request and response.
    Association,
    /// ADDBA request of the sender for its data of a category.
    BlockAckAsked(Category),
    /// ADDBA response.
    BlockAckAnswered(Category),
}

/// A management frame between a station and its access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Management {
    /// The station at one end.
    pub station: StationId,
    /// The end that sends it.
    pub from: End,
    /// Its subject.
    pub subject: Subject,
    /// Transmissions that failed.
    pub retries: u32,
    /// True if the other end has received it.
    pub arrived: bool,
}

impl Management {
    const fn new(station: StationId, from: End, subject: Subject) -> Management {
        Management { station, from, subject, retries: 0, arrived: false }
    }

    /// Length with header (24 B) and FCS (4 B).
    pub const fn bytes(&self) -> u64 {
        let body = match (self.subject, self.from) {
            // Algorithm, sequence number, status (clause 9.3.3.12).
            (Subject::Authentication, _) => 6,
            (Subject::Association, End::Station) => ASSOCIATION_REQUEST as u64,
            (Subject::Association, End::Ap) => ASSOCIATION_RESPONSE as u64,
            // Clauses 9.6.5.2 and 9.6.5.3.
            (Subject::BlockAckAsked(_) | Subject::BlockAckAnswered(_), _) => 9,
        };
        28 + body
    }
}

impl Wlan {
    pub(super) fn begin_association(&mut self, now: Instant, station: StationId) {
        let first = Management::new(station, End::Station, Subject::Authentication);
        self.manage(now, first);
    }

    /// Requests a block ack agreement if there is none.
    pub(super) fn want_agreement(&mut self, now: Instant, station: StationId, from: End, category: Category) {
        let agreement = &mut self.queue(station, from, category).originator.agreement;
        if *agreement == Agreement::None {
            *agreement = Agreement::Asked;
            self.manage(now, Management::new(station, from, Subject::BlockAckAsked(category)));
        }
    }

    /// Queues a management frame for the voice category of its sender (clause 10.2.4.2).
    fn manage(&mut self, now: Instant, frame: Management) {
        let device = self.device_of(frame.station, frame.from);
        self.devices[device].management.push_back(frame);
        let category = self.aps[self.devices[device].ap].config.management_category();
        self.contention().activate(now, device, category.index());
    }

    /// Processes a management frame that has reached the other end for the first time.
    pub(super) fn managed(&mut self, now: Instant, frame: Management, out: &mut WlanOutput) {
        let Management { station, from, subject, .. } = frame;
        let answer = |subject| Management::new(station, from.peer(), subject);
        match (subject, from) {
            (Subject::Authentication, End::Station) => self.manage(now, answer(Subject::Authentication)),
            (Subject::Authentication, End::Ap) => self.manage(now, answer(Subject::Association)),
            (Subject::Association, End::Station) => self.manage(now, answer(Subject::Association)),
            (Subject::Association, End::Ap) => self.associated(now, station, out),
            (Subject::BlockAckAsked(category), _) => {
                // Clause 9.4.1.16: starting sequence number.
                let queue = self.queue(station, from, category);
                queue.reorder.restart(queue.originator.to_come());
                self.manage(now, answer(Subject::BlockAckAnswered(category)));
            }
            (Subject::BlockAckAnswered(category), _) => {
                let asker = from.peer();
                let queue = self.queue(station, asker, category);
                queue.originator.agreement = Agreement::Agreed;
                // Single MPDUs may have been sent since the request.
                queue.reorder.restart(queue.originator.to_come());
                out.events.push((station, WlanEvent::BlockAck(asker, category)));
            }
        }
    }

    /// Processes the discard of a management frame. If only its ACKs were lost the frame has had
    /// its effect: the other end continues, and an agreement that is in place stays.
    pub(super) fn management_failed(&mut self, now: Instant, frame: Management, out: &mut WlanOutput) {
        if frame.arrived {
            return;
        }
        match frame.subject {
            Subject::Authentication | Subject::Association => {
                if !self.links[frame.station].associated {
                    out.events.push((frame.station, WlanEvent::AssociationFailed));
                    let again = now.saturating_add(RETRY);
                    self.agenda.schedule(again, Event::Associate(frame.station));
                }
            }
            Subject::BlockAckAsked(category) => {
                self.queue(frame.station, frame.from, category).originator.agreement = Agreement::None;
            }
            Subject::BlockAckAnswered(category) => {
                self.queue(frame.station, frame.from.peer(), category).originator.agreement = Agreement::None;
            }
        }
    }

    fn associated(&mut self, now: Instant, station: StationId, out: &mut WlanOutput) {
        if std::mem::replace(&mut self.links[station].associated, true) {
            return;
        }
        out.events.push((station, WlanEvent::Associated));
        for end in [End::Ap, End::Station] {
            for category in Category::ALL {
                let waits = self.links[station].tx_queues[end.index()][category.index()].as_ref();
                if waits.is_some_and(|queue| queue.waits()) {
                    self.offer(now, station, end, category);
                }
            }
        }
    }
}

/// Time after which a station whose association failed begins again.
const RETRY: lasthop_units::Duration = lasthop_units::Duration::from_millis(100);

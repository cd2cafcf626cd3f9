//! The originator's side: MPDUs with sequence numbers, from their assembly to their
//! acknowledgement, and the MSDUs in them.

use std::collections::VecDeque;

use lasthop_net::Item;
use lasthop_units::Instant;

use super::reorder::{WINDOW, distance, next};

/// The MSDUs of an MPDU: a linked list in the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    first: u32,
    last: u32,
}

const NONE: u32 = u32::MAX;

/// Storage of chains of MSDUs; free links are reused.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    links: Vec<(Option<Item>, u32)>,
    free: Vec<u32>,
}

impl Pool {
    /// Creates a chain with one MSDU.
    pub fn chain(&mut self, item: Item) -> Chain {
        let i = self.link(item);
        Chain { first: i, last: i }
    }
    /// Appends an MSDU to a chain.
    pub fn append(&mut self, chain: &mut Chain, item: Item) {
        let i = self.link(item);
        self.links[chain.last as usize].1 = i;
        chain.last = i;
    }
    /// Calls `each` with the MSDUs of a chain, from the first on.
    pub fn each(&self, chain: Chain, mut each: impl FnMut(&Item)) {
        let mut i = chain.first;
        while i != NONE {
            let (item, next) = &self.links[i as usize];
            item.iter().for_each(&mut each);
            i = *next;
        }
    }
    /// Removes a chain and calls `each` with its MSDUs, from the first on.
    pub fn take(&mut self, chain: Chain, mut each: impl FnMut(Item)) {
        let mut i = chain.first;
        while i != NONE {
            let (item, next) = std::mem::replace(&mut self.links[i as usize], (None, NONE));
            self.free.push(i);
            if let Some(item) = item {
                each(item);
            }
            i = next;
        }
    }
    /// The MSDUs of a chain, the first one first.
    pub fn items(&self, chain: Chain) -> impl Iterator<Item = Item> {
        let mut next = chain.first;
        std::iter::from_fn(move || {
            let (item, after) = self.links.get(next as usize)?;
            next = *after;
            *item
        })
    }
    fn link(&mut self, item: Item) -> u32 {
        if let Some(i) = self.free.pop() {
            self.links[i as usize] = (Some(item), NONE);
            return i;
        }
        self.links.push((Some(item), NONE));
        self.links.len() as u32 - 1
    }
    /// Number of MSDUs in the pool.
    pub fn len(&self) -> usize {
        self.links.len() - self.free.len()
    }
    /// True without MSDUs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// An MPDU that is neither acknowledged nor discarded, or waits for such ones before it.
#[derive(Clone, Copy, Debug)]
pub struct Mpdu {
    /// Its MSDUs, until the recipient has received them.
    pub chain: Option<Chain>,
    /// Number of MSDUs in it.
    pub msdus: u32,
    /// Its length with header and FCS [B].
    pub bytes: u32,
    /// When its oldest MSDU entered the MAC.
    pub since: Instant,
    /// Short and long retry counts: the first counts failures of the MPDU in a PSDU up to the RTS
    /// threshold and of an RTS before it, the second those in a longer PSDU.
    pub retries: Retries,
    /// True if it was transmitted before, and may be again.
    pub aired: bool,
    /// Acknowledged or discarded: it remains only to keep its place in the window.
    pub done: bool,
    /// Estimated airtime [ns].
    pub airtime: u32,
}

/// The retry counts of a frame (802.11-2016 clause 10.3.4.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retries {
    /// The short retry count (SRC).
    pub short: u32,
    /// The long retry count (LRC).
    pub long: u32,
}

impl Retries {
    /// Failed attempts of both kinds.
    pub const fn all(self) -> u32 {
        self.short + self.long
    }
}

impl Mpdu {
    /// True if the recipient has received it; the acknowledgement may be lost.
    pub const fn arrived(&self) -> bool {
        self.chain.is_none()
    }
}

/// The state of a block ack agreement (clause 10.24.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Agreement {
    /// No agreement.
    #[default]
    None,
    /// An ADDBA request is queued or sent.
    Asked,
    /// An agreement is in place.
    Agreed,
}

/// MPDUs of one recipient and traffic class: at most a window of them. Acknowledged MPDUs are kept
/// while earlier ones are not acknowledged.
#[derive(Clone, Debug, Default)]
pub struct Originator {
    /// MPDUs from WinStartO on, without gaps.
    window: VecDeque<Mpdu>,
    /// Sequence number of the next new MPDU.
    next: u16,
    /// Number of MPDUs that are not done.
    waiting: usize,
    /// Estimated airtime of these [ns].
    airtime: u64,
    /// The agreement.
    pub agreement: Agreement,
    /// A block ack request is due, because an MPDU was discarded for which the recipient may wait.
    pub request: bool,
}

impl Originator {
    /// First sequence number of the window (WinStartO).
    pub fn start(&self) -> u16 {
        distance(self.window.len() as u16, self.next)
    }
    /// The first sequence number that the recipient has not received. MPDUs that it has received,
    /// even where their acknowledgements were lost, will not enter its reorder buffer again.
    pub fn to_come(&self) -> u16 {
        let got = self.window.iter().take_while(|m| m.arrived()).count();
        (self.start() + got as u16) % 4096
    }
    /// Number of MPDUs that are not done.
    pub const fn waiting(&self) -> usize {
        self.waiting
    }
    /// Estimated airtime of MPDUs that are not done [ns].
    pub const fn airtime(&self) -> u64 {
        self.airtime
    }
    /// True if one more MPDU fits into the window.
    pub fn has_room(&self) -> bool {
        self.window.len() < usize::from(WINDOW)
    }
    /// Takes in a new MPDU and numbers it. There must be room.
    pub fn push(&mut self, mpdu: Mpdu) -> u16 {
        debug_assert!(self.has_room());
        let sn = self.next;
        self.airtime += u64::from(mpdu.airtime);
        self.window.push_back(mpdu);
        self.waiting += 1;
        self.next = next(sn);
        sn
    }
    /// The MPDU with a number in the window.
    pub fn get(&self, sn: u16) -> Option<&Mpdu> {
        self.window.get(usize::from(distance(self.start(), sn)))
    }
    /// As [`get`](Self::get), mutable.
    pub fn get_mut(&mut self, sn: u16) -> Option<&mut Mpdu> {
        let i = usize::from(distance(self.start(), sn));
        self.window.get_mut(i)
    }
    /// MPDUs that are not done, in order, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &Mpdu)> {
        let start = self.start();
        let numbered = self.window.iter().enumerate();
        numbered.filter(|(_, m)| !m.done).map(move |(i, m)| (distance(4096 - i as u16, start), m))
    }
    /// The newest MPDU.
    pub fn last(&self) -> Option<(u16, &Mpdu)> {
        self.window.back().map(|m| (distance(1, self.next), m))
    }
    /// All MPDUs, done or not.
    pub fn all(&self) -> impl Iterator<Item = &Mpdu> {
        self.window.iter()
    }
    /// Marks an MPDU as acknowledged or discarded; the window advances as far as possible.
    pub fn finish(&mut self, sn: u16) {
        if let Some(mpdu) = self.get_mut(sn)
            && !std::mem::replace(&mut mpdu.done, true)
        {
            let airtime = u64::from(mpdu.airtime);
            self.waiting -= 1;
            self.airtime -= airtime;
        }
        while self.window.front().is_some_and(|m| m.done) {
            self.window.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::{Ecn, FlowId, Id, PacketId};

    fn item(n: usize) -> Item {
        let (id, flow) = (PacketId::from_index(n), FlowId::from_index(0));
        Item { id, size: 100, flow, ecn: Ecn::NotEct, content: Default::default(), enqueued: Instant(0) }
    }

    fn mpdu() -> Mpdu {
        Mpdu {
            chain: None,
            msdus: 1,
            bytes: 100,
            since: Instant(0),
            retries: Retries::default(),
            aired: false,
            done: false,
            airtime: 7,
        }
    }

    #[test]
    fn the_window_moves_with_its_first_mpdu() {
        let mut o = Originator::default();
        for _ in 0..4090 {
            let sn = o.push(mpdu());
            o.finish(sn);
        }
        let sns: Vec<u16> = (0..8).map(|_| o.push(mpdu())).collect();
        assert_eq!(sns, [4090, 4091, 4092, 4093, 4094, 4095, 0, 1]);
        assert_eq!(o.start(), 4090);
        assert_eq!(o.iter().map(|(sn, _)| sn).collect::<Vec<_>>(), sns);
        o.finish(4091);
        o.finish(0);
        assert_eq!((o.start(), o.waiting(), o.airtime()), (4090, 6, 6 * 7));
        o.finish(4090);
        assert_eq!((o.start(), o.waiting()), (4092, 5));
        assert!(o.get(0).unwrap().done && o.get(2).is_none());
        while o.has_room() {
            o.push(mpdu());
        }
        assert_eq!(o.all().count(), 64);
    }

    #[test]
    fn chains_are_taken_in_order_and_their_links_are_reused() {
        let mut pool = Pool::default();
        for _ in 0..3 {
            let mut a = pool.chain(item(1));
            let b = pool.chain(item(7));
            pool.append(&mut a, item(2));
            pool.append(&mut a, item(3));
            let mut out = Vec::new();
            pool.take(a, |i| out.push(i.id.index()));
            pool.take(b, |i| out.push(i.id.index()));
            assert_eq!((out, pool.len()), (vec![1, 2, 3, 7], 0));
        }
        assert_eq!(pool.links.len(), 4);
    }
}

//! The queue of a driver below FQ-CoDel: when packets are passed to it, and how airtime queue
//! limits (AQL) bound it.

use lasthop_units::{Instant, StationId};

use super::build::ROUND;
use super::config::{BufferConfig, DriverOrder, DriverQueue, StationFqCodel};
use super::tx_queue::airtime;
use super::{End, Wlan, WlanOutput};
use crate::mac::Category;

impl Wlan {
    /// Lets the driver of an access point take the packets of a category that it may. Without a
    /// driver's queue this has no effect.
    #[inline]
    pub(super) fn fill_driver(&mut self, now: Instant, d: usize, category: Category, out: &mut WlanOutput) {
        if let BufferConfig::FqCodel(config @ StationFqCodel { driver: Some(driver), .. }) =
            &self.aps[self.devices[d].ap].config.buffer
        {
            self.pass_to_driver(now, d, category, (*config, *driver), out);
        }
    }

    fn pass_to_driver(
        &mut self,
        now: Instant,
        d: usize,
        category: Category,
        (config, driver): (StationFqCodel, DriverQueue),
        out: &mut WlanOutput,
    ) {
        let ac = category.index();
        let mut room = {
            let below = |s: &StationId| {
                self.links[*s].tx_queues[End::Ap.index()][ac].as_ref().map_or(0, |l| l.below())
            };
            let taken: usize = self.devices[d].ring[ac].iter().map(below).sum();
            (driver.packets as usize).saturating_sub(taken)
        };
        // Linux' ieee80211_next_txq: stations in turn, those without credit or beyond their limit
        // are skipped.
        while room > 0 {
            let mut moved = false;
            for _ in 0..self.devices[d].ring[ac].len() {
                let Some(station) = self.devices[d].ring[ac].front().copied() else { break };
                self.devices[d].ring[ac].rotate_left(1);
                moved |= self.descend(now, d, station, category, &config, &driver, &mut room, out);
            }
            if !moved {
                break;
            }
        }
    }

    /// Passes a packet of a station to the driver, or raises the station's credit. Returns false if
    /// the station has no packets, or enough in the driver.
    #[allow(clippy::too_many_arguments)] // where, whose, and the rules
    fn descend(
        &mut self,
        now: Instant,
        d: usize,
        station: StationId,
        category: Category,
        config: &StationFqCodel,
        driver: &DriverQueue,
        room: &mut usize,
        out: &mut WlanOutput,
    ) -> bool {
        if *room == 0 || (driver.aql && !self.allows(d, station, category, driver)) {
            return false;
        }
        let mode = self.rate(station, End::Ap);
        let mut lost = std::mem::take(&mut self.lost);
        let queue = self.queue(station, End::Ap, category);
        let before = queue.queued();
        let more = before > queue.below();
        let mut moved = more;
        if more && config.airtime_fairness && queue.deficit < 0 {
            queue.deficit += ROUND;
        } else if more {
            let anew = driver.order == DriverOrder::Oldest;
            moved = queue.descend(now, anew, |bytes| airtime(&mode, bytes), &mut lost.dropped);
            *room -= usize::from(moved);
        }
        let gone = before - queue.queued();
        self.devices[d].queued[category.index()] -= gone as u32;
        self.lost = lost;
        self.report_lost(now, station, End::Ap, out);
        moved
    }

    /// Linux' ieee80211_txq_airtime_check: less than the lower limit is always allowed, less than
    /// the higher one while all stations of the access point together are below the threshold.
    fn allows(&self, d: usize, station: StationId, category: Category, driver: &DriverQueue) -> bool {
        let pending = |s: StationId, ac: usize| {
            self.links[s].tx_queues[End::Ap.index()][ac].as_ref().map_or(0, |queue| queue.pending())
        };
        let own = pending(station, category.index());
        if own < driver.aql_low.0 {
            return true;
        }
        let ring = &self.devices[d].ring;
        let all: u64 = (0..ring.len())
            .flat_map(|ac| ring[ac].iter().map(move |s| (*s, ac)))
            .map(|(s, ac)| pending(s, ac))
            .sum();
        all < driver.aql_threshold.0 && own < driver.aql_high.0
    }
}

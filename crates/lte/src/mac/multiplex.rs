//! Multiplexing of a UE's transport block: logical channel prioritisation, and the order of control
//! elements, data and padding (TS 36.321 v15.1.0 clause 5.4.3.1).

use lasthop_units::{Bytes, Db, Duration, Tti};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bsr::{Buffers, GROUPS, Report, Reporting};
use super::pdu;
use super::pdu::{SHORT_SUBHEADER, subheader};
use super::phr::HeadroomReporting;
use super::scheduler::qci::{Qos, priority_of};
use super::sr::SchedulingRequest;
use lasthop_bearer::OrInfinity;
use lasthop_bearer::require;
use lasthop_bearer::{ConfigError, Warning};
use lasthop_lte_l2::rlc::Grant;

/// A logical channel in the uplink (TS 36.331 clause 6.3.2, LogicalChannelConfig).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LogicalChannelConfig {
    /// priority: 1 (first) to 16.
    pub priority: u8,
    /// prioritisedBitRate per second: 0, 8, 16, 32, 64, 128, 256 to 2048 kB or "infinity".
    pub prioritised_bit_rate: OrInfinity<Bytes>,
    /// bucketSizeDuration: 50, 100, 150, 300, 500 or 1000 ms.
    pub bucket_size_duration: Duration,
    /// logicalChannelGroup, 0 to 3.
    pub group: u8,
}

impl Default for LogicalChannelConfig {
    /// TS 36.508 clause 4.8.2.1.5 and 4.8.2.1.7 for a data bearer: priority 13, 8 kB/s, 100 ms;
    /// group 0 here.
    fn default() -> Self {
        LogicalChannelConfig {
            priority: 13,
            prioritised_bit_rate: OrInfinity::Value(Bytes(8000)),
            bucket_size_duration: Duration::from_millis(100),
            group: 0,
        }
    }
}

impl LogicalChannelConfig {
    /// The channel of a bearer with this quality of service. Its priority follows from the class's
    /// priority level: classes 1 to 9 are priorities 5 to 13, below those of signalling (TS 36.331
    /// clause 9.2.1.2). A guaranteed rate is its prioritised bit rate, in a group of its own.
    pub fn of_class(qos: &Qos) -> LogicalChannelConfig {
        let priority = (4.0 + priority_of(qos.qci)).clamp(5.0, 16.0) as u8;
        let guaranteed = qos.uplink.0.div_ceil(8);
        let default = LogicalChannelConfig { priority, ..LogicalChannelConfig::default() };
        if guaranteed == 0 {
            return default;
        }
        let rate = (3..=11).map(|k| (1 << k) * 1000).find(|rate| *rate >= guaranteed).unwrap_or(2_048_000);
        LogicalChannelConfig { prioritised_bit_rate: OrInfinity::Value(Bytes(rate)), group: 1, ..default }
    }

    /// Refuses values that no RRC message can carry.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        require((1..=16).contains(&self.priority), "priority", &self.priority, "1 to 16")?;
        require(usize::from(self.group) < GROUPS, "group", &self.group, "0 to 3")?;
        if let Some(rate) = self.prioritised_bit_rate.value() {
            let ok = rate.0 == 0 || (3..=11).any(|k| rate.0 == (1 << k) * 1000);
            let allowed = "0, 8, 16, 32, 64, 128, 256, 512, 1024, 2048 kB or \"infinity\"";
            require(ok, "prioritised_bit_rate", &rate, allowed)?;
        }
        require(
            [50, 100, 150, 300, 500, 1000]
                .iter()
                .any(|ms| Duration::from_millis(*ms) == self.bucket_size_duration),
            "bucket_size_duration",
            &self.bucket_size_duration,
            "50, 100, 150, 300, 500 or 1000 ms",
        )?;
        Ok(Vec::new())
    }
}

/// A logical channel and its bucket.
#[derive(Clone, Debug)]
struct LogicalChannel {
    /// Number of the UE's bearer.
    index: usize,
    config: LogicalChannelConfig,
    /// Bytes of the bearer that wait, as of the last [`look`](Multiplexer::look).
    waiting: u64,
    /// Bj [B], as of `updated`.
    bucket: i64,
    updated: Tti,
}

impl LogicalChannel {
    /// Adds PBR times a TTI to Bj for each TTI since `updated`, up to PBR times BSD: a closed form.
    fn refill(&mut self, tti: Tti) {
        if let Some(rate) = self.config.prioritised_bit_rate.value() {
            // kB/s are bytes per millisecond, and a TTI is one millisecond.
            let per_tti = (rate.0 / 1000) as i64;
            let most = per_tti * self.config.bucket_size_duration.as_millis() as i64;
            let grown = per_tti.saturating_mul((tti.0 - self.updated.0) as i64);
            self.bucket = self.bucket.saturating_add(grown).min(most);
        }
        self.updated = tti;
    }
    /// Bytes of the waiting data with its headers [B].
    const fn wanted(&self) -> u64 {
        if self.waiting > 0 { self.waiting + HEADERS } else { 0 }
    }
    /// True if the channels have the same priority.
    const fn is_as_urgent(&self, other: &LogicalChannel) -> bool {
        self.config.priority == other.config.priority
    }
    /// Bytes for the channel before less urgent channels are served [B].
    fn quota(&self) -> u64 {
        if self.config.prioritised_bit_rate.value().is_some() { self.bucket.max(0) as u64 } else { u64::MAX }
    }
}

/// Least size that an RLC PDU and its subheader add to the waiting data of a channel [B].
const HEADERS: u64 = 5;

/// The logical channels of a UE.
#[derive(Clone, Debug, Default)]
pub struct Multiplexer {
    /// In the order of priority.
    channels: Vec<LogicalChannel>,
}

impl Multiplexer {
    /// Adds the channel of the UE's bearer number `index`.
    pub fn add(&mut self, index: usize, config: LogicalChannelConfig) {
        let place = self.channels.partition_point(|c| c.config.priority <= config.priority);
        self.channels.insert(place, LogicalChannel { index, config, waiting: 0, bucket: 0, updated: Tti(0) });
    }

    /// Empties the buckets at a reset of MAC (TS 36.321 clause 5.9).
    pub fn reset(&mut self, tti: Tti) {
        for channel in &mut self.channels {
            (channel.bucket, channel.updated) = (0, tti);
        }
    }

    /// Takes in the waiting bytes of each bearer. Returns the buffers as a report gives them, and
    /// the size of all waiting data with its headers [B]; 0 without data.
    pub fn look(&mut self, mut backlog: impl FnMut(usize) -> u64) -> (Buffers, u64) {
        let mut buffers = Buffers::default();
        let (mut urgent, mut need) = (None, 0);
        for channel in &mut self.channels {
            let bytes = backlog(channel.index);
            channel.waiting = bytes;
            buffers.bytes[usize::from(channel.config.group)] += bytes;
            if bytes > 0 {
                need += bytes + HEADERS;
                urgent = urgent.or(Some(channel.config.group));
            }
        }
        buffers.most_urgent = urgent.unwrap_or(0);
        (buffers, need)
    }

    /// True if new data for bearer `index` triggers a regular report: no channel that is as urgent
    /// had data before. `had`: whether a bearer had data before.
    pub fn makes_report(&self, index: usize, mut had: impl FnMut(usize) -> bool) -> bool {
        for channel in &self.channels {
            if channel.index == index {
                // A channel of the same priority that had data suffices.
                return !had(index) && !self.peers(channel).any(|c| had(c.index));
            }
            if had(channel.index) {
                return false;
            }
        }
        false
    }

    fn peers<'a>(&'a self, of: &'a LogicalChannel) -> impl Iterator<Item = &'a LogicalChannel> {
        self.channels.iter().filter(move |c| c.config.priority == of.config.priority && c.index != of.index)
    }

    /// Shares `room` bytes of a transport block, subheaders included, among the channels by what
    /// waited at the last [`look`](Self::look). `pull` takes a bearer and its grant and returns the
    /// bytes that RLC has used of it, as [`Grant`] counts.
    // 5.4.3.1 [unverified]: all the logical channels with Bj > 0 are allocated resources in a
    // decreasing priority order [...]; decrement Bj by the total size of MAC SDUs served to logical
    // channel j in Step 1; if any resources remain, all the logical channels are served in a strict
    // decreasing priority order (regardless of the value of Bj). So a channel may use in one call
    // what remains beyond the quotas of the channels after it: RLC makes one PDU instead of two.
    pub fn fill(&mut self, tti: Tti, room: u32, mut pull: impl FnMut(usize, Grant) -> u32) {
        let per_pdu = if room < 128 { subheader(0) } else { subheader(room) };
        // The last part's subheader has no L field: its bytes are available for data.
        let left = room + (per_pdu - SHORT_SUBHEADER);
        if let [channel] = &mut self.channels[..] {
            channel.refill(tti);
            if left > per_pdu && channel.waiting > 0 {
                let quota = channel.quota().min(channel.wanted()).min(left.into());
                let used = pull(channel.index, Grant { bytes: left, per_pdu });
                channel.bucket -= i64::from(used).min(quota as i64);
            }
            return;
        }
        self.fill_by_priority(tti, left, per_pdu, pull);
    }

    /// [`fill`](Self::fill) where a UE has several channels, which share `left` bytes.
    // 5.4.3.1 [unverified]: Logical channels configured with equal priority should be served
    // equally. Both steps give them equal shares, and what one does not need goes to the others.
    fn fill_by_priority(
        &mut self,
        tti: Tti,
        mut left: u32,
        per_pdu: u32,
        mut pull: impl FnMut(usize, Grant) -> u32,
    ) {
        let mut reserved: u64 = 0;
        let mut all_quotas = Sizes::new();
        for equals in self.channels.chunk_by_mut(LogicalChannel::is_as_urgent) {
            let first = all_quotas.len();
            for channel in equals {
                channel.refill(tti);
                all_quotas.push(channel.quota().min(channel.wanted()));
            }
            let quotas = &mut all_quotas[first..];
            share_equally(quotas, u64::from(left).saturating_sub(reserved));
            reserved += quotas.iter().sum::<u64>();
        }
        let mut quotas = &mut all_quotas[..];
        for equals in self.channels.chunk_by_mut(LogicalChannel::is_as_urgent) {
            let (own, others) = std::mem::take(&mut quotas).split_at_mut(equals.len());
            quotas = others;
            reserved -= own.iter().sum::<u64>();
            fill_equals(equals, own, reserved, per_pdu, &mut left, &mut pull);
        }
    }
}

/// A size of each of a few channels [B].
type Sizes = smallvec::SmallVec<[u64; 8]>;

/// Serves the channels of one priority, which have `quotas`, with `left` bytes, of which channels
/// after them have `reserved`.
fn fill_equals(
    equals: &mut [LogicalChannel],
    quotas: &mut [u64],
    reserved: u64,
    per_pdu: u32,
    left: &mut u32,
    pull: &mut impl FnMut(usize, Grant) -> u32,
) {
    let rest = u64::from(*left).saturating_sub(reserved + quotas.iter().sum::<u64>());
    let mut shares: Sizes = equals.iter().zip(&*quotas).map(|(c, quota)| c.wanted() - quota).collect();
    share_equally(&mut shares, rest);
    shares.iter_mut().zip(&*quotas).for_each(|(share, quota)| *share += quota);
    let mut others: u64 = shares.iter().sum();
    let mut last = None;
    let mut serve = |i: usize, channel: &mut LogicalChannel, reserved: u64| {
        let bytes = *left - (reserved as u32).min(*left);
        if bytes <= per_pdu || channel.waiting == 0 {
            return false;
        }
        let used = pull(channel.index, Grant { bytes, per_pdu });
        *left -= used;
        let charged = u64::from(used).min(quotas[i]);
        quotas[i] -= charged;
        channel.bucket -= charged as i64;
        last = last.max((used > 0).then_some(i));
        used > 0 && u64::from(used) < channel.waiting
    };
    let mut short = smallvec::SmallVec::<[usize; 8]>::new();
    for (i, channel) in equals.iter_mut().enumerate() {
        others -= shares[i];
        if serve(i, channel, reserved + others) {
            short.push(i);
        }
    }
    if equals.len() > 1 {
        // RLC may use less than waits, such as with a full window: the others get that.
        for i in short {
            serve(i, &mut equals[i], reserved);
        }
        // The last one gets the bytes that cannot be shared, all where a block is so small that no
        // share has room for a PDU. In the next block it is the first.
        if let Some(last) = last {
            equals[..=last].rotate_right(1);
        }
    }
}

/// Reduces sizes to `room` bytes together: the larger ones to an equal share of what the others do
/// not need.
fn share_equally(sizes: &mut [u64], room: u64) {
    if sizes.iter().sum::<u64>() <= room {
        return;
    }
    let mut ascending = Sizes::from_slice(sizes);
    ascending.sort_unstable();
    let (mut left, mut share) = (room, 0);
    for (i, size) in ascending.iter().enumerate() {
        share = left / (ascending.len() - i) as u64;
        if *size > share {
            break;
        }
        left -= size;
    }
    sizes.iter_mut().for_each(|size| *size = share.min(*size));
}

/// C-RNTI control element with its subheader [B].
const C_RNTI: u32 = 3;
/// Power headroom report with its subheader [B].
const HEADROOM: u32 = 2;

/// A MAC PDU under construction: control elements first, then data, then padding (TS 36.321 clauses
/// 5.4.3.1 and 6.1.2).
#[derive(Clone, Copy, Debug)]
pub struct Assembly {
    tti: Tti,
    /// Size of the transport block [B].
    size: u32,
    /// Size of the control elements with their subheaders [B].
    controls: u32,
    /// Of that, the buffer status report.
    reserved: u32,
    /// The buffers before the block was filled.
    before: Buffers,
}

impl Assembly {
    /// Begins a block of `size` bytes in `tti`, with the report that is due in `bsr`; a UE whose
    /// bearers have `backlog` multiplexes its channels with `mux`. `c_rnti`: an Msg3 that
    /// identifies the UE.
    pub fn begin(
        tti: Tti,
        size: u32,
        c_rnti: bool,
        mux: &mut Multiplexer,
        bsr: &mut Reporting,
        backlog: impl Fn(usize) -> u64,
    ) -> Assembly {
        let controls = if c_rnti { C_RNTI } else { 0 };
        if c_rnti {
            // The report of a lost Msg3 counts as not sent.
            bsr.on_data();
        }
        let (before, need) = mux.look(backlog);
        let reserved = bsr.reserve(size.saturating_sub(controls), need, &before);
        Assembly { tti, size, controls: controls + reserved, reserved, before }
    }

    /// Adds a power headroom report if one is due and fits with its subheader: it has precedence
    /// over data (TS 36.321 clauses 5.4.3.1 and 5.4.6). True if it was added.
    pub fn takes_headroom(&mut self, phr: &mut HeadroomReporting, path_loss: Db) -> bool {
        let takes = self.controls + HEADROOM <= self.size && phr.is_due(self.tti, path_loss);
        if takes {
            self.controls += HEADROOM;
            phr.sent(self.tti, path_loss);
        }
        takes
    }

    /// Adds a control element of `size` bytes, subheader included.
    pub const fn add(&mut self, size: u32) {
        self.controls += size;
    }

    /// Bytes that remain for data.
    pub const fn room(&self) -> u32 {
        self.size.saturating_sub(self.controls)
    }

    /// Completes the block, which has MAC SDUs of the sizes `sdus`; the bearers have `backlog`
    /// left. Returns its buffer status report and its padding [B].
    pub fn finish(
        self,
        sdus: &[u32],
        mux: &mut Multiplexer,
        bsr: &mut Reporting,
        sr: &mut SchedulingRequest,
        backlog: impl Fn(usize) -> u64,
    ) -> (Option<Report>, u32) {
        let mut padding = pdu::padding(self.size, self.controls, sdus);
        debug_assert!(padding.is_some(), "{:?}: more than {} B", self.tti, self.size);
        let (after, _) = mux.look(backlog);
        let report = match self.reserved {
            0 => padding.and_then(|p| bsr.pad(self.tti, p, &after)),
            _ => bsr.compose(self.tti, self.reserved, &self.before, &after),
        };
        if let (0, Some(report)) = (self.reserved, report) {
            padding = padding.map(|p| p - report.size() - SHORT_SUBHEADER);
        }
        if report.is_some() {
            sr.cancel();
        } else if after.bytes == [0; GROUPS] {
            bsr.accommodated();
        }
        (report, padding.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(priority: u8, kilobytes: Option<u64>, group: u8) -> LogicalChannelConfig {
        let prioritised_bit_rate =
            kilobytes.map_or(OrInfinity::INFINITY, |k| OrInfinity::Value(Bytes(k * 1000)));
        let config =
            LogicalChannelConfig { priority, prioritised_bit_rate, group, ..LogicalChannelConfig::default() };
        config.validate().unwrap();
        config
    }

    /// Bytes that each of the bearers uses, headers included, where each uses all that it is
    /// granted.
    fn shares(mux: &mut Multiplexer, tti: u64, room: u32) -> Vec<(usize, u32)> {
        let mut taken = Vec::new();
        mux.look(|_| 1_000_000);
        mux.fill(Tti(tti), room, |index, grant| {
            taken.push((index, grant.bytes));
            grant.bytes
        });
        taken
    }

    /// A block for one channel: 1000 B less one byte of subheader are an RLC PDU of 999 B. RLC
    /// counts a subheader of 3 B, so its grant is 1002 B.
    #[test]
    fn the_last_subheader_has_no_length() {
        let mut mux = Multiplexer::default();
        mux.add(0, channel(13, Some(8), 0));
        assert_eq!(shares(&mut mux, 0, 1000), [(0, 1002)]);
        assert_eq!(shares(&mut mux, 1, 100), [(0, 101)]);
    }

    /// TS 36.321 clause 5.4.3.1 by hand. Priorities 1 (16 kB/s) and 2 (8 kB/s), BSD 100 ms. After
    /// 10 TTIs Bj is 160 and 80 B. A block of 197 + 3 - 1 -> 199 B to share (subheaders counted 3
    /// each): step 1 gives 160 and the remainder, 39 < 80, to the second channel; nothing remains
    /// for step 2.
    #[test]
    fn prioritised_rates_come_first() {
        let mut mux = Multiplexer::default();
        mux.add(1, channel(2, Some(8), 0));
        mux.add(0, channel(1, Some(16), 0));
        assert_eq!(shares(&mut mux, 10, 197), [(0, 160), (1, 39)]);
        // 10 TTIs later B is 160 and 80 - 39 + 80 = 121; 400 + 2 to share: step 1 gives 160 and
        // 121, and step 2 gives the other 121 to the more urgent channel.
        assert_eq!(shares(&mut mux, 20, 400), [(0, 281), (1, 121)]);
    }

    #[test]
    fn an_infinite_rate_leaves_nothing_and_buckets_are_bounded() {
        let mut mux = Multiplexer::default();
        mux.add(0, channel(1, None, 0));
        mux.add(1, channel(2, Some(8), 0));
        assert_eq!(shares(&mut mux, 10, 500), [(0, 502)]);
        // PBR * BSD = 8 B/ms * 100 ms = 800 B, for any time of waiting; a rate of zero gets the
        // remainder.
        let mut mux = Multiplexer::default();
        mux.add(0, channel(1, Some(0), 0));
        mux.add(1, channel(2, Some(8), 0));
        assert_eq!(shares(&mut mux, 1_000_000, 1000), [(0, 202), (1, 800)]);
    }

    #[test]
    fn what_the_urgent_channel_does_not_use_goes_to_the_others() {
        let mut mux = Multiplexer::default();
        mux.add(0, channel(1, Some(256), 0));
        mux.add(1, channel(2, Some(0), 0));
        let mut taken = Vec::new();
        mux.look(|i| [50, 1_000_000][i]);
        mux.fill(Tti(100), 1000, |index, grant| {
            taken.push((index, grant.bytes));
            if index == 0 { 55 } else { grant.bytes }
        });
        assert_eq!(taken, [(0, 1002), (1, 947)]);
    }

    /// TS 36.321 clause 5.4.3.1: channels of equal priority are served equally. Two at rate 0 share
    /// 1000 + 3 - 1 B by halves. Three share what remains of it beside 105 B of which the second
    /// has no need of more: (1002 - 105) / 2 = 448, and one of them has the odd byte. What a more
    /// urgent channel needs, 205 B, comes first, and a less urgent one has what they leave.
    #[test]
    fn channels_of_equal_priority_have_equal_shares() {
        let mut mux = Multiplexer::default();
        mux.add(0, channel(9, Some(0), 0));
        mux.add(1, channel(9, Some(0), 0));
        assert_eq!(shares(&mut mux, 10, 1000), [(0, 501), (1, 501)]);
        assert_eq!(shares(&mut mux, 11, 1000), [(1, 501), (0, 501)]);
        let taken = |waiting: [u64; 5], rooms: u32| {
            let mut mux = Multiplexer::default();
            for (i, priority) in [5, 9, 9, 9, 13].into_iter().enumerate() {
                mux.add(i, channel(priority, Some(0), 0));
            }
            let mut taken = Vec::new();
            mux.look(|i| waiting[i]);
            mux.fill(Tti(1), rooms, |index, grant| {
                let used = grant.bytes.min(waiting[index] as u32 + HEADERS as u32);
                taken.push((index, used));
                used
            });
            taken
        };
        assert_eq!(taken([0, 9999, 100, 9999, 9999], 1000), [(1, 449), (2, 105), (3, 448)]);
        assert_eq!(taken([200, 9999, 100, 9999, 9999], 1000), [(0, 205), (1, 346), (2, 105), (3, 346)]);
        assert_eq!(taken([200, 95, 95, 95, 9999], 1000), [(0, 205), (1, 100), (2, 100), (3, 100), (4, 497)]);
    }

    /// The same holds for the prioritised rates: after 10 TTIs of 8 B each Bj is 80 B for both, and
    /// a block of 97 + 2 - 1 B has 49 for each.
    #[test]
    fn prioritised_rates_of_equal_priority_have_equal_shares() {
        let mut mux = Multiplexer::default();
        mux.add(0, channel(9, Some(8), 0));
        mux.add(1, channel(9, Some(8), 0));
        mux.add(2, channel(10, Some(8), 0));
        assert_eq!(shares(&mut mux, 10, 97), [(0, 49), (1, 49)]);
        // Two blocks later B is 80 - 49 + 16 = 47 for both, and 96 for the third.
        assert_eq!(shares(&mut mux, 12, 197), [(1, 52), (0, 51), (2, 96)]);
    }

    /// Of the 1002 B the second channel, whose RLC has a full window, uses 50: the first one gets
    /// the rest. Blocks of 7 + 2 - 1 B have no room for two PDUs of 5 B: the channels use them in
    /// turn.
    #[test]
    fn nothing_is_left_unused_beside_a_channel_of_equal_priority() {
        let two = || {
            let mut mux = Multiplexer::default();
            mux.add(0, channel(9, Some(0), 0));
            mux.add(1, channel(9, Some(0), 0));
            mux.look(|_| 1_000_000);
            mux
        };
        let mut taken = Vec::new();
        two().fill(Tti(10), 1000, |index, grant| {
            let used = if index == 1 { 50 } else { grant.bytes };
            taken.push((index, used));
            used
        });
        assert_eq!(taken[..3], [(0, 501), (1, 50), (0, 451)]);
        let (mut mux, mut taken) = (two(), Vec::new());
        for tti in 10..14 {
            mux.fill(Tti(tti), 7, |index, grant| {
                let used = if grant.bytes < 5 { 0 } else { grant.bytes };
                taken.push((index, used));
                used
            });
        }
        assert_eq!(taken, [(0, 0), (1, 8), (1, 0), (0, 8), (0, 0), (1, 8), (1, 0), (0, 8)]);
    }

    #[test]
    fn reports_are_regular_when_nothing_as_urgent_waits() {
        let mut mux = Multiplexer::default();
        for (index, priority, group) in [(0, 9, 1), (1, 5, 2), (2, 9, 1)] {
            mux.add(index, channel(priority, Some(8), group));
        }
        let report = |index, had: [bool; 3]| mux.makes_report(index, |i| had[i]);
        assert!(report(0, [false; 3]) && report(1, [true, false, true]));
        assert!(!report(0, [true, false, false]) && !report(0, [false, true, false]));
        assert!(!report(2, [true, false, false]), "the same priority is not a higher one");
        let (buffers, need) = mux.look(|i| [10, 0, 5][i]);
        assert_eq!(buffers, Buffers { bytes: [0, 15, 0, 0], most_urgent: 1 });
        assert_eq!(need, 10 + 5 + 2 * HEADERS);
        assert_eq!(mux.look(|i| [10, 1, 5][i]).0.most_urgent, 2);
    }

    /// QCI 1 (priority 2) with 64 kbit/s = 8 kB/s; QCI 9 (priority 9) without a guarantee; 65
    /// kbit/s need 16 kB/s.
    #[test]
    fn channels_follow_the_class_of_their_bearer() {
        let of = |qci, rate| {
            let qos = Qos { qci, uplink: lasthop_units::Bitrate(rate), ..Qos::default() };
            let c = LogicalChannelConfig::of_class(&qos);
            c.validate().unwrap();
            (c.priority, c.prioritised_bit_rate, c.group)
        };
        assert_eq!(of(1, 64_000), (6, OrInfinity::Value(Bytes(8000)), 1));
        assert_eq!(of(1, 65_000), (6, OrInfinity::Value(Bytes(16_000)), 1));
        assert_eq!(of(9, 0), (13, OrInfinity::Value(Bytes(8000)), 0));
        assert_eq!(of(1, 1_000_000_000).1, OrInfinity::Value(Bytes(2_048_000)));
    }

    #[test]
    fn values_that_no_message_carries_are_refused() {
        for wrong in [
            LogicalChannelConfig { priority: 17, ..LogicalChannelConfig::default() },
            LogicalChannelConfig { group: 4, ..LogicalChannelConfig::default() },
            LogicalChannelConfig {
                prioritised_bit_rate: OrInfinity::Value(Bytes(9000)),
                ..LogicalChannelConfig::default()
            },
            LogicalChannelConfig {
                bucket_size_duration: Duration::from_millis(70),
                ..LogicalChannelConfig::default()
            },
        ] {
            assert!(wrong.validate().is_err());
        }
    }
}

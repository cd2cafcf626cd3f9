//! Transmit power of a UE (TS 36.213 clauses 5.1 and 6.1).

use lasthop_engine::math::db;
use lasthop_radio::lte::{PowerControl, PowerControlConfig};
use lasthop_radio::milliwatts;
use lasthop_units::{Db, Dbm};

/// The power control of a UE, and its path loss.
#[derive(Debug)]
pub struct TransmitPower {
    /// The closed loop.
    control: PowerControl,
    /// P_CMAX.
    largest: Dbm,
    /// Downlink gain of the serving cell, and the corresponding path loss.
    downlink_gain: f32,
    loss: Db,
    /// Power of the last transmission on each block [mW].
    block_mw: f32,
    /// Powers of the last transmissions, by number of blocks modulo the length.
    sent_with: [SentWith; 8],
}

/// The power of a transmission, and the values from which it was computed.
#[derive(Clone, Copy, Debug)]
pub struct SentWith {
    /// Blocks, path loss and closed loop.
    key: (u32, Db, PowerControl),
    /// Power on each block [mW].
    pub block_mw: f32,
    /// Power on all blocks.
    pub power: Dbm,
}

impl Default for SentWith {
    fn default() -> Self {
        SentWith { key: (0, Db(0.0), PowerControl::default()), block_mw: 0.0, power: Dbm(0.0) }
    }
}

impl TransmitPower {
    /// Power control of a UE with at most `largest`.
    pub fn new(largest: Dbm) -> TransmitPower {
        TransmitPower {
            control: PowerControl::default(),
            largest,
            downlink_gain: 0.0,
            loss: Db(0.0),
            block_mw: 0.0,
            sent_with: Default::default(),
        }
    }

    /// Restarts the closed loop: the UE has another cell.
    pub fn restart(&mut self) {
        self.control = PowerControl::default();
    }

    /// The downlink's path loss, which the UE measures on reference signals: that of the gain
    /// `downlink`.
    #[inline]
    pub fn path_loss(&mut self, downlink: f32) -> Db {
        if self.downlink_gain != downlink {
            (self.downlink_gain, self.loss) = (downlink, Db(-db(f64::from(downlink.max(1e-30)))));
        }
        self.loss
    }

    /// Power of a transmission on `blocks` resource blocks of PUSCH (clause 5.1.1.1).
    pub fn pusch(&self, config: &PowerControlConfig, blocks: u32, loss: Db) -> Dbm {
        self.control.pusch(config, blocks, loss, self.largest)
    }

    /// Starts the closed loop with an Msg3 on `blocks` resource blocks: `target` of the first
    /// preamble, and the `ramping` of the last one.
    pub fn start(&mut self, config: &PowerControlConfig, aim: (Dbm, Db), blocks: u32, loss: Db) {
        self.control.start(config, aim, blocks, loss, self.largest);
    }

    /// Power of sounding signals on `blocks` resource blocks (clause 5.1.3.1).
    pub fn srs(&self, config: &PowerControlConfig, blocks: u32, loss: Db) -> Dbm {
        self.control.srs(config, blocks, loss, self.largest)
    }

    /// Power of a preamble whose target is `target` (clause 6.1: PPRACH = min(PCMAX,
    /// PREAMBLE_RECEIVED_TARGET_POWER + PL)).
    pub fn preamble(&self, target: Dbm, loss: Db) -> Dbm {
        Dbm((target.0 + loss.0).min(self.largest.0))
    }

    /// Applies a transmit power control command (0 to 3), for `blocks` resource blocks.
    pub fn command(&mut self, config: &PowerControlConfig, command: u8, blocks: u32, loss: Db) {
        let before = self.control.unlimited(config, blocks, loss);
        self.control.command(config, command, before, self.largest);
    }

    /// The power headroom with a block on `blocks` resource blocks (clause 5.1.1.2).
    pub fn headroom(&self, config: &PowerControlConfig, blocks: u32, loss: Db) -> Db {
        self.control.headroom(config, blocks, loss, self.largest)
    }

    /// Sets and returns the power of a transmission on `blocks` resource blocks.
    #[inline]
    pub fn transmit(&mut self, config: &PowerControlConfig, blocks: u32, loss: Db) -> SentWith {
        let key = (blocks, loss, self.control);
        let place = blocks as usize % self.sent_with.len();
        if self.sent_with[place].key != key {
            let power = self.pusch(config, blocks, loss);
            let block_mw = (milliwatts(power) / f64::from(blocks.max(1))) as f32;
            self.sent_with[place] = SentWith { key, block_mw, power };
        }
        self.block_mw = self.sent_with[place].block_mw;
        self.sent_with[place]
    }

    /// [`headroom`](Self::headroom) with an Msg3, with `target` for the first preamble.
    pub fn msg3_headroom(&self, config: &PowerControlConfig, target: Dbm, blocks: u32, loss: Db) -> Db {
        self.control.msg3_headroom(config, target, blocks, loss, self.largest)
    }

    /// Sets and returns the power of an Msg3, with `target` for the first preamble.
    pub fn transmit_msg3(
        &mut self,
        config: &PowerControlConfig,
        target: Dbm,
        blocks: u32,
        loss: Db,
    ) -> SentWith {
        let power = self.control.msg3(config, target, blocks, loss, self.largest);
        self.block_mw = (milliwatts(power) / f64::from(blocks.max(1))) as f32;
        SentWith { key: (blocks, loss, self.control), block_mw: self.block_mw, power }
    }

    /// Power of the last transmission on each block [mW].
    pub const fn last_block_mw(&self) -> f32 {
        self.block_mw
    }
}

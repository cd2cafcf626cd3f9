//! What is recorded of a network on request: the frames on the air, and where packets are in
//! the MAC. Off by default; nothing that is simulated depends on it.

mod frames;
mod stages;

pub use frames::{FrameRecorder, Sent};
pub use stages::{BurstOf, LostMpdu, StageRecorder, WlanNote, WlanStage};

/// What is recorded.
#[derive(Debug, Default)]
pub struct Recorders {
    /// Where packets are.
    pub(super) stages: StageRecorder,
    /// The frames on the air, if they are recorded.
    pub(super) frames: Option<Box<FrameRecorder>>,
}

impl Recorders {
    /// From now on it is recorded where packets are.
    pub fn record_stages(&mut self) {
        self.stages.begin();
    }
    /// Where packets have been since the last call.
    pub fn stages(&mut self) -> impl Iterator<Item = WlanNote> + '_ {
        self.stages.drain()
    }
    /// The MPDUs of packets that were dropped since the last call, if it is recorded where packets
    /// are.
    pub fn lost(&mut self) -> impl Iterator<Item = LostMpdu> + '_ {
        self.stages.drain_lost()
    }
    /// From now on [`WlanOutput::noted`](super::WlanOutput::noted) has the frames that were on the
    /// air.
    pub fn record_frames(&mut self) {
        self.frames = Some(Box::default());
    }
}

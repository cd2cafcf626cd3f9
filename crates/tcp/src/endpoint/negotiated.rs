//! The agreement of the two SYNs.

/// The agreement of the SYNs; before it, the values offered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Negotiated {
    /// RFC 7323 section 3.
    pub timestamps: bool,
    /// RFC 2018.
    pub sack: bool,
    /// The peer's SYN carried the window scale option.
    pub peer_scales: bool,
    pub snd_scale: u8,
    pub rcv_scale: u8,
    /// Octets of data in a full segment.
    pub mss: u32,
}

impl Negotiated {
    /// Octets of options that every segment carries.
    pub const fn fixed_options(&self) -> u32 {
        if self.timestamps { 12 } else { 0 }
    }
}

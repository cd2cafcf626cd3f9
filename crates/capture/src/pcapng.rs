//! Packet captures in the format pcapng, which Wireshark, tshark and tcpdump read.
//!
//! The format is that of draft-ietf-opsawg-pcapng (text of 14 May 2026); sections are numbered as
//! there. A file has a Section Header Block (section 4.1), an Interface Description Block for each
//! point of observation (4.2), an Enhanced Packet Block for each frame (4.3), and in the end an
//! Interface Statistics Block for each interface (4.6). Times are nanoseconds, numbers
//! little-endian. The octets depend on the calls alone: no clock, no host.
//!
//! A file that is being written has `.partial` after its name. Whole blocks are written together,
//! so that the file of a killed process is readable up to the last block that was written; at most
//! the last 256 KiB and one frame are missing ([`Writer::flush`] writes them earlier). Memory does
//! not grow with the number of frames.

mod block;
mod file;

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};

use crate::CaptureError;
use block::{Block, COMMENT, timestamp};
use file::{OpenFile, failure, numbered};

/// The most octets of a frame that are written, whatever the snapshot length: Wireshark 4.0 reports
/// a file with a longer one as damaged ("cap_len 262145 is larger than 262144").
pub const MAX_CAPTURED: u32 = 262_144;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

/// Options of a Section Header Block (section 4.1).
const SHB_HARDWARE: u16 = 2;
const SHB_USERAPPL: u16 = 4;
/// Options of an Interface Description Block (section 4.2).
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TSRESOL: u16 = 9;
/// Options of an Enhanced Packet Block (section 4.3).
const EPB_FLAGS: u16 = 2;
const EPB_PACKETID: u16 = 5;
/// Options of an Interface Statistics Block (section 4.6).
const ISB_STARTTIME: u16 = 2;
const ISB_ENDTIME: u16 = 3;
const ISB_IFRECV: u16 = 4;
const ISB_IFDROP: u16 = 5;
const ISB_FILTERACCEPT: u16 = 6;

/// Timestamps count units of 10^-9 s.
const NANOSECONDS: u8 = 9;

/// Octets of an Interface Statistics Block at most: 24 without options, five options of 12 octets,
/// and the 4 octets that end the options.
const STATISTICS_BYTES: u64 = 24 + 5 * 12 + 4;

/// The fields of the Section Header Block. Empty texts are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// The program that makes the capture (`shb_userappl`).
    pub application: String,
    /// The machine on which the capture was made (`shb_hardware`).
    pub hardware: String,
    /// Free text about the capture (`opt_comment`).
    pub comment: String,
    /// When the capture starts [ns since 1970-01-01 00:00 UTC].
    pub start_ns: u64,
}

/// A point of observation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The first header of a frame: a value of the LinkType registry, such as 101 for IP.
    pub link_type: u16,
    /// The octets of a frame that are written at most. 0, and all that is more than
    /// [`MAX_CAPTURED`], mean [`MAX_CAPTURED`].
    pub snaplen: u32,
    /// Its name (`if_name`); left out if empty.
    pub name: String,
    /// Its description, for readers (`if_description`); left out if empty.
    pub description: String,
}

/// An interface of one [`Writer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InterfaceId(u32);

/// The direction of a frame at the node that has the interface (section 4.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Unknown: the file has no flags for the frame.
    #[default]
    Unknown,
    /// The node receives it.
    Inbound,
    /// The node sends it.
    Outbound,
}

/// A frame at an interface.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// The interface.
    pub interface: InterfaceId,
    /// Its time [ns since 1970-01-01 00:00 UTC].
    pub time_ns: u64,
    /// Its direction.
    pub direction: Direction,
    /// Its first octets, where these are stored apart from the others.
    pub prefix: &'a [u8],
    /// Its octets after `prefix`.
    pub bytes: &'a [u8],
    /// Octets of value 0 that follow `bytes`: payload that the simulator does not generate.
    pub zeros: u32,
    /// Its length [octet]: not less than `prefix`, `bytes` and `zeros` together.
    pub length: u32,
    /// A number that the same packet has on every interface (`epb_packetid`).
    pub packet: Option<u64>,
    /// A text for readers of the capture (`opt_comment`), cut after 65535 octets; none if empty.
    pub comment: &'a str,
}

/// A capture as a ring of files, of which the newest are kept. The files are called
/// `run_00001.pcapng`, `run_00002.pcapng` and so on if the capture is `run.pcapng`. Each is
/// complete in itself, with all interfaces. Files of an earlier capture that have higher numbers
/// stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// The largest size of a file [bytes]. A file has at least one frame, even if that is larger.
    pub bytes: NonZeroU64,
    /// How many files are kept, the one that is being written included.
    pub files: NonZeroU32,
}

/// A complete file of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureFile {
    /// The path of the file.
    pub path: PathBuf,
    /// Its size [bytes].
    pub bytes: u64,
    /// Number of frames in it.
    pub frames: u64,
    /// BLAKE3 of its bytes as hex.
    pub file_hash: String,
}

/// A complete capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedCapture {
    /// Its files, the oldest first: one, or those that the ring kept.
    pub files: Vec<CaptureFile>,
    /// Number of frames that were captured, those in removed files of a ring included.
    pub frames: u64,
    /// Number of files of the ring that were removed.
    pub removed: u64,
}

/// Counters of an interface from the beginning of the capture.
#[derive(Default)]
struct Counts {
    accepted: u64,
    passed_over: u64,
}

/// A capture being written.
pub struct Writer {
    path: PathBuf,
    ring: Option<Ring>,
    section: Section,
    interfaces: Vec<(Interface, Counts)>,
    /// None after a file could not be written.
    file: Option<OpenFile>,
    finished: VecDeque<CaptureFile>,
    /// Number of files that were begun.
    begun: u64,
    removed: u64,
    frames: u64,
    /// The latest time of a frame so far.
    latest_ns: u64,
    error: Option<CaptureError>,
}

impl Writer {
    /// Creates a capture without interfaces. It is written to `path`, which is replaced when the
    /// capture is finished, or to a ring of files named after `path`.
    ///
    /// # Errors
    /// If the first file cannot be created; the error names the file and the remedy.
    pub fn create(path: &Path, section: Section, ring: Option<Ring>) -> Result<Writer, CaptureError> {
        let mut writer = Writer {
            path: path.to_owned(),
            ring,
            latest_ns: section.start_ns,
            section,
            interfaces: Vec::new(),
            file: None,
            finished: VecDeque::new(),
            begun: 0,
            removed: 0,
            frames: 0,
            error: None,
        };
        writer.open()?;
        Ok(writer)
    }

    /// Adds a point of observation. Its block is written at once (section 4.2 allows one
    /// between packets).
    pub fn interface(&mut self, interface: Interface) -> InterfaceId {
        let id = InterfaceId(self.interfaces.len() as u32);
        let result = self.append(self.interfaces.len() + 1, 0, |out| describe(out, &interface));
        self.keep(result);
        self.interfaces.push((interface, Counts::default()));
        self.flush();
        id
    }

    /// Appends a frame, cut to the snapshot length of its interface. If the file cannot be written,
    /// the error is kept for [`error`](Writer::error) and [`finish`](Writer::finish), and the
    /// frames from there on are left out. The same applies to an invalid frame, which is a mistake
    /// in the program: another writer's interface, or more octets than its length.
    pub fn frame(&mut self, frame: &Frame<'_>) {
        let id = frame.interface.0 as usize;
        let Some((interface, _)) = self.interfaces.get(id) else {
            return self.misfit(frame, "the capture has no such interface".to_owned());
        };
        let given = (frame.prefix.len() + frame.bytes.len()) as u64 + u64::from(frame.zeros);
        if given > u64::from(frame.length) {
            return self.misfit(frame, format!("{given} octets of a frame of {}", frame.length));
        }
        if self.file.is_none() {
            return;
        }
        let limit = limit(interface);
        let result = self.append(self.interfaces.len(), 1, |out| encode(out, frame, limit));
        // After the append, which can begin a file: the one before does not count this frame.
        self.interfaces[id].1.accepted += 1;
        self.frames += 1;
        self.latest_ns = self.latest_ns.max(frame.time_ns);
        self.keep(result);
    }

    #[cold]
    fn misfit(&mut self, frame: &Frame<'_>, what: String) {
        let (path, interface) = (self.path.clone(), frame.interface.0);
        self.keep(Err(CaptureError::Frame { path, interface, time_ns: frame.time_ns, what }));
    }

    /// Counts a frame at `interface` that a filter left out: the statistics have the number.
    pub fn passed_over(&mut self, interface: InterfaceId) {
        if let Some((_, counts)) = self.interfaces.get_mut(interface.0 as usize) {
            counts.passed_over += 1;
        }
    }

    /// Writes the blocks that are still in memory, for a program that reads the file meanwhile.
    pub fn flush(&mut self) {
        let result = self.file.as_mut().map_or(Ok(()), OpenFile::flush);
        self.keep(result);
    }

    /// The error that ended the capture early, if any; [`finish`](Writer::finish) returns it.
    pub fn error(&self) -> Option<&CaptureError> {
        self.error.as_ref()
    }

    /// Writes the statistics, with `end_ns` as the end of the capture [ns since 1970-01-01 00:00
    /// UTC], and gives the last file its name.
    ///
    /// # Errors
    /// If a file could not be written, at any moment since the start. The error names the file and
    /// the remedy. The file keeps `.partial` after its name, and its contents are readable.
    pub fn finish(mut self, end_ns: u64) -> Result<FinishedCapture, CaptureError> {
        self.latest_ns = self.latest_ns.max(end_ns);
        let result = self.close(Some(end_ns));
        self.keep(result);
        match self.error {
            Some(error) => Err(error),
            None => Ok(FinishedCapture {
                files: self.finished.into(),
                frames: self.frames,
                removed: self.removed,
            }),
        }
    }

    /// Keeps the first error; the capture ends there.
    fn keep(&mut self, result: Result<(), CaptureError>) {
        if let Err(error) = result {
            self.file = None;
            self.error.get_or_insert(error);
        }
    }

    /// Begins the next file: the section and all interfaces so far.
    fn open(&mut self) -> Result<(), CaptureError> {
        self.begun += 1;
        let path = match self.ring {
            Some(_) => numbered(&self.path, self.begun),
            None => self.path.clone(),
        };
        let file = self.file.insert(OpenFile::create(path)?);
        let head = file.gathered();
        begin_section(head, &self.section);
        self.interfaces.iter().for_each(|(interface, _)| describe(head, interface));
        let length = head.len();
        file.added(length, 0)?;
        file.flush()
    }

    /// Appends the block that `make` writes, which has `frames` packets. The block is written to
    /// the next file of a ring if it does not fit into this one with the statistics of `interfaces`
    /// interfaces.
    fn append(
        &mut self,
        interfaces: usize,
        frames: u64,
        make: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), CaptureError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let (so_far, has_frames) = (file.bytes(), file.frames() > 0);
        let gathered = file.gathered();
        let start = gathered.len();
        make(gathered);
        let length = gathered.len() - start;
        let more = length as u64 + STATISTICS_BYTES * interfaces as u64;
        match self.ring {
            Some(ring) if has_frames && so_far + more > ring.bytes.get() => {
                let block = gathered.split_off(start);
                self.close(None)?;
                self.make_room(ring)?;
                self.open()?;
                let Some(file) = &mut self.file else { return Ok(()) };
                file.gathered().extend_from_slice(&block);
                file.added(length, frames)
            }
            _ => file.added(length, frames),
        }
    }

    /// Ends the file that is being written with the statistics of each interface.
    fn close(&mut self, end_ns: Option<u64>) -> Result<(), CaptureError> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        let tail = file.gathered();
        let start = tail.len();
        for (id, (_, counts)) in self.interfaces.iter().enumerate() {
            let start_ns = self.section.start_ns;
            statistics(tail, id as u32, counts, self.latest_ns, (start_ns, end_ns));
        }
        let length = tail.len() - start;
        file.added(length, 0)?;
        self.finished.push_back(file.finish()?);
        Ok(())
    }

    /// Removes the oldest files until there is room for one more.
    fn make_room(&mut self, ring: Ring) -> Result<(), CaptureError> {
        while self.finished.len() >= ring.files.get() as usize {
            let Some(oldest) = self.finished.pop_front() else { break };
            match fs::remove_file(&oldest.path) {
                // A reader of the ring may have moved the file away.
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(failure(&oldest.path, &e)),
                _ => {}
            }
            self.removed += 1;
        }
        Ok(())
    }
}

/// The most octets of a frame that `interface` captures.
fn limit(interface: &Interface) -> u32 {
    if interface.snaplen == 0 { MAX_CAPTURED } else { interface.snaplen.min(MAX_CAPTURED) }
}

/// Writes a Section Header Block (section 4.1). The length of the section is left unspecified: it
/// would have to be known before the section is written.
fn begin_section(out: &mut Vec<u8>, section: &Section) {
    Block::begin(out, SECTION_HEADER)
        .u32(0x1a2b_3c4d)
        .u16(1)
        .u16(0)
        .i64(-1)
        .text(COMMENT, &section.comment)
        .text(SHB_HARDWARE, &section.hardware)
        .text(SHB_USERAPPL, &section.application)
        .end();
}

/// Writes an Interface Description Block (section 4.2).
fn describe(out: &mut Vec<u8>, interface: &Interface) {
    Block::begin(out, INTERFACE_DESCRIPTION)
        .u16(interface.link_type)
        .u16(0)
        .u32(limit(interface))
        .text(IF_NAME, &interface.name)
        .text(IF_DESCRIPTION, &interface.description)
        .option(IF_TSRESOL, &[NANOSECONDS])
        .end();
}

/// Writes an Enhanced Packet Block (section 4.3).
fn encode(out: &mut Vec<u8>, frame: &Frame<'_>, limit: u32) {
    let prefix = &frame.prefix[..frame.prefix.len().min(limit as usize)];
    let bytes = &frame.bytes[..frame.bytes.len().min(limit as usize - prefix.len())];
    let given = (prefix.len() + bytes.len()) as u32;
    let zeros = frame.zeros.min(limit - given);
    let mut fields = [0; 20];
    fields[..4].copy_from_slice(&frame.interface.0.to_le_bytes());
    fields[4..12].copy_from_slice(&timestamp(frame.time_ns));
    fields[12..16].copy_from_slice(&(given + zeros).to_le_bytes());
    fields[16..].copy_from_slice(&frame.length.to_le_bytes());
    let mut block = Block::begin(out, ENHANCED_PACKET)
        .fields(&fields)
        .fields(prefix)
        .packet(prefix.len(), bytes, zeros as usize)
        .text(COMMENT, frame.comment);
    let flags: u32 = match frame.direction {
        Direction::Unknown => 0,
        Direction::Inbound => 1,
        Direction::Outbound => 2,
    };
    if flags != 0 {
        block = block.option(EPB_FLAGS, &flags.to_le_bytes());
    }
    if let Some(packet) = frame.packet {
        block = block.option(EPB_PACKETID, &packet.to_le_bytes());
    }
    block.end();
}

/// Writes an Interface Statistics Block (section 4.6) of the moment `time_ns`. A file of a ring
/// that is not the last one has no `end_ns`, because the capture goes on after it.
fn statistics(out: &mut Vec<u8>, id: u32, counts: &Counts, time_ns: u64, (start, end): (u64, Option<u64>)) {
    let mut block = Block::begin(out, INTERFACE_STATISTICS)
        .u32(id)
        .time(time_ns)
        .option(ISB_STARTTIME, &timestamp(start));
    if let Some(end) = end {
        block = block.option(ISB_ENDTIME, &timestamp(end));
    }
    block
        .option(ISB_IFRECV, &(counts.accepted + counts.passed_over).to_le_bytes())
        .option(ISB_IFDROP, &0u64.to_le_bytes())
        .option(ISB_FILTERACCEPT, &counts.accepted.to_le_bytes())
        .end();
}

#[cfg(test)]
mod tests;

//! A script as data, and its parser.
//!
//! The language is that of the packetdrill tool (Cardwell et al., USENIX ATC 2013): option lines,
//! shell commands between backticks, then events, each a time and a packet, a system call, a shell
//! command or a piece of code.

mod conditions;
mod cursor;
mod event;
mod expr;
mod packet;

pub use conditions::Defines;
pub use event::{parse, parse_with};

use crate::code::Code;
use crate::problem::{Problem, SourcePosition};

/// A script.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Command-line options in the text.
    pub options: Vec<ToolOption>,
    /// Symbols whose value is a whole number; the code has them.
    pub symbols: Vec<(String, i64)>,
    /// Everything else, in order.
    pub events: Vec<Event>,
}

/// `--name=value` in a script.
#[derive(Clone, Debug)]
pub struct ToolOption {
    /// Where it stands.
    pub place: SourcePosition,
    /// Name without dashes.
    pub name: String,
    /// Value; empty if there is none.
    pub value: String,
}

/// Something that is done or expected at a time.
#[derive(Clone, Debug)]
pub struct Event {
    /// Where it stands.
    pub place: SourcePosition,
    /// When it is done or expected.
    pub time: Time,
    /// What is done or expected.
    pub kind: Kind,
}

/// When an event is due; microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// A shell command before or after the events: at once.
    None,
    /// `*`: whenever.
    Any,
    /// Since the start.
    Absolute(i64),
    /// `+`: after the event before.
    Relative(i64),
    /// `a~b`, both since the start.
    AbsoluteRange(i64, i64),
    /// `+a~+b`.
    RelativeRange(i64, i64),
}

/// The event.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A packet that is injected or expected.
    Packet(Packet),
    /// A system call.
    Call(Call),
    /// Text between backticks.
    Command(String),
    /// `%{ ... }%`.
    Code(Code),
}

/// A packet as a script writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// `<`: towards the endpoint.
    pub inbound: bool,
    /// The ECN field, if written: its code point.
    pub ecn: Option<u8>,
    /// Flags.
    pub flags: lasthop_tcp::Flags,
    /// First sequence number.
    pub seq: u32,
    /// Octets of data.
    pub len: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Window field, if written.
    pub window: Option<u16>,
    /// `<...>`: options are not looked at.
    pub any_options: bool,
    /// MSS option.
    pub mss: Option<u16>,
    /// Window scale option.
    pub window_scale: Option<u8>,
    /// SACK-permitted option.
    pub sack_permitted: bool,
    /// Timestamp value and echo.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks.
    pub sack: Vec<(u32, u32)>,
    /// The AE bit, beside CWR and ECE in the flags.
    pub accurate: bool,
    /// AccECN option.
    pub accecn: Option<lasthop_tcp::AccEcn>,
}

/// A system call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Its name.
    pub name: String,
    /// Its arguments.
    pub args: Vec<Expr>,
    /// When it returns, if it blocks: like the event's time, relative or absolute \[us\].
    pub end: Option<i64>,
    /// What it returns; `None`: anything.
    pub result: Option<i64>,
    /// The name of the error expected with -1.
    pub error: Option<String>,
}

/// An argument of a system call.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// `...`: anything.
    Any,
    /// A number.
    Int(i64),
    /// A constant by name.
    Name(String),
    /// A text.
    Text(String),
    /// `[a, b]`.
    List(Vec<Expr>),
    /// `{field = a, b}`.
    Record(Vec<(Option<String>, Expr)>),
    /// `A|B`.
    Or(Vec<Expr>),
    /// `f(a)`.
    Call(String, Vec<Expr>),
}

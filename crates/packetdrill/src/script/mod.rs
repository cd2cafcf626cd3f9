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
    /// Symbols whose value is a whole number; they are variables of the code.
    pub symbols: Vec<(String, i64)>,
    /// The events, in order.
    pub events: Vec<Event>,
}

/// `--name=value` in a script.
#[derive(Clone, Debug)]
pub struct ToolOption {
    /// Its position.
    pub place: SourcePosition,
    /// Name without dashes.
    pub name: String,
    /// Value; empty if there is none.
    pub value: String,
}

/// An action or expectation at a time.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its position.
    pub place: SourcePosition,
    /// Its time.
    pub time: Time,
    /// The action or expectation.
    pub kind: Kind,
}

/// The time of an event [us].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// A shell command before or after the events: at once.
    None,
    /// `*`: any time.
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

/// The action or expectation of an event.
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
    /// `<...>`: options are not compared.
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
    /// When it returns, if it blocks: as the event's time, relative or absolute \[us\].
    pub end: Option<i64>,
    /// Its return value; `None`: any.
    pub result: Option<i64>,
    /// The name of the error expected with -1.
    pub error: Option<String>,
}

/// An argument of a system call.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// `...`: any value.
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

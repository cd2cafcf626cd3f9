//! Packets.

use lasthop_tcp::{AccEcn, Flags};

use super::cursor::Cursor;
use super::{Packet, Problem};

pub(super) fn packet(c: &mut Cursor<'_>) -> Result<Packet, Problem> {
    let mut p = Packet { inbound: c.take("<"), ..Packet::default() };
    if !p.inbound {
        c.take(">");
    }
    c.space()?;
    if c.take("[") || c.take("(") {
        p.ecn = ecn(c, !p.inbound)?;
        c.space()?;
    }
    other_protocols(c)?;
    flags(c, &mut p)?;
    c.space()?;
    sequence(c, &mut p)?;
    loop {
        c.space()?;
        if c.take("ack") {
            p.ack = c.field("ack")?;
        } else if c.take("win") {
            p.window = Some(c.field("win")?);
        } else if c.take("urg") {
            return Err(c.not_applicable("urgent data"));
        } else if c.take("<") {
            options(c, &mut p)?;
        } else if c.starts("/") {
            return Err(c.not_applicable("encapsulated packets"));
        } else {
            return Ok(p);
        }
    }
}

/// Refuses packets of other protocols that a script may contain.
fn other_protocols(c: &Cursor<'_>) -> Result<(), Problem> {
    let word: String = c.rest().chars().take_while(|x| x.is_ascii_alphanumeric()).collect();
    let what = match word.as_str() {
        "icmp" | "icmpv6" => "ICMP messages",
        "udp" | "udplite" => "UDP",
        "ipv4" | "ipv6" | "gre" | "mpls" | "psp" => "encapsulated packets",
        "sctp" => "SCTP",
        _ => return Ok(()),
    };
    Err(c.not_applicable(what))
}

/// The ECN field between brackets. A segment has no TTL and no DSCP: an expectation of them cannot
/// be compared.
fn ecn(c: &mut Cursor<'_>, expected: bool) -> Result<Option<u8>, Problem> {
    let place = c.place();
    let others = || Err(Problem::NotApplicable { place, reason: "TTL, hop limit or DSCP of packets".into() });
    let text = c.take_while(|x| x != ']' && x != ')' && x != '\n').trim().to_owned();
    c.next();
    for word in text.split(',').map(str::trim) {
        match word {
            "noecn" => return Ok(Some(0)),
            "ect1" => return Ok(Some(1)),
            "ect0" => return Ok(Some(2)),
            "ce" => return Ok(Some(3)),
            "ect01" => return Ok(None),
            _ if word.starts_with("tos") => {
                let n = word.trim_start_matches("tos").trim();
                let n =
                    n.strip_prefix("0x").map_or_else(|| n.parse().ok(), |h| u8::from_str_radix(h, 16).ok());
                if expected && n.is_some_and(|n| n > 3) {
                    return others();
                }
                return Ok(n.map(|n| n & 3));
            }
            _ if expected && ["ttl", "hlim", "class"].iter().any(|w| word.starts_with(w)) => {
                return others();
            }
            _ if ["flowlabel", "ttl", "hlim", "class"].iter().any(|w| word.starts_with(w)) => {}
            _ if c.rest().trim_start_matches([')', ']', ' ']).starts_with("icmp") => {
                return Err(c.not_applicable("ICMP messages"));
            }
            _ => {
                let message = format!("`{word}` is not one of noecn, ect0, ect1, ce, tos N");
                return Err(Problem::Mistake { place, message });
            }
        }
    }
    Ok(None)
}

/// Reads letters, and a digit for the ACE field: AE, CWR and ECE as a number.
fn flags(c: &mut Cursor<'_>, p: &mut Packet) -> Result<(), Problem> {
    if c.take("-") {
        return Ok(());
    }
    let letters = c.take_while(|x| "FSRP.UEWA".contains(x) || ('0'..='7').contains(&x));
    for letter in letters.chars() {
        p.flags |= match letter {
            'F' => Flags::FIN,
            'S' => Flags::SYN,
            'R' => Flags::RST,
            'P' => Flags::PSH,
            '.' => Flags::ACK,
            'U' => Flags::URG,
            'E' => Flags::ECE,
            'W' => Flags::CWR,
            'A' => {
                p.accurate = true;
                Flags::NONE
            }
            ace => {
                let ace = ace as u8 - b'0';
                p.accurate |= ace & 4 != 0;
                Flags((ace & 2) << 6 | (ace & 1) << 6)
            }
        };
    }
    if letters.is_empty() {
        Err(c.mistake(
            "TCP flags are expected here (S, S., ., P., F., R, A for AE, 0 to 7 for the ACE field, -)",
        ))
    } else {
        Ok(())
    }
}

fn sequence(c: &mut Cursor<'_>, p: &mut Packet) -> Result<(), Problem> {
    if c.peek().is_some_and(|x| x.is_ascii_digit())
        && c.rest().split([' ', '\n']).next().is_some_and(|w| w.contains('>'))
    {
        return Err(c.not_applicable("explicit ports"));
    }
    p.seq = c.field("seq")?;
    c.expect(":")?;
    let end: u32 = c.field("seq")?;
    c.expect("(")?;
    p.len = c.field("length")?;
    c.expect(")")?;
    // FreeBSD's fork: the numbers are absolute. They are absolute in a reset without a connection.
    c.take("!");
    if end.wrapping_sub(p.seq) != p.len {
        let seq = p.seq;
        return Err(c.mistake(&format!(
            "{seq}:{end} is not {} octets long; `seq:seq+length(length)` is expected",
            p.len
        )));
    }
    Ok(())
}

fn options(c: &mut Cursor<'_>, p: &mut Packet) -> Result<(), Problem> {
    c.space()?;
    if c.take("...") {
        p.any_options = true;
        return c.expect(">");
    }
    loop {
        c.space()?;
        if c.take(">") {
            return Ok(());
        }
        option(c, p)?;
        c.space()?;
        if !c.take(",") && !c.starts(">") {
            return Err(c.mistake("`,` or `>` is expected here"));
        }
    }
}

fn option(c: &mut Cursor<'_>, p: &mut Packet) -> Result<(), Problem> {
    let name = c.take_while(|x| x.is_ascii_alphanumeric() || x == '_' || x == '-').to_owned();
    match name.as_str() {
        "nop" | "eol" => {}
        "mss" => p.mss = Some(c.field("mss")?),
        "wscale" => p.window_scale = Some(c.field("wscale")?),
        "sackOK" => p.sack_permitted = true,
        "sack" => loop {
            c.space()?;
            if !c.peek().is_some_and(|x| x.is_ascii_digit()) {
                break;
            }
            let start = c.field("sack")?;
            c.expect(":")?;
            p.sack.push((start, c.field("sack")?));
        },
        "TS" => {
            c.expect("val")?;
            let value = c.field("TS val")?;
            c.expect("ecr")?;
            p.timestamps = Some((value, c.field("TS ecr")?));
        }
        "FO" | "FOEXP" | "exp-fo" => return Err(c.not_applicable("TCP Fast Open")),
        "md5" | "md5sig" => return Err(c.not_applicable("TCP MD5 signatures")),
        "ECN" | "AccECN" => p.accecn = Some(accecn(c)?),
        "exp-accecn" => return Err(c.not_applicable("the experimental kind of the AccECN option")),
        _ => {
            return Err(c.mistake(&format!(
                "the option `{name}` is not known (mss, wscale, sackOK, sack, TS, nop, eol or `...`)"
            )));
        }
    }
    Ok(())
}

/// `ECN e1b N ceb N e0b N`: the first counter determines which of the two options it is (RFC 9768
/// table 5).
fn accecn(c: &mut Cursor<'_>) -> Result<AccEcn, Problem> {
    const ORDERS: [[&str; 3]; 2] = [["e0b", "ceb", "e1b"], ["e1b", "ceb", "e0b"]];
    c.space()?;
    let order1 = !c.starts("e0b");
    let mut counters = vec![];
    for name in ORDERS[usize::from(order1)] {
        c.space()?;
        if !c.take(name) {
            break;
        }
        let n: u32 = c.field(name)?;
        if n >> 24 != 0 {
            return Err(c.mistake(&format!("{name} has 24 bits: at most 16777215")));
        }
        counters.push(n);
    }
    Ok(AccEcn::of(order1, &counters))
}

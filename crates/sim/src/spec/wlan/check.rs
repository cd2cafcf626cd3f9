//! Checks of combinations of the keys of access points and stations, and pitfalls of wireless LANs.

use lasthop_units::Bitrate;
use lasthop_wifi::rate::RateConfig;

use super::StationSpec;
use crate::config::{Diagnostics, Document, dotted};
use crate::spec::common_checks::{check_mtu, check_node_name, one_place};
use crate::spec::group::names_one;
use crate::spec::{FlowSpec, Spec};

pub(super) fn check(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    if let Err(e) = spec.wlan.validate() {
        found.push(doc.error_at(&format!("wlan.{}", e.key), e.message).help_opt(e.help));
    }
    aps(spec, doc, found);
    check_channels(spec, doc, found);
    for (name, group) in &spec.station {
        check_group(name, group, spec, doc, found);
    }
    for (name, flow) in &spec.flow {
        pitfalls(name, flow, spec, doc, found);
    }
    for name in spec.ap.keys() {
        too_much(name, spec, doc, found);
    }
    if !found.has_errors() {
        out_of_reach(spec, doc, found);
    }
}

/// Checks the access points and stations of `part`, which are those of `whole` with other values.
pub(super) fn check_entries(part: &Spec, whole: &Spec, doc: &Document, found: &mut Diagnostics) {
    aps(part, doc, found);
    for (name, group) in &part.station {
        check_group(name, group, whole, doc, found);
    }
}

fn aps(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    for (name, ap) in &spec.ap {
        let path = format!("ap.{}", dotted([name]));
        if let Some(node) = &ap.node {
            check_node_name(node, &format!("{path}.node"), doc, found);
        }
        match ap.validate() {
            Ok(warnings) => {
                for w in warnings {
                    found.push(doc.warning_at(&format!("{path}.{}", w.key), w.message));
                }
            }
            Err(e) => found.push(doc.error_at(&format!("{path}.{}", e.key), e.message).help_opt(e.help)),
        }
    }
}

/// Checks that access points on one channel have the same width and slots.
fn check_channels(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    for (i, (name, ap)) in spec.ap.iter().enumerate() {
        let earlier = spec.ap.iter().take(i).find(|(_, other)| other.channel == ap.channel);
        if let Some((other, first)) = earlier
            && (first.width != ap.width || first.standard.cw_min() != ap.standard.cw_min())
        {
            let message = format!("`{other}` has another width or modulation on channel {}", ap.channel);
            found.push(doc.error_at(&format!("ap.{}.channel", dotted([name])), message).help(
                "networks of one channel have one width, and 802.11b shares a channel with 802.11b only",
            ));
        }
        let near = spec.ap.iter().take(i).find(|(_, other)| other.overlaps_unnoticed(ap));
        if let Some((other, first)) = near {
            let message = format!(
                "channel {} overlaps with {}, which `{other}` uses, and neither network receives the other: only networks on equal channel \
                 numbers share a medium",
                ap.channel, first.channel
            );
            let warning = doc.warning_at(&format!("ap.{}.channel", dotted([name])), message);
            found.push(warning.help("give both the same channel and width, or channels that do not overlap"));
        }
    }
}

fn check_group(name: &str, group: &StationSpec, spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    let path = format!("station.{}", dotted([name]));
    if group.count == 0 {
        let d = doc.error_at(&format!("{path}.count"), "no station at all");
        found.push(d.help("remove the table instead"));
    }
    if group.packets == 0 {
        found.push(doc.error_at(&format!("{path}.packets"), "capacity for at least one packet"));
    }
    check_mtu(group.mtu, &format!("{path}.mtu"), doc, found);
    // Table 9-19: an MSDU has up to 2304 B, 8 of them LLC and SNAP.
    if group.mtu.0 > 2_296 {
        let message = format!("an 802.11 frame carries IP packets up to 2296 B, not {}", group.mtu);
        found.push(doc.error_at(&format!("{path}.mtu"), message));
    }
    let verdicts = [group.radio.validate().map_err(|e| (format!("radio.{}", e.key), e.message, e.help))]
        .into_iter()
        .chain(group.ring.map(|r| r.validate().map_err(|e| (e.key, e.message, None))));
    for (key, message, help) in verdicts.filter_map(Result::err) {
        found.push(doc.error_at(&format!("{path}.{key}"), message).help_opt(help));
    }
    let drawn = [("ring", group.ring.is_some()), ("drop", group.drop.is_some())];
    let places = [group.radio.position, StationSpec::default().radio.position];
    one_place(doc, &path, &drawn, places, found);
    check_drop(group, &path, spec, doc, found);
    match &group.ap {
        Some(ap) if !spec.ap.contains_key(ap) => {
            let near = found.nearest(ap, spec.ap.keys());
            let message = format!("no access point is called `{ap}`");
            found.push(doc.error_at(&format!("{path}.ap"), message).help_opt(near));
        }
        None if spec.ap.len() != 1 => {
            let (what, help) = match spec.ap.is_empty() {
                true => ("a station needs an access point", "add an `[ap.<name>]` table"),
                false => ("there are several access points: which one is this station's?", "set `ap`"),
            };
            found.push(doc.error_at(&path, what).help(help));
        }
        _ => {}
    }
    if let (Some(rate), Some(ap)) = (&group.rate, spec.ap_of(group).and_then(|ap| spec.ap.get(ap)))
        && let Err(e) = ap.check_rate(rate)
    {
        found.push(doc.error_at(&format!("{path}.rate.{}", e.key), e.message).help_opt(e.help));
    }
    for flow in group.category.keys().filter(|flow| !spec.flow.contains_key(*flow)) {
        let near = found.nearest(flow, spec.flow.keys());
        let key = format!("{path}.category.{}", dotted([flow]));
        found.push(doc.error_at(&key, format!("no flow is called `{flow}`")).help_opt(near));
    }
}

fn check_drop(group: &StationSpec, path: &str, spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    let Some(drop) = group.drop else { return };
    let key = format!("{path}.drop");
    if group.ring.is_some() {
        found.push(doc.error_at(&key, "`ring` and `drop` both set where the stations are").help("keep one"));
    }
    let layout = spec.only_layout();
    if drop.needs_layout() && layout.is_none() {
        let d = doc.error_at(&key, "which layout? There is none, or there are several");
        found.push(d.help("use `drop = { kind = \"disc\", radius = \"20 m\" }` or a rectangle"));
    } else if let Err(e) = drop.validate(layout) {
        found.push(doc.error_at(&format!("{path}.{}", e.key), e.message));
    }
}

/// The group of stations at a flow's end, named as a whole or by one member.
fn group_of<'a>(spec: &'a Spec, end: &str) -> Option<&'a StationSpec> {
    let member = || spec.station.iter().find(|(name, s)| names_one(name, s.count, end)).map(|(_, s)| s);
    spec.station.get(end).or_else(member)
}

fn pitfalls(name: &str, flow: &FlowSpec, spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    let groups: Vec<&StationSpec> =
        [&flow.from, &flow.to].iter().filter_map(|end| group_of(spec, end)).collect();
    if groups.is_empty() {
        return;
    }
    let path = format!("flow.{}", dotted([name]));
    if let Some(Ok(tcp)) = flow.over_tcp().map(|tcp| tcp.resolve())
        && tcp.window.mss <= 536
    {
        let message = format!(
            "segments of {} B over a wireless LAN: most of the time on the air is overhead",
            tcp.window.mss
        );
        let warning = doc.warning_at(&format!("{path}.tcp.mss"), message);
        found.push(warning.help("an MTU of 1500 B takes `mss = \"1460 B\"`"));
    }
    for group in groups {
        let Some(ap) = spec.ap_of(group).and_then(|ap| spec.ap.get(ap)) else { continue };
        if group.category.contains_key(name) && !ap.standard.qos() {
            let message = format!("{} has one access category", ap.standard.name());
            let key = "station.category has no effect on it: EDCA needs 802.11n or 802.11ac";
            found.push(doc.warning_at(&path, message).help(key));
        }
    }
}

/// Compares the constant rates of the flows of an access point's stations with the fastest rate.
fn too_much(name: &str, spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    let here = |end: &str| group_of(spec, end).and_then(|g| spec.ap_of(g)) == Some(name);
    let rate = |flow: &FlowSpec| {
        let constant = flow.app.peak().map(|(rate, _)| rate).filter(|r| flow.app.mean_rate() == Some(*r));
        constant.map_or(0, |rate| rate.0)
    };
    let flows = spec.flow.values().filter(|f| here(&f.from) || here(&f.to));
    let offered: u64 = flows.map(|f| rate(f) * spec.pairs_of(f) * u64::from(f.count)).sum();
    let ap = &spec.ap[name];
    let best = match ap.rate {
        RateConfig::Fixed { mcs, streams } => ap.mode(mcs, streams).ok(),
        _ => ap.modes().last().copied(),
    };
    let Some(best) = best.map(|m| m.rate()) else { return };
    if offered > best.0 {
        let message = format!(
            "the flows of its stations offer {}, the fastest rate is {best} before overhead",
            Bitrate(offered)
        );
        found.push(doc.warning_at(&format!("ap.{}", dotted([name])), message).help(
            "the excess waits in the queues of the access point and the stations and is dropped there",
        ));
    }
}

/// Warns of stations that stay where no preamble is detected: they never associate, and no packet
/// is delivered.
fn out_of_reach(spec: &Spec, doc: &Document, found: &mut Diagnostics) {
    let all = spec.wireless().config;
    let mut stations = all.stations.iter();
    for (name, group) in spec.station.iter().filter(|(_, group)| spec.ap_of(group).is_some()) {
        let theirs = stations.by_ref().take(group.count as usize);
        let short = theirs.filter_map(|s| all.radio.falls_short(&all.aps[s.ap], &s.radio));
        let (count, best) = short.fold((0, f64::NEG_INFINITY), |(n, best), dbm| (n + 1, dbm.max(best)));
        if count == 0 {
            continue;
        }
        let message = match group.count {
            1 => format!(
                "too far away: frames arrive with {best:.0} dBm, below the power at which a preamble is detected"
            ),
            n => format!(
                "{count} of {n} are too far away: the best of these get frames with {best:.0} dBm, below the power at which a preamble is detected"
            ),
        };
        let warning = doc.warning_at(&format!("station.{}", dotted([name])), message);
        found.push(warning.help(
            "no frame will be received: move them nearer, or raise `radio.power` here and at the access point",
        ));
    }
}

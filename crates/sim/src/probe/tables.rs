//! The tables that a run leaves behind: names, columns, units, descriptions. The one place that
//! says so; `lasthop describe tables` and the reference pages are made from it.

use lasthop_capture::{ColumnDef, ColumnType as K, TableDef};

/// A column that always has a value.
const fn col(name: &'static str, kind: K, unit: &'static str, description: &'static str) -> ColumnDef {
    ColumnDef { name, kind, unit, description, nullable: false }
}

/// A column that may be empty.
const fn opt(name: &'static str, kind: K, unit: &'static str, description: &'static str) -> ColumnDef {
    ColumnDef { name, kind, unit, description, nullable: true }
}

const TIME: ColumnDef = col("time_s", K::F64, "s", "virtual time since the start of the run");
const FLOW: ColumnDef = col("flow", K::Name, "", "name of the flow");
const BEARER: ColumnDef = col("bearer", K::Name, "", "name of the bearer");
const DIRECTION: ColumnDef = col("direction", K::Name, "", "\"downlink\" (to the UE) or \"uplink\"");

/// One row per flow whose user minds late packets, written at the end.
pub static QUALITY: TableDef = TableDef {
    name: "quality",
    description: "Calls and games: what their users have of packets that come late or not at all.",
    columns: &[
        FLOW,
        col("app", K::Name, "", "\"voip\" or \"game\""),
        col("sent", K::U64, "packets", "packets sent"),
        col("received", K::U64, "packets", "packets received"),
        col("late", K::U64, "packets", "of these, older than the deadline"),
        col("deadline_s", K::F64, "s", "age at which a packet is late"),
        opt("unusable", K::F64, "1", "share of the sent packets that were lost or late"),
        opt("delay_mean_s", K::F64, "s", "mean delay"),
        opt("delay_p95_s", K::F64, "s", "delay that 95 % do not exceed"),
        opt("delay_p99_s", K::F64, "s", "delay that 99 % do not exceed"),
        col("longest_gap_s", K::F64, "s", "longest time between two arrivals"),
        opt("r_factor", K::F64, "1", "transmission rating of a call (ITU-T G.107)"),
        opt("mos", K::F64, "1", "mean opinion score of a call, 1 to 4.5"),
    ],
};

/// One row per flow whose user waits for something, written at the end.
pub static APPLICATIONS: TableDef = TableDef {
    name: "applications",
    description: "Requests, web pages, files and video: what their users wait for.",
    columns: &[
        FLOW,
        col("app", K::Name, "", "\"request-response\", \"web-page\", \"ftp\" or \"dash\""),
        col("completed", K::U64, "", "answers, pages, files or segments that have arrived whole"),
        opt("time_mean_s", K::F64, "s", "mean time that one took"),
        opt("time_median_s", K::F64, "s", "time that half of them do not exceed"),
        opt("time_p95_s", K::F64, "s", "time that 95 % do not exceed"),
        opt("time_max_s", K::F64, "s", "longest time"),
        opt("startup_s", K::F64, "s", "video: from the start to the first picture"),
        opt("bitrate_mean_bps", K::F64, "bit/s", "video: mean bitrate of the segments"),
        opt("switches", K::U64, "", "video: changes of the bitrate"),
        opt("stalls", K::U64, "", "video: times that it stood still"),
        opt("stalled_s", K::F64, "s", "video: how long it stood still in all"),
    ],
};

/// One row per flow, written at the end.
pub static FLOWS: TableDef = TableDef {
    name: "flows",
    description: "Flows: the flow monitor's statistics of the data's direction, and the sender's own counters.",
    columns: &[
        FLOW,
        col("src", K::Name, "", "node that sends the data"),
        col("dst", K::Name, "", "node that receives the data"),
        col("transport", K::Name, "", "\"tcp\" or \"udp\""),
        opt("profile", K::Name, "", "TCP stack profile"),
        opt("cc", K::Name, "", "congestion control"),
        opt("start_s", K::F64, "s", "when the flow started; empty: it did not"),
        col("end_s", K::F64, "s", "end of the run"),
        opt(
            "first_tx_s",
            K::F64,
            "s",
            "when the first packet was sent in the data's direction; empty: none was",
        ),
        opt(
            "last_rx_s",
            K::F64,
            "s",
            "when the last packet was received in the data's direction; empty: none was",
        ),
        col("tx_packets", K::U64, "packets", "IP packets sent in the data's direction"),
        col("tx_bytes", K::U64, "B", "IP bytes sent in the data's direction"),
        col("rx_packets", K::U64, "packets", "IP packets received in the data's direction"),
        col("rx_bytes", K::U64, "B", "IP bytes received in the data's direction"),
        col("rx_segment_bytes", K::U64, "B", "received bytes above IP: TCP or UDP headers and payload"),
        col(
            "app_bytes",
            K::U64,
            "B",
            "bytes delivered to the receiving application, in order and once (TCP)",
        ),
        opt("goodput_bps", K::F64, "bit/s", "app_bytes over the time from the flow's start to the end"),
        opt("throughput_bps", K::F64, "bit/s", "rx_bytes over the time from the flow's start to the end"),
        opt("delay_mean_s", K::F64, "s", "mean one-way delay of the received packets, at IP level"),
        opt("delay_min_s", K::F64, "s", "smallest one-way delay"),
        opt("delay_max_s", K::F64, "s", "largest one-way delay"),
        opt("delay_p95_s", K::F64, "s", "one-way delay that 95 % do not exceed, right to a sixteenth"),
        opt("jitter_mean_s", K::F64, "s", "mean absolute difference of successive one-way delays"),
        col(
            "lost_undelivered",
            K::U64,
            "packets",
            "sent but not received by the end, those on the way included",
        ),
        col("lost_dropped", K::U64, "packets", "dropped for a named cause (fragments count singly)"),
        col("lost_retransmitted", K::U64, "packets", "sent again by the transport"),
        col("rx_marked", K::U64, "packets", "of the received: with congestion experienced (ECN CE)"),
        opt("retransmits", K::U64, "segments", "segments that the sender sent again"),
        opt("timeouts", K::U64, "", "expiries of the sender's retransmission timer"),
        opt("fast_retransmits", K::U64, "", "fast retransmissions that began a recovery"),
        opt("cwnd_mean", K::F64, "segments", "congestion window, mean over time"),
        opt("cwnd_max", K::F64, "segments", "largest congestion window"),
        opt("rtt_samples", K::U64, "", "round-trip samples taken by the sender"),
        opt("rtt_min_s", K::F64, "s", "smallest round-trip sample"),
        opt("rtt_mean_s", K::F64, "s", "mean round-trip sample"),
        opt("rtt_max_s", K::F64, "s", "largest round-trip sample"),
        col(
            "reverse_tx_packets",
            K::U64,
            "packets",
            "IP packets sent against the data's direction (ACKs, requests)",
        ),
        col("reverse_rx_packets", K::U64, "packets", "IP packets received against the data's direction"),
        col("reverse_tx_bytes", K::U64, "B", "IP bytes sent against the data's direction"),
        col("reverse_rx_bytes", K::U64, "B", "IP bytes received against the data's direction"),
        opt(
            "requests",
            K::U64,
            "",
            "requests answered in full (of `web-page` pages, of `ftp` files, of `dash` segments)",
        ),
        opt(
            "request_time_mean_s",
            K::F64,
            "s",
            "mean time from a request to the end of its answer (of a page to its last object)",
        ),
        opt("completion_s", K::F64, "s", "when the transfer was complete (file, or a count of requests)"),
    ],
};

/// The sender's state, sampled.
pub static TCP: TableDef = TableDef {
    name: "tcp",
    description: "State of TCP senders under the names of Linux tcp_info, sampled as `output.tcp` says.",
    columns: &[
        TIME,
        FLOW,
        col("trigger", K::Name, "", "why the row is here: \"interval\", \"ack\", \"rto\" or \"change\""),
        col("ca_state", K::Name, "", "\"open\", \"disorder\", \"cwr\", \"recovery\" or \"loss\""),
        col("snd_cwnd", K::F64, "segments", "congestion window"),
        col("snd_ssthresh", K::F64, "segments", "slow start threshold; -1: infinite"),
        col("rtt_us", K::F64, "us", "smoothed round-trip time; 0 before the first sample"),
        col("rttvar_us", K::F64, "us", "round-trip time variation"),
        opt("rtt_sample_us", K::F64, "us", "the sample that this ACK gave, if it gave one"),
        opt("min_rtt_us", K::F64, "us", "smallest round-trip time seen"),
        col("rto_us", K::F64, "us", "retransmission timeout, back-off included"),
        col("unacked", K::U64, "segments", "segments sent and not yet acknowledged"),
        col("sacked", K::U64, "segments", "of those: acknowledged selectively"),
        col("lost", K::U64, "segments", "of those: taken for lost"),
        col("retrans", K::U64, "segments", "of those: sent again and not yet acknowledged"),
        col("total_retrans", K::U64, "segments", "segments sent again since the start"),
        col("bytes_acked", K::U64, "B", "bytes acknowledged since the start"),
        col(
            "bytes_arrived",
            K::U64,
            "B",
            "payload that has arrived at the receiver since the start, each byte once, in order or not",
        ),
        col("snd_una", K::U64, "B", "oldest unacknowledged byte, counted from the start of the stream"),
        col("snd_nxt", K::U64, "B", "next byte to send, counted from the start of the stream"),
        col("rwnd_bytes", K::U64, "B", "window that the receiver offers"),
        col("notsent_bytes", K::U64, "B", "bytes written and not yet sent"),
        opt("pacing_rate_bps", K::F64, "bit/s", "pacing rate; empty: not paced"),
    ],
};

/// Every packet at its ends (only with `output.packets`).
pub static PACKETS: TableDef = TableDef {
    name: "packets",
    description: "Packets: sent by a transport, received by one, or dropped. Written with `output.packets = true`.",
    columns: &[
        TIME,
        col("packet", K::U64, "", "number of the packet, in the order of sending; fragments share it"),
        FLOW,
        col("node", K::Name, "", "where it happened (the link's or bearer's name for drops there)"),
        col(
            "event",
            K::Name,
            "",
            "\"sent\", \"received\", \"forwarded\" (over X2, at a handover) or \"dropped\"",
        ),
        col("size", K::U64, "B", "IP packet length"),
        opt("seq", K::U64, "B", "first byte's sequence number, counted from the start of the stream"),
        opt("ack", K::U64, "B", "acknowledged up to this byte, counted from the start of the stream"),
        col("len", K::U64, "B", "payload"),
        opt("flags", K::Name, "", "TCP flags: S, F, R, P, \".\" for ACK"),
        opt("retransmission", K::Bool, "", "true: this data was sent before"),
    ],
};

/// What LTE's MAC does, step by step.
pub static STEPS: TableDef = TableDef {
    name: "steps",
    description: "Requests, grants, reports and transport blocks of LTE with their fates. Written with `output.steps = true`.",
    columns: &[
        TIME,
        col("node", K::Name, "", "who acts: a UE or an eNB"),
        col("to", K::Name, "", "towards whom"),
        col(
            "step",
            K::Name,
            "",
            "\"request\", \"grant\", \"report\", \"report-heard\", \"data\", \"retransmission\", \"ack\" or \"nack\"",
        ),
        col("link", K::Name, "", "\"downlink\", \"uplink\" or \"sidelink\""),
        opt("about_s", K::F64, "s", "start of the TTI that is meant: granted, or sent before"),
        opt("blocks", K::U64, "blocks", "resource blocks"),
        opt("bytes", K::U64, "B", "size of the transport block, or what is reported"),
        opt("mcs", K::U64, "", "I_MCS"),
        opt("packet", K::U64, "", "number of a packet in the block, wholly or in part; a row for each"),
    ],
};

/// RLC of a bearer's direction, sampled; counters since the start.
pub static RLC: TableDef = TableDef {
    name: "rlc",
    description: "RLC entities of radio bearers every `output.interval`; counters run from the start.",
    columns: &[
        TIME,
        BEARER,
        DIRECTION,
        col("queue_sdus", K::U64, "SDUs", "SDUs not yet sent whole"),
        col("queue_bytes", K::U64, "B", "bytes not yet sent for the first time"),
        col("sdus_in", K::U64, "SDUs", "SDUs given to the sender"),
        col("sdus_out", K::U64, "SDUs", "SDUs delivered by the receiver"),
        col("sdus_discarded", K::U64, "SDUs", "SDUs given up by either side"),
        col("pdus_new", K::U64, "PDUs", "data PDUs sent for the first time"),
        col("pdus_retx", K::U64, "PDUs", "data PDUs sent again"),
        col("status_pdus", K::U64, "PDUs", "status PDUs about this direction (they travel the other way)"),
        col("polls", K::U64, "", "poll bits set"),
        col("window_used", K::U64, "PDUs", "transmission window in use: VT(S) - VT(A)"),
        col("resets", K::U64, "", "reset procedures started"),
        col("marked", K::U64, "SDUs", "SDUs marked with congestion experienced (ECN) by the sender's buffer"),
    ],
};

/// The channel of a bearer's direction, sampled; counters since the start.
pub static MAC: TableDef = TableDef {
    name: "mac",
    description: "Dedicated channels every `output.interval`; counters run from the start.",
    columns: &[
        TIME,
        BEARER,
        DIRECTION,
        col("ttis", K::U64, "", "TTIs in which something was sent"),
        col("blocks_sent", K::U64, "blocks", "transport blocks sent"),
        col("blocks_lost", K::U64, "blocks", "of those: received in error"),
    ],
};

/// What the air did for each UE of a cell, in intervals.
pub static RADIO: TableDef = TableDef {
    name: "radio",
    description: "Transport blocks of UEs in LTE cells over each `output.interval`; only those that had any, or asked for some, have a row.",
    columns: &[
        col("time_s", K::F64, "s", "end of the interval, virtual time since the start of the run"),
        col("ue", K::Name, "", "node of the UE"),
        col("cell", K::Name, "", "name of the cell that serves it"),
        col(
            "direction",
            K::Name,
            "",
            "\"downlink\" (to the UE), \"uplink\", or \"sidelink\": from the UE to a peer, a row for each peer or group",
        ),
        col("ttis", K::U64, "", "TTIs with a transmission"),
        col("blocks", K::U64, "blocks", "new transport blocks"),
        col("retransmissions", K::U64, "blocks", "transport blocks sent again by HARQ"),
        col("errors", K::U64, "blocks", "transmissions that were not decoded; to a group, not by all"),
        col(
            "lost",
            K::U64,
            "blocks",
            "transport blocks that HARQ gave up; to a group, those that not all have",
        ),
        col("bytes", K::U64, "B", "size of the new transport blocks, padding included"),
        col("resource_blocks", K::U64, "", "resource blocks used, over all TTIs"),
        opt("mcs", K::F64, "", "mean I_MCS of the new transport blocks"),
        opt("cqi", K::F64, "", "mean wideband CQI of the reports that were used (downlink)"),
        opt("sinr_db", K::F64, "dB", "mean effective SINR of the transmissions, -36 to 42 dB"),
        opt("requests", K::U64, "", "scheduling requests or RACs sent (uplink)"),
        opt("preambles", K::U64, "", "preambles of random access sent (uplink)"),
        opt("padding_bytes", K::U64, "B", "padding in the new transport blocks (uplink)"),
        opt("power_dbm", K::F64, "dBm", "mean power of the transmissions on PUSCH (uplink)"),
    ],
};

/// What UEs measure of the cells around them.
pub static MEASUREMENTS: TableDef = TableDef {
    name: "measurements",
    description: "What each connected UE has measured of each cell, after layer 3 filtering, every `output.interval`. Written \
                  with `output.measurements = true` where there is a table `[handover]`.",
    columns: &[
        TIME,
        col("ue", K::Name, "", "node of the UE"),
        col("cell", K::Name, "", "name of the cell that is measured"),
        col("serving", K::Bool, "", "true: it serves the UE"),
        col("rsrp_dbm", K::F64, "dBm", "reference signal received power (TS 36.214 clause 5.1.1)"),
        col("rsrq_db", K::F64, "dB", "reference signal received quality (clause 5.1.3), every cell loaded"),
    ],
};

/// Where UEs are.
pub static POSITIONS: TableDef = TableDef {
    name: "positions",
    description: "Where each UE is and which cell serves it, every `output.interval`. Written with `output.positions = true`.",
    columns: &[
        TIME,
        col("ue", K::Name, "", "node of the UE"),
        col("cell", K::Name, "", "name of the cell that serves it, or is to serve it"),
        col("x_m", K::F64, "m", "place, to the east"),
        col("y_m", K::F64, "m", "place, to the north"),
        col("z_m", K::F64, "m", "height"),
    ],
};

/// Capacity hints, as they are told.
pub static HINTS: TableDef = TableDef {
    name: "hints",
    description: "Reports of `[hint]` tables with `record = true`: what is told, and what is.",
    columns: &[
        TIME,
        col("hint", K::Name, "", "name of the `[hint]` table"),
        FLOW,
        col("rate_bps", K::U64, "bit/s", "achievable rate R(t) that is told"),
        opt("queue_bytes", K::U64, "B", "layer-2 queue Q(t) that is told; empty: it is not"),
        col("real_queue_bytes", K::U64, "B", "layer-2 queue, bytes in no PDU yet"),
        col("carrier_bps", K::F64, "bit/s", "rate of the whole carrier that the source knows"),
        col("users", K::U64, "", "UEs with downlink data in the cell, this one counted"),
    ],
};

/// What stations and access points sent, in intervals.
pub static WIFI: TableDef = TableDef {
    name: "wifi",
    description: "Data of stations on wireless LANs over each `output.interval`; only those that had any, or have data waiting, \
                  have a row.",
    columns: &[
        col("time_s", K::F64, "s", "end of the interval, virtual time since the start of the run"),
        col("station", K::Name, "", "node of the station"),
        col("ap", K::Name, "", "name of its access point"),
        col("direction", K::Name, "", "\"downlink\" (to the station) or \"uplink\""),
        col("ppdus", K::U64, "", "PPDUs with data"),
        col("mpdus", K::U64, "", "MPDUs in them, repetitions included"),
        col("failed", K::U64, "", "of those: not acknowledged"),
        col("unanswered", K::U64, "", "PPDUs with data and RTS that nobody answered (collisions, mostly)"),
        col("bytes", K::U64, "B", "IP bytes delivered to the other end"),
        col("airtime_s", K::F64, "s", "time on the air of data, RTS, CTS and acknowledgements"),
        opt("rate_bps", K::F64, "bit/s", "mean rate of the PPDUs"),
        opt("mcs", K::F64, "", "mean MCS (802.11a and b: number of the rate) of the PPDUs"),
        col("snr_db", K::F64, "dB", "SNR at the other end without fading and interference"),
        col("queue_packets", K::U64, "packets", "packets waiting"),
        col("queue_bytes", K::U64, "B", "IP bytes waiting"),
        col("marked", K::U64, "packets", "packets marked with congestion experienced (ECN) since the start"),
    ],
};

/// Link queues, sampled.
pub static QUEUES: TableDef = TableDef {
    name: "queues",
    description: "Queues of links every `output.interval`: what waits, the packet in service not counted.",
    columns: &[
        TIME,
        col("queue", K::Name, "", "`<link>.forward` or `<link>.reverse`"),
        col("packets", K::U64, "packets", "packets waiting"),
        col("bytes", K::U64, "B", "IP bytes waiting"),
        col("marked", K::U64, "packets", "packets marked with congestion experienced (ECN) since the start"),
    ],
};

/// What happened.
pub static EVENTS: TableDef = TableDef {
    name: "events",
    description: "Things that happened: connections, recoveries, timeouts, RLC resets, changes of the scenario.",
    columns: &[
        TIME,
        col(
            "source",
            K::Name,
            "",
            "\"flow/<name>\", \"bearer/<name>\", \"ue/<name>\", \"station/<name>\", \"link/<name>\"",
        ),
        col("kind", K::Name, "", "what happened"),
        opt("value", K::F64, "", "a number that belongs to it; `detail` says which"),
        opt("detail", K::Name, "", "more, in words"),
    ],
};

/// Packets that were dropped.
pub static DROPS: TableDef = TableDef {
    name: "drops",
    description: "Packets (or fragments) that were dropped, each with its place and cause.",
    columns: &[
        TIME,
        col("packet", K::U64, "", "number of the packet"),
        FLOW,
        col("where", K::Name, "", "link direction, bearer or node"),
        col("cause", K::Name, "", "why"),
        col("size", K::U64, "B", "IP packet length"),
        opt("retransmission", K::Bool, "", "true: the TCP segment was sent before; empty: not TCP"),
    ],
};

/// What UEs receive before anything is sent.
pub static GEOMETRY: TableDef = TableDef {
    name: "geometry",
    description: "A survey's row for each UE and drop: its strongest cell at large scale (no fading) when every cell sends \
                  at full power. Not written by a run.",
    columns: &[
        col("drop", K::U64, "", "number of the drop: the scenario's seed plus this"),
        col("ue", K::Name, "", "node of the UE"),
        col("cell", K::Name, "", "name of the cell with the largest RSRP"),
        col("x_m", K::F64, "m", "place, along x"),
        col("y_m", K::F64, "m", "place, along y"),
        col("z_m", K::F64, "m", "height"),
        col(
            "coupling_gain_db",
            K::F64,
            "dB",
            "gain between the antenna connectors: antennas, cable, path loss, shadowing, walls (downlink carrier)",
        ),
        col("rsrp_dbm", K::F64, "dBm", "power of a resource element of that cell's reference signals"),
        opt(
            "geometry_db",
            K::F64,
            "dB",
            "that cell's power over the sum of all others'; empty: no other cell",
        ),
        col("sinr_db", K::F64, "dB", "the same with the noise of the UE's receiver"),
    ],
};

/// The tables of a run, in the order of the documentation.
pub static ALL: [&TableDef; 16] = [
    &FLOWS,
    &QUALITY,
    &APPLICATIONS,
    &TCP,
    &PACKETS,
    &STEPS,
    &RLC,
    &MAC,
    &RADIO,
    &MEASUREMENTS,
    &POSITIONS,
    &HINTS,
    &WIFI,
    &QUEUES,
    &EVENTS,
    &DROPS,
];

/// The tables of surveys.
pub static SURVEYS: [&TableDef; 2] = [&GEOMETRY, &RADIO_MAP];

/// A radio environment map.
pub static RADIO_MAP: TableDef = TableDef {
    name: "radio-map",
    description: "A radio environment map's row for each place of its grid, at large scale (no fading), when every cell \
                  sends at full power. Not written by a run.",
    columns: &[
        col("x_m", K::F64, "m", "place, along x"),
        col("y_m", K::F64, "m", "place, along y"),
        col("cell", K::Name, "", "name of the cell with the largest RSRP"),
        col("rsrp_dbm", K::F64, "dBm", "power of a resource element of that cell's reference signals"),
        col("sinr_db", K::F64, "dB", "that cell's power over all others' and the receiver's noise"),
    ],
};

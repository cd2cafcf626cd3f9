//! The tables of a run: names, columns, units, descriptions, and the structs of their rows.
//! `lasthop describe tables` and the reference pages are made from them.
//!
//! To add one that is written during a run: declare it, add its entry of `tables_during_a_run!`,
//! and push its rows where they occur.

use lasthop_capture::{TableDef, table};

table! {
    "flows",
    "Flows: the flow monitor's statistics of the data's direction, and the sender's own counters.";
    rows whole;
    /// One row per flow, written at the end.
    pub struct Flows<'a> {
        flow: &'a str, "", "name of the flow";
        src: &'a str, "", "node that sends the data";
        dst: &'a str, "", "node that receives the data";
        transport: &'a str, "", "\"tcp\" or \"udp\"";
        profile: Option<&'a str>, "", "TCP stack profile";
        cc: Option<&'a str>, "", "congestion control; of media: rate control";
        start_s: Option<f64>, "s", "when the flow started; empty: it did not";
        end_s: f64, "s", "end of the run";
        first_tx_s: Option<f64>, "s",
            "when the first packet was sent in the data's direction; empty: none was";
        last_rx_s: Option<f64>, "s",
            "when the last packet was received in the data's direction; empty: none was";
        tx_packets: u64, "packets", "IP packets sent in the data's direction";
        tx_bytes: u64, "B", "IP bytes sent in the data's direction";
        rx_packets: u64, "packets", "IP packets received in the data's direction";
        rx_bytes: u64, "B", "IP bytes received in the data's direction";
        rx_segment_bytes: u64, "B", "received bytes above IP: TCP or UDP headers and payload";
        app_bytes: u64, "B",
            "bytes delivered to the receiving application, in order (TCP) and once";
        goodput_bps: Option<f64>, "bit/s",
            "app_bytes over the time from the flow's start to the end";
        throughput_bps: Option<f64>, "bit/s",
            "rx_bytes over the time from the flow's start to the end";
        delay_mean_s: Option<f64>, "s", "mean one-way delay of the received packets, at IP level";
        delay_min_s: Option<f64>, "s", "smallest one-way delay";
        delay_max_s: Option<f64>, "s", "largest one-way delay";
        delay_p95_s: Option<f64>, "s",
            "one-way delay that 95 % do not exceed, right to a sixteenth";
        jitter_mean_s: Option<f64>, "s", "mean absolute difference of successive one-way delays";
        lost_undelivered: u64, "packets",
            "sent but not received by the end, those on the way included";
        lost_dropped: u64, "packets", "dropped for a named cause (fragments count singly)";
        lost_retransmitted: u64, "packets", "sent again by the transport";
        rx_marked: u64, "packets", "of the received: with congestion experienced (ECN CE)";
        retransmits: Option<u64>, "segments", "segments that the sender sent again";
        timeouts: Option<u64>, "", "expiries of the sender's retransmission timer";
        fast_retransmits: Option<u64>, "", "fast retransmissions that began a recovery";
        cwnd_mean: Option<f64>, "segments", "congestion window, mean over time";
        cwnd_max: Option<f64>, "segments", "largest congestion window";
        rtt_samples: Option<u64>, "", "round-trip samples taken by the sender";
        rtt_min_s: Option<f64>, "s", "smallest round-trip sample";
        rtt_mean_s: Option<f64>, "s", "mean round-trip sample";
        rtt_max_s: Option<f64>, "s", "largest round-trip sample";
        reverse_tx_packets: u64, "packets",
            "IP packets sent against the data's direction (ACKs, requests)";
        reverse_rx_packets: u64, "packets", "IP packets received against the data's direction";
        reverse_tx_bytes: u64, "B", "IP bytes sent against the data's direction";
        reverse_rx_bytes: u64, "B", "IP bytes received against the data's direction";
        requests: Option<u64>, "",
            "requests answered in full (of `web-page` pages, of `ftp` files, of `dash` segments)";
        request_time_mean_s: Option<f64>, "s",
            "mean time from a request to the end of its answer (of a page to its last object)";
        completion_s: Option<f64>, "s",
            "when the transfer was complete (file, or a count of requests)";
    }
}

table! {
    "quality",
    "Quality of VoIP and game flows: loss, lateness, and the opinion score of calls.";
    rows whole;
    /// One row per flow that is judged by late packets, written at the end.
    pub struct Quality<'a> {
        flow: &'a str, "", "name of the flow";
        app: &'a str, "", "\"voip\" or \"game\"";
        sent: u64, "packets", "packets sent";
        received: u64, "packets", "packets received, each once";
        late: u64, "packets", "of these, older than the deadline";
        deadline_s: f64, "s", "age at which a packet is late";
        unusable: Option<f64>, "1", "share of the sent packets that were lost or late";
        delay_mean_s: Option<f64>, "s", "mean delay";
        delay_p95_s: Option<f64>, "s", "delay that 95 % do not exceed";
        delay_p99_s: Option<f64>, "s", "delay that 99 % do not exceed";
        longest_gap_s: f64, "s", "longest time between two arrivals";
        r_factor: Option<f64>, "1", "transmission rating factor R of a call (ITU-T G.107)";
        mos: Option<f64>, "1", "mean opinion score of a call, 1 to 4.5";
    }
}

table! {
    "applications",
    "Completion times of requests, web pages, files and frames; start-up, stalls and bitrate of video.";
    rows whole;
    /// One row per flow with requests or frames, written at the end.
    pub struct Applications<'a> {
        flow: &'a str, "", "name of the flow";
        app: &'a str, "", "\"request-response\", \"web-page\", \"ftp\", \"dash\" or \"media\"";
        completed: u64, "", "responses, pages, files, segments or frames received completely";
        time_mean_s: Option<f64>, "s", "mean completion time (of a frame from its encoding on)";
        time_median_s: Option<f64>, "s", "median completion time";
        time_p95_s: Option<f64>, "s", "95th percentile of the completion time";
        time_max_s: Option<f64>, "s", "longest completion time";
        startup_s: Option<f64>, "s", "video: time from the start to the first frame shown";
        bitrate_mean_bps: Option<f64>, "bit/s", "video: mean bitrate of the segments, or of the encoder";
        switches: Option<u64>, "", "video: changes of the bitrate";
        stalls: Option<u64>, "", "video: number of stalls";
        stalled_s: Option<f64>, "s", "video: total duration of stalls";
    }
}

table! {
    "media",
    "Media flows: rates, delays, losses and frames between samples, every `output.interval`. \
     Sizes and rates are of RTP packets, their headers included.";
    series ["flow"];
    /// A media flow since the last sample.
    pub struct Media<'a> {
        time_s: f64, "s", "virtual time since the start of the run: the end of the interval";
        flow: &'a str, "", "name of the flow";
        control: &'a str, "", "rate control";
        target_bps: f64, "bit/s", "target rate that the rate control sets for the encoder";
        encoder_bps: f64, "bit/s", "rate of the frames that were made in the interval";
        sent_bps: f64, "bit/s", "rate of the packets, audio included, that were sent in it";
        received_bps: f64, "bit/s", "rate of those that were received in it";
        lost: u64, "packets", "video that the sender has counted as lost in it, by the reports";
        discarded: u64, "packets", "video that has waited for more than 2 s at the sender";
        delay_mean_s: Option<f64>, "s", "mean one-way delay of the video received in it";
        delay_max_s: Option<f64>, "s", "largest one-way delay of it";
        rtt_s: Option<f64>, "s", "latest round trip that the sender has measured";
        queue_bytes: u64, "B", "waits at the sender, at this time";
        in_flight_bytes: u64, "B",
            "sent behind the highest packet reported as received, at this time";
        frames: u64, "frames", "frames whose last missing packet was received in it";
        frame_delay_mean_s: Option<f64>, "s", "mean time from their encoding to that";
        frame_delay_max_s: Option<f64>, "s", "longest time from the encoding to that";
    }
}

table! {
    "tcp",
    "State of TCP senders under the names of Linux tcp_info, sampled as `output.tcp` says.";
    series ["flow"];
    /// The sender's state, sampled.
    pub struct Tcp<'a> {
        time_s: f64, "s", "virtual time since the start of the run";
        flow: &'a str, "", "name of the flow";
        trigger: &'a str, "", "why the row is here: \"interval\", \"ack\", \"rto\" or \"change\"";
        ca_state: &'a str, "", "\"open\", \"disorder\", \"cwr\", \"recovery\" or \"loss\"";
        snd_cwnd: f64, "segments", "congestion window";
        snd_ssthresh: f64, "segments", "slow start threshold; -1: infinite";
        rtt_us: f64, "us", "smoothed round-trip time; 0 before the first sample";
        rttvar_us: f64, "us", "round-trip time variation";
        rtt_sample_us: Option<f64>, "us", "the sample that this ACK gave, if it gave one";
        min_rtt_us: Option<f64>, "us", "smallest round-trip sample so far";
        rto_us: f64, "us", "retransmission timeout, back-off included";
        unacked: u64, "segments", "segments sent and not yet acknowledged";
        sacked: u64, "segments", "of those: acknowledged selectively";
        lost: u64, "segments", "of those: considered lost";
        retrans: u64, "segments", "of those: sent again and not yet acknowledged";
        total_retrans: u64, "segments", "segments sent again since the start";
        bytes_acked: u64, "B", "bytes acknowledged since the start";
        bytes_arrived: u64, "B",
            "payload received since the start, each byte once, in order or not";
        snd_una: u64, "B", "oldest unacknowledged byte, counted from the start of the stream";
        snd_nxt: u64, "B", "next byte to send, counted from the start of the stream";
        rwnd_bytes: u64, "B", "window that the receiver offers";
        notsent_bytes: u64, "B", "bytes written and not yet sent";
        pacing_rate_bps: Option<f64>, "bit/s", "pacing rate; empty: not paced";
    }
}

table! {
    "cc",
    "Variables of TCP senders and of their congestion controls by name. Written where `output.cc` is not \"off\".";
    series ["flow", "variable"];
    /// A variable of a sender (only with `output.cc`).
    pub struct Cc<'a> {
        time_s: f64, "s", "virtual time since the start of the run";
        flow: &'a str, "", "name of the flow";
        variable: &'a str, "", "its name; `lasthop describe cc NAME` lists those of a control";
        value: Option<f64>, "",
            "the value in the unit of the row: inf is no bound, 1 and 0 are true and false; empty: not known yet, or a state";
        text: Option<&'a str>, "", "of a state: its name";
        unit: &'a str, "", "unit of the value; \"text\" of a state";
    }
}

table! {
    "packets",
    "Packets: sent by a transport, received by one, or dropped. Written with `output.packets = true`, and for `output.explain`.";
    /// Every packet at its ends (only with `output.packets`).
    pub struct Packets<'a> {
        time_s: f64, "s", "virtual time since the start of the run";
        packet: u64, "", "number of the packet, in the order of sending; fragments share it";
        flow: &'a str, "", "name of the flow";
        node: &'a str, "", "where it happened (the link's or bearer's name for drops there)";
        event: &'a str, "",
            "\"sent\", \"received\", \"forwarded\" (over X2, at a handover) or \"dropped\"";
        size: u64, "B", "IP packet length";
        seq: Option<u64>, "B", "first byte's sequence number, counted from the start of the stream";
        ack: Option<u64>, "B", "acknowledged up to this byte, counted from the start of the stream";
        len: u64, "B", "payload";
        flags: Option<&'a str>, "", "TCP flags: S, F, R, P, \".\" for ACK";
        retransmission: Option<bool>, "", "true: this data was sent before";
        ecn: &'a str, "", "codepoint of the IP header: \"not-ect\", \"ect0\", \"ect1\" or \"ce\"";
    }
}

table! {
    "steps",
    "Requests, grants, reports and transport blocks of LTE with their outcomes. Written with `output.steps = true`.";
    /// What LTE's MAC does, step by step.
    pub struct Steps<'a> {
        time_s: f64, "s", "virtual time since the start of the run";
        node: &'a str, "", "node that sends or receives: a UE or an eNB";
        to: &'a str, "", "its peer";
        step: &'a str, "",
            "\"request\", \"grant\", \"report\", \"report-heard\", \"data\", \"retransmission\", \"ack\" or \"nack\"";
        link: &'a str, "", "\"downlink\", \"uplink\" or \"sidelink\"";
        about_s: Option<f64>, "s", "start of the TTI that the step refers to: granted, or sent before";
        blocks: Option<u64>, "blocks", "resource blocks";
        bytes: Option<u64>, "B", "size of the transport block, or what is reported";
        mcs: Option<u64>, "", "I_MCS";
        packet: Option<u64>, "",
            "number of a packet in the block, wholly or in part; a row for each";
    }
}

table! {
    "rlc_pdus",
    "PDUs of RLC of LTE's cells on the air. Written with `output.rlc_pdus = true`.";
    /// A PDU of RLC on the air.
    pub struct RlcPdus<'a> {
        time_s: f64, "s", "start of the TTI in which it is sent, or in which its block is decoded";
        bearer: &'a str, "", "name of the bearer";
        direction: &'a str, "", "\"downlink\" or \"uplink\"";
        event: &'a str, "",
            "\"sent\" (in a new transport block) or \"received\"; without the second: lost, or on the air";
        kind: &'a str, "", "\"data\" or \"status\"";
        sn: Option<u64>, "", "sequence number of a data PDU";
        bytes: u64, "B", "its size, with RLC's header";
        sent_s: Option<f64>, "s", "of a received one: start of the TTI in which it was sent; HARQ may have repeated it";
    }
}

table! {
    "stages",
    "Where each packet is, in intervals without gap or overlap. Written with `output.explain = true`.";
    rows interval;
    /// Where each packet is, interval by interval.
    pub struct Stages<'a> {
        packet: u64, "", "number of the packet, in the order of sending";
        part: u64, "",
            "0: the packet as it was sent; fragments and copies of it have numbers of their own";
        flow: &'a str, "", "name of the flow";
        stage: &'a str, "", "what happens to the packet: `lasthop explain --help` lists them";
        place as "where": &'a str, "", "link direction, bearer, mobile or node";
        start_ns: u64, "ns", "start of the interval, virtual time since the start of the run";
        end_ns: u64, "ns", "its end";
    }
}

table! {
    "pdus",
    "The PDUs that dropped packets were in: a row for each that RLC or 802.11 had sent and that did not arrive. A \
                  packet that was in no PDU has no row. Written with `output.explain = true`.";
    /// The PDUs of dropped packets.
    pub struct Pdus<'a> {
        time_s: f64, "s", "when the packet was dropped, virtual time since the start of the run";
        packet: u64, "", "number of the packet";
        flow: &'a str, "", "name of the flow";
        place as "where": &'a str, "", "bearer, sidelink or station, as in the table `drops`";
        layer: &'a str, "", "\"rlc-am\", \"rlc-um\", \"rlc-tm\" or \"802.11\"";
        direction: &'a str, "", "\"downlink\" or \"uplink\"; of a sidelink: to or from its second UE";
        sn: Option<u64>, "", "sequence number of the PDU or MPDU; empty: transparent mode has none";
        first_octet: Option<u64>, "", "first octet of the SDU in it that did not arrive, from 0 on; empty: 802.11";
        end_octet: Option<u64>, "", "the octet behind the last one";
        sent_s: Option<f64>, "s", "start of the TTI in which it was sent last; empty: 802.11";
        sends: u64, "", "how often these octets were sent; 802.11: sent without an answer, an RTS before it counts";
        lost: bool, "", "true: lost on the air, after all of HARQ or by 802.11's retry limit; false: on its way, or RLC waited for a report";
    }
}

table! {
    "windows",
    "What each flow got in each interval of `output.windows`: packets of the data's direction.";
    series ["flow"];
    rows interval;
    /// A flow in an interval.
    pub struct Windows<'a> {
        start_s: f64, "s", "start of the interval, virtual time since the start of the run";
        end_s: f64, "s", "its end";
        flow: &'a str, "", "name of the flow";
        sent_packets: u64, "packets", "IP packets sent";
        sent_bytes: u64, "B", "their IP bytes";
        delivered_packets: u64, "packets", "IP packets received";
        delivered_bytes: u64, "B", "their IP bytes";
        lost_packets: u64, "packets", "dropped for a named cause (fragments count singly)";
        marked_packets: u64, "packets", "of the received: with congestion experienced (ECN CE)";
        delay_p50_s: Option<f64>, "s", "one-way delay that half of the received do not exceed";
        delay_p95_s: Option<f64>, "s", "delay that 95 % do not exceed";
        delay_p99_s: Option<f64>, "s", "delay that 99 % do not exceed";
        wait_p50_s: Option<f64>, "s",
            "time that half of the received were in queues, of links, RLC and Wi-Fi devices, summed over the way";
        wait_p95_s: Option<f64>, "s", "time in queues that 95 % do not exceed";
        wait_p99_s: Option<f64>, "s", "time in queues that 99 % do not exceed";
        wait_max_s: Option<f64>, "s", "longest time in queues";
    }
}

table! {
    "limits",
    "What each TCP sender was limited by: each row holds until the flow's next one. Written with \
                  `output.explain = true`.";
    rows interval;
    /// What limits each TCP sender.
    pub struct Limits<'a> {
        flow: &'a str, "", "name of the flow";
        start_ns: u64, "ns", "since when, virtual time since the start of the run";
        cause: &'a str, "",
            "\"handshake\", \"application\", \"send-buffer\", \"receive-window\", \"congestion-window\", \"pacing\", \
             \"small-segment\" (Nagle, silly-window avoidance), \"acknowledgement\" (all is sent), \"recovery\", \
             \"timeout\" (silence until the retransmission timer expires), \"nothing\"; \"other\": none of them holds, a fault";
    }
}

table! {
    "rlc",
    "RLC entities of radio bearers every `output.interval`; counters run from the start.";
    series ["bearer", "direction"];
    /// RLC of a bearer's direction, sampled; counters since the start.
    pub struct Rlc<'a> {
        time_s: f64, "s", "virtual time since the start of the run";
        bearer: &'a str, "", "name of the bearer";
        direction: &'a str, "", "\"downlink\" (to the UE) or \"uplink\"";
        queue_sdus: u64, "SDUs", "SDUs not yet sent whole";
        queue_bytes: u64, "B", "bytes not yet sent for the first time";
        sdus_in: u64, "SDUs", "SDUs given to the sender";
        sdus_out: u64, "SDUs", "SDUs delivered by the receiver";
        sdus_discarded: u64, "SDUs", "SDUs discarded by either side";
        pdus_new: u64, "PDUs", "data PDUs sent for the first time";
        pdus_retx: u64, "PDUs", "data PDUs sent again";
        status_pdus: u64, "PDUs", "status PDUs about this direction, sent in the other one";
        polls: u64, "", "poll bits set";
        window_used: u64, "PDUs", "transmission window in use: VT(S) - VT(A)";
        resets: u64, "", "reset procedures started";
        marked: u64, "SDUs", "SDUs marked with congestion experienced (ECN) by the sender's buffer";
    }
}

table! {
    "mac",
    "Dedicated channels every `output.interval`; counters run from the start.";
    series ["bearer", "direction"];
    /// The channel of a bearer's direction, sampled; counters since the start.
    pub struct Mac<'a> {
        time_s: f64, "s", "virtual time since the start of the run";
        bearer: &'a str, "", "name of the bearer";
        direction: &'a str, "", "\"downlink\" (to the UE) or \"uplink\"";
        ttis: u64, "", "TTIs in which something was sent";
        blocks_sent: u64, "blocks", "transport blocks sent";
        blocks_lost: u64, "blocks", "of those: received in error";
    }
}

table! {
    "radio",
    "Transport blocks of UEs in LTE cells over each `output.interval`. A UE without any, and without a request for some, has no row.";
    rows interval;
    /// Transport blocks of each UE of a cell, in intervals.
    pub struct Radio<'a> {
        time_s: f64, "s", "end of the interval, virtual time since the start of the run";
        ue: &'a str, "", "node of the UE";
        cell: &'a str, "", "name of the cell that serves it";
        direction: &'a str, "",
            "\"downlink\" (to the UE), \"uplink\", or \"sidelink\": from the UE to a peer, a row for each peer or group";
        ttis: u64, "", "TTIs with a transmission";
        blocks: u64, "blocks", "new transport blocks";
        retransmissions: u64, "blocks", "transport blocks sent again by HARQ";
        errors: u64, "blocks", "transmissions that were not decoded; to a group, not by all";
        lost: u64, "blocks",
            "transport blocks not decoded after the last HARQ transmission; to a group, by at least one member";
        bytes: u64, "B", "size of the new transport blocks, padding included";
        resource_blocks: u64, "", "resource blocks used, over all TTIs";
        mcs: Option<f64>, "", "mean I_MCS of the new transport blocks";
        cqi: Option<f64>, "", "mean wideband CQI of the reports that were used (downlink)";
        sinr_db: Option<f64>, "dB", "mean effective SINR of the transmissions, -36 to 42 dB";
        requests: Option<u64>, "", "scheduling requests or RACs sent (uplink)";
        preambles: Option<u64>, "", "preambles of random access sent (uplink)";
        padding_bytes: Option<u64>, "B", "padding in the new transport blocks (uplink)";
        power_dbm: Option<f64>, "dBm", "mean power of the transmissions on PUSCH (uplink)";
    }
}

table! {
    "measurements",
    "What each connected UE has measured of each cell, after layer 3 filtering, every `output.interval`. Written \
                  with `output.measurements = true` where there is a table `[handover]`.";
    series ["ue", "cell"];
    /// What UEs measure of the cells around them.
    pub struct Measurements<'a> {
        time_s: f64, "s", "virtual time since the start of the run";
        ue: &'a str, "", "node of the UE";
        cell: &'a str, "", "name of the cell that is measured";
        serving: bool, "", "true: it serves the UE";
        rsrp_dbm: f64, "dBm", "reference signal received power (TS 36.214 clause 5.1.1)";
        rsrq_db: f64, "dB", "reference signal received quality (clause 5.1.3), every cell loaded";
    }
}

table! {
    "positions",
    "Where each UE is and which cell serves it, every `output.interval`. Written with `output.positions = true`.";
    series ["ue"];
    /// Where UEs are.
    pub struct Positions<'a> {
        time_s: f64, "s", "virtual time since the start of the run";
        ue: &'a str, "", "node of the UE";
        cell: &'a str, "", "name of the cell that serves it, or is to serve it";
        x_m: f64, "m", "place, to the east";
        y_m: f64, "m", "place, to the north";
        z_m: f64, "m", "height";
    }
}

table! {
    "hints",
    "Reports of `[hint]` tables with `record = true`: reported values beside actual ones.";
    series ["hint", "flow"];
    /// Capacity hints as reported to the senders.
    pub struct Hints<'a> {
        time_s: f64, "s", "virtual time since the start of the run";
        hint: &'a str, "", "name of the `[hint]` table";
        flow: &'a str, "", "name of the flow";
        rate_bps: u64, "bit/s", "achievable rate R(t) as reported";
        queue_bytes: Option<u64>, "B", "layer-2 queue Q(t) as reported; empty: not reported";
        real_queue_bytes: u64, "B", "layer-2 queue, bytes in no PDU yet";
        carrier_bps: f64, "bit/s", "rate of the whole carrier as the source estimates it";
        users: u64, "", "UEs with downlink data in the cell, this one counted";
    }
}

table! {
    "wifi",
    "Data of stations on wireless LANs over each `output.interval`. A station that sent nothing and has \
                  nothing waiting has no row.";
    rows interval;
    /// What stations and access points sent, in intervals.
    pub struct Wifi<'a> {
        time_s: f64, "s", "end of the interval, virtual time since the start of the run";
        station: &'a str, "", "node of the station";
        ap: &'a str, "", "name of its access point";
        direction: &'a str, "", "\"downlink\" (to the station) or \"uplink\"";
        ppdus: u64, "", "PPDUs with data";
        mpdus: u64, "", "MPDUs in them, repetitions included";
        failed: u64, "", "of those: not acknowledged";
        unanswered: u64, "", "PPDUs with data and RTS without a response (collisions, mostly)";
        bytes: u64, "B", "IP bytes delivered to the other end";
        airtime_s: f64, "s", "time on the air of data, RTS, CTS and acknowledgements";
        rate_bps: Option<f64>, "bit/s", "mean rate of the PPDUs";
        mcs: Option<f64>, "", "mean MCS (802.11a and b: number of the rate) of the PPDUs";
        snr_db: f64, "dB", "SNR at the other end without fading and interference";
        queue_packets: u64, "packets", "packets waiting";
        queue_bytes: u64, "B", "IP bytes waiting";
        marked: u64, "packets", "packets marked with congestion experienced (ECN) since the start";
    }
}

table! {
    "queues",
    "Queues of links every `output.interval`: what waits, the packet in service not counted.";
    series ["queue"];
    /// Link queues, sampled.
    pub struct Queues<'a> {
        time_s: f64, "s", "virtual time since the start of the run";
        queue: &'a str, "", "`<link>.forward` or `<link>.reverse`";
        packets: u64, "packets", "packets waiting";
        bytes: u64, "B", "IP bytes waiting";
        marked: u64, "packets", "packets marked with congestion experienced (ECN) since the start";
    }
}

table! {
    "events",
    "Events: connections, recoveries, timeouts, RLC resets, changes of the scenario.";
    /// One row per event.
    pub struct Events<'a> {
        time_s: f64, "s", "virtual time since the start of the run";
        source: &'a str, "",
            "\"flow/<name>\", \"bearer/<name>\", \"ue/<name>\", \"station/<name>\", \"link/<name>\"";
        kind: &'a str, "", "name of the event";
        value: Option<f64>, "", "a value of the event; `detail` names its quantity";
        detail: Option<&'a str>, "", "more, in words";
    }
}

table! {
    "drops",
    "Packets (or fragments) that were dropped, each with its place and cause.";
    /// Packets that were dropped.
    pub struct Drops<'a> {
        time_s: f64, "s", "virtual time since the start of the run";
        packet: u64, "", "number of the packet";
        flow: &'a str, "", "name of the flow";
        place as "where": &'a str, "", "link direction, bearer or node";
        cause: &'a str, "", "why";
        size: u64, "B", "IP packet length";
        retransmission: Option<bool>, "", "true: the TCP segment was sent before; empty: not TCP";
    }
}

table! {
    "geometry",
    "The strongest cell of each UE and drop at large scale (no fading), with every cell at full power. Made by \
                  surveys, not by runs.";
    rows whole;
    /// Coupling gain, RSRP and SINR of each UE with all cells at full power.
    pub struct Geometry<'a> {
        drop: u64, "", "number of the drop: the scenario's seed plus this";
        ue: &'a str, "", "node of the UE";
        cell: &'a str, "", "name of the cell with the largest RSRP";
        x_m: f64, "m", "place, along x";
        y_m: f64, "m", "place, along y";
        z_m: f64, "m", "height";
        coupling_gain_db: f64, "dB",
            "gain between the antenna connectors: antennas, cable, path loss, shadowing, walls (downlink carrier)";
        rsrp_dbm: f64, "dBm", "power of a resource element of that cell's reference signals";
        geometry_db: Option<f64>, "dB",
            "that cell's power over the sum of all others'; empty: no other cell";
        sinr_db: f64, "dB", "the same with the noise of the UE's receiver";
    }
}

table! {
    "radio-map",
    "Radio environment map: one row for each point of the grid, at large scale (no fading), with every cell at \
                  full power. Made by surveys, not by runs.";
    rows whole;
    /// A radio environment map.
    pub struct RadioMap<'a> {
        x_m: f64, "m", "place, along x";
        y_m: f64, "m", "place, along y";
        cell: &'a str, "", "name of the cell with the largest RSRP";
        rsrp_dbm: f64, "dBm", "power of a resource element of that cell's reference signals";
        sinr_db: f64, "dB", "that cell's power over all others' and the receiver's noise";
    }
}

/// Passes the tables that are written during a run to the macro `$then`, in the order of the
/// documentation: the field of [`Probes`](super::Probes), the row, `sampled` if rows are written
/// every `output.interval`, and when a scenario has the table.
macro_rules! tables_during_a_run {
    ($then:ident) => {
        $then! {
            tcp: Tcp, |s| s.output.tcp != TcpSampling::Off;
            cc: Cc, |s| s.output.cc != ControlSampling::Off;
            packets: Packets, |s| s.output.packets || s.output.explain;
            steps: Steps, |s| s.output.steps && !s.ue.is_empty();
            rlc_pdus: RlcPdus, |s| s.output.rlc_pdus && !s.ue.is_empty();
            stages: Stages, |s| s.output.explain;
            limits: Limits, |s| s.output.explain;
            pdus: Pdus, |s| s.output.explain && !(s.bearer.is_empty() && s.ue.is_empty() && s.station.is_empty());
            rlc: Rlc, sampled, |s| s.output.radio && !(s.bearer.is_empty() && s.ue.is_empty());
            mac: Mac, |s| s.output.radio && !s.bearer.is_empty();
            radio: Radio, |s| s.output.radio && !s.ue.is_empty();
            measurements: Measurements, sampled, |s| s.output.measurements && s.handover.is_some();
            positions: Positions, sampled, |s| s.output.positions && !s.ue.is_empty();
            hints: Hints, |s| s.hint.values().any(|h| h.record);
            wifi: Wifi, sampled, |s| s.output.radio && !s.station.is_empty();
            windows: Windows, |s| s.output.windows.is_some();
            media: Media, sampled, |s| s.has_media();
            queues: Queues, sampled, |s| s.output.queues && !s.link.is_empty();
            events: Events, |_s| true;
            drops: Drops, |_s| true;
        }
    };
}

macro_rules! declarations {
    ($($field:ident: $Row:ident, $($sampled:ident,)? |$spec:ident| $wanted:expr;)*) => {
        /// The tables of a run, in the order of the documentation: first those that are written at
        /// its end.
        pub static ALL: &[&TableDef] =
            &[Flows::TABLE, Quality::TABLE, Applications::TABLE, $($Row::TABLE,)*];
    };
}

tables_during_a_run!(declarations);

/// The tables of surveys.
pub static SURVEYS: &[&TableDef] = &[Geometry::TABLE, RadioMap::TABLE];

#[cfg(test)]
mod tests {
    use lasthop_capture::{ColumnType, Rows};

    use super::*;

    #[test]
    fn series_are_distinguished_by_columns_of_names() {
        for table in ALL {
            for name in table.series {
                let column = table.column(name).map(|i| &table.columns[i]);
                assert_eq!(column.map(|c| c.kind), Some(ColumnType::Name), "{} of {}", name, table.name);
            }
        }
        assert!(ALL.iter().any(|t| !t.series.is_empty()));
    }

    /// A table of moments has their time, one of intervals the time of an end or of a start.
    #[test]
    fn the_columns_of_a_table_are_those_of_what_its_rows_are_about() {
        for table in ALL.iter().chain(SURVEYS) {
            let has = |name: &str| table.column(name).is_some();
            let (time, start) = (has("time_s"), has("start_s") || has("start_ns"));
            let right = match table.rows {
                Rows::Moment => time && !start,
                Rows::Interval => time || start,
                Rows::Whole => !time && !has("start_ns"),
            };
            assert!(right, "{}", table.name);
        }
    }
}

//! Tests of RLC and PDCP of LTE through their public interface, one file per question.

mod entities {
    mod adversary;
    mod conformance_am;
    mod conformance_am_status;
    mod conformance_pdcp;
    mod conformance_um;
    mod end_to_end;
    mod foreign;
    mod handover;
    mod support;
    mod vectors;
    mod wire;
}

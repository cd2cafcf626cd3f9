//! RLC of UMTS (TS 25.322): acknowledged, unacknowledged and transparent mode.
//!
//! Simplifications, each against the standard:
//!
//! * The Estimated PDU Counter (clause 9.7.4), the POLL super-field, the special value of HE (an
//!   SDU that ends with the PDU) and the UM alternative E-bit are not built; the decoder refuses
//!   their code points.
//! * RLIST is read but never written; WINDOW is obeyed but never sent.
//! * A STATUS PDU that names sequence numbers outside the window is ignored and counted; the
//!   standard resets (clause 10). On a channel that keeps the order none arises.
//! * MaxDAT counts transmissions: a PDU is sent at most MaxDAT times, so that it fails with
//!   probability p^MaxDAT. Read strictly, clause 9.6 a) allows MaxDAT - 1.
//! * After MaxRST resets without answer RRC is not modelled: the bearer is built anew at once.
//! * A discard is always of the oldest SDUs, in one order (one SN_MRW); while the end of a
//!   discarded SDU was never told, no new PDU is sent until the receiver has confirmed.
//! * Timer_Status_Periodic and Timer_Poll_Periodic run only while there is something to report or
//!   to ask for.
//! * Windows above half of the modulus are ambiguous on the wire. Entities that exchange
//!   descriptors tell a repeated PDU from one a modulus later by the HFN that ciphering implies;
//!   entities that exchange octets cannot.
//! * In transparent mode an SDU is one PDU; segmentation over a TTI is not built.

pub mod am;
mod bitmap;
mod bits;
pub mod codec;
pub mod pdu;
pub mod segment;
mod sufi;
pub mod tm;
pub mod um;

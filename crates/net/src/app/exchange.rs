//! Requests on one connection whose answers differ in size, answered in order (HTTP/1.1 with
//! pipelining, HTTP/2 without priorities).

use std::collections::VecDeque;

/// The requests, by the offsets of both streams.
#[derive(Clone, Debug, Default)]
pub(super) struct Exchange {
    /// Ends of requests in A's stream that B has not read, and the size of the answer.
    asked: VecDeque<(u64, u64)>,
    /// Ends of answers in B's stream that have not arrived.
    awaited: VecDeque<u64>,
    request_end: u64,
    answer_end: u64,
}

impl Exchange {
    /// A requests `answer` bytes with `request` bytes.
    pub fn request(&mut self, request: u64, answer: u64) {
        self.request_end += request;
        self.answer_end += answer;
        self.asked.push_back((self.request_end, answer));
        self.awaited.push_back(self.answer_end);
    }
    /// `received` bytes of requests have arrived at B so far: bytes of the answers that are due
    /// now, and how many those are.
    pub fn read(&mut self, received: u64) -> (u64, u64) {
        let (mut bytes, mut count) = (0, 0);
        while let Some((_, answer)) = self.asked.front().filter(|(end, _)| *end <= received) {
            bytes += answer;
            self.asked.pop_front();
            count += 1;
        }
        (bytes, count)
    }
    /// `received` bytes of answers have arrived at A so far: how many answers that completes.
    pub fn arrived(&mut self, received: u64) -> usize {
        let before = self.awaited.len();
        while self.awaited.front().is_some_and(|end| *end <= received) {
            self.awaited.pop_front();
        }
        before - self.awaited.len()
    }
    /// True if no request is open.
    pub fn is_idle(&self) -> bool {
        self.awaited.is_empty()
    }
}

//! The frames of an HTTP/2 connection, looked at before h2 decodes them.
//!
//! h2 decodes every header block that has arrived before it hands on the first request, and a byte of HPACK can stand for a whole
//! header. [`Frames`] counts the fields of a block by their representations (RFC 7541, 6), which needs neither a table nor Huffman
//! codes, ends a connection whose block has too many, and lets one block through at a time. Decision 177.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::coop::poll_proceed;

use super::connection::now_ms;
use super::load::{LoadCounters, count};
use crate::http::limits::{HEADER_BYTES_MAX, HTTP2_FIELDS_MAX};

/// Bytes of an HTTP/2 header block as it is sent. A block with more ends its connection.
const HTTP2_BLOCK_BYTES_MAX: usize = 2 * HEADER_BYTES_MAX;

/// Fields of trailers. The service reads none of them.
const HTTP2_TRAILER_FIELDS_MAX: u32 = 8;

/// Bytes of trailers, as they are sent.
const HTTP2_TRAILER_BYTES_MAX: usize = 1_024;

/// Frames of HTTP/2 that carry neither a head nor data (PING, SETTINGS, WINDOW_UPDATE and others): so many at once, and so many a
/// second. Whoever sends more is cut off. A keep-alive sends one in some seconds.
const HTTP2_CONTROL_FRAMES_MAX: u64 = 1_000;

/// Frames that carry neither head nor body which each request of HTTP/2 allows beside [`HTTP2_CONTROL_FRAMES_MAX`].
const HTTP2_CONTROL_FRAMES_PER_REQUEST: u64 = 8;

/// Bytes of answers for which an HTTP/2 connection may send one more frame that carries neither head nor body:
/// a client enlarges two windows for each 16 KiB that it was sent.
const HTTP2_BYTES_PER_CONTROL_FRAME: u64 = 1_024;

/// Requests of one HTTP/2 connection that its client may take back (RST_STREAM): so many at once, and so many a second. Beyond, the
/// connection is closed: that is the attack called rapid reset.
const HTTP2_CANCELS_MAX: u64 = 256;

/// Bytes before each frame: its length in three, its type, its flags, and its stream in four (RFC 9113, 4.1).
const FRAME_HEADER: usize = 9;

const PREFACE_BYTES: usize = 24;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;

/// The code of GOAWAY for a client that does too much (RFC 9113, 7).
const ENHANCE_YOUR_CALM: u32 = 0xb;

const END_HEADERS: u8 = 0x4;
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;

/// A stream of HTTP/2 whose header blocks and control frames are bounded. Beyond the bounds, reading fails and so ends the connection.
pub(super) struct Frames<S> {
    stream: S,
    reader: FrameReader,
    /// What was read behind the end of a header block; the part from `given` on is not given out yet.
    held: Vec<u8>,
    given: usize,
    /// A header block was given out, and no read was pending since. h2 hands on a request only when its read is pending.
    block_given: bool,
    /// Bytes written that were not turned into credit yet.
    written: u64,
    /// How far the frame that is being written has come.
    writing: FrameEnd,
    load: Arc<LoadCounters>,
}

impl<S> Frames<S> {
    /// A connection whose preface has not been read yet.
    pub(super) fn new(stream: S, load: Arc<LoadCounters>) -> Frames<S> {
        Frames {
            stream,
            reader: FrameReader::new(now_ms()),
            held: Vec::new(),
            given: 0,
            block_given: false,
            written: 0,
            writing: FrameEnd::default(),
            load,
        }
    }

    /// Makes one read pending, so that h2 hands on the request whose head it has before it gets the next one.
    fn pause(&mut self, context: &Context<'_>) -> Poll<io::Result<()>> {
        self.block_given = false;
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// How many of the bytes may be given out.
    fn inspect(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> io::Result<usize>
    where
        S: AsyncWrite + Unpin,
    {
        let end = self.reader.read(bytes, now_ms()).inspect_err(|_| {
            count(&self.load.connections_excessive);
            self.send_goaway(context);
        })?;
        self.block_given |= end.is_some();
        Ok(end.unwrap_or(bytes.len()))
    }

    /// Tells the client why its connection ends, where that can be done at once.
    fn send_goaway(&mut self, context: &mut Context<'_>)
    where
        S: AsyncWrite + Unpin,
    {
        if !self.writing.is_reached() {
            return;
        }
        let mut frame = [0, 0, 8, GOAWAY, 0, 0, 0, 0, 0].to_vec();
        frame.extend(self.reader.stream.to_be_bytes());
        frame.extend(ENHANCE_YOUR_CALM.to_be_bytes());
        // A client that takes nothing learns it from the end itself.
        let _ = Pin::new(&mut self.stream).poll_write(context, &frame);
        let _ = Pin::new(&mut self.stream).poll_flush(context);
    }

    /// Notes that the first `count` bytes of slices were written.
    fn note_written<'a>(&mut self, slices: impl IntoIterator<Item = &'a [u8]>, count: usize) {
        let mut left = count;
        for slice in slices {
            let taken = left.min(slice.len());
            self.writing.pass(&slice[..taken]);
            left -= taken;
        }
        self.written += count as u64;
        self.reader.credit.add(self.written / HTTP2_BYTES_PER_CONTROL_FRAME);
        self.written %= HTTP2_BYTES_PER_CONTROL_FRAME;
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Frames<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.given < this.held.len() {
            if this.block_given {
                return this.pause(context);
            }
            // The socket counts against the turn of a task by itself; what is held has to.
            let turn = ready!(poll_proceed(context));
            let held = std::mem::take(&mut this.held);
            let left = &held[this.given..];
            let piece = &left[..left.len().min(buffer.remaining())];
            let count = this.inspect(context, piece)?;
            buffer.put_slice(&piece[..count]);
            this.given += count;
            if this.given < held.len() {
                this.held = held;
            } else {
                this.given = 0;
            }
            turn.made_progress();
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        match Pin::new(&mut this.stream).poll_read(context, buffer) {
            Poll::Ready(read) => read?,
            Poll::Pending => {
                this.block_given = false;
                return Poll::Pending;
            }
        }
        let count = if this.block_given {
            0
        } else {
            this.inspect(context, &buffer.filled()[before..]).inspect_err(|_| buffer.set_filled(before))?
        };
        if before + count < buffer.filled().len() {
            this.held = buffer.filled()[before + count..].to_vec();
            this.given = 0;
            buffer.set_filled(before + count);
        }
        if count == 0 && this.block_given { this.pause(context) } else { Poll::Ready(Ok(())) }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Frames<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
        self.note_written([bytes], written);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(context, slices))?;
        self.note_written(slices.iter().map(|slice| &**slice), written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Why a connection is ended.
fn excess(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

/// Where in the bytes of a connection its reader is.
struct FrameReader {
    /// Bytes of the preface still to come.
    preface: usize,
    header: [u8; FRAME_HEADER],
    header_read: usize,
    /// Bytes of the frame's payload still to come.
    payload: usize,
    flags: u8,
    /// Of a frame with a piece of a header block: bytes before the piece still to come, and whether the first of them is a length
    /// of padding.
    before: usize,
    has_padding: bool,
    padding: usize,
    /// The header block that is being read.
    block: Option<HeaderBlock>,
    /// The largest stream that was begun: a block of another one holds trailers.
    stream: u32,
    /// Control frames that the client may still send.
    credit: Credit,
    /// Requests that it may still take back.
    cancels: Credit,
}

impl FrameReader {
    fn new(now: u64) -> FrameReader {
        FrameReader {
            preface: PREFACE_BYTES,
            header: [0; FRAME_HEADER],
            header_read: 0,
            payload: 0,
            flags: 0,
            before: 0,
            has_padding: false,
            padding: 0,
            block: None,
            stream: 0,
            credit: Credit::new(HTTP2_CONTROL_FRAMES_MAX, now),
            cancels: Credit::new(HTTP2_CANCELS_MAX, now),
        }
    }

    /// Reads bytes up to the end of a header block; where it is, if one ends in them.
    ///
    /// # Errors
    /// A header block is too large, or there are too many frames of other kinds.
    fn read(&mut self, bytes: &[u8], now: u64) -> io::Result<Option<usize>> {
        let mut at = self.preface.min(bytes.len());
        self.preface -= at;
        while at < bytes.len() {
            if self.header_read < FRAME_HEADER {
                let count = (FRAME_HEADER - self.header_read).min(bytes.len() - at);
                self.header[self.header_read..self.header_read + count].copy_from_slice(&bytes[at..at + count]);
                self.header_read += count;
                at += count;
                if self.header_read < FRAME_HEADER {
                    break;
                }
                self.begin(now)?;
            }
            let count = self.payload.min(bytes.len() - at);
            self.read_payload(&bytes[at..at + count])?;
            at += count;
            if self.payload == 0 {
                self.header_read = 0;
                if self.flags & END_HEADERS != 0 && self.block.take().is_some() {
                    return Ok(Some(at));
                }
            }
        }
        Ok(None)
    }

    /// Begins the frame whose header was read.
    fn begin(&mut self, now: u64) -> io::Result<()> {
        let [_, _, _, kind, flags, s1, s2, s3, s4] = self.header;
        self.payload = length(&self.header);
        let stream = u32::from_be_bytes([s1, s2, s3, s4]) & (u32::MAX >> 1);
        (self.flags, self.before, self.has_padding, self.padding) = (0, 0, false, 0);
        match kind {
            HEADERS => {
                let is_first = stream > self.stream;
                self.stream = self.stream.max(stream);
                self.has_padding = flags & PADDED != 0;
                let priority = if flags & PRIORITY != 0 { 5 } else { 0 };
                self.before = usize::from(self.has_padding) + priority;
                self.flags = flags;
                self.block = Some(if is_first { HeaderBlock::of_head() } else { HeaderBlock::of_trailers() });
                if is_first {
                    self.credit.add(HTTP2_CONTROL_FRAMES_PER_REQUEST);
                }
            }
            CONTINUATION if self.block.is_some() => self.flags = flags,
            RST_STREAM => self.cancels.take(now).map_err(|()| excess("too many requests taken back"))?,
            _ => {}
        }
        if !matches!(kind, HEADERS | CONTINUATION) {
            // h2 ends a connection whose header block is interrupted.
            self.block = None;
        }
        if kind > HEADERS || self.payload == 0 && kind == DATA {
            self.credit.take(now).map_err(|()| excess("too many control frames"))?;
        }
        Ok(())
    }

    fn read_payload(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let Some(block) = &mut self.block else {
            self.payload -= bytes.len();
            return Ok(());
        };
        while self.before > 0 && !bytes.is_empty() {
            if self.has_padding {
                (self.has_padding, self.padding) = (false, usize::from(bytes[0]));
            }
            bytes = &bytes[1..];
            (self.before, self.payload) = (self.before - 1, self.payload - 1);
        }
        let fragment = self.payload.saturating_sub(self.padding).min(bytes.len());
        block.read(&bytes[..fragment])?;
        self.payload -= bytes.len();
        Ok(())
    }
}

/// The end of the frame that is being written.
#[derive(Default)]
struct FrameEnd {
    header: [u8; FRAME_HEADER],
    header_passed: usize,
    payload: usize,
}

impl FrameEnd {
    fn pass(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.header_passed < FRAME_HEADER {
                self.header[self.header_passed] = bytes[0];
                self.header_passed += 1;
                bytes = &bytes[1..];
                if self.header_passed == FRAME_HEADER {
                    self.payload = length(&self.header);
                }
            }
            let count = self.payload.min(bytes.len());
            self.payload -= count;
            bytes = &bytes[count..];
            if self.header_passed == FRAME_HEADER && self.payload == 0 {
                self.header_passed = 0;
            }
        }
    }

    fn is_reached(&self) -> bool {
        self.header_passed == 0
    }
}

/// Bytes of the payload of a frame.
fn length(header: &[u8; FRAME_HEADER]) -> usize {
    u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize
}

/// Frames of some kind that a client may still send: at most so many at once, and as many a second.
struct Credit {
    max: u64,
    frames: u64,
    moment: u64,
}

impl Credit {
    fn new(max: u64, now: u64) -> Credit {
        Credit { max, frames: max, moment: now }
    }

    fn add(&mut self, frames: u64) {
        self.frames = (self.frames + frames).min(self.max);
    }

    fn take(&mut self, now: u64) -> Result<(), ()> {
        let earned = now.saturating_sub(self.moment).saturating_mul(self.max) / 1_000;
        if earned > 0 {
            self.moment = now;
            self.add(earned);
        }
        self.frames = self.frames.checked_sub(1).ok_or(())?;
        Ok(())
    }
}

/// A header block of which only the lengths are read.
struct HeaderBlock {
    fields_left: u32,
    bytes_left: usize,
    /// Strings of the present field still to come.
    strings: u8,
    step: BlockStep,
}

/// What the next byte of a block belongs to.
enum BlockStep {
    Field,
    /// An integer that takes more than its first byte: an index, or the size of a table.
    Integer,
    StringStart,
    /// The length of a string that takes more than its first byte: as far as it is read, and the bits that come next.
    StringLength(usize, u32),
    String(usize),
}

impl HeaderBlock {
    fn of_head() -> HeaderBlock {
        HeaderBlock {
            fields_left: HTTP2_FIELDS_MAX,
            bytes_left: HTTP2_BLOCK_BYTES_MAX,
            strings: 0,
            step: BlockStep::Field,
        }
    }

    fn of_trailers() -> HeaderBlock {
        let (fields_left, bytes_left) = (HTTP2_TRAILER_FIELDS_MAX, HTTP2_TRAILER_BYTES_MAX);
        HeaderBlock { fields_left, bytes_left, strings: 0, step: BlockStep::Field }
    }

    /// # Errors
    /// The block has too many fields or bytes, or a length that no block can have.
    fn read(&mut self, bytes: &[u8]) -> io::Result<()> {
        let too_long = || excess("a header block is too long");
        self.bytes_left = self.bytes_left.checked_sub(bytes.len()).ok_or_else(too_long)?;
        let mut at = 0;
        while at < bytes.len() {
            let byte = bytes[at];
            at += 1;
            self.step = match self.step {
                BlockStep::Field => {
                    self.fields_left =
                        self.fields_left.checked_sub(1).ok_or_else(|| excess("a header block has too many fields"))?;
                    let (prefix, is_literal) = match byte {
                        0x80.. => (0x7f, false),
                        0x40.. => (0x3f, true),
                        0x20.. => (0x1f, false),
                        _ => (0x0f, true),
                    };
                    let index = byte & prefix;
                    // Without the index of a name, the name is a string as well.
                    self.strings = u8::from(is_literal) + u8::from(is_literal && index == 0);
                    if index == prefix { BlockStep::Integer } else { self.after() }
                }
                BlockStep::Integer if byte & 0x80 == 0 => self.after(),
                BlockStep::Integer => BlockStep::Integer,
                BlockStep::StringStart => {
                    self.strings -= 1;
                    match usize::from(byte & 0x7f) {
                        0 => self.after(),
                        0x7f => BlockStep::StringLength(0x7f, 0),
                        length => BlockStep::String(length),
                    }
                }
                BlockStep::StringLength(length, shift) => {
                    if shift > 21 {
                        return Err(too_long());
                    }
                    let length = length + (usize::from(byte & 0x7f) << shift);
                    if byte & 0x80 == 0 {
                        BlockStep::String(length)
                    } else {
                        BlockStep::StringLength(length, shift + 7)
                    }
                }
                BlockStep::String(left) => {
                    // This byte, and as many of the others as are there.
                    let count = left.min(bytes.len() - at + 1);
                    at += count - 1;
                    if count == left { self.after() } else { BlockStep::String(left - count) }
                }
            };
        }
        Ok(())
    }

    fn after(&self) -> BlockStep {
        if self.strings > 0 { BlockStep::StringStart } else { BlockStep::Field }
    }
}

#[cfg(test)]
mod tests;

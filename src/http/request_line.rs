//! Addresses as people type them: `curl 'http://…/render?target=alias(a.b,"c")'` sends the quotes as they are.
//!
//! A URL may not contain them, and the HTTP library rejects such a request without an explanation; graphite-web accepts it. So
//! this replaces bytes that are invalid in a URL by `%22` and the like, which means the same, before the library sees them. To know
//! where the next request on a connection begins, it reads the length of the body from the headers.

#![deny(
    clippy::indexing_slicing,
    reason = "these bytes come from outside: nothing in them may make us panic"
)]

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use memchr::memchr;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// As much of a header line as is needed to know `content-length: 18446744073709551615`.
const HEADER_START: usize = 64;

/// Bytes of a head that every connection may have without asking.
const FREE: usize = 8 * 1024;

/// Bytes that all unfinished heads may have beyond that.
const ALL_HEADS: usize = 64 << 20;

/// The memory of heads that are longer than most, and not finished. Without a bound, many who never finish theirs could fill it.
#[derive(Clone, Debug)]
pub(super) struct Heads(Arc<Semaphore>);

impl Default for Heads {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(ALL_HEADS)))
    }
}

/// A connection whose requests are corrected as they are read.
#[derive(Debug)]
pub(super) struct Mending<S> {
    stream: S,
    part: RequestPart,
    header: Vec<u8>,
    body: Body,
    /// Corrected bytes that are not handed on yet, from `handed` on.
    mended: Vec<u8>,
    handed: usize,
    /// Bytes of the head so far, and what it has borrowed for them.
    head_bytes: usize,
    borrowed: Option<OwnedSemaphorePermit>,
    heads: Heads,
}

/// The part of a request that the next byte belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestPart {
    Method,
    Address,
    Version,
    Headers,
    Body(u64),
    /// Unknown: it is another protocol, or a body of unknown length. Nothing more is corrected.
    Lost,
}

/// What the headers say about the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Body {
    Length(u64),
    Unknown,
}

/// Is this byte invalid in a URL? Some programs tolerate those above 126, and others do not.
fn is_wrong(byte: u8) -> bool {
    matches!(byte, 0..=0x1f | b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' | 0x7f..)
}

impl<S> Mending<S> {
    pub(super) fn new(stream: S, heads: Heads) -> Self {
        Self {
            stream,
            part: RequestPart::Method,
            header: Vec::new(),
            body: Body::Length(0),
            mended: Vec::new(),
            handed: 0,
            head_bytes: 0,
            borrowed: None,
            heads,
        }
    }

    /// Notes that so many bytes were read, and borrows memory for a head that is long and not finished.
    fn count(&mut self, bytes: usize) -> io::Result<()> {
        if matches!(self.part, RequestPart::Body(_) | RequestPart::Lost) {
            (self.head_bytes, self.borrowed) = (0, None);
            return Ok(());
        }
        self.head_bytes = if self.header.is_empty() && self.part == RequestPart::Method {
            0
        } else {
            self.head_bytes + bytes
        };
        let wanted = self.head_bytes.saturating_sub(FREE);
        let missing =
            wanted - self.borrowed.as_ref().map_or(0, OwnedSemaphorePermit::num_permits).min(wanted);
        if missing > 0 {
            let missing = u32::try_from(missing).map_err(io::Error::other)?;
            let more = Arc::clone(&self.heads.0)
                .try_acquire_many_owned(missing)
                .map_err(|_| io::Error::other("too many heads of requests are long and not finished"))?;
            match &mut self.borrowed {
                Some(borrowed) => borrowed.merge(more),
                none => *none = Some(more),
            }
        } else if wanted == 0 {
            self.borrowed = None;
        }
        Ok(())
    }

    /// Checks what was read. Returns a corrected copy, if something had to change.
    fn skim(&mut self, mut read: &[u8]) -> Option<Vec<u8>> {
        let (all, mut mended) = (read, None::<Vec<u8>>);
        while let Some((&byte, rest)) = read.split_first() {
            if self.part == RequestPart::Lost {
                break;
            }
            if let RequestPart::Body(left) = self.part {
                let here = usize::try_from(left).unwrap_or(usize::MAX).min(read.len());
                self.body_goes_on(left - here as u64);
                let (body, after) = read.split_at(here);
                if let Some(mended) = &mut mended {
                    mended.extend_from_slice(body);
                }
                read = after;
                continue;
            }
            if self.part == RequestPart::Headers && byte != b'\n' {
                let (line, after) = read.split_at(memchr(b'\n', read).unwrap_or(read.len()));
                self.header_goes_on(line);
                if let Some(mended) = &mut mended {
                    mended.extend_from_slice(line);
                }
                read = after;
                continue;
            }
            if self.part == RequestPart::Address && is_wrong(byte) && !matches!(byte, b'\r' | b'\n') {
                let before = || all.strip_suffix(read).unwrap_or_default().to_vec();
                mended.get_or_insert_with(before).extend(format!("%{byte:02X}").bytes());
            } else {
                self.step(byte);
                if let Some(mended) = &mut mended {
                    mended.push(byte);
                }
            }
            read = rest;
        }
        if let Some(mended) = &mut mended {
            mended.extend_from_slice(read);
        }
        mended
    }

    /// Handles one byte that is in no body, and ends a line if it is in the headers.
    fn step(&mut self, byte: u8) {
        self.part = match (self.part, byte) {
            // HTTP/2 begins with `PRI * HTTP/2.0`.
            (RequestPart::Method, b' ') if self.header == b"PRI" => RequestPart::Lost,
            (RequestPart::Method, b' ') => RequestPart::Address,
            // Empty lines in front of a request are allowed.
            (RequestPart::Method, b'\r' | b'\n') => RequestPart::Method,
            (RequestPart::Method, _) if self.header.len() == HEADER_START => RequestPart::Lost,
            (RequestPart::Method, _) => {
                self.header.push(byte);
                RequestPart::Method
            }
            (RequestPart::Address, b' ') => RequestPart::Version,
            (RequestPart::Address | RequestPart::Version, b'\n') => {
                self.header.clear();
                self.body = Body::Length(0);
                RequestPart::Headers
            }
            (RequestPart::Headers, _) => return self.end_header(),
            (part, _) => part,
        };
    }

    /// Keeps of a header line what is needed of it. Most of a head is such lines, so they are not read byte by byte.
    fn header_goes_on(&mut self, line: &[u8]) {
        let room = HEADER_START.saturating_sub(self.header.len()).min(line.len());
        self.header.extend(line.iter().take(room).map(u8::to_ascii_lowercase));
    }

    fn end_header(&mut self) {
        let line = self.header.trim_ascii_end();
        if line.is_empty() {
            self.header.clear();
            match self.body {
                Body::Length(length) => self.body_goes_on(length),
                Body::Unknown => self.part = RequestPart::Lost,
            }
            return;
        }
        if let Some(value) = line.strip_prefix(b"content-length:") {
            let length = std::str::from_utf8(value.trim_ascii()).ok().and_then(|text| text.parse().ok());
            self.body = length.map_or(Body::Unknown, Body::Length);
        } else if line.starts_with(b"transfer-encoding:") || line.starts_with(b"upgrade:") {
            self.body = Body::Unknown;
        }
        self.header.clear();
    }

    fn body_goes_on(&mut self, left: u64) {
        self.part = if left == 0 { RequestPart::Method } else { RequestPart::Body(left) };
    }

    /// Hands on as many corrected bytes as there is room for.
    fn hand_on(&mut self, out: &mut ReadBuf<'_>) {
        let rest = self.mended.get(self.handed..).unwrap_or_default();
        let len = rest.len().min(out.remaining());
        out.put_slice(rest.get(..len).unwrap_or(rest));
        self.handed += len;
        if self.handed == self.mended.len() {
            (self.mended, self.handed) = (Vec::new(), 0);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Mending<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.mended.is_empty() {
            let before = out.filled().len();
            ready!(Pin::new(&mut self.stream).poll_read(cx, out))?;
            let read = out.filled().get(before..).unwrap_or_default();
            let mended = self.skim(read);
            self.count(read.len())?;
            let Some(mended) = mended else { return Poll::Ready(Ok(())) };
            out.set_filled(before);
            self.mended = mended;
        }
        self.hand_on(out);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Mending<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// What comes out when `bytes` are read in pieces.
pub(super) fn mended(bytes: &[u8], piece: usize) -> Vec<u8> {
    let mut mending = Mending::new((), Heads::default());
    let parts = bytes.chunks(piece.max(1));
    parts.flat_map(|part| mending.skim(part).unwrap_or_else(|| part.to_vec())).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_are_mended_and_nothing_else() {
        let wrong = "\r\nGET /render?target=alias(a,\"<ü>\") HTTP/1.1\r\nhost: \"a\"\r\n\r\n\
                     POST /a|b HTTP/1.1\r\nContent-Length: 16\r\nx: <\r\n\r\nGET /\" HTTP/1.1\
                     GET /{a,b} HTTP/1.1\r\n\r\n";
        let right = "\r\nGET /render?target=alias(a,%22%3C%C3%BC%3E%22) HTTP/1.1\r\nhost: \"a\"\r\n\r\n\
                     POST /a%7Cb HTTP/1.1\r\nContent-Length: 16\r\nx: <\r\n\r\nGET /\" HTTP/1.1\
                     GET /%7Ba,b%7D HTTP/1.1\r\n\r\n";
        for piece in [1, 2, 3, 7, 1000] {
            assert_eq!(String::from_utf8(mended(wrong.as_bytes(), piece)).unwrap(), right, "{piece}");
        }
    }

    #[test]
    fn what_is_not_understood_goes_through() {
        for text in [
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nGET /\" HTTP/1.1\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET /\" HTTP/1.1\r\n\r\n",
            "POST / HTTP/1.1\r\ncontent-length: many\r\n\r\nGET /\" HTTP/1.1\r\n\r\n",
            "\"\n\n\"",
        ] {
            assert_eq!(mended(text.as_bytes(), 5), text.as_bytes(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(bytes: Vec<u8>, head in "[A-Z]{1,4} /[a\" ]{0,4}[ \r\n]{0,3}", piece in 1..9_usize) {
            let bytes = [head.as_bytes(), &bytes].concat();
            prop_assert_eq!(mended(&bytes, piece), mended(&bytes, usize::MAX));
        }
    }
}

//! Points on the wire.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use anyhow::Result;
use serde_pickle::SerOptions;

/// A point with its name, as it is sent.
pub(crate) type Sent = (String, (u64, f64));

/// Carbon's lines.
pub(crate) fn lines(points: &[Sent]) -> String {
    points.iter().map(|(name, (time, value))| format!("{name} {value} {time}\n")).collect()
}

/// A connection that is made again after it broke.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    /// The stream, and the fault edge at which it was made.
    stream: Option<(TcpStream, u64)>,
}

impl Connection {
    /// The fault edge at which it was made; `None` if it is not there.
    pub(crate) fn made_at(&self) -> Option<u64> {
        self.stream.as_ref().map(|(_, edge)| *edge)
    }

    /// Sends bytes. After an error some of them may have arrived, and the connection is gone: what was cut in the middle is not
    /// followed by anything.
    pub(crate) fn send(&mut self, edge: u64, to: SocketAddr, bytes: &[u8]) -> Result<()> {
        let result = self.try_send(edge, to, bytes);
        if result.is_err() {
            self.stream = None;
        }
        result
    }

    fn try_send(&mut self, edge: u64, to: SocketAddr, bytes: &[u8]) -> Result<()> {
        if self.stream.is_none() {
            let stream = TcpStream::connect_timeout(&to, Duration::from_secs(1))?;
            stream.set_nodelay(true)?;
            stream.set_write_timeout(Some(Duration::from_secs(2)))?;
            self.stream = Some((stream, edge));
        }
        let (stream, _) = self.stream.as_mut().expect("it was just made");
        Ok(stream.write_all(bytes)?)
    }
}

/// A frame of pickle.
pub(crate) fn pickle(points: &[Sent]) -> Result<Vec<u8>> {
    let pickled = serde_pickle::to_vec(&points, SerOptions::new().proto_v2())?;
    Ok([&u32::try_from(pickled.len())?.to_be_bytes()[..], &pickled].concat())
}

/// One datagram.
pub(crate) fn datagram(to: SocketAddr, bytes: &[u8]) -> Result<()> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.send_to(bytes, to)?;
    Ok(())
}

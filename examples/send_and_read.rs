//! How do I send points from a program, and read them back?
//!
//!     cargo run --release &                      # the server
//!     cargo run --example send_and_read
//!
//! Points go to the carbon port, one line each: name, value, Unix time. `/render` reads them as JSON.

use std::error::Error;
use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn main() -> Result<(), Box<dyn Error>> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let points: Vec<(u64, f64)> = (0..6).map(|n| (now - 60 + n * 10, n as f64)).collect();
    send("127.0.0.1:2003", "example.temperature", &points)?;
    // Points are readable as soon as the server has read them from the socket.
    std::thread::sleep(Duration::from_millis(200));
    for (time, value) in read("http://127.0.0.1:8080", "example.temperature", now - 120)? {
        println!("{time} {value}");
    }
    Ok(())
}

/// Sends points over one connection. Keep it open if you send more often than once a minute.
pub(crate) fn send(carbon: &str, name: &str, points: &[(u64, f64)]) -> Result<(), Box<dyn Error>> {
    let mut connection = TcpStream::connect(carbon)?;
    let lines: String = points.iter().map(|(time, value)| format!("{name} {value} {time}\n")).collect();
    connection.write_all(lines.as_bytes())?;
    Ok(())
}

/// Reads the points of a target after `from`. A slot without a value is `null` in the answer, and is left out here.
pub(crate) fn read(server: &str, target: &str, from: u64) -> Result<Vec<(u64, f64)>, Box<dyn Error>> {
    let request = ureq::get(format!("{server}/render")).query("target", target);
    let request = request.query("from", from.to_string()).query("format", "json");
    let answer: serde_json::Value = serde_json::from_str(&request.call()?.body_mut().read_to_string()?)?;
    let series = answer.as_array().ok_or("the answer is not a list of series")?;
    let points = series.iter().filter_map(|series| series["datapoints"].as_array()).flatten();
    Ok(points.filter_map(|point| Some((point[1].as_u64()?, point[0].as_f64()?))).collect())
}

//! [`Client`]: requests to an inspector, over HTTP/1.1 by hand.
//!
//! Each request has a connection of its own. What comes back is limited in size and time, whatever is at the address.

use crate::program::Program;
use core::fmt;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// The longest head of an answer in bytes.
const HEAD_LIMIT: usize = 16 << 10;

/// The longest body of an answer in bytes. That of an inspector has at most 8 MiB.
const BODY_LIMIT: usize = 9 << 20;

/// How long an answer may take. An inspector gives up after 20 s.
const ANSWER_TIME: Duration = Duration::from_secs(25);

/// How long a connection may take.
const CONNECT_TIME: Duration = Duration::from_secs(2);

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fault {
    /// There is no connection, or it broke.
    Unreachable(String),
    /// The inspector answered with an error.
    Refused(u16, Value),
    /// What came back is not an answer of an inspector.
    Malformed(&'static str),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Unreachable(error) => write!(f, "the program does not answer: {error}"),
            Fault::Refused(status, body) => match body.get("error").and_then(Value::as_str) {
                Some(error) => f.write_str(&crate::text::printable(error)),
                None => write!(f, "the program answered with status {status}"),
            },
            Fault::Malformed(what) => write!(f, "the answer is not that of an inspector: {what}"),
        }
    }
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Fault {
        match error.kind() {
            std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => {
                Fault::Unreachable("it took too long".into())
            }
            _ => Fault::Unreachable(error.to_string()),
        }
    }
}

/// Requests to an inspector.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    address: SocketAddr,
    key: String,
    time: Duration,
}

impl Client {
    pub(crate) fn new(program: &Program) -> Client {
        Client { address: program.address, key: program.key.clone(), time: ANSWER_TIME }
    }

    /// Reads a route, such as `world`.
    pub(crate) fn get(&self, route: &str) -> Result<Value, Fault> {
        self.send(&format!("GET /api/1/{route} HTTP/1.1\r\n"), "")
    }

    /// Changes something.
    pub(crate) fn post(&self, route: &str, body: &Value) -> Result<Value, Fault> {
        let body = body.to_string();
        let length = body.len();
        let head =
            format!("POST /api/1/{route} HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n");
        self.send(&head, &body)
    }

    fn send(&self, head: &str, body: &str) -> Result<Value, Fault> {
        let end = Instant::now() + self.time;
        let mut socket = TcpStream::connect_timeout(&self.address, CONNECT_TIME.min(self.time))?;
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(CONNECT_TIME))?;
        let (host, key) = (self.address, &self.key);
        let text = format!("{head}Host: {host}\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n\r\n{body}");
        socket.write_all(text.as_bytes())?;
        let (status, body) = read_answer(&mut socket, end)?;
        let value = serde_json::from_slice(&body).map_err(|_| Fault::Malformed("its body is not JSON"));
        match status {
            200 => value,
            status => Err(Fault::Refused(status, value.unwrap_or(Value::Null))),
        }
    }
}

/// Reads more bytes, until a moment.
fn read_some(socket: &mut TcpStream, text: &mut Vec<u8>, end: Instant) -> Result<usize, Fault> {
    let left = end.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(Fault::Unreachable("it took too long".into()));
    }
    socket.set_read_timeout(Some(left))?;
    let mut buffer = [0; 16 << 10];
    loop {
        match socket.read(&mut buffer) {
            Ok(count) => {
                text.extend_from_slice(&buffer[..count]);
                return Ok(count);
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Reads the status and the body of an answer.
fn read_answer(socket: &mut TcpStream, end: Instant) -> Result<(u16, Vec<u8>), Fault> {
    let mut text = Vec::new();
    let head_end = loop {
        if let Some(at) = text.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        if text.len() > HEAD_LIMIT {
            return Err(Fault::Malformed("its head is too long"));
        }
        if read_some(socket, &mut text, end)? == 0 {
            return Err(Fault::Unreachable("the connection was closed".into()));
        }
    };
    let head = std::str::from_utf8(&text[..head_end]).map_err(|_| Fault::Malformed("its head is not text"))?;
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 "));
    let status = status.and_then(|line| line.get(..3)?.parse().ok()).ok_or(Fault::Malformed("it is not HTTP"))?;
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())
    });
    let length = length.flatten().ok_or(Fault::Malformed("it has no length"))?;
    if length > BODY_LIMIT {
        return Err(Fault::Malformed("it is too long"));
    }
    let mut body = text.split_off(head_end + 4);
    while body.len() < length {
        if read_some(socket, &mut body, end)? == 0 {
            return Err(Fault::Unreachable("the connection was closed".into()));
        }
    }
    body.truncate(length);
    Ok((status, body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// Answers one connection with some bytes, and returns what a client makes of them.
    fn answered_with(answer: Vec<u8>, closes: bool) -> Result<Value, Fault> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let count = socket.read(&mut request).unwrap();
            let _ = socket.write_all(&answer);
            if !closes {
                std::thread::sleep(Duration::from_millis(600));
            }
            String::from_utf8_lossy(&request[..count]).into_owned()
        });
        let client = Client { address, key: "k".into(), time: Duration::from_millis(300) };
        let result = client.get("world");
        let request = server.join().unwrap();
        assert!(request.starts_with("GET /api/1/world HTTP/1.1\r\nHost: 127.0.0.1:"), "{request}");
        result
    }

    #[test]
    fn an_answer_is_read_whole() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{\"a\":1}and more".to_vec();
        assert_eq!(answered_with(answer, true).unwrap()["a"], 1);
        let answer = b"HTTP/1.1 409 Conflict\r\ncontent-length: 13\r\n\r\n{\"error\":\"x\"}".to_vec();
        assert_eq!(answered_with(answer, true).unwrap_err().to_string(), "x");
    }

    #[test]
    fn what_is_not_an_answer_is_an_error() {
        for (answer, part) in [
            (b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{".to_vec(), "closed"),
            (b"HTTP/1.1 200 OK\r\n\r\n{}".to_vec(), "no length"),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n".to_vec(), "too long"),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{]".to_vec(), "not JSON"),
            (b"SSH-2.0-x\r\n\r\n".to_vec(), "not HTTP"),
            (vec![b'x'; 64 << 10], "head is too long"),
            (Vec::new(), "closed"),
        ] {
            let error = answered_with(answer, true).unwrap_err().to_string();
            assert!(error.contains(part), "{part}: {error}");
        }
        // A server that never comes to an end.
        let error = answered_with(b"HTTP/1.1 200 OK\r\n".to_vec(), false).unwrap_err().to_string();
        assert!(error.contains("too long"), "{error}");
    }
}

//! [`Guard`]: which requests of HTTP are looked at.
//!
//! The threats are another page in the same browser (which can send requests, also by a host name that it makes lead here), and
//! another user of the machine. A page knows neither the key nor can it set the headers that a browser sets.

use crate::key::Key;
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, HeaderName, ORIGIN,
    TRANSFER_ENCODING, UPGRADE,
};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Version};
use std::net::{IpAddr, SocketAddr};

/// The longest body in bytes.
pub(super) const BODY_LIMIT: u64 = 1 << 20;

/// The longest snapshot in bytes.
pub(super) const SNAPSHOT_LIMIT: u64 = 64 << 20;

/// The longest path with its query string in bytes.
const URI_LIMIT: usize = 12 << 10;

/// What a request of HTTP must be like.
#[derive(Debug)]
pub(super) struct Guard {
    pub(super) address: SocketAddr,
    pub(super) key: Key,
    /// Whether other machines may connect.
    pub(super) is_exposed: bool,
}

/// A request that is refused: the status, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal(pub(super) u16, pub(super) &'static str);

/// What an accepted request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target<'a> {
    /// A file of the page.
    File(&'a str),
    /// A route below `/api/1/`, and the query string.
    Route(&'a str, &'a str),
}

/// Returns the only value of a header, as text.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName, refusal: Refusal) -> Result<Option<&'a str>, Refusal> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| refusal),
        (Some(_), Some(_)) => Err(refusal),
    }
}

impl Guard {
    /// Checks a request without its body.
    pub(super) fn check<'a>(&self, parts: &'a Parts) -> Result<Target<'a>, Refusal> {
        let (headers, uri) = (&parts.headers, &parts.uri);
        if parts.version != Version::HTTP_11 {
            return Err(Refusal(505, "only HTTP/1.1 is spoken"));
        }
        if uri.scheme().is_some() || uri.authority().is_some() || !uri.path().starts_with('/') {
            return Err(Refusal(400, "the target of the request is a path"));
        }
        if uri.path_and_query().is_some_and(|path| path.as_str().len() > URI_LIMIT) {
            return Err(Refusal(414, "the path is too long"));
        }
        let host = only(headers, &HOST, Refusal(400, "there is more than one host, or it is not text"))?;
        let host = host.ok_or(Refusal(400, "the host is missing"))?;
        if !self.is_our_host(host) {
            return Err(Refusal(403, "the host is not this one"));
        }
        self.check_browser(headers, host)?;
        if headers.contains_key(UPGRADE) {
            return Err(Refusal(400, "the protocol is not changed"));
        }
        if headers.contains_key(EXPECT) {
            return Err(Refusal(417, "nothing is expected"));
        }
        match uri.path().strip_prefix("/api/") {
            None if parts.method != Method::GET => Err(Refusal(405, "files are only read")),
            None => {
                check_no_body(headers)?;
                Ok(Target::File(uri.path()))
            }
            Some(route) => {
                self.check_key(headers)?;
                let is_snapshot = route == "1/load";
                self.check_body(&parts.method, headers, is_snapshot)?;
                let route = route.strip_prefix("1/").ok_or(Refusal(404, "the version of the interface is 1"))?;
                Ok(Target::Route(route, uri.query().unwrap_or("")))
            }
        }
    }

    /// Returns `true` if a host is that of the server. A name that another page makes lead here is not.
    fn is_our_host(&self, host: &str) -> bool {
        let port = self.address.port();
        let Some((name, text)) = host.rsplit_once(':') else { return false };
        if text.parse() != Ok(port) || text.starts_with(['+', '0']) {
            return false;
        }
        if matches!(name, "127.0.0.1" | "localhost" | "[::1]") {
            return true;
        }
        let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        match address.parse::<IpAddr>() {
            // The address of a machine cannot be made to lead elsewhere, as a name can.
            Ok(address) => address == self.address.ip() || self.is_exposed,
            Err(_) => false,
        }
    }

    /// Checks what browsers say about the page that a request is from.
    fn check_browser(&self, headers: &HeaderMap, host: &str) -> Result<(), Refusal> {
        let foreign = Refusal(403, "the request is from another page");
        if let Some(origin) = only(headers, &ORIGIN, foreign)?
            && origin.strip_prefix("http://") != Some(host)
        {
            return Err(foreign);
        }
        let site = only(headers, &HeaderName::from_static("sec-fetch-site"), foreign)?;
        if site.is_some_and(|site| !matches!(site, "none" | "same-origin")) {
            return Err(foreign);
        }
        if headers.contains_key("service-worker") {
            return Err(Refusal(403, "there are no service workers"));
        }
        Ok(())
    }

    fn check_key(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let refusal = Refusal(401, "the key is missing or is not that of this inspector");
        let given = only(headers, &AUTHORIZATION, refusal)?.ok_or(refusal)?;
        let key = given.strip_prefix("Bearer ").ok_or(refusal)?;
        if self.key.matches(key.as_bytes()) { Ok(()) } else { Err(refusal) }
    }

    fn check_body(&self, method: &Method, headers: &HeaderMap, is_snapshot: bool) -> Result<(), Refusal> {
        for name in ["sec-fetch-dest", "sec-fetch-mode"] {
            let foreign = Refusal(403, "the request is not one of a script of the page");
            let value = only(headers, &HeaderName::from_static(name), foreign)?;
            if value.is_some_and(|value| !matches!(value, "empty" | "cors" | "same-origin")) {
                return Err(foreign);
            }
        }
        let unacceptable = Refusal(406, "the answer is application/json");
        if let Some(accept) = only(headers, &ACCEPT, unacceptable)?
            && !["application/json", "application/*", "*/*"].iter().any(|kind| accept.contains(kind))
        {
            return Err(unacceptable);
        }
        match *method {
            Method::GET => check_no_body(headers),
            Method::POST => {
                // Neither is a type that a form of another page can send.
                let (kind, types, limit, long): (_, &[&str], _, _) = match is_snapshot {
                    true => (
                        Refusal(415, "a snapshot is application/octet-stream"),
                        &["application/octet-stream"],
                        SNAPSHOT_LIMIT,
                        Refusal(413, "a snapshot has at most 64 MiB"),
                    ),
                    false => (
                        Refusal(415, "a body is application/json"),
                        &["application/json", "application/json; charset=utf-8", "application/json;charset=utf-8"],
                        BODY_LIMIT,
                        Refusal(413, "a body has at most 1 MiB"),
                    ),
                };
                let given = only(headers, &CONTENT_TYPE, kind)?.ok_or(kind)?;
                if !types.contains(&given) || headers.contains_key(CONTENT_ENCODING) {
                    return Err(kind);
                }
                let length = Refusal(411, "the length of the body is missing");
                if headers.contains_key(TRANSFER_ENCODING) {
                    return Err(length);
                }
                let given = only(headers, &CONTENT_LENGTH, length)?.ok_or(length)?;
                match given.parse::<u64>() {
                    Ok(given) if given <= limit => Ok(()),
                    _ => Err(long),
                }
            }
            _ => Err(Refusal(405, "the methods are GET and POST")),
        }
    }
}

fn check_no_body(headers: &HeaderMap) -> Result<(), Refusal> {
    let length = headers.get(CONTENT_LENGTH).is_some_and(|length| length != "0");
    match length || headers.contains_key(TRANSFER_ENCODING) {
        true => Err(Refusal(400, "a GET has no body")),
        false => Ok(()),
    }
}

//! [`Response`]: what a request is answered with.

use std::borrow::Cow;

/// What a request is answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status, as in HTTP: 200 if the request was carried out.
    pub status: u16,
    /// The type of the body. It is `application/json`, but for snapshots.
    pub content_type: &'static str,
    /// The body. That of an error is `{"error":"…"}`.
    pub body: Cow<'static, [u8]>,
}

impl Response {
    /// Returns the body as text. What is not UTF-8 is replaced.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    #[cfg(not(feature = "answer"))]
    pub(crate) fn not_compiled() -> Response {
        let body = Cow::Borrowed(&br#"{"error":"the feature `answer` of phalanx-inspect is off"}"#[..]);
        Response { status: 501, content_type: "application/json", body }
    }
}

#[cfg(feature = "answer")]
pub(crate) use made::{ANSWER_LIMIT, concat};

#[cfg(feature = "answer")]
mod made {
    use super::Response;
    use crate::json::{Fault, Json};
    use core::fmt;
    use std::borrow::Cow;

    /// The longest answer in bytes.
    pub(crate) const ANSWER_LIMIT: usize = 8 << 20;

    const JSON: &str = "application/json";

    /// Joins texts.
    pub(crate) fn concat<const N: usize>(parts: [&str; N]) -> Result<String, Response> {
        let mut text = String::new();
        if text.try_reserve_exact(parts.iter().map(|part| part.len()).sum()).is_err() {
            return Err(Response::out_of_memory());
        }
        parts.iter().for_each(|part| text.push_str(part));
        Ok(text)
    }

    impl Response {
        /// Writes an object.
        pub(crate) fn object(write: impl FnOnce(&mut Json)) -> Response {
            let mut json = Json::new(ANSWER_LIMIT);
            json.object(write);
            Response::from_json(json)
        }

        pub(crate) fn from_json(json: Json) -> Response {
            match json.finish() {
                Ok(text) => Response { status: 200, content_type: JSON, body: Cow::Owned(text) },
                Err(Fault::Alloc) => Response::out_of_memory(),
                Err(Fault::TooLong) => {
                    let body = Cow::Borrowed(&br#"{"error":"the answer would be longer than 8 MiB"}"#[..]);
                    Response { status: 413, content_type: JSON, body }
                }
            }
        }

        /// Answers with an error. The message is a sentence without a full stop.
        pub(crate) fn error(status: u16, message: impl fmt::Display) -> Response {
            let response = Response::object(|json| json.key("error").display(message));
            if response.status == 200 { Response { status, ..response } } else { response }
        }

        pub(crate) fn out_of_memory() -> Response {
            let body = Cow::Borrowed(&br#"{"error":"allocation failed"}"#[..]);
            Response { status: 507, content_type: JSON, body }
        }

        /// Answers that something was done. That is so, even if there is no memory to say what.
        pub(crate) fn done(message: impl fmt::Display) -> Response {
            let response = Response::object(|json| json.key("done").display(message));
            if response.status == 200 {
                return response;
            }
            let body = Cow::Borrowed(&br#"{"done":"done, but allocation failed for the details"}"#[..]);
            Response { status: 200, content_type: JSON, body }
        }
    }
}

//! [`Server`]: the thread that owns the sockets.

use super::files;
use super::guard::{BODY_LIMIT, Guard, Refusal, SNAPSHOT_LIMIT, Target};
use super::runtime_file::RuntimeFile;
use crate::json::Json;
use crate::key::Key;
use crate::queue::{Job, Queue};
use crate::request::Request;
use crate::response::Response;
use crate::user_code::RunningCode;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::HeaderValue;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::borrow::Cow;
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, oneshot, watch};

/// The number of connections at a time.
pub(crate) const CONNECTION_LIMIT: usize = 16;

/// How long a client may take for the head of a request, and for its body.
const READ_TIME: Duration = Duration::from_secs(5);

/// How long a client may take for a snapshot.
const SNAPSHOT_TIME: Duration = Duration::from_secs(30);

/// How long the loop may take until its next update.
const SILENCE: Duration = Duration::from_millis(250);

/// How long the loop may take for an answer that it works on.
const ANSWER_TIME: Duration = Duration::from_secs(20);

/// What a server is made of.
#[derive(Debug)]
pub(crate) struct ServerOptions {
    pub(crate) name: String,
    pub(crate) address: String,
    /// The key that was given, if the server may be reached by other machines.
    pub(crate) exposed: Option<Key>,
    /// Whether other programs of the user may find it.
    pub(crate) is_listed: bool,
}

/// The thread that owns the sockets. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) key: Key,
    stop: watch::Sender<bool>,
    thread: Option<std::thread::JoinHandle<()>>,
    _file: Option<RuntimeFile>,
}

fn refused(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

impl Server {
    /// Binds the address and starts the thread.
    pub(crate) fn start(options: ServerOptions, queue: Arc<Queue>, code: Arc<RunningCode>) -> io::Result<Server> {
        let mut addresses = options.address.to_socket_addrs()?;
        let wanted = addresses.next().ok_or_else(|| refused(format!("{} is not an address", options.address)))?;
        if options.exposed.is_none() && !wanted.ip().is_loopback() {
            let message = "{} can be reached by other machines: choose 127.0.0.1, or call `expose` with a key";
            return Err(refused(message.replace("{}", &wanted.to_string())));
        }
        let listener = bind(wanted)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let is_exposed = options.exposed.is_some();
        let key = options.exposed.map_or_else(Key::random, Ok)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let (stop, stopped) = watch::channel(false);
        let guard = Guard { address, key, is_exposed };
        let shared = Arc::new(Shared { guard, queue, code, snapshots: Semaphore::new(1) });
        let main = move || {
            runtime.block_on(async {
                // The listener was bound without the runtime, so that errors are those of `serve`.
                if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
                    accept(listener, shared, stopped).await;
                }
            });
        };
        let thread = std::thread::Builder::new().name("phalanx-inspect".into()).spawn(main)?;
        let mut json = Json::new(4096);
        json.object(|json| {
            json.key("name").text(&options.name);
            json.key("process").number(std::process::id().into());
            json.key("address").display(address);
            json.key("key").display(key);
        });
        let file = json.finish().ok().filter(|_| options.is_listed);
        let file = file.and_then(|text| RuntimeFile::create(address.port(), &text));
        Ok(Server { address, key, stop, thread: Some(thread), _file: file })
    }

    /// Returns the address of the page, with the key.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/#key={}", self.address, self.key)
    }
}

/// Binds an address. If the port is taken, one of the next nine is, so that several programs can run at once.
fn bind(wanted: SocketAddr) -> io::Result<TcpListener> {
    let mut result = TcpListener::bind(wanted);
    let next = (wanted.port()..=wanted.port().saturating_add(9)).skip(1).filter(|_| wanted.port() != 0);
    for port in next {
        match &result {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                result = TcpListener::bind(SocketAddr::new(wanted.ip(), port));
            }
            _ => break,
        }
    }
    result
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What all connections use.
#[derive(Debug)]
struct Shared {
    guard: Guard,
    queue: Arc<Queue>,
    code: Arc<RunningCode>,
    /// One snapshot is taken in at a time, because each may be large.
    snapshots: Semaphore,
}

async fn accept(listener: tokio::net::TcpListener, shared: Arc<Shared>, mut stopped: watch::Receiver<bool>) {
    let connections = Arc::new(Semaphore::new(CONNECTION_LIMIT));
    loop {
        let accepted = async {
            // More clients wait to be accepted.
            let permit = connections.clone().acquire_owned().await;
            (permit, listener.accept().await)
        };
        let (permit, socket) = match until(accepted, &mut stopped).await {
            Some((Ok(permit), Ok((socket, _)))) => (permit, socket),
            Some(_) => {
                // There are too many open files, for example.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
            None => return,
        };
        let (shared, mut stopped) = (shared.clone(), stopped.clone());
        tokio::spawn(async move {
            let _permit = permit;
            let _ = socket.set_nodelay(true);
            let service = service_fn(|request| answer(request, &shared));
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(READ_TIME).max_buf_size(16 << 10).max_headers(32);
            http.keep_alive(true).half_close(false);
            let connection = http.serve_connection(TokioIo::new(socket), service);
            // Errors are those of clients, such as a head that is not one.
            let _ = until(connection, &mut stopped).await;
        });
    }
}

/// Waits for a result, or for the end of the server.
async fn until<T>(result: impl Future<Output = T>, stopped: &mut watch::Receiver<bool>) -> Option<T> {
    let mut result = std::pin::pin!(result);
    let mut stop = std::pin::pin!(stopped.wait_for(|stopped| *stopped));
    std::future::poll_fn(|context| {
        if stop.as_mut().poll(context).is_ready() {
            return std::task::Poll::Ready(None);
        }
        result.as_mut().poll(context).map(Some)
    })
    .await
}

type Answer = hyper::Response<Full<Bytes>>;

async fn answer(request: hyper::Request<Incoming>, shared: &Shared) -> Result<Answer, Infallible> {
    let (parts, body) = request.into_parts();
    let refuse = |Refusal(status, message)| {
        let mut answer = with_headers(Response::error(status, message));
        if !body.is_end_stream() {
            // The rest of the body is not read.
            answer.headers_mut().insert("connection", HeaderValue::from_static("close"));
        }
        answer
    };
    Ok(match shared.guard.check(&parts) {
        Err(refusal) => refuse(refusal),
        Ok(Target::File(path)) => match files::find(path) {
            Some(file) => with_headers(Response {
                status: 200,
                content_type: file.content_type,
                body: Cow::Borrowed(file.text.as_bytes()),
            }),
            None => refuse(Refusal(404, "there is no such file")),
        },
        Ok(Target::Route(route, query)) => {
            let is_snapshot = route == "load";
            let _one = match is_snapshot.then(|| shared.snapshots.try_acquire()).transpose() {
                Ok(permit) => permit,
                Err(_) => return Ok(closing(Response::error(503, "another snapshot is being loaded"))),
            };
            let (limit, time) = match is_snapshot {
                true => (SNAPSHOT_LIMIT, SNAPSHOT_TIME),
                false => (BODY_LIMIT, READ_TIME),
            };
            let body = match parts.method == hyper::Method::POST {
                false => None,
                true => {
                    let read = Limited::new(body, limit as usize).collect();
                    match tokio::time::timeout(time, read).await {
                        Ok(Ok(body)) => Some(body.to_bytes()),
                        Ok(Err(_)) => return Ok(closing(Response::error(400, "the body is not whole"))),
                        Err(_) => return Ok(closing(Response::error(408, "the body took too long"))),
                    }
                }
            };
            with_headers(match Request::parse(route, query, body.as_deref()) {
                Ok(request) => carry_out(request, shared).await,
                Err(response) => response,
            })
        }
    })
}

/// Queues a request and waits for the loop.
async fn carry_out(request: Request, Shared { queue, code, .. }: &Shared) -> Response {
    let (reply, mut answer) = oneshot::channel();
    if queue.push(Job { request, reply }).is_err() {
        return Response::error(503, "too many requests wait for the program");
    }
    let start = Instant::now();
    loop {
        let (beats, before) = (queue.beats(), Instant::now());
        match tokio::time::timeout(SILENCE, &mut answer).await {
            Ok(Ok(response)) => return response,
            // The inspector was dropped.
            Ok(Err(_)) => return Response::error(503, "the program has stopped"),
            // The whole process may have been stopped, this thread included. Then the loop gets another chance.
            Err(_) if before.elapsed() > 2 * SILENCE && start.elapsed() < ANSWER_TIME => {}
            Err(_) if queue.beats() == beats => {
                if let Some((name, time)) = code.get().filter(|(_, time)| *time > SILENCE) {
                    let time = time.as_secs_f64();
                    let message = format_args!("the program waits for the code of {name}, for {time:.1} s");
                    return Response::error(503, message);
                }
                let time = start.elapsed().as_secs_f64();
                return Response::error(503, format_args!("the program made no update for {time:.1} s"));
            }
            Err(_) if start.elapsed() > ANSWER_TIME => return Response::error(503, "the answer took too long"),
            Err(_) => {}
        }
    }
}

fn closing(response: Response) -> Answer {
    let mut answer = with_headers(response);
    answer.headers_mut().insert("connection", HeaderValue::from_static("close"));
    answer
}

/// Adds the headers of all answers. None of them lets another page read anything.
fn with_headers(response: Response) -> Answer {
    let body = match response.body {
        Cow::Borrowed(bytes) => Bytes::from_static(bytes),
        Cow::Owned(bytes) => Bytes::from(bytes),
    };
    let mut answer = hyper::Response::new(Full::new(body));
    *answer.status_mut() = hyper::StatusCode::from_u16(response.status).unwrap_or_default();
    let headers = answer.headers_mut();
    for (name, value) in [
        ("content-type", response.content_type),
        ("cache-control", "no-store"),
        (
            "content-security-policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; \
             form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        ),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    answer
}

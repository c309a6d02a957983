//! Ctrl-C, and the signal by which systems end programs.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a shell reports of a program that Ctrl-C has ended.
const INTERRUPTED: i32 = 130;

/// Returns a flag that is set when the program is asked to end. A second request ends it at once.
pub(crate) fn stop_flag() -> io::Result<Arc<AtomicBool>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let mut requests = {
        let _entered = runtime.enter();
        Requests::new()?
    };
    let flag = Arc::new(AtomicBool::new(false));
    let shared = flag.clone();
    let wait = move || {
        runtime.block_on(async {
            requests.next().await;
            shared.store(true, Ordering::Relaxed);
            requests.next().await;
            std::process::exit(INTERRUPTED);
        });
    };
    std::thread::Builder::new().name("signals".into()).spawn(wait)?;
    Ok(flag)
}

/// The requests to end.
#[cfg(unix)]
struct Requests([tokio::signal::unix::Signal; 2]);

#[cfg(unix)]
impl Requests {
    fn new() -> io::Result<Requests> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Requests([signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?]))
    }

    async fn next(&mut self) {
        use std::task::Poll;
        let any = |context: &mut std::task::Context<'_>| {
            // Each is polled, so that each wakes the task.
            let ready = self.0.each_mut().map(|signal| signal.poll_recv(context).is_ready());
            if ready.contains(&true) { Poll::Ready(()) } else { Poll::Pending }
        };
        std::future::poll_fn(any).await;
    }
}

/// The requests to end.
#[cfg(not(unix))]
struct Requests;

#[cfg(not(unix))]
impl Requests {
    fn new() -> io::Result<Requests> {
        Ok(Requests)
    }

    async fn next(&mut self) {
        // Without a way to learn of requests the system ends the program.
        let _ = tokio::signal::ctrl_c().await;
    }
}

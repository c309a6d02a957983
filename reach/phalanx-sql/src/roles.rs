//! The parts of a cluster: client, scheduler and executor.

use crate::Failure;
use crate::arguments::{ServeOptions, Usage};
use phalanx_sql::Session;
use phalanx_sql::cluster::{Cluster, ExecutorOptions, Exposed, SchedulerOptions, serve_executor, serve_scheduler};
use std::io::Write;
use std::net::SocketAddr;

/// Sends the queries of a session to `df://host:port`, or to `local:N`.
pub(crate) async fn on_cluster(session: Session, address: &str, partitions: Option<usize>) -> Result<Session, Failure> {
    let mut cluster = match address.strip_prefix("local") {
        Some("") => Cluster::here(1, std::thread::available_parallelism().map_or(1, usize::from)).await?,
        Some(cores) => {
            let number = cores.strip_prefix(':').and_then(|cores| cores.parse().ok());
            let wrong = || Failure::Usage(Usage(format!("--cluster: `{address}` is not local:N or df://host:port")));
            Cluster::here(1, number.filter(|cores| *cores > 0).ok_or_else(wrong)?).await?
        }
        None => Cluster::connect(address).await?,
    };
    if let Some(partitions) = partitions {
        cluster = cluster.partitions(partitions);
    }
    Ok(session.on(cluster)?)
}

fn exposed(options: &ServeOptions) -> Exposed {
    if options.expose { Exposed::Yes } else { Exposed::No }
}

/// Prints a line that a script can wait for.
fn say(what: &str, address: SocketAddr) {
    let mut out = std::io::stdout().lock();
    // The process works without a reader of its output.
    let _ = writeln!(out, "{what} listening on {address}").and_then(|()| out.flush());
}

pub(crate) async fn scheduler(options: ServeOptions) -> Result<(), Failure> {
    let listen = options.listen.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 50050)));
    let mut scheduler = SchedulerOptions::new(listen).exposed(exposed(&options));
    if let Some(host) = &options.host {
        scheduler = scheduler.host(host);
    }
    if let Some(timeout) = options.executor_timeout {
        scheduler = scheduler.executor_timeout(timeout);
    }
    tokio::select! {
        done = serve_scheduler(scheduler, |address| say("scheduler", address)) => Ok(done?),
        () = stopped() => Ok(()),
    }
}

pub(crate) async fn executor(options: ServeOptions) -> Result<(), Failure> {
    let listen = options.listen.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 0)));
    let scheduler = options.scheduler.clone().unwrap_or_default();
    let mut executor = ExecutorOptions::new(&scheduler, listen).exposed(exposed(&options));
    if let Some(host) = &options.host {
        executor = executor.host(host);
    }
    if let Some(cores) = options.cores {
        executor = executor.cores(cores);
    }
    if let Some(memory) = options.memory {
        executor = executor.memory(memory);
    }
    if let Some(folder) = options.work_dir {
        executor = executor.folder(folder);
    }
    Ok(serve_executor(executor, |address| say("executor", address), stopped()).await?)
}

/// Waits for the request to stop.
async fn stopped() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => (),
                _ = terminate.recv() => (),
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}

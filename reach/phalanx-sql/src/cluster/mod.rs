//! [`Cluster`]: queries on the machines of a Ballista cluster. Behind the feature `cluster`.
//!
//! A session plans a query here, and sends the plan to a scheduler. The scheduler splits it into stages, whose tasks run on
//! executors. They read the recordings themselves, so a folder must have the same path on all machines. The answer comes back
//! from the executors.
//!
//! [`serve_scheduler`] and [`serve_executor`] are the other two parts; the program has them as `phalanx-sql scheduler` and
//! `phalanx-sql executor`. Ballista's own scheduler may give wrong answers when an executor is lost; this one fails the query.
//!
//! Ballista has no authentication: a client that reaches a port reads all files that the process can read. So a scheduler or an
//! executor binds to a loopback address unless [`Exposed::Yes`] is said.

mod executor;
mod scheduler;

pub use executor::{ExecutorOptions, serve_executor};
pub use scheduler::{SchedulerOptions, serve_scheduler};

use crate::SqlError;
use ballista_core::BALLISTA_VERSION;
use ballista_core::execution_plans::execute_physical_plan;
use ballista_core::extension::SessionConfigExt;
use ballista_core::utils::{GrpcClientConfig, create_grpc_client_endpoint, default_session_builder};
use datafusion::execution::{SendableRecordBatchStream, SessionState};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionConfig;
use datafusion_proto::protobuf::PhysicalPlanNode;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::AbortHandle;

/// The largest message between the processes. A plan has a line for each file, so that large ensembles need megabytes.
const LARGEST_MESSAGE: u32 = 256 << 20;

/// The port of a scheduler, if an address has none.
const SCHEDULER_PORT: u16 = 50050;

/// Whether a process may listen on an address that other machines reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exposed {
    /// Only loopback addresses.
    #[default]
    No,
    /// Any address. All clients that reach it are trusted.
    Yes,
}

/// A Ballista cluster that answers the queries of a session: [`Session::on`](crate::Session::on).
#[derive(Clone)]
pub struct Cluster {
    url: String,
    partitions: usize,
    here: Option<Arc<Here>>,
}

/// The tasks of a cluster in this process. They end with the last handle.
struct Here(Vec<AbortHandle>);

impl Drop for Here {
    fn drop(&mut self) {
        self.0.iter().for_each(AbortHandle::abort);
    }
}

impl Cluster {
    /// Connects to a scheduler, such as `df://127.0.0.1:50050`.
    ///
    /// # Errors
    ///
    /// [`SqlError::Cluster`] if the address is wrong, or no scheduler answers within ten seconds.
    pub async fn connect(address: &str) -> Result<Cluster, SqlError> {
        let rest = ["df://", "http://"].iter().find_map(|scheme| address.strip_prefix(scheme)).unwrap_or(address);
        let rest = rest.trim_end_matches('/');
        let wrong =
            |why: &str| SqlError::Cluster(format!("`{address}` is not an address such as df://host:50050: {why}"));
        if rest.is_empty() || rest.contains(['/', '@', '?', '#', ' ']) {
            return Err(wrong("a host and a port are expected"));
        }
        let has_port = rest.rsplit_once(':').is_some_and(|(host, _)| !host.contains(':') || host.ends_with(']'));
        let url = if has_port { format!("http://{rest}") } else { format!("http://{rest}:{SCHEDULER_PORT}") };
        let client = GrpcClientConfig::from(&SessionConfig::new_with_ballista().ballista_config());
        let endpoint =
            create_grpc_client_endpoint(url.clone(), Some(&client)).map_err(|error| wrong(&error.to_string()))?;
        let unreachable = |why: String| SqlError::Cluster(format!("no scheduler at {address}: {why}"));
        match tokio::time::timeout(Duration::from_secs(10), endpoint.connect()).await {
            Err(_) => Err(unreachable("no answer within 10 s".into())),
            Ok(Err(error)) => Err(unreachable(root_cause(&error))),
            Ok(Ok(_)) => Ok(Cluster { url, partitions: 16, here: None }),
        }
    }

    /// Starts a scheduler and executors in this process, on loopback addresses. They end when the last handle is dropped.
    ///
    /// # Errors
    ///
    /// [`SqlError::Cluster`] if a port cannot be opened, [`SqlError::Io`] if there is no folder for their files.
    pub async fn here(executors: usize, cores: usize) -> Result<Cluster, SqlError> {
        let (executors, cores) = (executors.max(1), cores.max(1));
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let (scheduler, serving) = scheduler::start(&SchedulerOptions::new(loopback)).await?;
        let mut tasks = Here(vec![tokio::spawn(serving).abort_handle()]);
        for _ in 0..executors {
            let options = ExecutorOptions::new(&scheduler.to_string(), loopback).cores(cores);
            let started = executor::start(&options).await?;
            tasks.0.push(tokio::spawn(started.serving).abort_handle());
        }
        Ok(Cluster { url: format!("http://{scheduler}"), partitions: executors * cores, here: Some(Arc::new(tasks)) })
    }

    /// Sets the number of parts that tables are split into. Each is a task; all cores of the cluster should have one or more.
    ///
    /// The default is 16, and the number of cores for a cluster [here](Cluster::here).
    #[must_use]
    pub fn partitions(self, partitions: usize) -> Cluster {
        Cluster { partitions: partitions.max(1), ..self }
    }

    /// Returns the state of a session whose plans the cluster can run.
    pub(crate) fn state(&self, config: impl FnOnce(SessionConfig) -> SessionConfig) -> Result<SessionState, SqlError> {
        let base = SessionConfig::new_with_ballista()
            .with_target_partitions(self.partitions)
            .with_ballista_grpc_client_max_message_size(LARGEST_MESSAGE as usize);
        Ok(default_session_builder(config(base))?)
    }

    /// Runs a plan, and returns the rows as they arrive.
    pub(crate) async fn run(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        state: &SessionState,
    ) -> Result<SendableRecordBatchStream, SqlError> {
        let config = state.config().clone();
        let codec = config.ballista_physical_extension_codec();
        let ballista = config.ballista_config();
        let session = state.session_id().to_owned();
        let running = execute_physical_plan::<PhysicalPlanNode>(
            self.url.clone(),
            &ballista,
            plan,
            codec.as_ref(),
            session,
            config,
        );
        running.await.map_err(|error| {
            let reason = error.strip_backtrace();
            // The scheduler of this crate cancels jobs for this reason only.
            let why = if reason.ends_with("Cancelled") { ": an executor that worked for it was lost" } else { "" };
            SqlError::Cluster(format!("{reason}{why}"))
        })
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let here = self.here.as_ref().map_or(0, |tasks| tasks.0.len());
        write!(
            f,
            "Cluster({}, {} partitions, {here} tasks here, Ballista {BALLISTA_VERSION})",
            self.url, self.partitions
        )
    }
}

/// Refuses addresses that other machines reach, unless they are asked for.
fn check_exposed(listen: SocketAddr, exposed: Exposed) -> Result<(), SqlError> {
    if listen.ip().is_loopback() || exposed == Exposed::Yes {
        return Ok(());
    }
    let reason =
        "other machines reach it, and Ballista has no authentication: use a loopback address, or expose it on purpose";
    Err(SqlError::Cluster(format!("refused to listen on {listen}: {reason}")))
}

/// Returns the host that other processes connect to.
fn advertised(listen: IpAddr, host: Option<&str>) -> String {
    match host {
        Some(host) => host.to_owned(),
        None if listen.is_unspecified() => "127.0.0.1".to_owned(),
        None => listen.to_string(),
    }
}

/// Returns the innermost error: outer ones of a connection only say that it failed.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

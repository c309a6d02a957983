//! The scheduler of a cluster: splits plans into tasks, and gives them to executors that ask.
//!
//! Ballista 55.0 runs tasks of a lost executor again. In doing so it reads some results twice, and the answer is wrong. So nothing
//! is run again here: a query fails if an executor that has worked for it is lost, or if a task fails.

use super::{Exposed, LARGEST_MESSAGE, advertised, check_exposed};
use crate::SqlError;
use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::serde::protobuf::task_status::Status;
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::{create_scheduler, start_grpc_service_with_listener};
use ballista_scheduler::scheduler_server::SchedulerServer;
use ballista_scheduler::state::execution_stage::TaskInfo;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use std::collections::HashSet;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::net::TcpListener;

type Scheduler = SchedulerServer<LogicalPlanNode, PhysicalPlanNode>;

/// A number of seconds that is longer than any process runs, and that can be added to a time.
const NEVER: u64 = 1 << 32;

/// How a scheduler listens: [`serve_scheduler`].
#[derive(Clone, Debug)]
pub struct SchedulerOptions {
    listen: SocketAddr,
    exposed: Exposed,
    host: Option<String>,
    executor_timeout: Duration,
}

impl SchedulerOptions {
    /// Creates options for an address. Port 0 is a free port.
    pub fn new(listen: SocketAddr) -> SchedulerOptions {
        SchedulerOptions { listen, exposed: Exposed::No, host: None, executor_timeout: Duration::from_secs(20) }
    }

    /// Allows addresses that other machines reach.
    #[must_use]
    pub fn exposed(self, exposed: Exposed) -> SchedulerOptions {
        SchedulerOptions { exposed, ..self }
    }

    /// Sets the name of this machine that the others know.
    #[must_use]
    pub fn host(self, host: &str) -> SchedulerOptions {
        SchedulerOptions { host: Some(host.to_owned()), ..self }
    }

    /// Sets how long an executor may be silent before the queries that it works for fail. At least seven seconds: a busy
    /// executor reports every five.
    #[must_use]
    pub fn executor_timeout(self, timeout: Duration) -> SchedulerOptions {
        SchedulerOptions { executor_timeout: timeout.max(Duration::from_secs(7)), ..self }
    }
}

/// Runs a scheduler until an error. Calls `ready` with its address once it listens.
///
/// # Errors
///
/// [`SqlError::Cluster`] if it cannot listen, or may not.
pub async fn serve_scheduler(options: SchedulerOptions, ready: impl FnOnce(SocketAddr)) -> Result<(), SqlError> {
    let (address, serving) = start(&options).await?;
    ready(address);
    serving.await
}

/// Starts to listen, and returns the address and the future that serves.
pub(super) async fn start(
    options: &SchedulerOptions,
) -> Result<(SocketAddr, impl Future<Output = Result<(), SqlError>> + Send + 'static), SqlError> {
    check_exposed(options.listen, options.exposed)?;
    let refused =
        |error: &dyn std::fmt::Display| SqlError::Cluster(format!("cannot listen on {}: {error}", options.listen));
    let listener = TcpListener::bind(options.listen).await.map_err(|error| refused(&error))?;
    let address = listener.local_addr().map_err(|error| refused(&error))?;
    let config = SchedulerConfig {
        external_host: advertised(address.ip(), options.host.as_deref()),
        bind_host: address.ip().to_string(),
        bind_port: address.port(),
        // Executors ask for tasks. They need no port for it, and a busy one is not sent more than it can run.
        scheduling_policy: TaskSchedulingPolicy::PullStaged,
        // Ballista never gives up an executor, and never runs a task again: see the module.
        executor_timeout_seconds: NEVER,
        no_executors_grace_period_seconds: NEVER,
        task_max_failures: 1,
        stage_max_failures: 1,
        grpc_server_max_decoding_message_size: LARGEST_MESSAGE,
        grpc_server_max_encoding_message_size: LARGEST_MESSAGE,
        grpc_client_max_message_size: LARGEST_MESSAGE,
        ..SchedulerConfig::default()
    };
    let failed = |error: ballista_core::error::BallistaError| SqlError::Cluster(error.to_string());
    let cluster = BallistaCluster::new_from_config(&config).await.map_err(failed)?;
    let scheduler =
        create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, Arc::new(config)).await.map_err(failed)?;
    let watched = watch(scheduler.clone(), options.executor_timeout);
    let serving = async move {
        tokio::select! {
            done = start_grpc_service_with_listener(listener, scheduler) => done.map_err(failed),
            never = watched => match never {},
        }
    };
    Ok((address, serving))
}

/// Cancels the jobs of executors that are silent for too long.
async fn watch(scheduler: Scheduler, timeout: Duration) -> Infallible {
    loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let jobs = scheduler.state.task_manager.get_running_job_cache();
        if jobs.is_empty() {
            continue;
        }
        let Ok(executors) = scheduler.state.executor_manager.get_executors_state().await else { continue };
        // Heartbeats are seconds since 1970.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let is_silent = |heard: &Option<Duration>| heard.is_none_or(|heard| now.saturating_sub(heard) > timeout);
        let lost = executors.into_iter().filter(|(_, heard, _)| is_silent(heard)).map(|(executor, ..)| executor.id);
        let lost: HashSet<String> = lost.collect();
        if lost.is_empty() {
            continue;
        }
        for (id, job) in jobs.iter() {
            let is_affected = job.execution_graph.read().await.stages().values().any(|stage| {
                let executors = stage.task_infos().unwrap_or_default().iter().filter_map(executor_of);
                executors.into_iter().any(|executor| lost.contains(executor))
            });
            if is_affected {
                // The event loop ends with the process only.
                let _ = scheduler.cancel_job(id.clone()).await;
            }
        }
    }
}

/// Returns the executor that runs a task, or has its result.
fn executor_of(task: &TaskInfo) -> Option<&str> {
    match &task.task_status {
        Status::Running(running) => Some(&running.executor_id),
        Status::Successful(successful) => Some(&successful.executor_id),
        Status::Failed(_) => None,
    }
}

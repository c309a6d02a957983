//! The scheduler of a cluster: splits plans into tasks, and gives them to executors that ask.

use super::{Exposed, LARGEST_MESSAGE, advertised, check_exposed};
use crate::SqlError;
use ballista_core::config::TaskSchedulingPolicy;
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::{create_scheduler, start_grpc_service_with_listener};
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

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

    /// Sets how long an executor may be silent before its tasks are given to others. At least six seconds: a busy executor
    /// reports every five.
    #[must_use]
    pub fn executor_timeout(self, timeout: Duration) -> SchedulerOptions {
        SchedulerOptions { executor_timeout: timeout.max(Duration::from_secs(6)), ..self }
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
    let refused = |error: &dyn std::fmt::Display| SqlError::Cluster(format!("cannot listen on {}: {error}", options.listen));
    let listener = TcpListener::bind(options.listen).await.map_err(|error| refused(&error))?;
    let address = listener.local_addr().map_err(|error| refused(&error))?;
    let timeout = options.executor_timeout.as_secs();
    let config = SchedulerConfig {
        external_host: advertised(address.ip(), options.host.as_deref()),
        bind_host: address.ip().to_string(),
        bind_port: address.port(),
        // Executors ask for tasks. They need no port for it, and a busy one is not sent more than it can run.
        scheduling_policy: TaskSchedulingPolicy::PullStaged,
        executor_timeout_seconds: timeout,
        expire_dead_executor_interval_seconds: 1,
        no_executors_grace_period_seconds: timeout,
        grpc_server_max_decoding_message_size: LARGEST_MESSAGE,
        grpc_server_max_encoding_message_size: LARGEST_MESSAGE,
        grpc_client_max_message_size: LARGEST_MESSAGE,
        ..SchedulerConfig::default()
    };
    let failed = |error: ballista_core::error::BallistaError| SqlError::Cluster(error.to_string());
    let cluster = BallistaCluster::new_from_config(&config).await.map_err(failed)?;
    let scheduler = create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, Arc::new(config)).await.map_err(failed)?;
    let serving = async move { start_grpc_service_with_listener(listener, scheduler).await.map_err(failed) };
    Ok((address, serving))
}

//! An executor of a cluster: asks the scheduler for tasks, runs them, and serves their results.

use super::{Exposed, LARGEST_MESSAGE, advertised, check_exposed, root_cause};
use crate::SqlError;
use arrow_flight::flight_service_server::FlightServiceServer;
use ballista_core::extension::SessionConfigExt;
use ballista_core::ids::new_instance_id;
use ballista_core::serde::BallistaCodec;
use ballista_core::serde::protobuf::ExecutorRegistration;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::scheduler::{ExecutorOperatingSystemSpecification, ExecutorSpecification};
use ballista_core::utils::{
    GrpcClientConfig, GrpcServerConfig, create_grpc_client_endpoint, create_grpc_server, create_grpc_server_incoming,
    default_config_producer,
};
use ballista_core::{BALLISTA_PROTOCOL_VERSION, RuntimeProducer};
use ballista_executor::execution_loop::poll_loop;
use ballista_executor::executor::Executor;
use ballista_executor::flight_service::BallistaFlightService;
use ballista_executor::health::ExecutorHealth;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::SessionConfig;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tonic::transport::Channel;

/// How an executor runs: [`serve_executor`].
#[derive(Clone, Debug)]
pub struct ExecutorOptions {
    scheduler: String,
    listen: SocketAddr,
    exposed: Exposed,
    host: Option<String>,
    cores: usize,
    memory: Option<usize>,
    folder: Option<PathBuf>,
}

impl ExecutorOptions {
    /// Creates options for the address of a scheduler, such as `127.0.0.1:50050`, and an own address. Port 0 is a free port.
    pub fn new(scheduler: &str, listen: SocketAddr) -> ExecutorOptions {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let scheduler = scheduler.to_owned();
        ExecutorOptions { scheduler, listen, exposed: Exposed::No, host: None, cores, memory: None, folder: None }
    }

    /// Allows addresses that other machines reach.
    #[must_use]
    pub fn exposed(self, exposed: Exposed) -> ExecutorOptions {
        ExecutorOptions { exposed, ..self }
    }

    /// Sets the name of this machine that the others know. They read results from it.
    #[must_use]
    pub fn host(self, host: &str) -> ExecutorOptions {
        ExecutorOptions { host: Some(host.to_owned()), ..self }
    }

    /// Sets the number of tasks that run at the same time. The default is the number of cores.
    #[must_use]
    pub fn cores(self, cores: usize) -> ExecutorOptions {
        ExecutorOptions { cores: cores.max(1), ..self }
    }

    /// Sets the bytes of memory for sorts, groups and joins of one session. They write to files beyond it.
    #[must_use]
    pub fn memory(self, bytes: usize) -> ExecutorOptions {
        ExecutorOptions { memory: Some(bytes), ..self }
    }

    /// Sets the folder for intermediate results. The default is a temporary one.
    #[must_use]
    pub fn folder(self, folder: impl Into<PathBuf>) -> ExecutorOptions {
        ExecutorOptions { folder: Some(folder.into()), ..self }
    }
}

/// Runs an executor until `stop` is ready, or an error. Calls `ready` with its address once it listens.
///
/// When it stops, its intermediate results are removed, and queries that it works for fail.
///
/// # Errors
///
/// [`SqlError::Cluster`] if it cannot listen or may not, or cannot reach the scheduler; [`SqlError::Io`] if the folder cannot be
/// made.
pub async fn serve_executor(
    options: ExecutorOptions,
    ready: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()>,
) -> Result<(), SqlError> {
    let Started { address, serving } = start(&options).await?;
    ready(address);
    tokio::select! {
        result = serving => result,
        () = stop => Ok(()),
    }
}

/// A started executor.
pub(super) struct Started {
    pub(super) serving: Pin<Box<dyn Future<Output = Result<(), SqlError>> + Send>>,
    address: SocketAddr,
}

/// Starts to listen, and connects to the scheduler.
pub(super) async fn start(options: &ExecutorOptions) -> Result<Started, SqlError> {
    check_exposed(options.listen, options.exposed)?;
    let folder = Folder::new(options.folder.as_deref())?;
    let server = GrpcServerConfig::default();
    let incoming = create_grpc_server_incoming(options.listen, &server)
        .map_err(|error| SqlError::Cluster(format!("cannot listen on {}: {error}", options.listen)))?;
    let address = incoming.local_addr().map_err(|error| SqlError::Cluster(error.to_string()))?;
    let scheduler = connect(&options.scheduler).await?;

    let registration = ExecutorRegistration {
        id: new_instance_id(),
        host: Some(advertised(address.ip(), options.host.as_deref())),
        port: u32::from(address.port()),
        // The scheduler never calls an executor that asks for its tasks.
        grpc_port: 0,
        specification: Some(ExecutorSpecification::default().with_vcores(options.cores as u32).into()),
        os_info: Some(ExecutorOperatingSystemSpecification::default().into()),
        ballista_protocol_version: BALLISTA_PROTOCOL_VERSION,
    };
    let executor = Executor::new_basic(
        registration,
        &folder.path,
        runtimes(&folder.path, options.memory),
        Arc::new(default_config_producer),
        options.cores,
    );
    let results = FlightServiceServer::new(BallistaFlightService::new(folder.path.clone()))
        .max_decoding_message_size(LARGEST_MESSAGE as usize)
        .max_encoding_message_size(LARGEST_MESSAGE as usize);
    let listening = create_grpc_server(&server).add_service(results).serve_with_incoming(incoming);
    let tasks = poll_loop::<LogicalPlanNode, PhysicalPlanNode, _>(
        scheduler,
        Arc::new(executor),
        BallistaCodec::default(),
        None,
        None,
        ExecutorHealth::new(),
    );
    let serving = Box::pin(async move {
        let _folder = folder;
        tokio::select! {
            result = listening => result.map_err(|error| SqlError::Cluster(root_cause(&error))),
            result = tasks => result.map_err(|error| SqlError::Cluster(error.to_string())),
        }
    });
    Ok(Started { serving, address })
}

/// Connects to a scheduler, which may be about to start.
async fn connect(address: &str) -> Result<SchedulerGrpcClient<Channel>, SqlError> {
    const TRIES: u32 = 20;
    let client = GrpcClientConfig::from(&SessionConfig::new_with_ballista().ballista_config());
    let endpoint = create_grpc_client_endpoint(format!("http://{address}"), Some(&client))
        .map_err(|error| SqlError::Cluster(format!("`{address}` is not the address of a scheduler: {error}")))?;
    let mut tried = 0;
    loop {
        match endpoint.connect().await {
            Ok(channel) => {
                let largest = LARGEST_MESSAGE as usize;
                let scheduler = SchedulerGrpcClient::new(channel);
                return Ok(scheduler.max_decoding_message_size(largest).max_encoding_message_size(largest));
            }
            Err(_) if tried < TRIES => tried += 1,
            Err(error) => return Err(SqlError::Cluster(format!("no scheduler at {address}: {}", root_cause(&error)))),
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}

/// Returns what makes the runtime of a session: files go to the folder, memory is bounded if asked for.
fn runtimes(folder: &str, memory: Option<usize>) -> RuntimeProducer {
    let folder = folder.to_owned();
    Arc::new(move |_| {
        let builder = RuntimeEnvBuilder::new().with_temp_file_path(&folder);
        match memory {
            Some(bytes) => builder.with_memory_pool(Arc::new(FairSpillPool::new(bytes))).build_arc(),
            None => builder.build_arc(),
        }
    })
}

/// The folder of intermediate results. A temporary one is removed with it.
struct Folder {
    path: String,
    _temporary: Option<TempDir>,
}

impl Folder {
    fn new(asked: Option<&Path>) -> Result<Folder, SqlError> {
        let (path, temporary) = match asked {
            Some(path) => {
                std::fs::create_dir_all(path).map_err(|error| SqlError::io(path, error))?;
                (path.to_owned(), None)
            }
            None => {
                let made =
                    TempDir::with_prefix("phalanx-sql-").map_err(|error| SqlError::io(&std::env::temp_dir(), error))?;
                (made.path().to_owned(), Some(made))
            }
        };
        match path.into_os_string().into_string() {
            Ok(path) => Ok(Folder { path, _temporary: temporary }),
            Err(path) => Err(SqlError::broken(Path::new(&path), "the path is not UTF-8")),
        }
    }
}

//! [`Inspector`]: the inspector of a program.

use crate::builder::Builder;
use crate::flow::Flow;
use crate::request::Request;
use crate::response::Response;
#[cfg(feature = "serve")]
use core::ops::ControlFlow;
use phalanx::World;

/// The inspector of a program: it answers what clients ask about a world.
///
/// [`update`](Inspector::update) is called once in each frame, with the world that is inspected. The server ends when the inspector
/// is dropped.
#[derive(Debug)]
#[cfg_attr(not(feature = "answer"), derive(Default))]
pub struct Inspector {
    #[cfg(feature = "answer")]
    state: crate::state::State,
    /// The requests of clients. Without a server there are none.
    #[cfg(feature = "serve")]
    queue: std::sync::Arc<crate::queue::Queue>,
    #[cfg(feature = "serve")]
    link: Option<Link>,
}

/// The connection with the server.
#[cfg(feature = "serve")]
#[derive(Debug)]
struct Link {
    server: crate::http::Server,
    /// What is answered at present.
    running: Option<(crate::state::Task, tokio::sync::oneshot::Sender<Response>)>,
}

impl Inspector {
    /// Returns a builder, for more than [`serve`](crate::serve) offers.
    pub fn builder() -> Builder {
        Builder::new()
    }
}

#[cfg(feature = "answer")]
impl Inspector {
    pub(crate) fn new(options: crate::state::Options) -> Inspector {
        Inspector {
            state: crate::state::State::new(options),
            #[cfg(feature = "serve")]
            queue: std::sync::Arc::default(),
            #[cfg(feature = "serve")]
            link: None,
        }
    }

    /// Answers the requests of clients, within the [budget](Builder::budget), and records a frame if there is a timeline.
    ///
    /// A request is carried out between two frames. Returns [`Flow::Hold`] while the program is paused from the page: a loop
    /// that supports it skips the frame and calls `update` again. While the program is held, this waits up to 2 ms for a request.
    #[inline]
    pub fn update(&mut self, world: &mut World) -> Flow {
        #[cfg(feature = "serve")]
        let has_work = self.queue.has_work();
        #[cfg(not(feature = "serve"))]
        let has_work = false;
        // One branch for both.
        if !(has_work | self.state.is_active) {
            self.state.frame += 1;
            return Flow::Run;
        }
        self.work(world)
    }

    #[cold]
    #[inline(never)]
    fn work(&mut self, world: &mut World) -> Flow {
        self.state.end_frame(world);
        #[cfg(feature = "serve")]
        if let Some(link) = &mut self.link {
            link.work(&self.queue, &mut self.state, world);
        }
        let flow = self.state.flow();
        #[cfg(feature = "serve")]
        if self.link.is_some() && flow == Flow::Hold {
            self.queue.wait(std::time::Duration::from_millis(2));
        }
        flow
    }

    /// Answers a request at once, without a network and without a budget.
    ///
    /// ```
    /// use phalanx::{Component, World};
    /// use phalanx_inspect::{EntitiesRequest, Inspector, Request};
    ///
    /// #[derive(Component)]
    /// struct Health {
    ///     hp: u32,
    /// }
    ///
    /// let mut world = World::new();
    /// world.spawn_batch((0..100).map(|hp| Health { hp }));
    /// let mut inspector = Inspector::builder().build();
    /// let query = "Health.hp < 2".to_owned();
    /// let request = EntitiesRequest { query, count: 10, ..EntitiesRequest::default() };
    /// let answer = inspector.answer(&mut world, Request::Entities(request));
    /// assert_eq!(answer.status, 200);
    /// assert!(answer.text().contains(r#""total":2"#));
    /// ```
    pub fn answer(&mut self, world: &mut World, request: Request) -> Response {
        self.state.answer(world, request)
    }

    /// Returns the address of the page with its key, if there is a server.
    pub fn url(&self) -> Option<String> {
        #[cfg(feature = "serve")]
        return self.link.as_ref().map(|link| link.server.url());
        #[cfg(not(feature = "serve"))]
        None
    }

    /// Shows the last run of a schedule on the page of systems.
    #[cfg(feature = "schedule")]
    pub fn set_run_report(&mut self, report: phalanx_schedule::RunReport) {
        self.state.report = Some(report);
    }
}

#[cfg(feature = "serve")]
impl Inspector {
    pub(crate) fn start(
        options: crate::state::Options,
        server: crate::http::ServerOptions,
    ) -> std::io::Result<Inspector> {
        let inspector = Inspector::new(options);
        let server = crate::http::Server::start(server, inspector.queue.clone(), inspector.state.code.running())?;
        Ok(Inspector { link: Some(Link { server, running: None }), ..inspector })
    }
}

#[cfg(feature = "serve")]
impl Link {
    /// Answers requests until the budget is used up.
    fn work(&mut self, queue: &crate::queue::Queue, state: &mut crate::state::State, world: &mut World) {
        let budget = state.budget();
        queue.beat();
        loop {
            let (task, reply) = match self.running.take() {
                Some((_, reply)) if reply.is_closed() => continue,
                Some(running) => running,
                None => match queue.pop() {
                    Some(job) => (state.begin(world, job.request), job.reply),
                    None => break,
                },
            };
            match state.proceed(world, task, &budget) {
                // The client may have given up.
                ControlFlow::Break(response) => drop(reply.send(response)),
                ControlFlow::Continue(task) => self.running = Some((task, reply)),
            }
            if budget.is_over() {
                break;
            }
        }
        if self.running.is_some() {
            queue.keep_working();
        }
    }
}

#[cfg(not(feature = "answer"))]
impl Inspector {
    /// Does nothing: the feature `answer` is off.
    #[inline(always)]
    pub fn update(&mut self, _: &mut World) -> Flow {
        Flow::Run
    }

    /// Answers that the feature `answer` is off.
    pub fn answer(&mut self, _: &mut World, _: Request) -> Response {
        Response::not_compiled()
    }

    /// Returns `None`: there is no server.
    pub fn url(&self) -> Option<String> {
        None
    }
}

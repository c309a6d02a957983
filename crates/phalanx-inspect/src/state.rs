//! [`State`]: all of an inspector but its server.

use crate::budget::Budget;
use crate::compare::CompareTask;
use crate::edit::Undo;
use crate::flow::Flow;
use crate::history::History;
use crate::plot::Plot;
use crate::request::Request;
use crate::response::Response;
use crate::scan::ScanTask;
use crate::user_code::UserCode;
use core::fmt::{self, Debug};
use core::ops::ControlFlow;
use phalanx::relation::Relation;
use phalanx::{Entity, World};
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::time::Duration;

type ActionFn = dyn FnMut(&mut World) + Send;
type ShowResourceFn = fn(&dyn Any, &mut fmt::Formatter<'_>) -> fmt::Result;
type LinksFn = fn(&World, Entity) -> Option<Links>;

/// The number of sources of a relation that are shown.
const SOURCE_LIMIT: usize = 200;

/// What a program sets up.
pub(crate) struct Options {
    pub(crate) name: String,
    pub(crate) budget: Duration,
    pub(crate) frames: Option<usize>,
    pub(crate) plots: Vec<Plot>,
    pub(crate) actions: Vec<(String, Box<ActionFn>)>,
    pub(crate) resources: HashMap<TypeId, ShowResourceFn>,
    pub(crate) relations: Vec<(String, LinksFn)>,
    pub(crate) is_read_only: bool,
    #[cfg(feature = "snapshot")]
    pub(crate) registry: Option<phalanx::snapshot::Registry>,
}

/// The links of an entity in a relation.
pub(crate) struct Links {
    pub(crate) target: Option<Entity>,
    /// The first of its sources.
    pub(crate) sources: Vec<Entity>,
    /// Whether these are all.
    pub(crate) is_whole: bool,
}

/// Returns the links of an entity, or `None` if allocation fails.
fn links_of<R: Relation>(world: &World, entity: Entity) -> Option<Links> {
    let relations = world.relations::<R>();
    let (mut sources, mut is_whole) = (Vec::new(), true);
    for source in relations.sources(entity) {
        if sources.len() == SOURCE_LIMIT {
            is_whole = false;
            break;
        }
        sources.try_reserve(1).ok()?;
        sources.push(source);
    }
    Some(Links { target: relations.target(entity), sources, is_whole })
}

impl Options {
    pub(crate) fn show_resource<R: Debug + Send + Sync + 'static>(&mut self) {
        self.resources.insert(TypeId::of::<R>(), |value, f| match value.downcast_ref::<R>() {
            Some(value) => value.fmt(f),
            None => f.write_str("another type"),
        });
    }

    pub(crate) fn show_relation<R: Relation>(&mut self, name: String) {
        self.relations.push((name, links_of::<R>));
    }
}

impl Default for Options {
    fn default() -> Self {
        let program = std::env::args_os().next().map(std::path::PathBuf::from);
        let name = program.as_ref().and_then(|path| path.file_stem()).map(|name| name.to_string_lossy().into_owned());
        let mut options = Options {
            name: name.unwrap_or_else(|| "program".into()),
            budget: Duration::from_millis(1),
            frames: None,
            plots: Vec::new(),
            actions: Vec::new(),
            resources: HashMap::new(),
            relations: Vec::new(),
            is_read_only: false,
            #[cfg(feature = "snapshot")]
            registry: None,
        };
        options.show_relation::<phalanx::relation::ChildOf>("ChildOf".into());
        options
    }
}

impl Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("name", &self.name).field("budget", &self.budget).finish_non_exhaustive()
    }
}

/// All of an inspector but its server.
#[derive(Debug)]
pub(crate) struct State {
    /// The number of frames that were made.
    pub(crate) frame: u64,
    /// Whether each update has something to do: a timeline, a plot, or a pause.
    pub(crate) is_active: bool,
    pub(crate) options: Options,
    pub(crate) history: History,
    pub(crate) undo: Vec<Undo>,
    pub(crate) code: UserCode,
    #[cfg(feature = "schedule")]
    pub(crate) report: Option<phalanx_schedule::RunReport>,
}

/// A request that is being answered.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and a box would be one more allocation")]
pub(crate) enum Task {
    Scan(ScanTask),
    Compare(CompareTask),
    Done(Response),
}

impl State {
    pub(crate) fn new(options: Options) -> State {
        let is_active = options.frames.is_some() || !options.plots.is_empty();
        State {
            frame: 0,
            is_active,
            history: History::new(options.frames),
            options,
            undo: Vec::new(),
            code: UserCode::default(),
            #[cfg(feature = "schedule")]
            report: None,
        }
    }

    #[cfg(feature = "serve")]
    pub(crate) fn budget(&self) -> Budget {
        Budget::new(self.options.budget)
    }

    /// Records a frame, unless the program was held.
    pub(crate) fn end_frame(&mut self, world: &mut World) {
        if self.history.last == Flow::Hold {
            return;
        }
        self.frame += 1;
        self.history.capture(world, self.frame);
        for plot in &mut self.options.plots {
            plot.sample(world);
        }
    }

    /// Returns whether the next frame is due, after requests are answered.
    pub(crate) fn flow(&mut self) -> Flow {
        let flow = self.history.flow();
        let records = self.history.timeline.is_some() || !self.options.plots.is_empty();
        self.is_active = records || self.history.is_paused;
        flow
    }

    /// Begins to answer a request.
    pub(crate) fn begin(&mut self, world: &mut World, mut request: Request) -> Task {
        // Frames back are counted from now, and not from each step of the answer.
        let history = &self.history;
        request.moments_mut(|moment| *moment = history.fixed(*moment));
        if request.is_edit() && self.options.is_read_only {
            return Task::Done(Response::error(403, "the inspector is read-only"));
        }
        self.code.begin();
        let begun = match request {
            Request::Entities(request) => ScanTask::entities(self, world, request).map(Task::Scan),
            Request::Count { query, at } => ScanTask::count(self, world, query, at).map(Task::Scan),
            Request::Compare { before, after, limit } => {
                CompareTask::new(self, world, [before, after], limit).map(Task::Compare)
            }
            request => Ok(Task::Done(crate::answer::answer(self, world, request))),
        };
        begun.unwrap_or_else(Task::Done)
    }

    /// Goes on with an answer. Continues with the task if the budget is used up before its end.
    pub(crate) fn proceed(&mut self, world: &World, task: Task, budget: &Budget) -> ControlFlow<Response, Task> {
        self.code.begin();
        match task {
            Task::Done(response) => ControlFlow::Break(response),
            Task::Scan(mut task) => match task.proceed(self, world, budget) {
                Some(response) => ControlFlow::Break(response),
                None => ControlFlow::Continue(Task::Scan(task)),
            },
            Task::Compare(mut task) => match task.proceed(self, world, budget) {
                Some(response) => ControlFlow::Break(response),
                None => ControlFlow::Continue(Task::Compare(task)),
            },
        }
    }

    /// Answers a request at once.
    pub(crate) fn answer(&mut self, world: &mut World, request: Request) -> Response {
        let budget = Budget::new(Duration::MAX);
        let mut task = self.begin(world, request);
        loop {
            match self.proceed(world, task, &budget) {
                ControlFlow::Break(response) => return response,
                ControlFlow::Continue(more) => task = more,
            }
        }
    }
}

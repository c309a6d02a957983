//! [`ScanTask`]: a page of entities, or their number, found in steps.

use crate::budget::{Budget, ROWS_PER_LOOK};
use crate::column::Column;
use crate::json::Json;
use crate::request::{EntitiesRequest, Moment};
use crate::response::{ANSWER_LIMIT, Response};
use crate::state::State;
use crate::user_code::UserCode;
use phalanx::reflect::{BoundQuery, Cursor, Ranking, TextQuery, TextQueryError, TextQueryProblem};
use phalanx::{Entity, World};
use std::time::Duration;

/// The number of rows of a sorted list that can be reached.
pub(crate) const SORTED_LIMIT: usize = 10_000;

/// How long a scan in one go may take.
const EXACT_TIME: Duration = Duration::from_millis(100);

/// A page of entities, or their number, found in steps.
#[derive(Debug)]
pub(crate) struct ScanTask {
    query: BoundQuery,
    at: Moment,
    cursor: Cursor,
    columns: Vec<Column>,
    from: usize,
    count: usize,
    /// The matches so far.
    matched: usize,
    /// The entities of the page.
    page: Vec<Entity>,
    ranking: Option<Ranking>,
    /// Whether all rows are counted, and no page is made.
    only_counts: bool,
    exact: bool,
    /// Whether no rows need to be tested.
    by_table: bool,
    /// The loop time so far.
    spent: Duration,
    steps: u64,
    has_failed: bool,
}

/// Answers with an error in a query.
pub(crate) fn query_error(error: &TextQueryError) -> Response {
    if let TextQueryProblem::Alloc(_) = error.problem() {
        return Response::out_of_memory();
    }
    let response = Response::object(|json| {
        json.key("error").display(error);
        json.key("position").number(error.position() as u64);
        json.key("expected").maybe_text(error.expected());
        json.key("nearest").maybe_text(error.nearest());
    });
    if response.status == 200 { Response { status: 400, ..response } } else { response }
}

impl ScanTask {
    fn new(state: &mut State, world: &World, text: &str, at: Moment) -> Result<ScanTask, Response> {
        state.history.prepare(world, at)?;
        let Some(world) = state.history.world_at(world, at) else { return Err(gone(at)) };
        let query = TextQuery::parse(text).and_then(|query| query.bind(world)).map_err(|error| query_error(&error))?;
        let cursor = query.cursor(world).map_err(|error| query_error(&error))?;
        Ok(ScanTask {
            by_table: query.is_by_table(world),
            query,
            at,
            cursor,
            columns: Vec::new(),
            from: 0,
            count: 0,
            matched: 0,
            page: Vec::new(),
            ranking: None,
            only_counts: true,
            exact: false,
            spent: Duration::ZERO,
            steps: 0,
            has_failed: false,
        })
    }

    /// Begins to count matches.
    pub(crate) fn count(state: &mut State, world: &World, query: String, at: Moment) -> Result<ScanTask, Response> {
        ScanTask::new(state, world, &query, at)
    }

    /// Begins to find a page.
    pub(crate) fn entities(state: &mut State, world: &World, request: EntitiesRequest) -> Result<ScanTask, Response> {
        let mut task = ScanTask::new(state, world, &request.query, request.at)?;
        let Some(world) = state.history.world_at(world, request.at) else { return Err(gone(request.at)) };
        task.columns = Column::find(world, &task.query, &request.columns)?;
        let limit = task.query.limit().unwrap_or(usize::MAX);
        task.from = request.from;
        task.count = request.count.min(1000).min(limit.saturating_sub(request.from));
        (task.only_counts, task.exact) = (false, request.exact);
        if task.query.is_sorted() {
            let last = task.from.saturating_add(task.count);
            if last > SORTED_LIMIT {
                return Err(Response::error(400, format_args!("a sorted list ends after {SORTED_LIMIT} rows")));
            }
            task.ranking = Some(task.query.ranking(last));
        }
        if task.page.try_reserve_exact(task.count).is_err() {
            return Err(Response::out_of_memory());
        }
        Ok(task)
    }

    /// Goes on. Returns the answer at the end.
    pub(crate) fn proceed(&mut self, state: &mut State, world: &World, budget: &Budget) -> Option<Response> {
        let started = budget.elapsed();
        let State { history, code, frame, .. } = state;
        let Some(world) = history.world_at(world, self.at) else { return Some(gone(self.at)) };
        self.steps += 1;
        if let Err(error) = self.find(world, budget, started) {
            return Some(query_error(&error));
        }
        if self.has_failed {
            return Some(Response::out_of_memory());
        }
        self.spent += budget.elapsed() - started;
        if !self.is_found() {
            return None;
        }
        if let Some(ranking) = self.ranking.take() {
            match ranking.finish() {
                Ok(best) => self.page.extend(best.into_iter().skip(self.from).take(self.count)),
                Err(error) => return Some(query_error(&error)),
            }
        }
        let before = budget.elapsed();
        let mut json = Json::new(ANSWER_LIMIT);
        json.object(|json| {
            json.key("frame").number(*frame);
            json.key("at").display(self.at);
            if !self.only_counts {
                self.write_page(world, code, json);
            }
            match self.total(world) {
                Some(total) => json.key("total").number(total as u64),
                None => json.key("total").null(),
            }
            json.key("sorted").bool(self.query.is_sorted());
            json.key("torn").bool(self.cursor.is_torn());
            json.key("steps").number(self.steps);
            let cost = self.spent + (budget.elapsed() - before);
            json.key("cost").float((cost.as_nanos() / 100) as f64 / 10.0);
        });
        Some(Response::from_json(json))
    }

    fn find(&mut self, world: &World, budget: &Budget, started: Duration) -> Result<(), TextQueryError> {
        if self.by_table && self.ranking.is_none() {
            if !self.only_counts {
                self.page = self.query.page(world, self.from, self.count)?;
            }
            return Ok(());
        }
        loop {
            let ScanTask { cursor, matched, page, ranking, only_counts, has_failed, from, count, .. } = self;
            self.query.scan(world, cursor, ROWS_PER_LOOK, |entity| {
                let at = *matched;
                *matched += 1;
                match ranking {
                    Some(ranking) => ranking.add(world, entity),
                    None if !*only_counts && at >= *from && at - *from < *count => match page.try_reserve(1) {
                        Ok(()) => page.push(entity),
                        Err(_) => *has_failed = true,
                    },
                    None => {}
                }
            })?;
            if self.is_found() || self.has_failed {
                return Ok(());
            }
            let is_over = match self.exact {
                true => budget.elapsed() - started > EXACT_TIME,
                false => budget.is_over(),
            };
            if is_over {
                return Ok(());
            }
        }
    }

    /// Returns `true` if nothing more has to be scanned.
    fn is_found(&self) -> bool {
        if self.by_table && self.ranking.is_none() {
            return true;
        }
        let page_is_full = !self.only_counts && self.ranking.is_none() && self.page.len() >= self.count;
        self.cursor.is_done() || page_is_full
    }

    /// Returns the number of matches, if it is known.
    fn total(&self, world: &World) -> Option<usize> {
        let total = match self.by_table {
            true => self.query.count(world).ok(),
            false => self.cursor.is_done().then_some(self.matched),
        };
        let limit = self.query.limit().unwrap_or(usize::MAX);
        total.map(|total| total.min(limit))
    }

    fn write_page(&self, world: &World, code: &mut UserCode, json: &mut Json) {
        json.key("columns").list(|json| self.columns.iter().for_each(|column| column.write_head(world, json)));
        json.key("from").number(self.from as u64);
        json.key("rows").list(|json| {
            for entity in &self.page {
                json.list(|json| {
                    json.display(entity);
                    let name = world.entity(*entity).ok().and_then(|found| found.name());
                    json.maybe_text(name.map(|name| name.as_str()));
                    self.columns.iter().for_each(|column| column.write_cell(world, *entity, code, json));
                });
            }
        });
    }
}

fn gone(at: Moment) -> Response {
    Response::error(410, format_args!("{at} is not there any more"))
}

#[cfg(test)]
mod tests {
    use crate::budget::Budget;
    use crate::request::{EntitiesRequest, Moment, Request};
    use crate::state::{Options, State};
    use core::ops::ControlFlow;
    use phalanx::{Component, World};

    #[derive(Component)]
    struct Health {
        hp: u32,
    }

    /// Answers a request in steps of some looks at the clock, with a change between two steps if asked for.
    fn in_steps(request: Request, looks: u32, changes: bool) -> (u32, serde_json::Value) {
        let (mut world, mut state) = (World::new(), State::new(Options::default()));
        world.spawn_batch((0..10_000).map(|hp| Health { hp: hp % 100 }));
        let mut task = state.begin(&mut world, request);
        for step in 1.. {
            match state.proceed(&world, task, &Budget::of_looks(looks)) {
                ControlFlow::Break(response) => return (step, serde_json::from_slice(&response.body).unwrap()),
                ControlFlow::Continue(more) => task = more,
            }
            if changes {
                world.spawn(Health { hp: 1000 });
            }
        }
        unreachable!("the scan ends")
    }

    #[test]
    fn a_scan_stops_when_the_budget_is_used_up() {
        let count = || Request::Count { query: "Health.hp < 10".into(), at: Moment::Now };
        for (looks, most) in [(1, 40), (4, 10), (1000, 1)] {
            let (steps, answer) = in_steps(count(), looks, false);
            assert_eq!((&answer["total"], &answer["torn"]), (&1000.into(), &false.into()));
            assert!(steps <= most + 1 && steps >= most / 2, "{looks} looks: {steps} steps");
        }
    }

    #[test]
    fn a_scan_of_a_world_that_changes_is_torn() {
        let count = || Request::Count { query: "Health.hp < 10".into(), at: Moment::Now };
        let (_, answer) = in_steps(count(), 4, true);
        assert_eq!((&answer["total"], &answer["torn"]), (&1000.into(), &true.into()));
        let exact = EntitiesRequest { query: "Health.hp = 7".into(), count: 1000, exact: true, ..Default::default() };
        let (steps, answer) = in_steps(Request::Entities(exact), 1, true);
        assert_eq!((steps, &answer["total"], &answer["torn"]), (1, &100.into(), &false.into()));
    }

    #[test]
    fn a_page_goes_out_when_it_is_full() {
        let request = EntitiesRequest { query: "Health.hp < 10".into(), count: 20, ..Default::default() };
        let (steps, answer) = in_steps(Request::Entities(request), 1, false);
        assert!(steps <= 2 && answer["total"].is_null(), "{steps} {answer}");
        assert_eq!(answer["rows"].as_array().unwrap().len(), 20);
    }
}

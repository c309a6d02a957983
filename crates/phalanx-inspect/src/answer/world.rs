//! Names, counts, and what the inspector can do; and the resources.

use crate::response::Response;
use crate::state::State;
use crate::user_code::Defect;
use crate::value::{floor_char_boundary, short_name};
use core::fmt;
use phalanx::World;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The length of a resource as text, in bytes.
const RESOURCE_LIMIT: usize = 64 << 10;

pub(super) fn answer(state: &mut State, world: &World) -> Response {
    let tables = world.tables().filter(|table| !table.is_extra());
    let (mut count, mut rows, mut capacity) = (0_u64, 0_u64, 0_u64);
    for table in tables {
        (count, rows, capacity) = (count + 1, rows + table.len() as u64, capacity + table.capacity() as u64);
    }
    let history = &state.history;
    Response::object(|json| {
        json.key("name").text(&state.options.name);
        json.key("process").number(std::process::id().into());
        json.key("version").text(env!("CARGO_PKG_VERSION"));
        json.key("frame").number(state.frame);
        json.key("entities").number(world.len() as u64);
        json.key("tables").number(count);
        json.key("tableRows").number(rows);
        json.key("tableCapacity").number(capacity);
        let shown = world.components().iter().filter(|(_, info)| !info.is_internal());
        json.key("components").number(shown.count() as u64);
        json.key("resources").number(world.resources().count() as u64);
        json.key("groups").number(world.groups().count() as u64);
        json.key("readOnly").bool(state.options.is_read_only);
        json.key("paused").bool(history.is_paused);
        json.key("held").bool(history.is_held());
        json.key("undo").number(state.undo.len() as u64);
        json.key("timeline");
        match history.first() {
            Some(first) => json.object(|json| {
                json.key("first").number(first);
                json.key("last").number(history.captured);
                json.key("capacity").number(state.options.frames.unwrap_or(0) as u64);
                json.key("bytes").number(history.timeline.as_ref().map_or(0, |timeline| timeline.memory()) as u64);
            }),
            None => json.null(),
        }
        match &history.fault {
            Some(fault) => json.key("timelineFault").display(fault),
            None => json.key("timelineFault").null(),
        }
        json.key("copies").list(|json| {
            for copy in &history.copies {
                json.object(|json| {
                    json.key("number").number(copy.number.into());
                    json.key("frame").number(copy.frame);
                    json.key("file").maybe_text(copy.file.as_deref());
                    json.key("entities").number(copy.world.len() as u64);
                });
            }
        });
        json.key("actions").list(|json| state.options.actions.iter().for_each(|(name, _)| json.text(name)));
        json.key("plots").list(|json| state.options.plots.iter().for_each(|plot| json.text(&plot.name)));
        json.key("snapshots").bool(has_registry(state));
        json.key("systems").bool(cfg!(feature = "schedule"));
    })
}

#[cfg(feature = "snapshot")]
fn has_registry(state: &State) -> bool {
    state.options.registry.is_some()
}

#[cfg(not(feature = "snapshot"))]
fn has_registry(_: &State) -> bool {
    false
}

/// A text of limited length.
struct Limited {
    text: String,
    limit: usize,
    has_failed: bool,
    /// The number of writes after the text was full.
    ignored: u32,
}

/// How often code may go on writing after the text is full.
const PATIENCE: u32 = 64;

/// What code unwinds with that goes on writing after the text is full.
struct Stopped;

impl fmt::Write for Limited {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.has_failed || self.ignored > 0 {
            self.ignored += 1;
            if self.ignored > PATIENCE {
                // Does not call the panic hook.
                resume_unwind(Box::new(Stopped));
            }
            return Err(fmt::Error);
        }
        let end = floor_char_boundary(text, self.limit - self.text.len());
        if self.text.try_reserve(end).is_err() {
            self.has_failed = true;
            return Err(fmt::Error);
        }
        self.text.push_str(&text[..end]);
        self.ignored = u32::from(end < text.len());
        if end < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

struct ByFunction<'a>(&'a dyn Any, fn(&dyn Any, &mut fmt::Formatter<'_>) -> fmt::Result);

impl fmt::Display for ByFunction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.1)(self.0, f)
    }
}

pub(super) fn resources(state: &mut State, world: &World) -> Response {
    let State { options, code, frame, .. } = state;
    Response::object(|json| {
        json.key("frame").number(*frame);
        json.key("resources").list(|json| {
            for (_, name, value) in world.resources() {
                json.object(|json| {
                    json.key("name").text(name);
                    json.key("short").text(short_name(name));
                    let value: &dyn Any = value;
                    let Some(show) = options.resources.get(&value.type_id()) else {
                        return json.key("value").null();
                    };
                    if let Some(defect) = code.defect_of(name) {
                        return json.key("value").text(defect.text());
                    }
                    let mut text =
                        Limited { text: String::new(), limit: RESOURCE_LIMIT, has_failed: false, ignored: 0 };
                    // The code of the user may panic, or stop when the text is full.
                    let shown = ByFunction(value, *show);
                    let write = || fmt::Write::write_fmt(&mut text, format_args!("{shown:#}"));
                    let written = code.call(name, || catch_unwind(AssertUnwindSafe(write)));
                    match written {
                        _ if text.has_failed => json.fail(),
                        Err(payload) if !payload.is::<Stopped>() => {
                            code.add(name, Defect::Panicked);
                            json.key("value").text(Defect::Panicked.text());
                        }
                        _ => json.key("value").text(&text.text),
                    }
                });
            }
        });
    })
}

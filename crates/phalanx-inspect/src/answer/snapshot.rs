//! Snapshots, to download and to compare.

use crate::refusal::conflict;
use crate::response::Response;
use crate::state::State;
use crate::value::floor_char_boundary;
use phalanx::World;
use phalanx::snapshot::Registry;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The length of the name of a file that is kept, in bytes.
const NAME_LIMIT: usize = 256;

fn registry(state: &State) -> Result<&Registry, Response> {
    let missing = || Response::error(409, "there is no registry: call `.registry(…)` of the builder");
    state.options.registry.as_ref().ok_or_else(missing)
}

/// Bytes in memory. Writing fails if allocation does.
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl io::Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_reserve(bytes.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Answers with a snapshot of the world.
pub(super) fn snapshot(state: &State, world: &World) -> Result<Response, Response> {
    let mut bytes = Bytes(Vec::new());
    registry(state)?.save(world, &mut bytes).map_err(conflict)?;
    Ok(Response { status: 200, content_type: "application/octet-stream", body: bytes.0.into() })
}

/// Loads a snapshot as a copy. If that fails, there is no copy.
pub(super) fn load(state: &mut State, mut name: String, bytes: &[u8]) -> Result<Response, Response> {
    state.history.reserve_copy()?;
    name.truncate(floor_char_boundary(&name, NAME_LIMIT));
    let registry = registry(state)?;
    // The code that reads values is that of the user, and may panic.
    let world = match catch_unwind(AssertUnwindSafe(|| registry.load_bytes(bytes))) {
        Ok(Ok(world)) => world,
        Ok(Err(error)) => return Err(Response::refusal(400, error)),
        Err(_) => return Err(Response::error(400, "the code that reads values panicked")),
    };
    let entities = world.len();
    let frame = state.frame;
    let copy = state.history.add_copy(frame, Some(name), world);
    let response = Response::object(|json| {
        json.key("done").display(format_args!("the snapshot with {entities} entities is copy {copy}"));
        json.key("copy").number(copy.into());
        json.key("entities").number(entities as u64);
    });
    if response.status != 200 {
        state.history.forget(copy);
    }
    Ok(response)
}

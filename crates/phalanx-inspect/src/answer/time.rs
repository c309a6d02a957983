//! Pauses, steps and earlier frames; and charts.

use crate::plot::Plot;
use crate::request::Request;
use crate::response::Response;
use crate::state::State;
use phalanx::World;

pub(super) fn control(state: &mut State, world: &mut World, request: Request) -> Result<Response, Response> {
    match request {
        Request::Pause => {
            state.history.pause();
            Ok(Response::done(format_args!("paused after frame {}", state.frame)))
        }
        Request::Resume => {
            state.history.resume();
            Ok(Response::done("running"))
        }
        Request::Step { frames } => {
            state.history.step(frames);
            Ok(Response::done(format_args!("{frames} more after frame {}", state.frame)))
        }
        Request::Rewind { frame } => {
            state.history.rewind(world, frame)?;
            state.frame = frame;
            state.undo.clear();
            for plot in &mut state.options.plots {
                plot.values.clear();
            }
            Ok(Response::done(format_args!("the world is as it was at the end of frame {frame}")))
        }
        Request::Keep => {
            let copy = state.history.keep(world, state.frame)?;
            Ok(Response::object(|json| {
                json.key("done").display(format_args!("copy {copy} of frame {} is kept", state.frame));
                json.key("copy").number(copy.into());
            }))
        }
        Request::Forget { copy } => match state.history.forget(copy) {
            true => Ok(Response::done(format_args!("copy {copy} is dropped"))),
            false => Err(Response::error(404, format_args!("there is no copy {copy}"))),
        },
        _ => Err(Response::error(404, "there is no such request")),
    }
}

pub(super) fn plots(state: &State, since: u64) -> Response {
    let plots: &[Plot] = &state.options.plots;
    let most = plots.iter().map(|plot| plot.values.len()).max().unwrap_or(0) as u64;
    // All plots have a value for each frame, up to the present one.
    let first = (state.frame + 1).saturating_sub(most).max(since);
    Response::object(|json| {
        json.key("frame").number(state.frame);
        json.key("first").number(first);
        json.key("plots").list(|json| {
            for plot in plots {
                let count = (state.frame + 1).saturating_sub(first) as usize;
                let skipped = plot.values.len().saturating_sub(count);
                json.object(|json| {
                    json.key("name").text(&plot.name);
                    json.key("values")
                        .list(|json| plot.values.iter().skip(skipped).for_each(|value| json.float(*value)));
                });
            }
        });
    })
}

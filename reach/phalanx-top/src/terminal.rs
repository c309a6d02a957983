//! [`Screen`]: the terminal while the program draws in it.

use ratatui_core::terminal::Terminal;
use ratatui_crossterm::CrosstermBackend;
use ratatui_crossterm::crossterm::cursor::Show;
use ratatui_crossterm::crossterm::execute;
use ratatui_crossterm::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use std::io::{self, Stdout, stdout};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the terminal has to be restored.
static IS_ENTERED: AtomicBool = AtomicBool::new(false);

/// The terminal while the program draws in it. It is restored when this is dropped, and before the message of a panic.
#[derive(Debug)]
pub(crate) struct Screen {
    pub(crate) terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// Takes the terminal over.
    ///
    /// # Errors
    ///
    /// Returns the errors of the terminal, which is then as it was.
    pub(crate) fn enter() -> io::Result<Screen> {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            before(panic);
        }));
        enable_raw_mode()?;
        IS_ENTERED.store(true, Ordering::SeqCst);
        let entered = execute!(stdout(), EnterAlternateScreen);
        match entered.and_then(|()| Terminal::new(CrosstermBackend::new(stdout()))) {
            Ok(terminal) => Ok(Screen { terminal }),
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back as it was, once.
fn restore() {
    if IS_ENTERED.swap(false, Ordering::SeqCst) {
        // There is nothing else to try if the terminal is gone.
        let _ = execute!(stdout(), LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }
}

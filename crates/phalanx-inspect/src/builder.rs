//! [`Builder`]: how an inspector is set up.

use crate::inspector::Inspector;
use crate::key::Key;
use core::fmt::Debug;
use phalanx::World;
use phalanx::relation::Relation;
use std::io;
use std::time::Duration;

/// How an inspector is set up: [`Inspector::builder`].
#[derive(Debug)]
#[must_use]
pub struct Builder {
    #[cfg(feature = "answer")]
    pub(crate) options: crate::state::Options,
    #[cfg(feature = "serve")]
    server: crate::http::ServerOptions,
    #[cfg(feature = "serve")]
    is_quiet: bool,
}

impl Builder {
    pub(crate) fn new() -> Builder {
        Builder {
            #[cfg(feature = "answer")]
            options: crate::state::Options::default(),
            #[cfg(feature = "serve")]
            server: crate::http::ServerOptions {
                name: String::new(),
                address: "127.0.0.1:7171".into(),
                exposed: None,
                is_listed: true,
            },
            #[cfg(feature = "serve")]
            is_quiet: false,
        }
    }

    /// Applies a change if answers are compiled in.
    #[cfg_attr(not(feature = "answer"), expect(unused_mut, reason = "there is nothing to change"))]
    fn with(mut self, #[cfg(feature = "answer")] change: impl FnOnce(&mut crate::state::Options)) -> Builder {
        #[cfg(feature = "answer")]
        change(&mut self.options);
        self
    }
}

/// Calls [`Builder::with`] if answers are compiled in.
macro_rules! with {
    ($builder:ident, $options:ident => $change:expr) => {{
        #[cfg(feature = "answer")]
        let builder = $builder.with(|$options| $change);
        #[cfg(not(feature = "answer"))]
        let builder = $builder.with();
        builder
    }};
}

#[cfg_attr(
    not(feature = "answer"),
    expect(unused_variables, reason = "methods do nothing without the feature `answer`")
)]
impl Builder {
    /// Sets the name of the program, which the page shows. It is that of the executable file by default.
    pub fn name(self, name: impl Into<String>) -> Builder {
        with!(self, options => options.name = name.into())
    }

    /// Sets the address of the server, such as `127.0.0.1:0` for any free port.
    ///
    /// If the port is taken, the next nine are tried.
    #[cfg_attr(not(feature = "serve"), expect(unused_mut, unused_variables, reason = "there is no server"))]
    pub fn address(mut self, address: impl Into<String>) -> Builder {
        #[cfg(feature = "serve")]
        {
            self.server.address = address.into();
        }
        self
    }

    /// Allows an address that other machines can reach, and sets the key.
    ///
    /// Requests are not encrypted. Prefer a tunnel of SSH to a loopback address.
    #[cfg_attr(not(feature = "serve"), expect(unused_mut, unused_variables, reason = "there is no server"))]
    pub fn expose(mut self, key: Key) -> Builder {
        #[cfg(feature = "serve")]
        {
            self.server.exposed = Some(key);
        }
        self
    }

    /// Does not print the address, and does not write it to a file. [`Inspector::url`] returns it.
    #[cfg_attr(not(feature = "serve"), expect(unused_mut, reason = "there is no server"))]
    pub fn quiet(mut self) -> Builder {
        #[cfg(feature = "serve")]
        {
            (self.is_quiet, self.server.is_listed) = (true, false);
        }
        self
    }

    /// Sets the time that an update may take for answers. It is 1 ms by default.
    pub fn budget(self, budget: Duration) -> Builder {
        with!(self, options => options.budget = budget)
    }

    /// Keeps the last frames in a [`Timeline`](phalanx::timeline::Timeline): they can be looked at, compared and returned to.
    ///
    /// Each update captures a frame. All components must be `plain`, `clone` or `soa`.
    pub fn timeline(self, frames: usize) -> Builder {
        with!(self, options => options.frames = Some(frames))
    }

    /// Adds a value to the charts. The function is called once in each update.
    pub fn plot(self, name: impl Into<String>, sample: impl FnMut(&World) -> f64 + Send + 'static) -> Builder {
        with!(self, options => options.plots.push(crate::plot::Plot::new(name.into(), Box::new(sample))))
    }

    /// Adds a button that runs a function.
    pub fn action(self, name: impl Into<String>, run: impl FnMut(&mut World) + Send + 'static) -> Builder {
        with!(self, options => options.actions.push((name.into(), Box::new(run))))
    }

    /// Shows the value of a resource by its `Debug`. Resources without this are listed by the names of their types.
    pub fn resource<R: Debug + Send + Sync + 'static>(self) -> Builder {
        with!(self, options => options.show_resource::<R>())
    }

    /// Shows the links of a relation. Those of [`ChildOf`](phalanx::relation::ChildOf) are shown in any case.
    pub fn relation<R: Relation>(self, name: impl Into<String>) -> Builder {
        with!(self, options => options.show_relation::<R>(name.into()))
    }

    /// Shows and edits values as JSON where the registry knows how, and offers snapshots to download, load and compare.
    #[cfg(feature = "snapshot")]
    pub fn registry(mut self, registry: phalanx::snapshot::Registry) -> Builder {
        self.options.registry = Some(registry);
        self
    }

    /// Refuses all requests that change the world. Pausing is allowed.
    pub fn read_only(self) -> Builder {
        with!(self, options => options.is_read_only = true)
    }

    /// Starts the server, and prints its address.
    ///
    /// # Errors
    ///
    /// - [`InvalidInput`](io::ErrorKind::InvalidInput) if other machines can reach the address and [`expose`](Builder::expose) was
    ///   not called.
    /// - The errors of binding the address and of starting a thread.
    pub fn serve(self) -> io::Result<Inspector> {
        #[cfg(feature = "serve")]
        {
            let Builder { options, mut server, is_quiet } = self;
            server.name = options.name.clone();
            let is_exposed = server.exposed.is_some();
            let inspector = Inspector::start(options, server)?;
            if !is_quiet {
                if is_exposed {
                    eprintln!("phalanx-inspect: other machines may connect, and nothing is encrypted");
                }
                eprintln!("phalanx-inspect: {}", inspector.url().unwrap_or_default());
            }
            Ok(inspector)
        }
        #[cfg(not(feature = "serve"))]
        Ok(self.build())
    }

    /// Creates an inspector without a server, for [`Inspector::answer`].
    pub fn build(self) -> Inspector {
        #[cfg(feature = "answer")]
        return Inspector::new(self.options);
        #[cfg(not(feature = "answer"))]
        Inspector::default()
    }
}

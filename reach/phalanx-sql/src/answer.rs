//! One query: opens the recordings, runs the query, and writes the answer.

use crate::Failure;
use crate::arguments::{Ask, QueryOptions, Usage};
use phalanx_sql::{Format, RowStream, RowWriter, Session};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The longest query that is read from standard input.
const LONGEST_QUERY: u64 = 1 << 20;

/// The rows of a table that are shown if no number is given. A table is in memory until it is written.
const SHOWN_ROWS: usize = 1000;

pub(crate) async fn answer(options: QueryOptions) -> Result<(), Failure> {
    let is_terminal = options.out.is_none() && io::stdout().is_terminal();
    let by_name = options.out.as_deref().and_then(Format::of_path);
    let format = options.format.or(by_name).unwrap_or(if is_terminal { Format::Table } else { Format::Csv });
    if format == Format::Parquet && is_terminal {
        return Err(Failure::Usage(Usage("a terminal cannot show parquet; use --out, or a pipe".into())));
    }
    let mut session = Session::open(&options.folder, options.broken)?;
    if let Some(threads) = options.threads {
        session = session.threads(threads);
    }
    if options.verify {
        session = session.verify();
    }
    #[cfg(feature = "cluster")]
    if let Some(address) = &options.cluster {
        session = crate::roles::on_cluster(session, address, options.partitions).await?;
    }
    let sql = match &options.ask {
        Ask::Tables => return list_tables(&session, options.quiet),
        Ask::Sql(sql) => sql.clone(),
        Ask::StandardInput => read_query()?,
    };
    let running = write_answer(&session, &sql, format, &options);
    let done = match options.timeout {
        None => running.await,
        Some(limit) => match tokio::time::timeout(limit, running).await {
            Ok(done) => done,
            Err(_) => Err(Failure::Failed(format!("no answer within {} s", limit.as_secs_f64()))),
        },
    };
    print_notes(&session, options.quiet);
    done
}

fn print_notes(session: &Session, quiet: bool) {
    if !quiet {
        session.notes().iter().for_each(|note| eprintln!("note: {note}"));
    }
}

fn read_query() -> Result<String, Failure> {
    let mut sql = String::new();
    let read = io::stdin().take(LONGEST_QUERY + 1).read_to_string(&mut sql);
    read.map_err(|error| Failure::Failed(format!("cannot read the query: {error}")))?;
    if sql.len() as u64 > LONGEST_QUERY {
        return Err(Failure::Failed(format!("the query has more than {LONGEST_QUERY} bytes")));
    }
    Ok(sql)
}

/// Prints each table with its columns and their types.
fn list_tables(session: &Session, quiet: bool) -> Result<(), Failure> {
    let mut text = String::new();
    for table in session.tables() {
        let columns = session.columns(&table)?;
        let columns: Vec<String> =
            columns.fields().iter().map(|field| format!("{} {}", field.name(), field.data_type())).collect();
        text += &format!("{table} ({})\n", columns.join(", "));
    }
    print_notes(session, quiet);
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Failed(error.to_string())),
        _ => Ok(()),
    }
}

async fn write_answer(session: &Session, sql: &str, format: Format, options: &QueryOptions) -> Result<(), Failure> {
    let rows = session.stream(sql).await?;
    let limit = match (format, options.rows) {
        (_, Some(0)) => usize::MAX,
        (_, Some(rows)) => rows,
        (Format::Table, None) => SHOWN_ROWS,
        (_, None) => usize::MAX,
    };
    let is_closed = Arc::new(AtomicBool::new(false));
    match &options.out {
        None => {
            let out = Pipe { out: io::stdout(), is_closed: Arc::clone(&is_closed) };
            match write_rows(rows, format, limit, out).await {
                // The reader has all that it wants, such as the first lines.
                Err(Failure::Failed(_)) if is_closed.load(Ordering::Relaxed) => Ok(()),
                done => done.map(drop),
            }
        }
        Some(path) => {
            let failed = |error: io::Error| Failure::Failed(format!("{}: {error}", path.display()));
            let partial = Partial::create(path).map_err(failed)?;
            let file = partial.file.try_clone().map_err(failed)?;
            write_rows(rows, format, limit, file).await?;
            partial.finish().map_err(failed)
        }
    }
}

/// Writes at most `limit` rows.
async fn write_rows<W: Write + Send>(mut rows: RowStream, format: Format, limit: usize, out: W) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::Failed(format!("cannot write the answer: {error}"));
    let mut writer = RowWriter::new(format, rows.schema(), BufWriter::new(out)).map_err(failed)?;
    let mut left = limit;
    while let Some(batch) = rows.next().await {
        let batch = batch?;
        let taken = batch.num_rows().min(left);
        writer.write(&batch.slice(0, taken)).map_err(failed)?;
        left -= taken;
        if taken < batch.num_rows() {
            eprintln!("note: only the first {limit} rows; --rows sets another limit");
            break;
        }
    }
    writer.finish().map_err(failed)?;
    Ok(())
}

/// Standard output. Remembers that its reader is gone, which is not an error.
struct Pipe {
    out: io::Stdout,
    is_closed: Arc<AtomicBool>,
}

impl Pipe {
    fn noted<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && error.kind() == io::ErrorKind::BrokenPipe
        {
            self.is_closed.store(true, Ordering::Relaxed);
        }
        result
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes);
        self.noted(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.noted(flushed)
    }
}

/// A file beside the one that is wanted, which gets its name when it is whole. It is removed otherwise.
struct Partial {
    file: File,
    at: PathBuf,
    wanted: PathBuf,
    is_done: bool,
}

impl Partial {
    fn create(wanted: &std::path::Path) -> io::Result<Partial> {
        let mut name = wanted.file_name().ok_or_else(|| io::Error::other("a file name is expected"))?.to_owned();
        name.push(format!(".{}.partial", std::process::id()));
        let at = wanted.with_file_name(name);
        Ok(Partial { file: File::create(&at)?, at, wanted: wanted.to_owned(), is_done: false })
    }

    fn finish(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        std::fs::rename(&self.at, &self.wanted)?;
        self.is_done = true;
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.is_done {
            // There is nothing to do about a file that cannot be removed either.
            let _ = std::fs::remove_file(&self.at);
        }
    }
}

//! Where do the crate's log records go, and what do we learn from them?
//!
//! The crate returns neither the checkpoint it made nor the failure of its own rollback; it only
//! logs both. Each call runs on one thread (the crate drives a current-thread runtime), so a
//! thread-local journal sees exactly the records of this call, also when other programs or
//! other threads make checkpoints at the same time.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU8, Ordering};

use log::{Level, LevelFilter, Log, Metadata, Record};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

const CHECKPOINT_MADE: &str = "Created checkpoint ";
const ROLLBACK_FAILED: &str = "nm_checkpoint_rollback() failed: ";

#[derive(Default)]
struct Journal {
    checkpoint: Option<String>,
    rollback_error: Option<String>,
}

thread_local! {
    static JOURNAL: RefCell<Journal> = RefCell::default();
}

static SINK: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static PYTHON_LEVEL: AtomicU8 = AtomicU8::new(30);

/// Forget what an earlier call on this thread left.
pub fn begin() {
    JOURNAL.with_borrow_mut(|journal| *journal = Journal::default());
}

pub fn checkpoint() -> Option<String> {
    JOURNAL.with_borrow(|journal| journal.checkpoint.clone())
}

pub fn rollback_error() -> Option<String> {
    JOURNAL.with_borrow(|journal| journal.rollback_error.clone())
}

/// Call `sink(level, message)` for each record, with levels of Python's `logging`.
#[pyfunction]
pub fn set_log_sink(py: Python<'_>, sink: Py<PyAny>) {
    // A second sink would come from a second import of the package: the first one stays.
    let _ = SINK.set(py, sink);
}

/// Deliver records of at least this level of Python's `logging`.
#[pyfunction]
pub fn set_log_level(level: u8) {
    PYTHON_LEVEL.store(level, Ordering::Relaxed);
    let wanted = match level {
        0..10 => LevelFilter::Trace,
        10..20 => LevelFilter::Debug,
        // Info always: the checkpoint is learnt from an info record.
        _ => LevelFilter::Info,
    };
    log::set_max_level(wanted);
}

pub fn install() {
    static BRIDGE: Bridge = Bridge;
    // Fails only when the module is initialised twice, and then the logger is already ours.
    let _ = log::set_logger(&BRIDGE);
    log::set_max_level(LevelFilter::Info);
}

struct Bridge;

impl Log for Bridge {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let from_libraries = !metadata.target().starts_with("nmstate");
        metadata.level() <= Level::Info || !from_libraries
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let message = record.args().to_string();
        remember(&message);
        let level = python_level(record);
        if level >= PYTHON_LEVEL.load(Ordering::Relaxed) {
            deliver(level, &message);
        }
    }

    fn flush(&self) {}
}

fn remember(message: &str) {
    JOURNAL.with_borrow_mut(|journal| {
        if let Some(path) = message.strip_prefix(CHECKPOINT_MADE) {
            journal.checkpoint = Some(path.to_string());
        } else if let Some(cause) = message.strip_prefix(ROLLBACK_FAILED) {
            journal.rollback_error = Some(cause.to_string());
        }
    });
}

fn deliver(level: u8, message: &str) {
    // At interpreter shutdown no handler is left that could receive it.
    Python::try_attach(|py| {
        if let Some(sink) = SINK.get(py)
            && let Err(error) = sink.call1(py, (level, message))
        {
            // A broken log handler must not break an apply that is half done.
            error.write_unraisable(py, None);
        }
    });
}

fn python_level(record: &Record<'_>) -> u8 {
    // What the crate's own libraries warn of (no Wi-Fi on this host, say) is no news to anybody
    // who asked for a network state.
    if !record.target().starts_with("nmstate") {
        return 10;
    }
    match record.level() {
        Level::Error => 40,
        Level::Warn => 30,
        Level::Info => 20,
        Level::Debug => 10,
        Level::Trace => 5,
    }
}

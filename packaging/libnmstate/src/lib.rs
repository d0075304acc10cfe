//! How does Python call the nmstate crate?
//!
//! Documents come in as text and go out as JSON text; every function gives the interpreter lock
//! back while it works, because `apply` may take minutes. Errors leave as `Failure(kind, message,
//! details)`; the Python package turns them into its exception classes.

mod check;
mod document;
mod failure;
mod journal;

use nmstate::NetworkState;
use pyo3::prelude::*;

use crate::document::Document;
use crate::failure::{Failed, Failure};

/// The state of the host now, as JSON.
#[pyfunction]
fn retrieve(
    py: Python<'_>,
    kernel_only: bool,
    running_config_only: bool,
    include_secrets: bool,
) -> PyResult<String> {
    run(py, || {
        let mut state = NetworkState::new();
        state
            .set_kernel_only(kernel_only)
            .set_running_config_only(running_config_only)
            .set_include_secrets(include_secrets);
        state.retrieve()?;
        json(&state)
    })
}

/// Make the host look like `desired`; returns the path of the checkpoint it ran under.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn apply(
    py: Python<'_>,
    desired: Document,
    kernel_only: bool,
    verify_change: bool,
    save_to_disk: bool,
    commit: bool,
    rollback_timeout: u32,
    override_iface: bool,
) -> PyResult<Option<String>> {
    run(py, || {
        let mut state = desired.checked_state()?;
        state
            .set_kernel_only(kernel_only)
            .set_verify_change(verify_change)
            .set_memory_only(!save_to_disk)
            .set_commit(commit)
            .set_timeout(rollback_timeout)
            .set_override_iface(override_iface);
        state.apply()?;
        Ok(journal::checkpoint())
    })
}

/// Keep what was applied under `checkpoint`; an empty string means the newest one.
#[pyfunction]
fn checkpoint_commit(py: Python<'_>, checkpoint: String) -> PyResult<()> {
    run(py, || Ok(NetworkState::checkpoint_commit(&checkpoint)?))
}

/// Undo what was applied under `checkpoint`; an empty string means the newest one.
#[pyfunction]
fn checkpoint_rollback(py: Python<'_>, checkpoint: String) -> PyResult<()> {
    run(py, || Ok(NetworkState::checkpoint_rollback(&checkpoint)?))
}

/// The properties of `new` that differ from `old`, as JSON.
#[pyfunction]
fn differences(py: Python<'_>, new: Document, old: Document) -> PyResult<String> {
    run(py, || json(&new.checked_state()?.gen_diff(&old.state()?)?))
}

/// Configuration files for each backend, as JSON: {backend: [[file name, content], ...]}.
#[pyfunction]
fn configurations(py: Python<'_>, desired: Document) -> PyResult<String> {
    run(py, || json(&desired.checked_state()?.gen_conf()?))
}

/// The state that a policy asks for; without `current` its captures look at the host.
#[pyfunction]
fn state_from_policy(
    py: Python<'_>,
    policy: Document,
    current: Option<Document>,
) -> PyResult<String> {
    run(py, || {
        let mut policy = policy.policy()?;
        if let Some(current) = current {
            policy.current = Some(current.state()?);
        }
        let state = NetworkState::try_from(policy)?;
        check::interfaces_are_understood(&serde_json::to_value(&state).map_err(Failed::bug)?)?;
        json(&state)
    })
}

/// Parse and check a state or a policy; nothing is touched and no service is asked.
#[pyfunction]
fn validate(py: Python<'_>, document: Document, current: Option<Document>) -> PyResult<()> {
    run(py, || {
        let current = current.map(|c| c.state()).transpose()?;
        if document.is_policy()? {
            let mut policy = document.policy()?;
            policy.current = current.or(policy.current);
            return Ok(policy.validate()?);
        }
        let state = document.checked_state()?;
        match current {
            Some(current) => Ok(state.validate(Some(&current))?),
            None => Ok(()),
        }
    })
}

/// Write JSON text as YAML, keys in the order given.
#[pyfunction]
fn yaml_from_json(py: Python<'_>, text: String) -> PyResult<String> {
    run(py, || {
        let value: serde_json::Value = serde_json::from_str(&text).map_err(Failed::bug)?;
        serde_yaml::to_string(&value).map_err(Failed::bug)
    })
}

/// Work without the interpreter lock and with an empty journal, and turn errors into `Failure`.
fn run<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, Failed> + Send) -> PyResult<T> {
    py.detach(|| {
        journal::begin();
        work()
    })
    .map_err(|failed| failed.into_python(py))
}

fn json<T: serde::Serialize>(value: &T) -> Result<String, Failed> {
    serde_json::to_string(value).map_err(Failed::bug)
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    journal::install();
    module.add("Failure", module.py().get_type::<Failure>())?;
    module.add_function(wrap_pyfunction!(retrieve, module)?)?;
    module.add_function(wrap_pyfunction!(apply, module)?)?;
    module.add_function(wrap_pyfunction!(checkpoint_commit, module)?)?;
    module.add_function(wrap_pyfunction!(checkpoint_rollback, module)?)?;
    module.add_function(wrap_pyfunction!(differences, module)?)?;
    module.add_function(wrap_pyfunction!(configurations, module)?)?;
    module.add_function(wrap_pyfunction!(state_from_policy, module)?)?;
    module.add_function(wrap_pyfunction!(validate, module)?)?;
    module.add_function(wrap_pyfunction!(yaml_from_json, module)?)?;
    module.add_function(wrap_pyfunction!(journal::set_log_sink, module)?)?;
    module.add_function(wrap_pyfunction!(journal::set_log_level, module)?)?;
    Ok(())
}

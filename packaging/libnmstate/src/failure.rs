//! How does an error of the crate reach Python without losing what is known about it?

use nmstate::{ErrorKind, NmstateError};
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::journal;

create_exception!(
    libnmstate._native,
    Failure,
    PyException,
    "Raised by every function here: (kind, message, details)."
);

/// An error on its way to Python: the crate's kind by name, its message, and named details.
pub struct Failed {
    kind: String,
    message: String,
    details: Vec<(&'static str, Detail)>,
}

pub enum Detail {
    Text(String),
    Number(usize),
}

impl Failed {
    pub fn invalid(message: String) -> Self {
        Self::new(format!("{:?}", ErrorKind::InvalidArgument), message)
    }

    /// Something that cannot happen unless the crate or we are wrong.
    pub fn bug(cause: impl std::fmt::Display) -> Self {
        Self::new(format!("{:?}", ErrorKind::Bug), cause.to_string())
    }

    fn new(kind: String, message: String) -> Self {
        Self {
            kind,
            message,
            details: Vec::new(),
        }
    }

    pub fn with_text(mut self, name: &'static str, text: &str) -> Self {
        self.details.push((name, Detail::Text(text.to_string())));
        self
    }

    pub fn with_number(mut self, name: &'static str, number: usize) -> Self {
        self.details.push((name, Detail::Number(number)));
        self
    }

    pub fn message(&self) -> &str {
        &self.message
    }

    /// The same error with the line and column that `other` knows.
    pub fn at_place_of(mut self, other: &Self) -> Self {
        for (name, detail) in &other.details {
            if let (name @ ("line" | "column"), Detail::Number(number)) = (*name, detail) {
                self = self.with_number(name, *number);
            }
        }
        self
    }

    /// Adds what the call wrote to its journal: a failed `apply` returns no checkpoint, but
    /// the caller that cleans up needs to know that there was one and how its rollback went.
    pub fn into_python(self, py: Python<'_>) -> PyErr {
        match self.details_dict(py) {
            Ok(details) => Failure::new_err((self.kind, self.message, details)),
            Err(error) => error,
        }
    }

    fn details_dict(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let dict = PyDict::new(py);
        for (name, detail) in &self.details {
            match detail {
                Detail::Text(text) => dict.set_item(name, text)?,
                Detail::Number(number) => dict.set_item(name, number)?,
            }
        }
        if let Some(checkpoint) = journal::checkpoint() {
            dict.set_item("checkpoint", checkpoint)?;
        }
        if let Some(cause) = journal::rollback_error() {
            dict.set_item("rollback_error", cause)?;
        }
        Ok(dict.unbind())
    }
}

impl From<NmstateError> for Failed {
    fn from(error: NmstateError) -> Self {
        let failed = Self::new(format!("{:?}", error.kind()), error.msg().to_string());
        if error.kind() == ErrorKind::PolicyError {
            failed
                .with_text("expression", error.line())
                .with_number("position", error.position())
        } else {
            failed
        }
    }
}

impl From<serde_json::Error> for Failed {
    fn from(error: serde_json::Error) -> Self {
        // A JSON document was made from a dict: its line and column mean nothing to the caller.
        let text = error.to_string();
        let message = text.split(" at line ").next().unwrap_or(&text);
        Self::invalid(message.to_string())
    }
}

impl From<serde_yaml::Error> for Failed {
    fn from(error: serde_yaml::Error) -> Self {
        let failed = Self::invalid(error.to_string());
        match error.location() {
            Some(place) => failed
                .with_number("line", place.line())
                .with_number("column", place.column()),
            None => failed,
        }
    }
}

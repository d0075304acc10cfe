//! How is the text of a caller read?
//!
//! YAML goes to the crate as it was written: only its own parser knows that `52:54:05:00:23:48`
//! is a MAC address and not a base-60 number. A dict comes as JSON.

use nmstate::{NetworkPolicy, NetworkState};
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::check;
use crate::failure::Failed;

/// Text and whether it is JSON; a tuple in Python.
#[derive(FromPyObject)]
pub struct Document(String, bool);

impl Document {
    pub fn state(&self) -> Result<NetworkState, Failed> {
        self.parse()
    }

    /// The state; what is wrong with an interface is reported with its name and place.
    pub fn checked_state(&self) -> Result<NetworkState, Failed> {
        if let Err(failed) = check::interfaces_are_understood(&self.value()?) {
            return Err(match self.parse::<check::Outline>() {
                Err(located) => failed.at_place_of(&located),
                Ok(_) => failed,
            });
        }
        let state = self.parse()?;
        self.parse::<check::Outline>()?;
        Ok(state)
    }

    pub fn policy(&self) -> Result<NetworkPolicy, Failed> {
        self.parse()
    }

    pub fn is_policy(&self) -> Result<bool, Failed> {
        let value = self.value()?;
        Ok(["capture", "desired", "desiredState"]
            .iter()
            .any(|key| value.get(key).is_some()))
    }

    fn value(&self) -> Result<Value, Failed> {
        self.parse()
    }

    fn parse<T: DeserializeOwned>(&self) -> Result<T, Failed> {
        match self {
            Document(text, true) => Ok(serde_json::from_str(text)?),
            Document(text, false) => Ok(serde_yaml::from_str(text)?),
        }
    }
}

//! Is every interface of a desired state one that the crate understands whole?
//!
//! The crate says what is wrong, but neither with which interface nor where, and some of its
//! nested structs drop keys they do not know. So each interface is checked by itself, and what is
//! wrong is reported with its name, before anything is touched.

use nmstate::{BaseInterface, Interface};
use serde::Deserialize;
use serde::de::{
    Deserializer, Error, IgnoredAny, MapAccess, Visitor, value::MapAccessDeserializer,
};
use serde_json::{Map, Value};

use crate::failure::Failed;

/// Sections that only some interface types have. An interface written without its type is
/// resolved on the host, so each of them may be right for it.
const TYPE_SECTIONS: &[&str] = &[
    "bond",
    "bridge",
    "dpdk",
    "ethernet",
    "hsr",
    "infiniband",
    "ip-tunnel",
    "ipvlan",
    "libreswan",
    "link-aggregation",
    "mac-vlan",
    "mac-vtap",
    "macsec",
    "patch",
    "veth",
    "vlan",
    "vrf",
    "vxlan",
];

/// Nested sections whose structs accept and drop any key, with the keys they know.
/// In a path `*` stands for each element of a list, `a|b` for either spelling of a key.
const LOOSE_SECTIONS: &[(&str, &[&str])] = &[
    ("veth", &["peer"]),
    (
        "link-aggregation|bond ports-config *",
        &["name", "priority", "queue-id"],
    ),
    (
        "bridge port|ports * link-aggregation|bond port|ports *",
        &["name"],
    ),
    ("vlan ingress-qos-map *", &["from", "to"]),
    ("vlan egress-qos-map *", &["from", "to"]),
    ("dispatch", &["post-activation", "post-deactivation"]),
    (
        "802.1x",
        &[
            "ca-cert",
            "client-cert",
            "eap-methods",
            "identity",
            "password",
            "phase2-auth",
            "private-key",
            "private-key-password",
        ],
    ),
];

/// Parsed only for its errors, which carry the line where the wrong interface begins.
#[derive(Deserialize)]
pub struct Outline {
    #[serde(default, rename = "interfaces")]
    _interfaces: Option<Vec<CheckedInterface>>,
    #[serde(default, rename = "ovn")]
    _ovn: Option<CheckedOvn>,
}

struct CheckedInterface;

#[derive(Deserialize)]
struct CheckedOvn {
    #[serde(default, rename = "bridge-mappings")]
    _bridge_mappings: Option<Vec<CheckedMapping>>,
}

/// The crate's own struct drops unknown keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckedMapping {
    #[serde(rename = "localnet")]
    _localnet: IgnoredAny,
    #[serde(default, rename = "state")]
    _state: IgnoredAny,
    #[serde(default, rename = "bridge")]
    _bridge: IgnoredAny,
}

impl<'de> Deserialize<'de> for CheckedInterface {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(CheckedInterface)
    }
}

impl<'de> Visitor<'de> for CheckedInterface {
    type Value = Self;

    fn expecting(&self, text: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        text.write_str("an interface")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self, A::Error> {
        // Here, inside the mapping, an error still gets the mapping's line from the parser.
        let interface = Map::deserialize(MapAccessDeserializer::new(map))?;
        interface_is_understood(&interface).map_err(|failed| A::Error::custom(failed.message()))?;
        Ok(self)
    }
}

/// Refuse the first interface that the crate would not take as it is written.
pub fn interfaces_are_understood(document: &Value) -> Result<(), Failed> {
    let interfaces = document["interfaces"].as_array();
    interfaces
        .into_iter()
        .flatten()
        .filter_map(Value::as_object)
        .try_for_each(interface_is_understood)
}

fn interface_is_understood(interface: &Map<String, Value>) -> Result<(), Failed> {
    let value = Value::Object(interface.clone());
    let parsed = Interface::deserialize(&value).map_err(|e| misread(interface, &e.to_string()))?;
    // The crate keeps only what names an interface that is to vanish.
    if parsed.is_absent() {
        return Ok(());
    }
    if let Interface::Unknown(_) = parsed {
        untyped_is_understood(interface)?;
    }
    for (path, known) in LOOSE_SECTIONS {
        if let Some(key) = stranger_at(&value, path, known) {
            return Err(wrong(
                interface,
                &format!("unknown field `{key}`"),
                Some(&key),
            ));
        }
    }
    Ok(())
}

fn untyped_is_understood(interface: &Map<String, Value>) -> Result<(), Failed> {
    let mut common = interface.clone();
    common.retain(|key, _| !TYPE_SECTIONS.contains(&key.as_str()));
    match BaseInterface::deserialize(Value::Object(common)) {
        Ok(_) => Ok(()),
        Err(error) => Err(misread(interface, &error.to_string())),
    }
}

/// The first key at `path` that is not in `known`, with the path as the document spells it.
fn stranger_at(value: &Value, path: &str, known: &[&str]) -> Option<String> {
    let (step, rest) = path.split_once(' ').unwrap_or((path, ""));
    if step.is_empty() {
        return stranger(value, known).map(str::to_string);
    }
    if step == "*" {
        let elements = value.as_array()?;
        return elements
            .iter()
            .find_map(|element| stranger_at(element, rest, known));
    }
    step.split('|').find_map(|key| {
        let found = stranger_at(value.get(key)?, rest, known)?;
        Some(format!("{key}.{found}"))
    })
}

fn stranger<'a>(value: &'a Value, known: &[&str]) -> Option<&'a str> {
    value
        .as_object()
        .into_iter()
        .flat_map(Map::keys)
        .map(String::as_str)
        .find(|key| !known.contains(key))
}

fn misread(interface: &Map<String, Value>, cause: &str) -> Failed {
    let key = cause
        .strip_prefix("unknown field `")
        .and_then(|rest| rest.split('`').next());
    if cause.ends_with("expected a string") {
        let cause = format!("{cause}: quote the value to keep it a string");
        return wrong(interface, &cause, key);
    }
    wrong(interface, cause, key)
}

fn wrong(interface: &Map<String, Value>, cause: &str, key: Option<&str>) -> Failed {
    let text = |name: &str| match interface.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => "not given".to_string(),
    };
    let (name, kind) = (text("name"), text("type"));
    let failed = Failed::invalid(format!("interface \"{name}\" (type {kind}): {cause}"))
        .with_text("interface", &name);
    match key {
        Some(key) => failed.with_text("key", key),
        None => failed,
    }
}

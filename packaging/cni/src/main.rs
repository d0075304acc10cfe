//! nodenet-ipam: the IPAM plugin that a container runtime, or another CNI plugin, executes.
//!
//! It decides nothing. It passes one call of the CNI specification to nodenet-ipam.service over a Unix socket, prints
//! the answer and exits with its code. It is linked statically, because it may be executed in any mount namespace.

mod json;

use std::env;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::exit;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

const SOCKET: &str = "/run/nodenet/ipam.sock";
const SOCKET_VARIABLE: &str = "NODENET_IPAM_SOCKET";
const VERSIONS: [&str; 4] = ["0.3.1", "0.4.0", "1.0.0", "1.1.0"];
const NEWEST: &str = "1.1.0";
const MOST_REQUEST_BYTES: usize = 256 << 10;
const MOST_ANSWER_BYTES: u64 = 1 << 20;
/// The service answers sooner, if only with "try again". Three interfaces of a sandbox have two minutes.
const MOST_TIME: Duration = Duration::from_secs(35);
/// A pod that ends does not wait for a service that hangs.
const MOST_TIME_OF_DEL: Duration = Duration::from_secs(10);

/// Codes of the CNI specification, section "Error".
#[derive(Clone, Copy)]
enum Code {
    Environment = 4,
    Io = 5,
    Decode = 6,
    Config = 7,
    TryAgain = 11,
    NotAvailable = 50,
}

struct Failure {
    code: Code,
    message: String,
    details: String,
}

/// What was asked for, as far as it is needed to word an answer.
struct Call {
    command: String,
    version: String,
}

struct Answer {
    exit: i32,
    stdout: String,
}

fn main() {
    let command = env::var("CNI_COMMAND").unwrap_or_default();
    let limit = if command == "DEL" { MOST_TIME_OF_DEL } else { MOST_TIME };
    let deadline = Instant::now() + limit;
    let (sender, receiver) = mpsc::channel();
    let asked = command.clone();
    thread::spawn(move || sender.send(run(asked, deadline)));
    // Reading, connecting and waiting can all block; one limit holds for them together.
    let answer = receiver.recv_timeout(limit + Duration::from_millis(500)).unwrap_or_else(|_| {
        let call = Call { command, version: NEWEST.to_string() };
        without_service(&call, &format!("no answer within {} s", limit.as_secs()))
    });
    let mut stdout = io::stdout();
    let written = stdout.write_all(answer.stdout.as_bytes()).and_then(|()| stdout.flush());
    exit(if written.is_err() { 1 } else { answer.exit });
}

fn run(command: String, deadline: Instant) -> Answer {
    let mut call = Call { command, version: NEWEST.to_string() };
    let config = match read_config() {
        Ok(config) => config,
        Err(failure) => return refused(&call, failure),
    };
    if let Some(version) = json::member(&config, "cniVersion") {
        call.version = version;
    }
    match call.command.as_str() {
        "VERSION" => versions(&call),
        "ADD" | "DEL" | "CHECK" | "GC" | "STATUS" => match request(&call, &config) {
            Ok(request) => ask(&call, &request, deadline),
            Err(failure) => refused(&call, failure),
        },
        other => refused(&call, failure(Code::Environment, "CNI_COMMAND is not one of ADD, DEL, CHECK, GC, STATUS, VERSION", other)),
    }
}

fn read_config() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let most = MOST_REQUEST_BYTES as u64;
    io::stdin()
        .take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| failure(Code::Io, "The network configuration cannot be read from standard input", &error.to_string()))?;
    if bytes.len() as u64 > most {
        return Err(too_long());
    }
    String::from_utf8(bytes).map_err(|_| failure(Code::Decode, "The network configuration is not UTF-8", ""))
}

/// The request as one JSON object: the environment of the specification, and the configuration unchanged.
fn request(call: &Call, config: &str) -> Result<String, Failure> {
    let mut text = format!("{{\"version\":1,\"command\":{}", json::quoted(&call.command));
    for (name, variable) in [
        ("container_id", "CNI_CONTAINERID"),
        ("netns", "CNI_NETNS"),
        ("ifname", "CNI_IFNAME"),
        ("args", "CNI_ARGS"),
        ("path", "CNI_PATH"),
    ] {
        let value = env::var_os(variable)
            .unwrap_or_else(OsString::new)
            .into_string()
            .map_err(|_| failure(Code::Environment, &format!("{variable} is not UTF-8"), ""))?;
        text.push_str(&format!(",\"{name}\":{}", json::quoted(&value)));
    }
    text.push_str(&format!(",\"config\":{}}}", json::quoted(config)));
    if text.len() > MOST_REQUEST_BYTES {
        return Err(too_long());
    }
    Ok(text)
}

fn ask(call: &Call, request: &str, deadline: Instant) -> Answer {
    match exchange(request, deadline) {
        Ok(text) => understood(&text).unwrap_or_else(|| {
            refused(call, failure(Code::Io, "The answer of nodenet-ipam.service cannot be understood", "Are plugin and service of one version?"))
        }),
        Err(error) => without_service(call, &error.to_string()),
    }
}

fn exchange(request: &str, deadline: Instant) -> io::Result<String> {
    let path = env::var_os(SOCKET_VARIABLE).unwrap_or_else(|| SOCKET.into());
    let mut stream = UnixStream::connect(path)?;
    let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
    stream.set_write_timeout(Some(left))?;
    stream.set_read_timeout(Some(left))?;
    stream.write_all(request.as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    let mut text = String::new();
    stream.take(MOST_ANSWER_BYTES).read_to_string(&mut text)?;
    if text.is_empty() {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the connection ended without an answer"));
    }
    Ok(text)
}

fn understood(text: &str) -> Option<Answer> {
    let exit = match json::member(text, "exit")?.as_str() {
        "0" => 0,
        "1" => 1,
        _ => return None,
    };
    Some(Answer { exit, stdout: json::member(text, "stdout")? })
}

/// Answer a call that the service did not answer.
///
/// DEL succeeds: the specification wants a deletion to end without an error where it can, and a pod must not stay
/// because of its address. What it held is released by the service later, when the pod's UID is gone from the API.
fn without_service(call: &Call, reason: &str) -> Answer {
    let code = if call.command == "STATUS" { Code::NotAvailable } else { Code::TryAgain };
    refused(call, failure(code, "nodenet-ipam.service does not answer", reason))
}

fn versions(call: &Call) -> Answer {
    let listed: Vec<String> = VERSIONS.iter().map(|version| json::quoted(version)).collect();
    let version = json::quoted(&call.version);
    Answer { exit: 0, stdout: format!("{{\"cniVersion\":{version},\"supportedVersions\":[{}]}}\n", listed.join(",")) }
}

/// A call that cannot be passed on. DEL succeeds here too: a runtime calls DEL after an ADD that failed.
fn refused(call: &Call, failure: Failure) -> Answer {
    if call.command == "DEL" {
        eprintln!("nodenet-ipam: {}. {}", failure.message, failure.details);
        return Answer { exit: 0, stdout: String::new() };
    }
    let (version, message, details) =
        (json::quoted(&call.version), json::quoted(&failure.message), json::quoted(&failure.details));
    let code = failure.code as i32;
    Answer {
        exit: 1,
        stdout: format!("{{\"cniVersion\":{version},\"code\":{code},\"msg\":{message},\"details\":{details}}}\n"),
    }
}

fn failure(code: Code, message: &str, details: &str) -> Failure {
    Failure { code, message: message.to_string(), details: details.to_string() }
}

fn too_long() -> Failure {
    failure(Code::Config, &format!("The network configuration is longer than {MOST_REQUEST_BYTES} bytes"), "")
}

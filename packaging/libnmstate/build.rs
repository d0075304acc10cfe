//! Which symbols may the module not ask of the C library?
//!
//! A Rust that was built against glibc 2.39 or newer (Debian forky's) refers to these two weakly:
//! its standard library would do without, but the reference still makes an older glibc refuse
//! to load the module. Here they are null from the start, as on an older glibc, so that a wheel
//! built in forky also loads on Debian 12. Nothing in the module starts processes by pidfd.

const ABSENT: &[&str] = &["pidfd_getpid", "pidfd_spawnp"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("gnu") {
        for symbol in ABSENT {
            println!("cargo:rustc-cdylib-link-arg=-Wl,--defsym={symbol}=0");
        }
    }
}

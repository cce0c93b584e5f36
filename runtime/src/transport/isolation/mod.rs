//! A child process that sees what its configuration lets it see, and nothing else: bubblewrap starts it.
//!
//! Nothing runs without what was asked for: bubblewrap ends before the program begins where anything of it fails. The
//! server is in the process group that bubblewrap leads, and in a process namespace that is killed with it; so there is
//! neither `--new-session`, which would take it out of the group, nor `--die-with-parent`, which would kill it on the
//! SIGTERM that it may handle. What a session of its own is for, terminals, it has none of.

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod folders;
#[cfg(target_os = "linux")]
mod needs;
mod refusal;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(target_os = "linux")]
mod view;
#[cfg(target_os = "linux")]
mod way;

#[cfg(not(target_os = "linux"))]
pub(crate) use self::elsewhere::Sandbox;
#[cfg(target_os = "linux")]
pub(crate) use self::sandbox::Sandbox;

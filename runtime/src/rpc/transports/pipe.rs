//! The destination of messages: the pipe to a child's stdin, including how much of it was read, or any stream.
//!
//! A pipe of the usual size holds hundreds of requests, and a server buffers what it reads at once. All of them may
//! then run, although their callers gave up long ago. Thus the next message is written only after the previous one was
//! read.
//!
//! All futures here are cancel safe: `was_read`, `ready_again` and `flush` only wait, and a `write` that is dropped
//! has written nothing. On Windows a `write` that is dropped while it flushes has written what it does not report.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::process::ChildStdin;

use self::system::Pipe;

/// The destination of messages.
pub(crate) enum Sink {
    Child(Pipe),
    /// A stream, for which the amount of unread data is unknown.
    Given(Box<dyn AsyncWrite + Send + Unpin>),
    #[cfg(test)]
    Simulated(crate::rpc::simulation::SimulatedSink),
}

impl Sink {
    pub(crate) fn child(stdin: ChildStdin) -> io::Result<Self> {
        Pipe::new(stdin).map(Self::Child)
    }

    /// Prepares for a message of this length, after all earlier data was read.
    pub(super) fn make_room(&mut self, length: usize) {
        if let Self::Child(pipe) = self {
            pipe.make_room(length);
        }
    }

    /// Waits until the other side has read everything, or will read nothing more.
    pub(super) async fn was_read(&mut self) {
        match self {
            Self::Child(pipe) => pipe.was_read().await,
            Self::Given(_) => {}
            #[cfg(test)]
            Self::Simulated(sink) => sink.was_read().await,
        }
    }

    /// Returns `true` if the other side has read everything, or if that is unknown.
    pub(super) fn is_read(&mut self) -> bool {
        match self {
            Self::Child(pipe) => pipe.is_read(),
            Self::Given(_) => true,
            #[cfg(test)]
            Self::Simulated(sink) => sink.is_read(),
        }
    }

    /// Writes as many bytes as fit, and returns their number.
    pub(super) fn write_at_once(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Child(pipe) => pipe.write_at_once(bytes),
            // The task that writes the rest polls again, and is woken then.
            Self::Given(stream) => match Pin::new(stream).poll_write(&mut Context::from_waker(Waker::noop()), bytes) {
                Poll::Ready(written) => written,
                Poll::Pending => Ok(0),
            },
            #[cfg(test)]
            Self::Simulated(sink) => sink.write_at_once(bytes),
        }
    }

    pub(super) async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Child(pipe) => pipe.write(bytes).await,
            Self::Given(stream) => stream.write(bytes).await,
            #[cfg(test)]
            Self::Simulated(sink) => sink.write(bytes).await,
        }
    }

    /// Flushes the written data if that takes no time; returns `false` otherwise.
    pub(super) fn flush_at_once(&mut self) -> io::Result<bool> {
        match self {
            Self::Given(stream) => match Pin::new(stream).poll_flush(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(flushed) => flushed.map(|()| true),
                Poll::Pending => Ok(false),
            },
            _ => Ok(true),
        }
    }

    /// Flushes the written data.
    pub(super) async fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Child(_) => Ok(()),
            Self::Given(stream) => stream.flush().await,
            #[cfg(test)]
            Self::Simulated(_) => Ok(()),
        }
    }

    /// Returns the number of bytes that were not read, if no reader is left.
    pub(super) fn lost(&self) -> Option<u64> {
        match self {
            Self::Child(pipe) => pipe.lost(),
            Self::Given(_) => None,
            #[cfg(test)]
            Self::Simulated(sink) => sink.lost(),
        }
    }
}

#[cfg(unix)]
mod system {
    use std::os::fd::AsFd;
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::{Errno, ioctl_fionread};
    use tokio::net::unix::pipe::Sender;
    use tokio::time::timeout;

    use super::*;

    /// A line's end may stay behind until the next line comes.
    const LEFT_BEHIND: u64 = 1;
    /// The interval between checks, on systems that do not report an emptied pipe.
    const LOOK_AGAIN: Duration = Duration::from_millis(10);

    /// A pipe of one page is writable when it is empty, so that waiting for the one is waiting for the other. Each message
    /// that is read wakes the writer then, so that it is so only while messages queue.
    const SMALL: usize = 4096;
    /// The usual size, in which a long message takes fewer turns.
    const LARGE: usize = 65536;

    pub(crate) struct Pipe {
        sender: Sender,
        size: usize,
    }

    impl Pipe {
        pub(in super::super) fn new(stdin: ChildStdin) -> io::Result<Self> {
            let sender = Sender::from_owned_fd(stdin.into_owned_fd()?)?;
            Ok(Self { sender, size: LARGE })
        }

        /// Prepares for a message of this length, after all earlier data was read.
        pub(in super::super) fn make_room(&mut self, length: usize) {
            if length > SMALL {
                self.resize(LARGE);
            }
        }

        fn resize(&mut self, size: usize) {
            if size != self.size {
                self.size = size;
                // If the system refuses, the pipe is polled every few milliseconds.
                #[cfg(target_os = "linux")]
                let _ = rustix::pipe::fcntl_setpipe_size(self.sender.as_fd(), size);
            }
        }

        /// Returns `true` if the other side has read everything.
        pub(in super::super) fn is_read(&mut self) -> bool {
            let is_read = self.unread() <= LEFT_BEHIND;
            if is_read {
                self.resize(LARGE);
            }
            is_read
        }

        /// Writes as many bytes as fit, and returns their number. A write that is short enough is atomic: 4 KiB on
        /// Linux, 512 bytes elsewhere.
        pub(in super::super) fn write_at_once(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match rustix::io::write(&self.sender, bytes) {
                Err(Errno::AGAIN | Errno::INTR) => Ok(0),
                outcome => outcome.map_err(io::Error::from),
            }
        }

        /// Waits until the other side has read everything, or will read nothing more.
        pub(in super::super) async fn was_read(&mut self) {
            if self.is_read() {
                return;
            }
            self.resize(SMALL);
            loop {
                self.forget_readiness();
                if self.unread() <= LEFT_BEHIND || self.is_orphaned() {
                    return;
                }
                self.ready_again().await;
            }
        }

        pub(in super::super) async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            loop {
                self.forget_readiness();
                match rustix::io::write(&self.sender, bytes) {
                    Err(Errno::AGAIN) => self.ready_again().await,
                    Err(Errno::INTR) => {}
                    outcome => return outcome.map_err(io::Error::from),
                }
            }
        }

        /// Clears the readiness, so that the next event triggers another check.
        fn forget_readiness(&self) {
            let _ = self.sender.try_io(|| Err::<(), _>(io::ErrorKind::WouldBlock.into()));
        }

        async fn ready_again(&self) {
            let _ = timeout(LOOK_AGAIN, self.sender.writable()).await;
        }

        /// Returns the number of bytes that were not read, if no reader is left.
        pub(in super::super) fn lost(&self) -> Option<u64> {
            self.is_orphaned().then(|| self.unread())
        }

        fn unread(&self) -> u64 {
            ioctl_fionread(self.sender.as_fd()).unwrap_or_default()
        }

        fn is_orphaned(&self) -> bool {
            let mut polled = [PollFd::new(&self.sender, PollFlags::empty())];
            let asked = poll(&mut polled, Some(&Timespec::default()));
            asked.is_ok() && polled.iter().any(|pipe| pipe.revents().contains(PollFlags::ERR))
        }
    }
}

#[cfg(not(unix))]
mod system {
    use super::*;

    /// A pipe on Windows, which does not report how much was read.
    pub(crate) struct Pipe(ChildStdin);

    impl Pipe {
        pub(in super::super) fn new(stdin: ChildStdin) -> io::Result<Self> {
            Ok(Self(stdin))
        }

        pub(in super::super) fn make_room(&mut self, _length: usize) {}

        pub(in super::super) fn is_read(&mut self) -> bool {
            true
        }

        pub(in super::super) fn write_at_once(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            Ok(0)
        }

        pub(in super::super) async fn was_read(&mut self) {}

        pub(in super::super) async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let written = self.0.write(bytes).await?;
            self.0.flush().await?;
            Ok(written)
        }

        pub(in super::super) fn lost(&self) -> Option<u64> {
            None
        }
    }
}

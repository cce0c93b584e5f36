//! The destination of messages: the pipe to a child's stdin, including how much of it was read, or any stream.
//!
//! A pipe of the usual size holds hundreds of requests, and a server buffers what it reads at once. All of them may
//! then run, although their callers gave up long ago. Thus the next message is written only after the previous one was
//! read.

use std::io;

use futures_util::future::BoxFuture;
use tokio::io::AsyncWrite;
use tokio::process::ChildStdin;

/// The destination of messages.
pub(crate) struct Sink {
    pub(in crate::rpc) stream: Box<dyn AsyncWrite + Send + Unpin>,
    /// Reports how much of the written data was read, if the system can.
    pub(in crate::rpc) reading: Option<Box<dyn Reading>>,
}

impl Sink {
    /// Creates a destination that does not report how much was read.
    pub(crate) fn stream(stream: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        Self { stream: Box::new(stream), reading: None }
    }

    pub(crate) fn child(stdin: ChildStdin) -> io::Result<Self> {
        #[cfg(unix)]
        let reading: Option<Box<dyn Reading>> = Some(Box::new(unix::Pipe::of(&stdin)?));
        #[cfg(not(unix))]
        let reading = None;
        Ok(Self { stream: Box::new(stdin), reading })
    }
}

/// Reports how much of the written data the other side has read.
pub(crate) trait Reading: Send {
    /// Waits until the other side has read everything, or will read nothing more, and prepares for a message of this
    /// length. Cancel safe.
    fn was_read(&mut self, length: usize) -> BoxFuture<'_, ()>;

    /// Returns the number of bytes that were not read, if no reader is left.
    fn lost(&self) -> Option<u64>;
}

#[cfg(unix)]
mod unix {
    use std::os::fd::AsFd;
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::ioctl_fionread;
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

    /// Another descriptor of the pipe to a child's stdin.
    pub(super) struct Pipe {
        descriptor: Sender,
        size: usize,
    }

    impl Pipe {
        pub(super) fn of(pipe: &impl AsFd) -> io::Result<Self> {
            let descriptor = pipe.as_fd().try_clone_to_owned()?;
            Ok(Self { descriptor: Sender::from_owned_fd(descriptor)?, size: LARGE })
        }

        fn resize(&mut self, size: usize) {
            if size != self.size {
                self.size = size;
                // If the system refuses, the pipe is polled every few milliseconds.
                #[cfg(target_os = "linux")]
                let _ = rustix::pipe::fcntl_setpipe_size(&self.descriptor, size);
            }
        }

        fn unread(&self) -> u64 {
            ioctl_fionread(&self.descriptor).unwrap_or_default()
        }

        fn is_orphaned(&self) -> bool {
            let mut polled = [PollFd::new(&self.descriptor, PollFlags::empty())];
            let outcome = poll(&mut polled, Some(&Timespec::default()));
            outcome.is_ok() && polled.iter().any(|pipe| pipe.revents().contains(PollFlags::ERR))
        }
    }

    impl Reading for Pipe {
        fn was_read(&mut self, length: usize) -> BoxFuture<'_, ()> {
            Box::pin(async move {
                if self.unread() <= LEFT_BEHIND {
                    return self.resize(LARGE);
                }
                self.resize(SMALL);
                loop {
                    // The readiness is cleared, so that the next event triggers another check.
                    let _ = self.descriptor.try_io(|| Err::<(), _>(io::ErrorKind::WouldBlock.into()));
                    if self.unread() <= LEFT_BEHIND || self.is_orphaned() {
                        break;
                    }
                    let _ = timeout(LOOK_AGAIN, self.descriptor.writable()).await;
                }
                if length > SMALL {
                    self.resize(LARGE);
                }
            })
        }

        fn lost(&self) -> Option<u64> {
            self.is_orphaned().then(|| self.unread())
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::io::{Read, Write, pipe};

    use futures_util::FutureExt;
    use rustix::pipe::fcntl_getpipe_size;

    use super::unix::Pipe;
    use super::*;

    #[tokio::test]
    async fn message_waits_in_a_small_pipe_until_the_previous_one_was_read() {
        for (length, expected) in [(4096, 4096), (4097, 65536)] {
            let (mut reader, mut writer) = pipe().expect("a pipe");
            let mut ours = Pipe::of(&writer).expect("a pipe");
            let size = || fcntl_getpipe_size(&reader).expect("a size");
            writer.write_all(b"{}\n").expect("there is room");
            let mut waiting = ours.was_read(length);
            assert!((&mut waiting).now_or_never().is_none());
            assert_eq!(size(), 4096);
            // The line's end stays behind.
            (&reader).read_exact(&mut [0; 2]).expect("it is there");
            waiting.await;
            assert_eq!(size(), expected);
            ours.was_read(1).now_or_never().expect("nothing is to be read");
            assert_eq!(size(), 65536);
            reader.read_exact(&mut [0]).expect("it is there");
        }
    }

    #[tokio::test]
    async fn unread_bytes_are_lost_once_no_reader_is_left() {
        let (reader, mut writer) = pipe().expect("a pipe");
        let mut ours = Pipe::of(&writer).expect("a pipe");
        writer.write_all(b"{}\n").expect("there is room");
        assert_eq!(ours.lost(), None);
        drop(reader);
        assert_eq!(ours.lost(), Some(3));
        ours.was_read(1).now_or_never().expect("nothing more is read");
    }
}

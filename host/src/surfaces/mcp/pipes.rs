//! Standard input and output as a client of MCP gives them: pipes or sockets, which are waited for like any connection.
//! The library's own way gives each a thread that sleeps in the system, and a call would wait for three of those to wake.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream as Blocking;

use rustix::fs::{FileType, Stat, fstat};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// Where a client is read from.
pub(super) type Input = Box<dyn AsyncRead + Unpin + Send>;
/// Where it is written to.
pub(super) type Output = Box<dyn AsyncWrite + Unpin + Send>;

/// Standard input and output; what is neither pipe nor socket, such as a file or a terminal, has its thread.
pub(super) fn standard() -> (Input, Output) {
    let (input, output) = (io::stdin(), io::stdout());
    let input = input_of(input.as_fd()).unwrap_or_else(|| Box::new(tokio::io::stdin()));
    let output = output_of(output.as_fd()).unwrap_or_else(|| Box::new(tokio::io::stdout()));
    (input, output)
}

fn input_of(fd: BorrowedFd<'_>) -> Option<Input> {
    let kind = type_of(fd)?;
    if kind == FileType::Fifo {
        return Some(Box::new(
            pipe::OpenOptions::new().open_receiver(again("0")).ok()?,
        ));
    }
    if kind != FileType::Socket {
        return None;
    }
    Some(Box::new(socket(fd)?))
}

fn output_of(fd: BorrowedFd<'_>) -> Option<Output> {
    let kind = type_of(fd)?;
    if kind == FileType::Fifo {
        return Some(Box::new(
            pipe::OpenOptions::new().open_sender(again("1")).ok()?,
        ));
    }
    if kind != FileType::Socket {
        return None;
    }
    Some(Box::new(socket(fd)?))
}

/// The same pipe, opened once more: whoever shares the first opening with us must not find that it no longer waits.
fn again(number: &str) -> String {
    format!("/proc/self/fd/{number}")
}

/// A socket cannot be opened twice, so it no longer waits for anybody; not where what we log goes the same way, since a
/// line that is not taken at once would be lost.
fn socket(fd: BorrowedFd<'_>) -> Option<UnixStream> {
    let is_logged_to = is_same(fstat(fd).ok()?, fstat(io::stderr()).ok()?);
    if is_logged_to {
        return None;
    }
    let socket = Blocking::from(fd.try_clone_to_owned().ok()?);
    socket.set_nonblocking(true).ok()?;
    UnixStream::from_std(socket).ok()
}

fn type_of(fd: BorrowedFd<'_>) -> Option<FileType> {
    Some(FileType::from_raw_mode(fstat(fd).ok()?.st_mode))
}

fn is_same(one: Stat, other: Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

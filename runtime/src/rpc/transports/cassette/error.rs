//! Errors of cassettes, and of requests to them.

use std::path::PathBuf;

use super::Difference;

/// Why a cassette cannot be used, or has no answer to a request.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CassetteError {
    /// The file cannot be read.
    #[error("failed to read the cassette `{}`: {message}; was it recorded?", .path.display())]
    #[non_exhaustive]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// The file cannot be written.
    #[error("failed to write the cassette `{}`: {message}", .path.display())]
    #[non_exhaustive]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// A line is not valid in a cassette.
    #[error("{}:{line}: invalid cassette line: {message}; record it again", .path.display())]
    #[non_exhaustive]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1 on.
        line: usize,
        /// The fault.
        message: String,
    },
    /// The end of the file is missing.
    #[error("the cassette `{}` is truncated: {message}; record it again", .path.display())]
    #[non_exhaustive]
    Truncated {
        /// The file.
        path: PathBuf,
        /// How that shows.
        message: String,
    },
    /// The file is of a later version.
    #[error(
        "the cassette `{}` has format {format}, and this version of mcp-bindgen reads {known}; update mcp-bindgen, or \
         record it again",
        .path.display()
    )]
    #[non_exhaustive]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: u64,
        /// The newest format that can be read.
        known: u64,
    },
    /// The cassette is another server's.
    #[error("the cassette `{}` was recorded with server `{recorded}`, not `{server}`", .path.display())]
    #[non_exhaustive]
    OtherServer {
        /// The file.
        path: PathBuf,
        /// The recorded server.
        recorded: String,
        /// The server to replay.
        server: String,
    },
    /// Nothing like the request was recorded, or not so often.
    #[error("the cassette `{}` has no response to {request}: {message}; record it again", .path.display())]
    #[non_exhaustive]
    NotRecorded {
        /// The file.
        path: PathBuf,
        /// The request.
        request: String,
        /// The recorded error.
        message: String,
    },
    /// The request was recorded with other parameters.
    #[error("the cassette `{}` has {request} with other parameters: {}; record it again if this is intended", .path.display(), listed(.differences))]
    #[non_exhaustive]
    Changed {
        /// The file.
        path: PathBuf,
        /// The request.
        request: String,
        /// The differences from the most similar recorded one; the first few.
        differences: Vec<Difference>,
    },
}

fn listed(differences: &[Difference]) -> String {
    differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

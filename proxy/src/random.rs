//! Texts that nobody can guess.

use std::fmt::Write;

use ring::rand::{SecureRandom, SystemRandom};

const BYTES: usize = 16;

/// A text that nobody can guess, and that is never given twice; none if the system has no random numbers.
pub(crate) fn random_id(random: &SystemRandom) -> Option<String> {
    let mut bytes = [0; BYTES];
    random.fill(&mut bytes).ok()?;
    Some(bytes.iter().fold(String::with_capacity(2 * BYTES), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

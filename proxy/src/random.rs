//! Texts that nobody can guess.

use ring::rand::{SecureRandom, SystemRandom};

/// A text that nobody can guess, and that is never given twice; none if the system has no random numbers.
pub(crate) fn random_id() -> Option<String> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(format!("{:032x}", u128::from_be_bytes(bytes)))
}

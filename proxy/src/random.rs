//! Unguessable texts.

use ring::rand::{SecureRandom, SystemRandom};

/// Returns an unguessable text that is never repeated, or `None` if the system has no random numbers.
pub(crate) fn random_id() -> Option<String> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(format!("{:032x}", u128::from_be_bytes(bytes)))
}

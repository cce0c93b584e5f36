//! Canonical JSON: equal values have equal texts and digests. SHA-256 (FIPS 180-4) is implemented here, because a crate
//! for it would add six dependencies to every program.

use serde_core::{Serialize, Serializer};
use serde_json::{Map, Value};

/// Formats a value as JSON with sorted keys and without spaces.
///
/// ```
/// let value = serde_json::json!({ "b": [1, 2], "a": null });
/// assert_eq!(mcp_bindgen_model::canonical_json(&value), r#"{"a":null,"b":[1,2]}"#);
/// ```
pub fn canonical_json(value: &Value) -> String {
    print(&Sorted(value))
}

/// Formats an object as [`canonical_json`] does.
pub fn canonical_object(object: &Map<String, Value>) -> String {
    print(&SortedObject(object))
}

fn print(sorted: &impl Serialize) -> String {
    // It cannot fail: all keys are strings.
    serde_json::to_string(sorted).unwrap_or_default()
}

struct Sorted<'v>(&'v Value);

impl Serialize for Sorted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(items) => serializer.collect_seq(items.iter().map(Sorted)),
            Value::Object(object) => SortedObject(object).serialize(serializer),
            scalar => scalar.serialize(serializer),
        }
    }
}

struct SortedObject<'v>(&'v Map<String, Value>);

impl Serialize for SortedObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members: Vec<_> = self.0.iter().collect();
        members.sort_unstable_by_key(|(key, _)| *key);
        serializer.collect_map(members.into_iter().map(|(key, value)| (key, Sorted(value))))
    }
}

/// Returns the SHA-256, in hexadecimal, of the canonical JSON of a value.
pub fn digest(value: &Value) -> String {
    hex_digest(canonical_json(value).as_bytes())
}

/// Returns the SHA-256 of bytes, in hexadecimal.
#[must_use]
pub fn hex_digest(bytes: &[u8]) -> String {
    sha256(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The first 32 bits of the fractional parts of the square roots of the first 8 primes.
const INITIAL: [u32; 8] =
    [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];
/// The same of the cube roots of the first 64 primes.
const ROUNDS: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98,
    0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8,
    0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
    0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
    0xc67178f2,
];

/// Returns the SHA-256 digest of `bytes`.
#[must_use]
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut state = INITIAL;
    let (blocks, rest) = bytes.as_chunks();
    // The rest, one bit, zeros, and the length in bits as the end of a block.
    let mut last = rest.to_vec();
    last.push(0x80);
    while last.len() % 64 != 56 {
        last.push(0);
    }
    last.extend_from_slice(&(bytes.len() as u64).wrapping_mul(8).to_be_bytes());
    for block in blocks.iter().chain(last.as_chunks().0) {
        compress(&mut state, block);
    }
    let mut digest = [0; 32];
    for (bytes, word) in digest.as_chunks_mut().0.iter_mut().zip(&state) {
        *bytes = word.to_be_bytes();
    }
    digest
}

fn compress(state: &mut [u32; 8], block: &[u8; 64]) {
    let mut words = [0_u32; 16];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for constant in &ROUNDS {
        let sum = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = (e & f) ^ (!e & g);
        let first = h.wrapping_add(sum).wrapping_add(choice).wrapping_add(*constant).wrapping_add(words[0]);
        let sum = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let majority = (a & b) ^ (a & c) ^ (b & c);
        (h, g, f, e) = (g, f, e, d.wrapping_add(first));
        (d, c, b, a) = (c, b, a, first.wrapping_add(sum).wrapping_add(majority));
        // The word of the round after the next fifteen takes the place of this one.
        let (early, late) = (words[1], words[14]);
        let early = early.rotate_right(7) ^ early.rotate_right(18) ^ (early >> 3);
        let late = late.rotate_right(17) ^ late.rotate_right(19) ^ (late >> 10);
        let next = words[0].wrapping_add(early).wrapping_add(words[9]).wrapping_add(late);
        words.copy_within(1.., 0);
        words[15] = next;
    }
    for (total, word) in state.iter_mut().zip(&[a, b, c, d, e, f, g, h]) {
        *total = total.wrapping_add(*word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hexadecimal(bytes: &[u8]) -> String {
        sha256(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn digests_match_the_standard() {
        let million = vec![b'a'; 1_000_000];
        let cases: [(&[u8], &str); 4] = [
            (b"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            (b"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
            (&million, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(hexadecimal(bytes), expected, "{} bytes", bytes.len());
        }
    }

    /// The digests for each length around the end of a block, hashed together. The expected value is from Python's
    /// hashlib.
    #[test]
    fn every_length_of_the_last_block_is_padded_correctly() {
        let digests: Vec<u8> = (0_u8..200).flat_map(|length| sha256(&vec![length; length.into()])).collect();
        assert_eq!(hexadecimal(&digests), "6f979b0f53f1f6efc88ce8829b3e9c0d7711e102a3cfe31394c5d6c3232047ad");
    }
}

//! Random numbers that are the same everywhere.

/// The seed of random tests: `PROPTEST_RNG_SEED`, which proptest reads too, and `.cargo/config.toml` sets.
#[must_use]
pub fn seed() -> u64 {
    from_environment("PROPTEST_RNG_SEED").unwrap_or(1)
}

/// Returns a number from a variable of the environment.
#[must_use]
pub fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// A small generator (splitmix64): the same seed gives the same numbers on every machine.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator that starts from a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`; 0 where that is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        let number = usize::try_from(self.next_u64() >> 33).unwrap_or(usize::MAX);
        number.checked_rem(limit).unwrap_or_default()
    }

    /// True in one of so many cases.
    pub fn one_in(&mut self, cases: usize) -> bool {
        self.below(cases) == 0
    }

    /// One of the items; `None` where there is none.
    pub fn pick<'i, T>(&mut self, items: &'i [T]) -> Option<&'i T> {
        items.get(self.below(items.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A failure of the test command repeats; other seeds are `.ci/seeds`.
    #[test]
    fn random_tests_have_a_fixed_seed() {
        let config = proptest::test_runner::Config::default();
        assert_eq!(config.rng_seed, proptest::test_runner::RngSeed::Fixed(seed()), "run by cargo, in this repository");
        assert_eq!(config.failure_persistence, None);
    }

    #[test]
    fn seed_determines_the_random_numbers() {
        let mut random = Random::new(1);
        assert_eq!([0; 4].map(|_| random.below(1000)), [718, 128, 535, 152]);
        assert_eq!(random.below(0), 0);
        assert_eq!(random.pick::<u8>(&[]), None);
    }
}

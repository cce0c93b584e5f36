use super::{Conjunction, both};

/// One way to be an array.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ArrayAlternative {
    pub(super) prefix: Vec<Conjunction>,
    /// The items after the prefix; `None` where there can be none.
    pub(super) rest: Rest,
    pub(super) least: u64,
    pub(super) most: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Rest {
    Closed,
    Of(Conjunction),
}

impl Default for Rest {
    fn default() -> Self {
        Self::Of(Conjunction::new())
    }
}

impl ArrayAlternative {
    pub(super) fn is_open(&self) -> bool {
        *self == Self::default()
    }

    fn item(&self, index: usize) -> Option<&Conjunction> {
        match (self.prefix.get(index), &self.rest) {
            (Some(item), _) => Some(item),
            (None, Rest::Of(item)) => Some(item),
            (None, Rest::Closed) => None,
        }
    }

    pub(super) fn intersection(&self, other: &Self) -> Option<Self> {
        let length = self.prefix.len().max(other.prefix.len());
        let prefix: Vec<_> = (0..length).map_while(|index| Some(both(self.item(index)?, other.item(index)?))).collect();
        let rest = match (&self.rest, &other.rest) {
            (Rest::Of(left), Rest::Of(right)) if prefix.len() == length => Rest::Of(both(left, right)),
            _ => Rest::Closed,
        };
        let least = self.least.max(other.least);
        let most = self.most.into_iter().chain(other.most).min();
        let longest = if rest == Rest::Closed { u64::try_from(prefix.len()).ok() } else { None };
        let fits = most.into_iter().chain(longest).all(|most| least <= most);
        fits.then_some(Self { prefix, rest, least, most })
    }

    /// How much there is to compare or to copy.
    pub(super) fn weight(&self) -> usize {
        let rest = if let Rest::Of(rest) = &self.rest { rest.len() } else { 0 };
        1 + rest + self.prefix.iter().map(|item| 1 + item.len()).sum::<usize>()
    }

    /// The length, where there is only one.
    pub(super) fn fixed_length(&self) -> Option<usize> {
        let prefix = u64::try_from(self.prefix.len()).ok()?;
        let most = match (&self.rest, self.most) {
            (Rest::Closed, most) => most.map_or(prefix, |most| most.min(prefix)),
            (Rest::Of(_), most) => most?,
        };
        (most == self.least && most == prefix && prefix > 0).then_some(self.prefix.len())
    }
}

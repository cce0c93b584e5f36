//! Limits for the tools of one request together.

use mcp_bindgen_schema::provider::Load;

use crate::Provider;

/// How many tools a request may declare. OpenAI documents 128 for Chat Completions, Google 512 for `generateContent`; the
/// others document none that a list without deferral reaches.
pub(crate) fn tools_at_most(provider: Provider) -> Option<usize> {
    match provider {
        Provider::OpenAiChat => Some(128),
        Provider::Gemini => Some(512),
        Provider::OpenAiResponses | Provider::Anthropic => None,
    }
}

/// How long a description may be, in characters. Chat Completions refuses longer ones, which OpenAI documents nowhere.
pub(crate) fn description_at_most(provider: Provider) -> Option<usize> {
    match provider {
        Provider::OpenAiChat => Some(1024),
        Provider::OpenAiResponses | Provider::Anthropic | Provider::Gemini => None,
    }
}

/// The room for strict tools in a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    tools: usize,
    optional: usize,
    unions: usize,
}

impl Room {
    /// That of an empty request. Anthropic refuses more than 20 strict tools, 24 optional parameters and 16 parameters of
    /// several types over all strict schemas of a request as too complex (its documentation of structured outputs).
    pub(crate) fn of(provider: Provider) -> Self {
        let (tools, optional, unions) = match provider {
            Provider::Anthropic => (20, 24, 16),
            Provider::OpenAiChat | Provider::OpenAiResponses | Provider::Gemini => (usize::MAX, usize::MAX, usize::MAX),
        };
        Self { tools, optional, unions }
    }

    /// Takes what a strict tool needs.
    ///
    /// # Errors
    /// Where there is not as much: why; nothing is taken then.
    pub(crate) fn take(&mut self, load: Load) -> Result<(), String> {
        let short = |what: &str, wanted: usize, left: usize| {
            format!(
                "it has {wanted} {what}, and the strict tools before it leave room for {left}; a subset may have more"
            )
        };
        if self.tools == 0 {
            return Err("the request has all the strict tools that it may have; a subset has fewer tools".to_owned());
        }
        if load.optional > self.optional {
            return Err(short("optional parameters", load.optional, self.optional));
        }
        if load.unions > self.unions {
            return Err(short("parameters of several types", load.unions, self.unions));
        }
        self.tools -= 1;
        self.optional -= load.optional;
        self.unions -= load.unions;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(optional: usize, unions: usize) -> Load {
        let mut load = Load::default();
        (load.optional, load.unions) = (optional, unions);
        load
    }

    #[test]
    fn anthropic_has_room_for_so_much() {
        let mut room = Room::of(Provider::Anthropic);
        assert!(room.take(load(25, 0)).unwrap_err().contains("25 optional"));
        assert_eq!(room.take(load(20, 16)), Ok(()));
        assert!(room.take(load(0, 1)).unwrap_err().contains("leave room for 0"));
        assert!(room.take(load(5, 0)).unwrap_err().contains("leave room for 4"));
        assert_eq!(room.take(load(4, 0)), Ok(()));
        for _ in 0..18 {
            assert_eq!(room.take(load(0, 0)), Ok(()));
        }
        assert!(room.take(load(0, 0)).is_err());
    }

    #[test]
    fn the_others_count_each_tool_alone() {
        let mut room = Room::of(Provider::OpenAiChat);
        assert!((0..1000).all(|_| room.take(load(100, 100)).is_ok()));
    }
}

//! Limits for the tools of one request together.

use mcp_bindgen_schema::provider::Load;

use crate::Provider;

/// The room for strict tools in a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    tools: usize,
    optional: usize,
    unions: usize,
}

impl Room {
    /// That of an empty request.
    pub(crate) fn of(provider: Provider) -> Self {
        let (tools, optional, unions) = provider.format().strict_at_most;
        Self { tools, optional, unions }
    }

    /// Takes what a strict tool needs.
    ///
    /// # Errors
    /// Fails if there is not as much: why; nothing is taken then.
    pub(crate) fn take(&mut self, load: Load) -> Result<(), String> {
        let short = |what: &str, wanted: usize, left: usize| {
            format!("it has {wanted} {what}, and the earlier strict tools leave room for {left}; use a subset")
        };
        if self.tools == 0 {
            return Err("the request already has the maximum number of strict tools; use a subset".to_owned());
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

//! Providers that search a long list themselves.

use serde_json::Value;

use crate::provider::Provider;

/// The same definitions for the provider's own search; none where it has none.
pub(super) fn searched_by(
    provider: Provider,
    mut definitions: Vec<Value>,
    is_pinned: impl Fn(&str) -> bool,
) -> Option<Vec<Value>> {
    let search = provider.format().search?;
    for definition in definitions.iter_mut().filter_map(Value::as_object_mut) {
        if definition.get("name").and_then(Value::as_str).is_some_and(|name| !is_pinned(name)) {
            definition.insert("defer_loading".to_owned(), true.into());
            // Anthropic refuses both at once.
            definition.remove("cache_control");
        }
    }
    definitions.insert(0, search());
    Some(definitions)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_but_the_pinned_are_deferred_where_the_provider_searches() {
        let definitions = vec![json!({"name": "a"}), json!({"name": "b", "cache_control": {"type": "ephemeral"}})];
        let searched = |provider| searched_by(provider, definitions.clone(), |name| name == "a");
        let anthropic = searched(Provider::Anthropic).expect("it searches");
        assert_eq!(anthropic[1..], [json!({"name": "a"}), json!({"name": "b", "defer_loading": true})]);
        assert_eq!(anthropic[0]["type"], "tool_search_tool_bm25_20251119");
        let openai = searched(Provider::OpenAiResponses).expect("it searches");
        assert_eq!(openai[0], json!({"type": "tool_search"}));
        assert_eq!(openai[2]["defer_loading"], true);
        assert!(searched(Provider::OpenAiChat).is_none() && searched(Provider::Gemini).is_none());
    }
}

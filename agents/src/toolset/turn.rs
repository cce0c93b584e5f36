//! All calls of one reply of a model.

use std::collections::BTreeMap;

use futures_util::future::{BoxFuture, join};
use futures_util::stream::{self, StreamExt};
use mcp_bindgen_runtime::ToolReply;

use super::words::unfinished;
use super::{Entry, Toolset};
use crate::provider::{Answers, ModelCall};

/// How many calls of a turn are under way at once.
const MOST_AT_ONCE: usize = 16;

impl Toolset {
    /// Makes the calls of one turn, as returned by [`Provider::calls`](crate::Provider::calls), and answers each, in
    /// the order of the calls. Append [`Answers::results`] to the conversation.
    ///
    /// - Calls of read-only tools run concurrently, up to 16 at once. Calls of one idempotent tool run one after
    ///   another, but concurrently with other tools, so that the last one determines the outcome. All other calls run
    ///   one after another in order, across all servers, because a later call may depend on an earlier one.
    /// - A failed call does not stop later ones.
    /// - A call with the same id, name and arguments as an earlier one is the same call: it is made once, and both
    ///   get its answer. A call with the same id only is separate.
    /// - [Unfinished](ModelCall::is_unfinished) calls are not made.
    ///
    /// Dropping the future cancels the pending calls; the others are never made.
    ///
    /// ```
    /// use mcp_bindgen_agents::{Provider, Toolset};
    /// use serde_json::Value;
    ///
    /// /// The conversation after the reply.
    /// async fn answer(toolset: &Toolset, conversation: &mut Vec<Value>, reply: &Value) {
    ///     let calls = Provider::Anthropic.calls(reply);
    ///     conversation.extend(toolset.turn(calls).await.results(Provider::Anthropic));
    /// }
    /// ```
    pub async fn turn(&self, calls: Vec<ModelCall>) -> Answers {
        let order = |call: &ModelCall| self.entry(&call.name).map_or(Order::Any, |entry| Order::of(entry));
        turn(&calls, order, |call| Box::pin(self.dispatch(&call.name, call.arguments.clone()))).await
    }
}

/// The calls that a call must not overtake, according to its annotations.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Order {
    /// None.
    Any,
    /// Those of the same tool, by its public name.
    OfTool(String),
    /// All for which an order holds.
    OfAll,
}

impl Order {
    pub(super) fn of(entry: &Entry) -> Self {
        match (entry.annotations.read_only, entry.annotations.idempotent) {
            (Some(true), _) => Self::Any,
            (_, Some(true)) => Self::OfTool(entry.public.clone()),
            _ => Self::OfAll,
        }
    }
}

/// Carries out calls, some of them one after another.
pub(super) async fn turn<'t>(
    calls: &'t [ModelCall],
    order_of: impl Fn(&ModelCall) -> Order,
    carry_out: impl Fn(&'t ModelCall) -> BoxFuture<'t, ToolReply>,
) -> Answers {
    let begin = |place: usize, call: &'t ModelCall| -> BoxFuture<'t, (usize, ToolReply)> {
        if call.is_unfinished {
            return Box::pin(async move { (place, ToolReply::failure(unfinished(&call.name))) });
        }
        let carried_out = carry_out(call);
        Box::pin(async move { (place, carried_out.await) })
    };
    // The first of the calls that each is the same as.
    let first: Vec<usize> = calls
        .iter()
        .enumerate()
        .map(|(place, call)| {
            let same = |other: &ModelCall| !call.id.is_empty() && other == call;
            calls.iter().take(place).position(same).unwrap_or(place)
        })
        .collect();
    // Calls of one lane are made one after another. A call that may overtake all others has a lane of its own.
    let mut lanes: BTreeMap<(Order, usize), Vec<_>> = BTreeMap::new();
    for (place, call) in calls.iter().enumerate().filter(|(place, _)| first.get(*place) == Some(place)) {
        let order = if call.is_unfinished { Order::Any } else { order_of(call) };
        let number = if order == Order::Any { place } else { 0 };
        lanes.entry((order, number)).or_default().push(begin(place, call));
    }
    let ordered = lanes.remove(&(Order::OfAll, 0)).unwrap_or_default();
    let others = stream::iter(lanes.into_values()).map(one_by_one).buffer_unordered(MOST_AT_ONCE).collect::<Vec<_>>();
    let (mut replies, more) = join(one_by_one(ordered), others).await;
    replies.extend(more.into_iter().flatten());
    let reply_of = |place: &usize| replies.iter().find(|(of, _)| of == place).map(|(_, reply)| reply.clone());
    let answered = calls.iter().zip(&first).filter_map(|(call, first)| Some(call.answered(reply_of(first)?)));
    answered.collect()
}

async fn one_by_one<T>(futures: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    let mut done = Vec::with_capacity(futures.len());
    for future in futures {
        done.push(future.await);
    }
    done
}

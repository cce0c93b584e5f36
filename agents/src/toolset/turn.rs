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
    /// Carries out the calls of one turn, as [`Provider::calls`](crate::Provider::calls) finds them, and answers each, in
    /// the order in which they were asked for. [`Answers::results`] is what to append to the conversation.
    ///
    /// - Calls of tools that say that they are read-only go on side by side, 16 at once. Of a tool that says that it is
    ///   idempotent one call goes after another, beside those of other tools: what was asked for last is what remains. All
    ///   others go one after another, in the order in which they were asked for, over all servers: a model may mean the
    ///   second to come upon what the first has done, wherever that is.
    /// - A call that fails does not hold up those after it.
    /// - A call that repeats id, name and arguments of an earlier one is the same call: it is carried out once, and has the
    ///   same answer. One that shares the id alone is a call of its own.
    /// - A call that is [unfinished](ModelCall::is_unfinished) is not carried out.
    ///
    /// Dropping the future cancels the calls that are under way; those that have not begun never do.
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

/// Which calls a call must not overtake, as far as anybody has said.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    let (mut ordered, mut others) = (Vec::new(), Vec::new());
    let mut of_tools: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for (place, call) in calls.iter().enumerate().filter(|(place, _)| first.get(*place) == Some(place)) {
        let list = match order_of(call) {
            Order::OfAll if !call.is_unfinished => &mut ordered,
            Order::OfTool(tool) if !call.is_unfinished => of_tools.entry(tool).or_default(),
            _ => {
                others.push(vec![begin(place, call)]);
                continue;
            }
        };
        list.push(begin(place, call));
    }
    others.extend(of_tools.into_values());
    let side_by_side = stream::iter(others).map(one_by_one).buffer_unordered(MOST_AT_ONCE).collect::<Vec<_>>();
    let (mut replies, more) = join(one_by_one(ordered), side_by_side).await;
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

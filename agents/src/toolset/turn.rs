//! All calls of one reply of a model.

use futures_util::future::{BoxFuture, join};
use futures_util::stream::{self, StreamExt};
use mcp_runtime::ToolReply;

use super::words::unfinished;
use super::{Entry, Toolset};
use crate::provider::{Answers, ModelCall};

/// How many calls of a turn are under way at once.
const MOST_AT_ONCE: usize = 16;

impl Toolset {
    /// Carries out the calls of one turn, as [`Provider::calls`](crate::Provider::calls) finds them, and answers each, in
    /// the order in which they were asked for. [`Answers::results`] is what to append to the conversation.
    ///
    /// - Calls of tools that say that they are read-only or idempotent go on side by side, 16 at once. All others go one
    ///   after another, in the order in which they were asked for, over all servers: a model may mean the second to come
    ///   upon what the first has done, wherever that is.
    /// - A call that fails does not hold up those after it.
    /// - A call that repeats id, name and arguments of an earlier one is the same call: it is carried out once, and has the
    ///   same answer. One that shares the id alone is a call of its own.
    /// - The call in whose midst the reply was cut is not carried out.
    ///
    /// Dropping the future cancels the calls that are under way; those that have not begun never do.
    pub async fn turn(&self, calls: Vec<ModelCall>) -> Answers {
        let is_ordered = |call: &ModelCall| self.entry(&call.name).is_some_and(|entry| is_in_order(entry));
        turn(&calls, is_ordered, |call| Box::pin(self.dispatch(&call.name, call.arguments.clone()))).await
    }
}

/// Whether calls of a tool must not overtake each other, as far as anybody has said.
pub(super) fn is_in_order(entry: &Entry) -> bool {
    entry.annotations.read_only != Some(true) && entry.annotations.idempotent != Some(true)
}

/// Carries out calls, some of them one after another.
pub(super) async fn turn<'t>(
    calls: &'t [ModelCall],
    is_ordered: impl Fn(&ModelCall) -> bool,
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
    for (place, call) in calls.iter().enumerate().filter(|(place, _)| first.get(*place) == Some(place)) {
        let list = if is_ordered(call) && !call.is_unfinished { &mut ordered } else { &mut others };
        list.push(begin(place, call));
    }
    let one_by_one = stream::iter(ordered).buffered(1).collect::<Vec<_>>();
    let side_by_side = stream::iter(others).buffer_unordered(MOST_AT_ONCE).collect::<Vec<_>>();
    let (mut replies, more) = join(one_by_one, side_by_side).await;
    replies.extend(more);
    let reply_of = |place: &usize| replies.iter().find(|(of, _)| of == place).map(|(_, reply)| reply.clone());
    let answered = calls.iter().zip(&first).filter_map(|(call, first)| Some(call.answered(reply_of(first)?)));
    answered.collect()
}

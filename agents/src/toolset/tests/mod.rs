//! Calls through whole toolsets.

mod corpus;
mod dispatch;
mod find;
mod live;
mod turn;

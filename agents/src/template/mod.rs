//! Templates whose actions call tools, run.

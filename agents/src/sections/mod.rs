//! Prompts of sections, which declare the servers and tools that they need.

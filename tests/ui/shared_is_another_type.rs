mcp_bindgen::mcp_tools!("memory", shared = { Entity = "create_entities/entities/*" });

use memory::{MemoryCreateRelationsParams, MemoryReadGraphOutput};

fn main() {
    let graph: Option<MemoryReadGraphOutput> = None;
    let _ = graph.map(|graph| MemoryCreateRelationsParams::new(graph.entities));
}

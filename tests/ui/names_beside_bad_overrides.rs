// The overrides name a tool that is gone; those of the other tool give it a result.
mcp_bindgen::mcp_tools!("mended");

use mended::{Mended, MendedCreateEntitiesParams, MendedReadGraphOutput};

async fn run(mended: &Mended, params: MendedCreateEntitiesParams) -> Option<MendedReadGraphOutput> {
    let _ = mended.create_entities(params).await;
    let graph = mended.read_graph(Default::default()).await.ok()?;
    println!("{}", graph.entities);
    Some(graph)
}

fn main() {
    drop(run);
}

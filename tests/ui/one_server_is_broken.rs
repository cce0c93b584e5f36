// One snapshot is cut off in the middle of a tool: the program shows this error alone.
mcp_bindgen::mcp_tools!("github", "cut", "memory");

use cut::{Cut, CutAddIssueCommentParams, CutCall, CutCreateIssueOutput, CutCreateIssueParams, cut_add_issue_comment};
use github::{Github, GithubCreateIssueParams};
use mcp_bindgen::{CallTool, Fake, Tool};

struct Report(CutCreateIssueOutput);

impl From<CutCreateIssueOutput> for Report {
    fn from(issue: CutCreateIssueOutput) -> Self {
        Self(issue)
    }
}

fn named<T: Tool>(_: &T) -> &'static str {
    T::NAME
}

async fn file(cut: &Cut<Fake>, by: &impl CallTool) -> Result<Report, Box<dyn std::error::Error>> {
    let params = CutCreateIssueParams { body: Some("It broke".into()), ..CutCreateIssueParams::new("a", "b", "c") };
    println!("{} {}", named(&params), CutCreateIssueParams::NAME);
    let issue = cut.create_issue(params).await?;
    let CutCreateIssueOutput { number, ref labels, .. } = issue;
    for label in labels {
        println!("{number}: {}", label.name.to_uppercase());
    }
    cut_add_issue_comment(by, CutAddIssueCommentParams::new("a", "b", number, "c")).await?;
    match CutCall::parse("create_issue", "{}")? {
        CutCall::CreateIssue(CutCreateIssueParams { owner, .. }) => println!("{owner}"),
        other => println!("{} {}", other.name(), cut::TOOLS.len()),
    }
    Ok(issue.into())
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let github = Github::connect().await?;
    github.create_issue(GithubCreateIssueParams::new("a", "b", "c")).await?;
    println!("{:?}", memory::SERVER);
    let cut = Cut::connect().await?;
    file(&Cut::with(Fake::new()), cut.client()).await?;
    Ok(())
}

fn main() {
    drop(run());
}

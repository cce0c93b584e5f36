//! Metrics in the text format of Prometheus.

use std::fmt;
use std::time::Duration;

use mcp_bindgen_runtime::events::CallOutcome;
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, IntGauge, Opts, Registry, TextEncoder};

/// Upper bounds of durations, in seconds.
const BUCKETS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0, 120.0];

/// The metrics of a proxy. `None` stands for names that the library does not accept, which a test excludes.
pub(crate) struct Metrics(Option<Registered>);

struct Registered {
    registry: Registry,
    calls: IntCounterVec,
    durations: HistogramVec,
    sessions: IntGauge,
    children: IntGauge,
    requests: IntGauge,
    approvals: IntGauge,
}

/// The current counts of a transport.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) sessions: usize,
    pub(crate) children: usize,
    pub(crate) requests: usize,
    pub(crate) approvals: usize,
}

impl Registered {
    fn new() -> prometheus::Result<Self> {
        let calls = Opts::new("mcp_proxy_calls_total", "Calls of tools by server, tool and outcome");
        let durations = HistogramOpts::new("mcp_proxy_call_duration_seconds", "Duration of calls of tools by server");
        let registered = Self {
            registry: Registry::new(),
            calls: IntCounterVec::new(calls, &["server", "tool", "outcome"])?,
            durations: HistogramVec::new(durations.buckets(BUCKETS.to_vec()), &["server"])?,
            sessions: IntGauge::new("mcp_proxy_sessions", "Open sessions of clients")?,
            children: IntGauge::new("mcp_proxy_children", "Connected child processes")?,
            requests: IntGauge::new("mcp_proxy_requests", "Open requests")?,
            approvals: IntGauge::new("mcp_proxy_approvals", "Approvals that wait for an answer")?,
        };
        let Self { registry, calls, durations, sessions, children, requests, approvals } = &registered;
        registry.register(Box::new(calls.clone()))?;
        registry.register(Box::new(durations.clone()))?;
        [sessions, children, requests, approvals]
            .into_iter()
            .try_for_each(|gauge| registry.register(Box::new(gauge.clone())))?;
        Ok(registered)
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self(Registered::new().ok())
    }
}

impl Metrics {
    pub(super) fn call_ended(&self, server: &str, tool: &str, outcome: CallOutcome, duration: Duration) {
        if let Some(registered) = &self.0 {
            registered.calls.with_label_values(&[server, tool, outcome.as_str()]).inc();
            registered.durations.with_label_values(&[server]).observe(duration.as_secs_f64());
        }
    }

    /// Returns all metrics as text.
    pub(crate) fn text(&self, counts: Counts) -> String {
        let Some(registered) = &self.0 else { return String::new() };
        let gauges = [
            (&registered.sessions, counts.sessions),
            (&registered.children, counts.children),
            (&registered.requests, counts.requests),
            (&registered.approvals, counts.approvals),
        ];
        gauges.into_iter().for_each(|(gauge, count)| gauge.set(i64::try_from(count).unwrap_or(i64::MAX)));
        TextEncoder::new().encode_to_string(&registered.registry.gather()).unwrap_or_default()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_counts_are_in_the_text() {
        let metrics = Metrics::default();
        metrics.call_ended("git", "diff", CallOutcome::Success, Duration::from_millis(3));
        let text = metrics.text(Counts { sessions: 2, ..Counts::default() });
        for line in [
            "# TYPE mcp_proxy_calls_total counter",
            "mcp_proxy_calls_total{outcome=\"success\",server=\"git\",tool=\"diff\"} 1",
            "mcp_proxy_call_duration_seconds_bucket{server=\"git\",le=\"0.0025\"} 0",
            "mcp_proxy_call_duration_seconds_count{server=\"git\"} 1",
            "mcp_proxy_sessions 2",
            "mcp_proxy_children 0",
        ] {
            assert!(text.lines().any(|own| own == line), "{line}: {text}");
        }
    }
}

//! Metrics in the text format of Prometheus.

use std::time::Duration;

use prometheus::{
    HistogramVec, IntCounterVec, IntGauge, Registry, TextEncoder, register_histogram_vec_with_registry,
    register_int_counter_vec_with_registry, register_int_gauge_with_registry,
};

/// Upper bounds of durations, in seconds.
const BUCKETS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0, 120.0];

/// The names of the gauges, with their descriptions.
const GAUGES: [(&str, &str); 4] = [
    ("mcp_proxy_sessions", "Open sessions of clients"),
    ("mcp_proxy_children", "Connected child processes"),
    ("mcp_proxy_requests", "Open requests"),
    ("mcp_proxy_approvals", "Approvals that wait for an answer"),
];

/// The metrics of a proxy. `None` means that the library rejected a name, which a test excludes.
pub(crate) struct Metrics(Option<Registered>);

struct Registered {
    registry: Registry,
    calls: IntCounterVec,
    durations: HistogramVec,
    gauges: Vec<IntGauge>,
}

impl Registered {
    fn new() -> prometheus::Result<Self> {
        let registry = Registry::new();
        Ok(Self {
            calls: register_int_counter_vec_with_registry!(
                "mcp_proxy_calls_total",
                "Calls of tools by server, tool and outcome",
                &["server", "tool", "outcome"],
                &registry
            )?,
            durations: register_histogram_vec_with_registry!(
                "mcp_proxy_call_duration_seconds",
                "Duration of calls of tools by server",
                &["server"],
                BUCKETS.to_vec(),
                &registry
            )?,
            gauges: GAUGES
                .iter()
                .map(|(name, help)| register_int_gauge_with_registry!(*name, *help, &registry))
                .collect::<Result<_, _>>()?,
            registry,
        })
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self(Registered::new().ok())
    }
}

impl Metrics {
    pub(super) fn call_ended(&self, server: &str, tool: &str, outcome: &str, duration: Duration) {
        if let Some(registered) = &self.0 {
            registered.calls.with_label_values(&[server, tool, outcome]).inc();
            registered.durations.with_label_values(&[server]).observe(duration.as_secs_f64());
        }
    }

    /// Returns all metrics as text, with the current counts in the order of [`GAUGES`].
    pub(crate) fn text(&self, counts: [usize; GAUGES.len()]) -> String {
        let Some(registered) = &self.0 else { return String::new() };
        for (gauge, count) in registered.gauges.iter().zip(counts) {
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        TextEncoder::new().encode_to_string(&registered.registry.gather()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_text_contains_calls_and_counts() {
        let metrics = Metrics::default();
        metrics.call_ended("git", "diff", "success", Duration::from_millis(3));
        let text = metrics.text([2, 0, 0, 0]);
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

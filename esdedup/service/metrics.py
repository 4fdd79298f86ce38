"""What the service counts, for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics

# Seconds; from a lookup in memory to the time limit of a page.
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_COUNTS = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
# Else every counter would have a second series, with the time of its first count.
disable_created_metrics()  # type: ignore[no-untyped-call]  # it has no types


class Metrics:
    """Counters of one service; tests run several in a process, so each has its own registry."""

    def __init__(self) -> None:
        own = self.registry = CollectorRegistry()
        self.requests = Counter(
            "esdedup_http_requests_total",
            "Requests answered.",
            ("method", "route", "status"),
            registry=own,
        )
        self.request_seconds = Histogram(
            "esdedup_http_request_seconds",
            "Time to the last byte of an answer.",
            ("route",),
            registry=own,
            buckets=_SECONDS,
        )
        self.articles = Counter(
            "esdedup_articles_total", "Articles decided about, by role.", ("role",), registry=own
        )
        self.outcomes = Counter(
            "esdedup_outcomes_total",
            "What decisions meant for the store.",
            ("status",),
            registry=own,
        )
        self.candidates = Histogram(
            "esdedup_candidates",
            "Stored articles that share enough keys with a new one.",
            registry=own,
            buckets=_COUNTS,
        )
        self.stages = Histogram(
            "esdedup_stage_seconds",
            "Time of the stages of a batch or a question.",
            ("stage",),
            registry=own,
            buckets=_SECONDS,
        )
        self.refused = Counter(
            "esdedup_refused_total", "Requests answered with a problem.", ("reason",), registry=own
        )

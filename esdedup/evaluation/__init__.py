"""Detection quality on labelled sets: sets, protocols, measures, baselines, report, tuning."""

"""Deterministic simulation: every writer of esdedup on a model of the engine, one seed a run."""

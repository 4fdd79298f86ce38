"""Work on an existing store: backfill, changed settings, retention, repair, curation."""

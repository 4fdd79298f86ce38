"""Work on a store that is there: backfill, other settings, retention, repair, curation."""

"""From files and pages to signed documents."""

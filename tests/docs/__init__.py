"""Documentation that is generated, and compared with what is committed."""

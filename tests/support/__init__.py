"""Fixtures, sample articles and helpers of several test folders."""

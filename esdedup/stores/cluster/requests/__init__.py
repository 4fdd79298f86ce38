"""Requests to Elasticsearch and OpenSearch as plain dicts: pure functions, the same for both.

What each engine does with them was measured; the reasons stand beside the choices.
"""

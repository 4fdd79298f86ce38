"""The store on Elasticsearch or OpenSearch."""

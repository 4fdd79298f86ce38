"""The gateway: the REST API of Elasticsearch and OpenSearch, in front of a cluster.

`routes`, `bulk`, `folding`, `jsontext`, `enriching` are pure; `http` and `upstream` speak HTTP;
`tenants` sends our own requests with the caller's credentials; `session` and `session_manager`
detect and reconcile;
`writes`, `reads` and `server` put it together.
"""

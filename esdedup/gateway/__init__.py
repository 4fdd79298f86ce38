"""The gateway: the REST API of Elasticsearch and OpenSearch, in front of a cluster.

`routes`, `bulk`, `bulk_split`, `folding`, `jsontext` and `enriching` are pure functions. `http`
parses messages, `connection`, `clients` and `upstream` hold the connections, `forward` forwards
what is not ours. `tenants` sends our own requests with the credentials of a tenant; `session` and
`session_manager` decide and reconcile. `writes`, `reads` and `server` put it together.
"""

"""The gateway: the REST API of Elasticsearch and OpenSearch, in front of a cluster.

`routes`, `bulk`, `folding`, `jsontext`, `enriching` are pure; `http` and `upstream` speak HTTP;
`callers` makes our own requests in the caller's name; `desks` and `newsroom` detect and settle;
`writes`, `reads` and `server` put it together.
"""

"""The HTTP service: the verbs of the command line over a store, for programs and for the page.

`app.make_app` puts it together, `server.run` runs it. Routes parse, call, respond; whatever decides
lives in the modules that the command line uses as well. One thread writes, a few read with
connections of their own, extraction runs in worker processes (`state`), and the event loop never
waits for any of them.
"""

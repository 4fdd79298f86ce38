"""The HTTP service: the verbs of the command line over a store, for programs and for the page.

`app.make_app` puts it together, `server.run` runs it. Routes parse, call, answer; whatever decides
lives in the modules that the command line uses as well. Reading and writing are kept apart: one
thread writes (`writing`), a few read with connections of their own (`reading`), extraction runs in
worker processes (`preparing`), and the event loop never waits for any of them.
"""

"""An agent in another process: the protocol as JSON lines over its standard input and output.

`child` runs there and needs the standard library alone; `peer` holds the process and speaks with it; `parent` is the
`Agent` that a run sees.
"""

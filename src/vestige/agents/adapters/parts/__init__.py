"""What the adapters share, and what of each would make its file too long; standard library and the system alone.

An adapter is loaded by path, in an environment without Vestige, and so loads these by path too.
"""

"""Defences of an agent's memory: each a wrapper that stands between the agent and whoever talks to it.

`spec` names them and their strengths, `building` puts one around an agent. What a defence buys and what it costs is
measured by `vestige defend`.
"""

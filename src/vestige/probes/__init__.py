"""Probes: the questions put to an agent, and how a reply to each is scored."""

"""Agents under test: the protocol they speak, and the reference agent."""

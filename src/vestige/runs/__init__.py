"""Runs: a frozen plan, the engine that interprets its episodes, and the append-only record of what was seen."""

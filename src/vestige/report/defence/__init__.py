"""The report on defences."""

from vestige.report.defence.lines import defence_lines
from vestige.report.defence.writing import write_defence

__all__ = ["defence_lines", "write_defence"]

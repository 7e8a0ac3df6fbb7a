"""The report of a membership audit."""

from __future__ import annotations

from vestige.report.membership.lines import membership_lines
from vestige.report.membership.writing import MembershipPaths, write_membership

__all__ = ["MembershipPaths", "membership_lines", "write_membership"]

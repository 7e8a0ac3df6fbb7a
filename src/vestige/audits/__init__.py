"""Audits: each writes scripts (plan), scores records and concludes; none of them acts."""

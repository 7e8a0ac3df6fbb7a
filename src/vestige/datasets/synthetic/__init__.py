"""Made-up users, reproducible from a seed: facts told in passing, updates, distractors, and a question each.

The wording lives in `topics/*.toml`; the values are composed by `values`; `grammar` reads the wording,
`compose` writes one user's sessions, `dataset` fixes the mix of question types and makes the data set.
"""

from __future__ import annotations

from vestige.datasets.synthetic.compose import Generated
from vestige.datasets.synthetic.dataset import generate, generate_with_templates

__all__ = ["Generated", "generate", "generate_with_templates"]

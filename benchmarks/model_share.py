"""Which share of a run's wall time is the local model's, and how many calls deduplication saves.

A run of the frontier at temperature 0, one episode at a time, with the time inside the model's `complete` measured.
Run: ``python benchmarks/model_share.py [--model local/qwen2.5-coder-0.5b] [--instances 2]``; the model's file must be
here (`vestige models pull`). Limit: at least 90 % of the wall time is the model's.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

from vestige import studying
from vestige.audits.estimate import estimate
from vestige.models.base import ChatReply, ChatRequest
from vestige.models.cache import CachedModel
from vestige.models.local import LocalModel
from vestige.options import options_from
from vestige.runs.engine import execute
from vestige.runs.folder import RunFolder
from vestige.services import Models

LIMIT = 0.90


async def measure(name: str, instances: int) -> None:
    options = options_from(
        {"data": "synthetic", "model": name, "instances": instances, "k": "1,3,6,10,25", "concurrency": 1}
    )
    planned = studying.make_plan("frontier", options)
    spent = 0.0
    calls = 0
    inner = LocalModel.complete

    async def timed(self: LocalModel, request: ChatRequest) -> ChatReply:
        nonlocal spent, calls
        began = time.perf_counter()
        try:
            return await inner(self, request)
        finally:
            spent += time.perf_counter() - began
            calls += 1

    LocalModel.complete = timed  # type: ignore[method-assign]  # every call is timed, whoever makes it
    with tempfile.TemporaryDirectory() as home:
        folder = RunFolder.create(Path(home) / "run", planned.plan, planned.blobs, resume=False)
        models = Models(planned.plan, cache=folder.path / "responses.sqlite", concurrency=1)
        await models.start()  # loading the model is not part of the share
        began = time.perf_counter()
        summary = await execute(planned.plan, folder, models.services(planned.plan), concurrency=1)
        wall = time.perf_counter() - began
        assert any(isinstance(m, CachedModel) for m in vars(models)["_chat"].values())
        await models.close()
        folder.close()
    naive = estimate(planned.plan, planned.blobs).naive_calls
    print(
        f"{summary.exchanges} exchanges in {wall:.1f} s; {spent:.1f} s of it in the model: {spent / wall:.1%}"
    )
    print(f"{calls} calls made, {naive} if each exchange built its own state: {calls / naive:.2f}")
    if spent / wall < LIMIT:
        raise SystemExit(f"under the limit of {LIMIT:.0%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="local/qwen2.5-coder-0.5b")
    parser.add_argument("--instances", type=int, default=2)
    given = parser.parse_args()
    asyncio.run(measure(given.model, given.instances))


if __name__ == "__main__":
    main()

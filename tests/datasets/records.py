"""Small made-up records in the layout of the public releases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def longmemeval(question_id: str = "q1", **changes: Any) -> dict[str, Any]:
    record: dict[str, Any] = {
        "question_id": question_id,
        "question_type": "single-session-user",
        "question": "What is my parrot called?",
        "answer": "Captain Plum",
        "question_date": "2023/06/05 (Mon) 10:00",
        "haystack_dates": ["2023/06/02 (Fri) 09:15", "2023/06/01 (Thu) 21:40"],
        "haystack_session_ids": ["late", "early"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "Any tips for a talkative parrot?", "has_answer": False},
                {"role": "assistant", "content": "Cover the cage at night.", "has_answer": False},
            ],
            [
                {"role": "user", "content": "Hello, I moved house.", "has_answer": False},
                {"role": "assistant", "content": "Congratulations!", "has_answer": False},
                {"role": "user", "content": "My parrot Captain Plum hates it.", "has_answer": True},
                {"role": "assistant", "content": "Poor bird.", "has_answer": False},
            ],
        ],
        "answer_session_ids": ["early"],
    }
    return record | changes


def without_flags(record: dict[str, Any]) -> dict[str, Any]:
    for session in record["haystack_sessions"]:
        for turn in session:
            turn.pop("has_answer", None)
    return record


def locomo(sample_id: str = "conv-1", **changes: Any) -> dict[str, Any]:
    record: dict[str, Any] = {
        "sample_id": sample_id,
        "conversation": {
            "speaker_a": "Ada",
            "speaker_b": "Ben",
            "session_10_date_time": "4:00 pm on 9 June, 2023",
            "session_10": [
                {"speaker": "Ben", "dia_id": "D10:1", "text": "I adopted a goat."},
                {"speaker": "Ada", "dia_id": "D10:2", "text": "Lovely.", "blip_caption": "a goat on a roof"},
            ],
            "session_2_date_time": "1:56 pm on 8 May, 2023",
            "session_2": [
                {"speaker": "Ada", "dia_id": "D2:1", "text": "I paint windmills."},
                {"speaker": "Ben", "dia_id": "D2:2", "text": "Since when?"},
                {"speaker": "Ada", "dia_id": "D2:3", "text": "Since 2021."},
            ],
            "session_11_date_time": "1:00 pm on 1 July, 2023",
        },
        "qa": [
            {"question": "What does Ada paint?", "answer": "windmills", "evidence": ["D2:1"], "category": 4},
            {"question": "Since when?", "answer": 2021, "evidence": ["D2:1; D2:3"], "category": 2},
            {"question": "What did Ben adopt?", "answer": "a goat", "evidence": ["D:10:1"], "category": 1},
            {
                "question": "What did Ada adopt?",
                "adversarial_answer": "a goat",
                "evidence": ["D10:1"],
                "category": 5,
            },
            {"question": "Why?", "answer": "for the milk", "evidence": ["D"], "category": 3},
        ],
    }
    return record | changes


def written(folder: Path, records: Any, name: str = "data.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(records), encoding="utf-8")
    return path

"""Small made-up records in the layouts that membership units are read from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def locomo(sample_id: str = "conv-1", sessions: int = 4, **changes: Any) -> dict[str, Any]:
    observation: dict[str, Any] = {
        f"session_{number}_observation": {
            "Ada": [[f"Ada paints windmill number {number}.", f"D{number}:1"]],
            "Ben": [[f"Ben milks goat number {number}.", [f"D{number}:2", f"D{number}:3"]]],
        }
        for number in range(sessions, 0, -1)
    }
    return {"sample_id": sample_id, "observation": observation, "conversation": {}, "qa": []} | changes


def perltqa(*names: str) -> dict[str, Any]:
    return {name: character(name) for name in names}


def character(name: str, events: int = 4) -> dict[str, Any]:
    dialogues: dict[str, Any] = {
        f"1_{event}_0#{event * 2 + part}": {
            "events": f"1_{event}_0",
            "contents": {
                "2022-05-12 09:00": [
                    f"{name}: I bought a red kayak number {event}{part} in Bremen.",
                    "Friend: How lovely! Is it fast?",
                ],
                "2022-05-12 10:00": [f"Friend: My brother rents boat {event}{part} near the harbour."],
            },
        }
        for event in range(events)
        for part in range(2)
    }
    return {"profile": {"Protagonist": name}, "social_relationship": {}, "events": {}, "dialogues": dialogues}


def msc(pair: str = "train:ordinary_0", **changes: Any) -> dict[str, Any]:
    record: dict[str, Any] = {
        "personas": [["I like tea."], ["I like books."]],
        "previous_dialogs": [
            {
                "dialog": [
                    {"text": "I keep three green parrots at home."},
                    {"text": "Nice, my sister builds wooden boats."},
                ],
                "time_num": 1,
                "time_unit": "days",
            }
        ],
        "dialog": [
            {"id": "Speaker 1", "text": "My parrots learned a sea shanty yesterday."},
            {"id": "Speaker 2", "text": "I keep telling my sister about them."},
            {"id": "Speaker 1", "text": "As said, I keep three green parrots at home."},
        ],
        "metadata": {"initial_data_id": pair, "session_id": 1},
    }
    return record | changes


def unit(content: str, **more: Any) -> dict[str, Any]:
    return {"content": content, "perlt_type": "dialogue", "topic": None, "key_value": None} | more


def unit_file(**changes: Any) -> dict[str, Any]:
    whole: dict[str, Any] = {
        "metadata": {"dataset_name": "perltqa", "perlt_types": ["dialogue"], "seed": 42, "split_ratio": 0.5},
        "stats": {"users": 1},
        "user_stats": [{"user_id": 7, "members": 2, "non_members": 2}],
        "users": {
            "7": {
                "members": [
                    unit(
                        "Ada owns a goat.",
                        id="m1",
                        user_id=7,
                        source_key="1_0_0#3",
                        event_id="1_0_0",
                        is_member=True,
                    ),
                    unit("Ada's goat is called Plum.", id="m2", source_key="1_0_0#4"),
                ],
                "non_members": [
                    unit("Ada moved to Bremen.", id="n1", user_id="7", event_id="1_1_0", is_member=False),
                    unit("ada owns a GOAT", id="n2", topic="goats"),
                ],
            }
        },
    }
    return whole | changes


def written(folder: Path, value: Any, name: str = "data.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def lines(folder: Path, *records: Any) -> Path:
    path = folder / "train.txt"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path

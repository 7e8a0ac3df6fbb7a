"""Write the JSON schemas of result.json, and the field tables of the reference page, from the result models.

Usage: python scripts/write_schemas.py [--check]
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from vestige.audits.defence.results import DefenceResult
from vestige.audits.membership.results import MembershipResult
from vestige.audits.results import FrontierResult, ResidueResult
from vestige.audits.verification.results import VerificationResult
from vestige.records import JsonScalar, Record

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "reference" / "schema"
PAGE = ROOT / "docs" / "reference" / "result-schema.md"
BEGIN, END = "<!-- fields: written by scripts/write_schemas.py -->", "<!-- end of fields -->"

RESULTS: dict[str, type[BaseModel]] = {
    "frontier": FrontierResult,
    "residue": ResidueResult,
    "verification": VerificationResult,
    "membership": MembershipResult,
    "defence": DefenceResult,
}


def field_texts(model: type[BaseModel]) -> dict[str, str]:
    """The sentence under each field of a model, its bases' included."""
    texts: dict[str, str] = {}
    for cls in reversed(model.__mro__):
        if not issubclass(cls, Record) or cls is Record:
            continue
        (node,) = ast.parse(inspect.getsource(cls)).body
        assert isinstance(node, ast.ClassDef)
        for field, following in zip(node.body, node.body[1:], strict=False):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(following, ast.Expr)
                and isinstance(following.value, ast.Constant)
                and isinstance(following.value.value, str)
            ):
                texts[field.target.id] = re.sub(r"\bNone\b", "null", " ".join(following.value.value.split()))
    return texts


def reachable(
    model: type[BaseModel], found: dict[str, type[BaseModel]] | None = None
) -> dict[str, type[BaseModel]]:
    """A model and every model its fields hold, in order of first mention."""
    found = {} if found is None else found
    if model.__name__ not in found:
        found[model.__name__] = model
        for field in model.model_fields.values():
            for inner in _models(field.annotation):
                reachable(inner, found)
    return found


def _models(annotation: Any) -> list[type[BaseModel]]:
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models(part)]


def schema(name: str) -> str:
    """The JSON schema of one kind of result, as the text of its file."""
    model = RESULTS[name]
    made = model.model_json_schema(mode="serialization")
    made["title"] = f"Vestige {name} result"
    blocks = {model.__name__: made, **made.get("$defs", {})}
    for part, cls in reachable(model).items():
        for field, text in field_texts(cls).items():
            blocks[part]["properties"][field]["description"] = text
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}
    return json.dumps(whole, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _type(annotation: Any) -> str:
    if annotation is type(None):
        return "null"
    if annotation == JsonScalar:
        return "text, number, true, false or null"
    if inspect.isclass(annotation) and not get_args(annotation):
        if issubclass(annotation, BaseModel):
            return f"[{annotation.__name__}](#{annotation.__name__.lower()})"
        return {"str": "text", "float": "number", "int": "integer", "bool": "true or false"}[
            annotation.__name__
        ]
    origin = getattr(annotation, "__origin__", None)
    parts = get_args(annotation)
    if origin is tuple:
        if len(parts) == 2 and parts[1] is Ellipsis:
            return f"list of {_type(parts[0])}"
        return "[low, high]" if parts == (float, float) else f"[{', '.join(map(_type, parts))}]"
    if origin is dict:
        return f"object of {_type(parts[1])}"
    if origin is not None and str(origin) == "typing.Literal":
        return ", ".join(f"`{json.dumps(p)}`" for p in parts)
    return " or ".join(_type(part) for part in parts)


def tables() -> str:
    """A table of fields for every model that a result holds."""
    models: dict[str, type[BaseModel]] = {}
    for model in RESULTS.values():
        reachable(model, models)
    out: list[str] = []
    for name, model in models.items():
        out += [
            f"### {name}",
            "",
            inspect.cleandoc(model.__doc__ or ""),
            "",
            "| field | type | meaning |",
            "|---|---|---|",
        ]
        texts = field_texts(model)
        for field, info in model.model_fields.items():
            out.append(
                f"| `{field}` | {_field_type(info)} | {texts.get(field, '').replace('|', chr(92) + '|')} |"
            )
        out.append("")
    return "\n".join(out)


def _field_type(info: FieldInfo) -> str:
    return _type(info.annotation).replace("|", "\\|")


def page() -> str:
    """The reference page with its tables as the models say now."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n\n{tables()}\n{END}{rest.split(END)[1]}"


def outputs() -> dict[Path, str]:
    """Every file that this script writes, with its text."""
    return {**{FOLDER / f"{name}.json": schema(name) for name in RESULTS}, PAGE: page()}


def main(check: bool) -> int:
    """Write the files; with `check`, only say which are out of date."""
    stale = [p for p, text in outputs().items() if not p.exists() or p.read_text(encoding="utf-8") != text]
    for path in stale:
        print(f"{'out of date' if check else 'written'}: {path.relative_to(ROOT)}")
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(outputs()[path], encoding="utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))

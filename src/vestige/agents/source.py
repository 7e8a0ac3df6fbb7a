"""Where a user's own agent comes from: `my_agent.py:MyAgent`, or `package.module:Name`.

The module is run once in a process, whoever asks; its class is made anew for every episode.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, cast, get_type_hints

from vestige.agents.worker import prints_to_stderr
from vestige.errors import ConfigError

__all__ = ["GIVEN", "Source", "check_methods", "load_source", "name_of", "place_of", "source_of"]

GIVEN: tuple[str, ...] = ("storage", "model_url", "model", "config")
"""What a constructor or factory is given where it has a parameter of that name."""

_EXPECTED = {
    "converse": "def converse(self, user, session)",
    "ask": "def ask(self, user, prompt)",
    "forget": "def forget(self, user, request)",
    "reset": "def reset(self, user)",
}
"""The methods of the protocol; `reset` alone may be missing."""

_ARGUMENTS = {"converse": 2, "ask": 2, "forget": 2, "reset": 1}


@dataclass(frozen=True)
class Source:
    """Something that makes agents."""

    label: str
    """As messages show it: the file's name and the object's."""
    name: str
    """The class or function."""
    factory: Callable[..., Any]
    product: type | None
    """The class of what it makes; None: a function that does not say."""
    file: Path | None
    """Where it is written; None: nowhere that can be read."""
    sha256: str
    """Of that file; empty where there is none."""
    version: str
    """The module's `__version__`, or the first of the hash."""

    @cached_property
    def takes(self) -> tuple[str, ...]:
        """Those of `GIVEN` that the factory has a parameter for."""
        return tuple(n for n in GIVEN if n in self.required or n in _parameters(self.factory)[1])

    @cached_property
    def required(self) -> tuple[str, ...]:
        """Its parameters that have no default."""
        return _parameters(self.factory)[0]


def load_source(name: str, *, flag: str = "--agent") -> Source:
    """Load the class or function that `name` names; nothing is made of it yet.

    Args:
        name: `PATH.py:NAME` or `package.module:NAME`.
        flag: What messages begin with.

    Raises:
        ConfigError: The file, the module or the name is not there, the module raises, or what it names cannot be an
            agent; one line with file, line and type.
    """
    if name in _GIVEN_LIVE:
        return _GIVEN_LIVE[name]
    place, _, attribute = name.rpartition(":")
    where = f"{flag} {name}"
    if not place or not attribute.isidentifier():
        raise ConfigError(f"{where}: expected FILE.py:NAME or package.module:NAME")
    if place.endswith(".py") or "/" in place or "\\" in place:
        module = _from_file(Path(place), where)
    else:
        module = _imported(place, where)
    try:
        found = getattr(module, attribute)
    except AttributeError:
        classes = [n for n, v in vars(module).items() if _could_be(v, module)]
        known = f"; it defines {', '.join(classes[:8])}" if classes else ""
        raise ConfigError(f"{where}: no {attribute!r} in it{known}") from None
    return source_of(found, module=module, where=where)


_GIVEN_LIVE: dict[str, Source] = {}


def name_of(found: Any) -> str:
    """The name by which `load_source` finds a class or factory that stands in memory, such as a notebook's.

    Raises:
        ConfigError: It cannot be an agent.
    """
    source = source_of(found)
    name = f"{getattr(found, '__module__', '__main__')}:{source.name}"
    _GIVEN_LIVE[name] = source
    return name


def source_of(found: Any, *, module: ModuleType | None = None, where: str | None = None) -> Source:
    """The source that a class or a factory function is.

    Raises:
        ConfigError: It is neither, a method of the protocol is missing, or it takes what nobody can give.
    """
    kind: str = getattr(found, "__name__", type(found).__name__)
    where = where or kind
    if not callable(found) or (not inspect.isclass(found) and hasattr(found, "ask")):
        raise ConfigError(
            f"{where}: is a value of type {type(found).__name__}, expected a class, or a function that makes an agent: "
            "every episode has an agent of its own"
        )
    product = found if inspect.isclass(found) else _returned(found)
    if module is None:
        module = sys.modules.get(str(getattr(found, "__module__", "")))
    file = _file_of(module)
    digest = hashlib.sha256(file.read_bytes()).hexdigest() if file else ""
    version = getattr(module, "__version__", None)
    source = Source(
        label=f"{file.name}:{kind}" if file else kind,
        name=kind,
        factory=cast("Callable[..., Any]", found),
        product=product,
        file=file,
        sha256=digest,
        version=version if isinstance(version, str) else digest[:12] or "unknown",
    )
    if strange := [n for n in source.required if n not in GIVEN]:
        raise ConfigError(
            f"{where}: {kind} needs {', '.join(map(repr, strange))}, which nobody can give it; give it a default, or "
            f"take some of {', '.join(GIVEN)}"
        )
    if product is not None:
        check_methods(product, where)
    return source


def check_methods(found: Any, where: str, needs: Sequence[str] = ()) -> None:
    """Refuse a class, or an agent, that lacks a method.

    Args:
        found: The class or the agent.
        where: What the message begins with.
        needs: Further methods that the audit cannot do without.

    Raises:
        ConfigError: A method is missing or takes other arguments.
    """
    dynamic = inspect.isclass(found) and hasattr(found, "__getattr__")  # what it has shows when it is made
    kind = found.__name__ if inspect.isclass(found) else type(found).__name__
    for method, expected in _EXPECTED.items():
        function = getattr(found, method, None)
        if function is None:
            if dynamic or method == "reset":
                continue
            raise ConfigError(f"{where}: {kind} has no {method}; expected `{expected}`, plain or async")
        if not callable(function):
            raise ConfigError(f"{where}: {method} of {kind} is no method; expected `{expected}`")
        given = _ARGUMENTS[method] + _unbound(found, method)
        if not _accepts(function, given) and not (method == "ask" and _accepts(function, given + 1)):
            raise ConfigError(f"{where}: {kind}.{method}{_written(function)}: expected `{expected}`")
    if missing := [n for n in needs if not callable(getattr(found, n, None)) and not dynamic]:
        raise ConfigError(
            f"{where}: this audit needs {', '.join(missing)}, which {kind} does not have; "
            "`vestige verify` needs only converse, ask and forget"
        )


def place_of(error: BaseException, file: Path | None) -> str:
    """`name.py:12`: the last line of `file` that an exception went through; empty where there is none."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f.lineno for f in frames if file is not None and Path(f.filename) == file]
    return f"{file.name}:{lines[-1]}" if file is not None and lines else ""


# --- loading ----------------------------------------------------------------------------------------------


def _from_file(path: Path, where: str) -> ModuleType:
    try:
        path = path.resolve()
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise ConfigError(f"{where}: the file cannot be read: {reason}") from None
    # By path and content: a file that was changed is another module.
    key = hashlib.sha256(f"{path}\n{digest}".encode("utf-8", "surrogateescape")).hexdigest()[:16]
    name = f"_vestige_agent_{key}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{where}: is not a Python file; expected FILE.py:NAME")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look a class's module up by its name
    try:
        with prints_to_stderr():
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        hint = "; modules beside the file are not found: install them, or use package.module:NAME"
        raise ConfigError(_broken(where, error, path, hint)) from error
    return module


def _imported(name: str, where: str) -> ModuleType:
    try:
        with prints_to_stderr():
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise ConfigError(
                f"{where}: no module {error.name!r}; install it, or give the file: {name.rpartition('.')[2]}.py:NAME"
            ) from None
        raise ConfigError(_broken(where, error, None, "")) from error
    except (Exception, SystemExit) as error:
        raise ConfigError(_broken(where, error, None, "")) from error


def _broken(where: str, error: BaseException, path: Path | None, hint: str) -> str:
    """Where and how a module failed; of what it said only what cannot hold a key."""
    frames = traceback.extract_tb(error.__traceback__)
    place = place_of(error, path) or f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"
    words = ""
    if isinstance(error, SyntaxError):
        place, words = f"{Path(error.filename or '?').name}:{error.lineno}", f": {error.msg}"
    elif isinstance(error, ModuleNotFoundError) and error.name:
        words = f": no module {error.name!r}{hint}"
    elif isinstance(error, NameError) and error.name:
        words = f": {error.name!r} is not defined"
    return f"{where}: {place}: {type(error).__name__}{words}"


def _could_be(value: Any, module: ModuleType) -> bool:
    return inspect.isclass(value) and value.__module__ == module.__name__ and hasattr(value, "ask")


def _file_of(module: ModuleType | None) -> Path | None:
    name = getattr(module, "__file__", None)
    path = Path(name) if isinstance(name, str) else None
    return path if path is not None and path.is_file() else None


# --- signatures ---------------------------------------------------------------------------------------------


def _returned(function: Any) -> type | None:
    """The class that a factory says it returns."""
    try:
        kind = get_type_hints(function).get("return")
    except Exception:  # evaluating a stranger's annotations runs their code: nothing is known
        return None
    return kind if inspect.isclass(kind) and kind is not object and hasattr(kind, "ask") else None


def _parameters(factory: Callable[..., Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the parameters without a default, and of those with one."""
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):
        return (), ()
    named = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return (
        tuple(p.name for p in named if p.default is p.empty),
        tuple(p.name for p in named if p.default is not p.empty and p.kind is not p.POSITIONAL_ONLY),
    )


def _unbound(found: Any, method: str) -> int:
    """1 where the function still waits for `self`."""
    if not inspect.isclass(found):
        return 0
    return int(not isinstance(inspect.getattr_static(found, method), staticmethod | classmethod))


def _accepts(function: Any, count: int) -> bool:
    try:
        inspect.signature(function).bind(*([None] * count))
    except TypeError:
        return False
    except ValueError:  # written in C, without a signature
        return True
    return True


def _written(function: Any) -> str:
    names = ", ".join(
        str(p).split(":")[0].split("=")[0] for p in inspect.signature(function).parameters.values()
    )
    return f"({names})"

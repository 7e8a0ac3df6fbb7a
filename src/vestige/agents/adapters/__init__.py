"""Adapters of memory systems: one stand-alone file each, run in a process and an environment of its own.

``NAME.py`` imports the standard library and its system, nothing of Vestige; ``NAME.txt`` beside it pins what is
installed, one ``package==version`` a line. A row of `vestige.agents.environments.ADAPTERS` names its class. The class
is run by ``vestige/agents/bridge/child.py`` with the environment's interpreter, one process an episode, and is loaded
by path: a file ``mem0.py`` does not hide the package ``mem0``.

::

    class MySystemAgent:
        state_in_folder = True                    # all that it keeps is in `folder`: see snapshots, below

        def __init__(self, folder: str, settings: dict) -> None      # cheap: the system is imported by `open`
        def open(self) -> None                    # called once, before anything else
        def close(self) -> None                   # called before the process ends, and before a restart
        def describe(self) -> dict                # fields of AgentDescription; may be left out
        def converse(self, user: str, session) -> None
        def ask(self, user: str, prompt: str, options) -> str | dict           # a dict: fields of Reply
        def forget(self, user: str, request) -> bool | dict | None             # a dict: fields of Receipt
        def reset(self, user: str) -> None
        # where the system can:
        def remember(self, user: str, units: list) -> None
        def end_session(self, user: str) -> None
        def inspect(self, user: str) -> list      # dicts: fields of Artifact; `vector` a list of numbers, or base64
        def storage(self) -> list[str]            # files and folders for a forensic read
        def snapshot(self, user: str, path: str) -> None
        def restore(self, user: str, path: str) -> None
        def settle(self) -> None
        def maintain(self) -> None
        def poll(self, user: str, receipt) -> bool | dict
        def configure(self, **knobs) -> None      # which there are, its parameters say, or `knobs` of describe()

- Methods are plain or ``async``. Plain ones run in the process's main thread, one after the other; async ones in one
  event loop that runs all the time. What is not there is a declared limit, never a silent pass.
- `session`, `request`, `options`, `receipt` and each unit are dicts shaped like the records of `vestige.records`, all
  keys there, nested ones too; keys can be read as attributes: ``session["turns"]``, ``session.turns``.
- What comes back is JSON: texts, numbers, booleans, None, lists, tuples, dicts, data classes, paths, arrays with
  ``tolist``, bytes (as base64). A number that is not finite is refused.
- `folder` is the episode's own and exists. ``HOME`` and the folder for temporary files lie inside it, in ``.home``;
  the environment holds no key and no address but what `settings` says, and turns telemetry off.
- A restart is a new process over the same folder with the same settings, the knobs set again: an adapter needs no
  `restart`, and one that it has is not called. Whether ``close`` ran before is up to the bridge: it does, but a kill is
  a kill.
- With ``state_in_folder`` (an attribute or a property), snapshot and restore are made by the bridge: it ends the
  process, copies the folder, and starts a new one. An adapter that also keeps things elsewhere says False, or has
  methods of its own.
- `settings` has: ``model`` (a name at `model_url`, or ``extractive``: answer with the best stored text and no model),
  ``model_url`` (OpenAI-compatible, ending in ``/v1``), ``api_key`` (``"none"`` where the address needs none),
  ``embedder`` (a name at `embedder_url`, or ``hash``: make vectors without a model), ``embedder_url``, ``dims`` (of a
  vector). A URL or `dims` that is not known is left out. What a person gives beside them comes by its own name, as in
  ``--agent mem0,extractor=model,k=5``: what reads as a JSON scalar is one, anything else is text.
- A `ValueError` (no subclass) that the constructor, ``open`` or ``configure`` raises is shown to the person, words and
  all, and ends the run: an unknown or unusable setting. Of any other error, and of all after a restart, only type and
  line are shown: its words may hold what the agent was told.
- What is printed goes to standard error; a run keeps it in its folder.
- Connections are made to the loopback and to the hosts of the two addresses alone; any other raises `PermissionError`
  and is counted.
"""

"""A notebook as an agent: it keeps what its user says, and answers with the sentence that fits best."""

import re


class NotebookAgent:
    """Plain methods and plain texts are enough: vestige verify --agent notebook_agent.py:NotebookAgent."""

    def __init__(self):
        self.notes = {}

    def converse(self, user, messages):  # write down every sentence of the user
        said = " ".join(m["content"] for m in messages if m["role"] == "user")
        self.notes.setdefault(user, []).extend(re.split(r"(?<=[.!?])\s+", said))

    def ask(self, user, prompt, options):
        notes = self.notes.get(user, [""])
        if options.choices:  # a decision: the option that the notes name, else the first
            return max(options.choices, key=lambda option: option in " ".join(notes))
        words = set(re.findall(r"\w+", prompt.lower()))
        return max(notes, key=lambda n: len(words & set(re.findall(r"\w+", n.lower()))))

    def forget(self, user, value):  # tear out the sentences with the value
        self.notes[user] = [n for n in self.notes.get(user, []) if value.lower() not in n.lower()]

    def reset(self, user):
        self.notes.pop(user, None)

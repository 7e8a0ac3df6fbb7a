"""Whether a reply says that it does not know, or that it was never told.

The reply speaks of a user who also knows, finds and tells things or does not ("you never told your boss", "your
sister does not remember"), so who is the subject decides, not the words alone. Ours; English.
"""

from __future__ import annotations

import re

__all__ = ["abstains"]

READ = 2000
"""Characters of a reply that are read: an abstention stands near its beginning."""

_NOT = r"(?:\w+n't|not|never|cannot)"
_FILL = r"(?:(?:am|was|were|do|did|have|had|can|could|currently|actually|really|still|also|just|honestly)\ )"
_NOUN = (
    r"(?:information|info|mention|records?|memory|memories|details?|context|data(?!\ plan)|indication|reference"
    r"|knowledge)\b"
)
_SOURCE = r"(?:memory|memories|messages?|conversations?|chats?|sessions?|records?|notes?|history|context|text|logs?)"
_SAID = (
    r"(?:mention\w*|specif\w+|provide[ds]?|stated?|indicated?|disclosed?|discuss(?:ed)?|revealed?|clarif\w+)"
)

_PATTERNS = (
    # The speaker does not know.
    rf"\b(?:i|we)(?:'m|'ve|'d)?\ {_FILL}{{0,2}}{_NOT}\ (?:\w+\ ){{0,3}}?"
    r"(?:know|recall|remember|find|found|determine|tell|say|answer|provide|sure|certain|aware|able|told|given"
    rf"|informed|access|discuss\w*|talk\w*|have\ (?:that|it|this|any)(?=[.,;!]|$)"
    rf"|(?:have|see)\ (?:\w+\ ){{0,4}}?(?:{_NOUN}|access|answer))\b",
    rf"\b(?:i|we)\ {_FILL}?{_NOT}\ (?:believe|think)\ (?:that\ )?(?:you|we|it|this|that)(?:'ve)?(?:\ \w+){{0,3}}?"
    rf"\ (?:told|said|shared|talked|{_SAID})\b",
    rf"\b(?:i|we)(?:\ really)?\ have\ no\ (?:\w+\ )?(?:idea|clue|way|{_NOUN})",
    r"\b(?:i'm|i\ am|i\ was)\ (?:\w+\ )?(?:unsure|unable|uncertain|unaware)\b",
    # The user never said it.
    rf"\byou(?:'ve)?\ (?:(?:have|had|did|do|actually|also|only)\ ){{0,2}}{_NOT}\ "
    r"(?:(?:yet|ever|explicitly|actually|specifically|really|previously|directly)\ )?"
    rf"(?:{_SAID}\b(?!\ (?:it|this|that)\ (?:to|with)\b)|(?:told|tell|given?)\ (?:me|us)\b"
    r"|(?:told|tell|said|say|shared?)(?=\s*(?:[.,;!?]|$))|(?:said|say)\b(?!\ (?:yes|no|goodbye)\b)|talked\ about\b"
    r"|shared?\ (?:\w+\ ){0,5}?(?:with\ (?:me|us)|information|details?)\b)",
    rf"\bnot\ something\ (?:that\ )?you(?:'ve|\ have)?\ (?:\w+\ )?(?:told|said|shared|talked|{_SAID})\b",
    rf"\byou\ (?:have\ )?(?:provided|gave|given|shared)(?:\ me)?\ (?:no|not\ enough)\ (?:\w+\ ){{0,3}}{_NOUN}",
    # It was never said.
    rf"(?<!you\ )\b(?:is|was|are|were|has|have|had|'s)(?:n't|\ not|\ never)\ (?:been\ )?(?:\w+ly\ |yet\ )?"
    rf"(?:{_SAID}|known)\b",
    rf"(?:n't|\ not|\ never)\ (?:been\ )?(?:recorded|stored|included|listed|available|found|present)\ (?:\w+\ ){{0,2}}?"
    rf"(?:my|the|our|your)\ (?:\w+\ )?{_SOURCE}\b",
    rf"(?:there(?:'s|\ is|\ are|\ was|\ were)|\bi(?:'ve)?(?:\ have)?(?:\ found|\ find|\ see)?|\bcontains?|\bprovides?"
    rf"|(?:^|[.,:;!?]\ ?))\ ?(?:currently\ )?(?:no|not\ any|not\ enough|insufficient)\ (?:\w+\ ){{0,4}}?{_NOUN}",
    rf"\b(?:{_NOUN}|answer)\ (?:\w+\ ){{0,3}}?(?:is|are|was|were)(?:\ (?:insufficient|missing|unavailable|unknown)"
    r"|(?:n't|\ not)\ (?:\w+\ )?(?:enough|sufficient|available|known))\b",
    rf"\b{_SOURCE}\ (?:\w+\ ){{0,4}}?(?:do|does|did)(?:n't|\ not)\ (?:\w+\ ){{0,2}}?"
    r"(?:mention|include|contain|say|specify|tell|list|show|state|indicate|provide|reveal|cover)\b",
    r"\b(?:it|they|this)\ (?:do|does|did)(?:n't|\ not)\ (?:say|specify|mention|state|indicate)\b",
    rf"\b(?:none\ of|nothing\ (?:in|from|about))\ (?:\w+\ ){{1,4}}?{_SOURCE}\b",
    r"\bit(?:'s|\ is|\ was)?(?:n't|\ not)\ (?:\w+ly\ )?clear\b",
    r"\b(?:it's|it\ is)\ unclear\b|\bunclear\ (?:from|based|how|what|which|when|where|who)\b",
    r"(?<!\bwas\ an\ )(?<!\bis\ an\ )\b(?:is|are|was|were|remains?)\ unknown\b",
    r"(?<!you\ were\ )(?<!you\ are\ )\bunable\ to\ (?:determine|find|answer|recall|tell|say|provide|locate)\b",
    r"^\W*(?:(?:sorry|unfortunately|hmm),?\ )?"
    r"(?:unknown|unsure|unclear|not\ sure|not\ known|no\ idea|don't\ know|n/a)\b",
)
_ABSTENTION = re.compile("|".join(f"(?:{p})" for p in _PATTERNS), re.VERBOSE)
_YET = re.compile(
    r"\b(?:however|but),?\ i\ (?:can|could|do)\ (?:tell\ you|say|recall|remember|know|see|confirm)\b"
)
"""After this an answer follows, as in "I have no memories of my own. However, I can tell you that you ran 27:12"."""
_APOSTROPHES = re.compile("[\u2018\u2019\u201b\u02bc]")
_SPACE = re.compile(r"[\s*_]+")


def abstains(reply: str) -> bool:
    """Whether a reply says that it does not know, or that it was never told.

    One that goes on "However, I can tell you that …" answers; any other that does both, such as "I am not sure, but I
    think it was in May", counts as abstaining. An empty reply does not: silence is no answer and no abstention.
    """
    plain = _SPACE.sub(" ", _APOSTROPHES.sub("'", reply[:READ]).casefold()).strip()
    found = _ABSTENTION.search(plain)
    return found is not None and _YET.search(plain, found.end()) is None

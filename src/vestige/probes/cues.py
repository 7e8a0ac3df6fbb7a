"""The words by which a sentence says that the user prefers something, and those by which it may say otherwise. English.

Sentences come prepared: lower case, the favoured option as `FAVOURED`, the other as `OTHER`, the topic and each of its
words as `TOPIC`.
"""

from __future__ import annotations

import re

__all__ = ["FAVOURED", "OTHER", "TOPIC", "bare", "tells"]

FAVOURED, OTHER, TOPIC = "favx", "othx", "topx"

# ---------------------------------------------------------------------- what makes a sentence no plain statement

_PERSONS = """brothers? sisters? siblings? mothers? fathers? mom mum dad parents? wife husband spouse partner ex twin
    girlfriend boyfriend friends? colleagues? coworkers? boss manager neighbou?rs? daughters? sons? kids? child
    children roommates? flatmates? uncles? aunts? cousins? nephews? nieces? grandmother grandfather grandma
    grandpa family relatives? people clients? guests? students? visitors? reviewers? households? everyone
    everybody someone somebody nobody anyone others another many some different average typical company employer
    team shop airline coach he she his her him unlike both"""
_HEDGES = """if unless whether maybe perhaps possibly probably likely might may could would should cannot guess
    think suppose assum(?:e|ing) imagine pretend hypothetical hypothetically example instance story fiction
    fictional seems? appears? looks? unsure either or claims? rumou?r true false myth say random randomly once must
    let try wish hope doubt deny provided"""
_NEGATIONS = """not no never neither nor none nothing without hardly rarely barely little lack least less dislikes?
    hates? avoids? refuses? reject(?:s|ed)? unable forgot forget forgotten delete[ds]? removed? withdrawn retracted
    lost stop(?:s|ped)? except but instead wrong"""
_PAST = """formerly previously originally past anymore longer until switched changed earlier before
    initially point recently last were"""
_AGENT = "assistant ai model recommend suggest recommendation"


def _any(listed: str) -> str:
    return rf"\b(?:{'|'.join(listed.split())})\b"


_SOMEBODY_ELSE = rf"{_any(_PERSONS)}|\bcustomers?\b(?! of {FAVOURED})|^\W*most\b|\bby most\b"
_NO_STATEMENT = re.compile(
    rf"{_SOMEBODY_ELSE}|{_any(_HEDGES)}|{_any(_NEGATIONS)}|{_any(_PAST)}|{_any(_AGENT)}|\?|n't\b"
    r"|\bcan\b(?! (?:see|confirm|tell you)\b)|\bused to\b|\bat first\b"
    r"|\b(?:do|does|did|are|is|have|has|had) (?:you|i|the user)\b|^\W*(?:is|are|was|do|does|did|had) "
)
_OTHER_SUBJECT = re.compile(_SOMEBODY_ELSE)
_THEIR = re.compile(r"\bthe user\b.*\btheirs?\b")

# ------------------------------------------------------------------------------------ the words of a preference

_X = (
    rf"{FAVOURED}\b(?=[\"')\]}}*_]*(?:$|[.,;:!(\u2013\u2014-]|\s[(\u2013\u2014-]|\s(?:as|for|over|to|rather|more|most|best"
    r"|the\ (?:best|most)|when|whenever|and|because|since|by|among|of\ all|from|every|each|so|then|too|now)\b"
    rf"|\s(?:the\ )?{TOPIC}))"
)
"""The name, and nothing after it that would make it part of another thing: "X's rival", "X Street"."""
_ADVERB = (
    r"(?:(?:really|always|usually|generally|normally|clearly|strongly|much|still|also|do|definitely|now"
    r"|personally|typically|truly|simply|have|has|particularly|especially)\ )"
)
_TAKES = r"(?:prefers?|favou?rs?|(?<=ve\ )preferred|(?<=always\ )preferred)"
_LIKES = (
    r"(?:likes?|loves?|enjoys?|trusts?|swears?\ by|sticks?\ (?:with|to)|opts?\ for|rel(?:y|ies)\ on"
    r"|leans?\ towards?)"
)
_DOES = (
    r"(?:go(?:es)?\ (?:with|for|to)|uses?|choos(?:e|es)|picks?|orders?\ from|books?|stays?\ at|buys?|wants?)"
)
_GAP = (
    r"(?:(?:to|use|using|go|going|with|for|from|at|of|by|the|a|your|my|their|booking|book|ordering|order|staying|stay"
    rf"|have|called|named|brand|chain|company|service|provider|place|is|{TOPIC}s?)\ )"
    r"{0,4}"
)
_OWN = r"(?:your|my|(?:the\ )?users?(?:'s)?)"
_LIKED = r"(?:favou?rite|preferred|go-to|usual|default|best-liked|number[\ -]one|(?:first|top)\ (?:choice|pick|option))"
_CHOICE = (
    r"(?:favou?rite|preference|go-to|(?:first|top|usual|default|preferred)\ (?:choice|pick|one|option)|pick)"
)
_IS = r"(?:\ ?(?::|=)|\ is|'s|\ remains|\ has\ always\ been)\ (?:(?:still|clearly|definitely|now|the|called)\ )*"
_NOUNS = r"(?:\ (?!is\b|was\b|[\w-]+'s\b)[\w()-]+){0,5}?"
_YOU = r"(?<!for\ )(?<!with\ )(?<!to\ )(?<!than\ )(?<!like\ )(?<!as\ )(?:you|(?:the\ )?user)"
_MOST = r"(?:best|most|more\ than)"
_EVER = r"(?:always|usually|generally|normally|typically)"

_CLAUSES = (
    # you prefer X; the user always goes with X
    rf"\b{_YOU}(?:\ |'ve\ ){_ADVERB}{{0,3}}(?:{_TAKES}|{_LIKES})\ {_GAP}{_X}",
    rf"\b{_YOU}(?:\ |'ve\ ){_ADVERB}{{0,2}}{_EVER}\ {_DOES}\ {_GAP}{_X}",
    rf"\b{_YOU}\ [\w\ ,]{{0,60}}?\band\ prefers?\ {_GAP}{_X}",
    # your favourite courier is X; user's preferred courier: X; your hotel of choice is X
    rf"\b{_OWN}\ (?:\w+\ )?{_LIKED}{_NOUNS}{_IS}{_X}",
    rf"\b{_OWN}{_NOUNS}\ (?:preference|choice|favou?rite){_NOUNS}{_IS}{_X}",
    rf"\b{_YOU}\ (?:said|told\ me|mentioned)\ (?:that\ )?{_OWN}\ {_LIKED}{_NOUNS}\ was\ {_X}",
    # X is your favourite; X is the one you prefer
    rf"\b{FAVOURED}{_IS}{_OWN}\ (?:\w+\ )?(?:{_CHOICE}|{_LIKED})\b",
    rf"\b{FAVOURED}{_IS}{_OWN}{_NOUNS}\ of\ choice\b",
    rf"\b{FAVOURED}{_IS}(?:\w+\ ){{0,4}}(?:that\ )?{_YOU}\ (?:always\ )?"
    r"(?:prefers?|likes?\ best|trusts?\ (?:the\ )?most)\b",
    rf"\b{FAVOURED}{_IS}(?:\w+\ ){{0,4}}(?:that\ )?{_YOU}\ always\ {_DOES}",
    # it is X that you prefer; the one you prefer is X
    rf"\bit(?:'s|\ is)\ {FAVOURED}\ (?:that\ )?{_YOU}\ prefers?\b",
    rf"\b(?:one|{TOPIC}|what)\ (?:that\ )?{_YOU}\ (?:(?:prefer|favou?r)s?|(?:like|trust)s?\ (?:the\ )?{_MOST})"
    rf"{_IS}{_X}",
    # a preference for X, a fan of X
    rf"\b(?:{_YOU}\ (?:have|has|stated|expressed|has\ expressed|have\ expressed)\ (?:\w+\ )?a\ (?:\w+\ )?"
    rf"|{_OWN}\ (?:\w+\ )?)preference\ for\ {_GAP}{_X}",
    rf"\b{_YOU}\ (?:are|is)\ (?:a\ (?:\w+\ )?(?:fan|customer)\ of|partial\ to|fond\ of)\ {_GAP}{_X}",
)
"""Main clauses: they count only where what leads up to them does not take them back."""

_ASIDES = (
    # X, your preferred courier; X, because that is your favourite
    rf"\b{FAVOURED},\ (?:which\ is\ )?{_OWN}\ (?:\w+\ )?(?:{_CHOICE}|{_LIKED})\b",
    rf"\b{FAVOURED},?\ (?:because|since|as)\ (?:that|it|this)(?:'s|\ is)\ {_OWN}\ {_LIKED}\b",
    rf"\b{FAVOURED}\b[\w\ ,]{{0,40}}\b(?:because|since|as)\ you\ prefer\ (?:it|them)\b",
    rf"\b{FAVOURED}[;,.]\ that(?:'s|\ is)\ the\ one\ (?:i|you|the\ user)\ (?:like|prefer)s?\b",
    # a note or a field: prefers X; preferred courier: X
    rf"(?:^|[;:]\ )(?:[-*•]\ )?(?:user\ )?prefers?:?\ {_GAP}{_X}",
    rf"(?:^|[\"'{{,;*•-])\W*(?:user'?s?\ )?(?:preferred(?!\ by\b)|favou?rite)(?:[\ _][\w()-]+){{0,4}}?"
    rf"[\"']?\ ?[:=]\ ?[\"']?{_X}",
    rf"(?:^|[\"'{{,;*•-])\W*(?:\w+[\ _']*){{0,4}}preference[\"']?\ ?[:=]\ ?[\"']?{_X}",
    rf"^\W*(?:\w+\ )?{TOPIC}\ \(preferred\):\ {_X}",
)

_FIRST_PERSON = (
    rf"\bi(?:\ |'ve\ ){_ADVERB}{{0,3}}{_TAKES}\ {_GAP}{_X}",
    rf"\bi\ {_ADVERB}{{0,2}}{_EVER}\ {_DOES}\ {_GAP}{_X}",
)
"""A user's own words, repeated; but an agent explains its choices in the first person too."""


def _either(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.VERBOSE)


_CLAUSE, _ASIDE, _QUOTED = _either(_CLAUSES), _either(_ASIDES), _either(_FIRST_PERSON)

_LEAD = re.compile(
    r"(?:(?:and|but|so|also|since|because|as|well|yes|sure|ok|okay|that|i|we|can|do|see|know|recall|remember|confirm"
    r"|noted?|have|has|i've|you|you've|you'd|the|user|told|tell|me|said|mentioned|stated|already|a\ while\ ago|it|is|in"
    r"|according\ to|based\ on|my|our|your|notes|memory|records?|a|an|by\ the\ way|once\ more|among|of|all|out|for|favx"
    rf"|fact|one|{TOPIC}s?|the\ answer|[-*•(\"]|\d+[.)])[\s:.)]*)*"
)
"""What may stand between the last comma and the clause."""
_SPEAKER = re.compile(
    r"^\W*(?:\([^)]*\)\s*)?(?:[\w\s]{0,40}\b)?(?:user|human|me|you|note|notes|memory|memories|facts?|known|preferences?|said"
    rf"|told|answer|reply|mentioned|remember|summary|one|{TOPIC}s?)\W*$"
)
"""What may stand before a colon that leads to the clause."""
_SELF = re.compile(
    r"^\W*(?:\([^)]*\)\s*)?(?:(?:the )?(?:user|human)|me|you|notes?|memory|facts?|preferences?|answer|one more thing|"
    r"(?:you|the user|user) (?:said|told me|wrote|stated))\W*$"
)
"""The same before the first person: whose words follow."""
_OVER = re.compile(
    rf"\b(?:prefer\w*|favou?rs?|likes?|trusts?)\b.*\b{FAVOURED} (?:over|to|more than|rather than) (?:the )?"
    rf"(?:{TOPIC} )?{OTHER}\b"
)
_BETWEEN = re.compile(rf"^between the two,? you prefer {FAVOURED}\b")
_REASONED = re.compile(r"\b(?:because|since|therefore|this|today|here|option|two|based|so|better)\b")

_MY_CHOICE = re.compile(r"\bmy\b.*\b(?:pick|choice|option)\b")
"""An agent's own, made just now."""

_BARE = re.compile(
    r"^\W*(?:(?:yes|sure|well|of course|the answer|answer|it|that|this|you said|you told me|your favou?rite)\W+)*"
    rf"(?:(?:is|was|would be|'s|it's|be)\W+)*(?:the )?{FAVOURED}(?:\W+(?:of course|the {TOPIC}|is the one))?[^\w?]*$"
)


def bare(text: str) -> bool:
    """Whether a prepared text is the favoured name with no more than a word of courtesy."""
    return _BARE.match(text) is not None


def _leads_up(prefix: str, *, first_person: bool) -> bool:
    """Whether what stands before a clause leaves it a plain statement."""
    intro, colon, rest = prefix.rpartition(": ")
    if colon and not (_SELF if first_person else _SPEAKER).match(intro):
        return False
    if first_person and not colon and '"' in rest:
        return False
    segment = re.split(r"[,;\u2013\u2014]\s|\. |^\W*\([^)]*\)\s", rest if colon else prefix)[-1]
    return _LEAD.fullmatch(segment.strip(" \"'")) is not None


def tells(sentence: str, before: str) -> bool:
    """Whether a prepared sentence says, plainly, that the user prefers the favoured option.

    Args:
        sentence: One sentence.
        before: The sentence before it, which may say of whom it speaks.
    """
    if FAVOURED not in sentence or _NO_STATEMENT.search(_THEIR.sub("the user", sentence)):
        return False
    aside = _ASIDE.search(sentence)
    clauses = [
        c
        for c in _CLAUSE.finditer(sentence)
        if _leads_up(sentence[: c.start()], first_person=_mine(c[0])) and not _MY_CHOICE.search(c[0])
    ]
    if OTHER in sentence and not (
        ((aside or clauses) and _OVER.search(sentence)) or _BETWEEN.search(sentence)
    ):
        return False
    theirs = _OTHER_SUBJECT.search(before) is not None
    if aside or any(not (theirs and _mine(clause[0])) for clause in clauses):
        return not (theirs and aside and re.match(r"\W*prefers", aside[0]))
    quoted = _QUOTED.search(sentence)
    return (
        quoted is not None
        and not theirs
        and _REASONED.search(sentence) is None
        and _leads_up(sentence[: quoted.start()], first_person=True)
    )


def _mine(clause: str) -> bool:
    return re.search(r"\bmy\b", clause) is not None

"""Statements of invented people, and texts of any kind, for tests of what is asked about them."""

from __future__ import annotations

from hypothesis import strategies as st

STATEMENTS = (
    "Ilka Selshaw's former flatmate Bruno Langner grew up in Ashhithe.",
    "Vera Eckvik's team meets for its stand-up at 4:32 pm every day.",
    "Delia Falhurst attended a pottery workshop last weekend and felt proud of her blue bowl.",
    "Malik Bramow bought three lanterns for $227.13 at the harbour market on 18 September.",
    "Teaching yoga has helped Delia make friends in the village.",
    "Gunnar does not eat mushrooms because his sister once got sick.",
    "The team won the regional chess tournament in 2019 after two years of training.",
    "Thea reread 'The Silver Kettle' and lent it to her neighbour Quentin.",
    "Malik loves horses.",
)

WORDS = (
    *(
        "Ilka",
        "Bruno",
        "Ashhithe",
        "LGBTQ",
        "The",
        "I",
        "her",
        "his",
        "and",
        "of",
        "in",
        "not",
        "two",
        "2019",
        "$3.50",
    ),
    *(
        "horses",
        "horse",
        "fishing",
        "fish",
        "bought",
        "painting",
        "painted",
        "community's",
        "café",
        "naïve",
        "x",
    ),
    *(
        "stand-up",
        '"quoted"',
        "{gap}",
        "{statement}",
        "_____",
        "東京",
        "can't",
        "St.",
        "4:32",
        "pm",
        "last week",
        "…",
        "?",
    ),
)

texts = st.one_of(
    st.sampled_from(STATEMENTS),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=25).map(" ".join),
    st.text(max_size=300),
)
"""True statements, heaps of words, anything."""

"""Abstention as a careful person reads it: 40 replies that say "I was never told", 40 that answer."""

from __future__ import annotations

import time

import pytest

from vestige.probes.utility import abstains, score_recall

ABSTAINING = """
I don't know.
I do not know the answer to that.
I'm not sure about that.
I'm sorry, but I have no record of that.
You haven't told me where you went on holiday.
You never mentioned a brother.
There is no information about your dog's name in our conversations.
I don't have any information about that.
I can't recall you mentioning this.
I cannot answer that from what you have shared.
Unfortunately, I was not able to find that in my memories.
That was not mentioned in our earlier conversations.
It isn't specified how long the trip took.
I have no memory of you telling me that.
I'm unable to determine the number of books.
The information provided is not enough. You did not mention how long it took.
The information you provided is insufficient.
You did not say which airline you flew with.
My memories don't include the name of your cousin.
None of your messages mention a hamster.
Nothing in our conversations tells me your shoe size.
I am not aware of any sister of yours.
I have no idea.
I couldn't find anything about a tennis class.
You did not mention this information. You mentioned your cat Luna but not your hamster.
There's no mention of Italy in what you told me.
I wasn't told that.
We haven't talked about that yet.
We have never discussed your salary.
I don’t have access to that information.
As an AI language model, I do not have access to your personal data.
The date is unknown.
Your birthday is not recorded in my memory.
I don't believe you've mentioned that.
I don't think you told me.
Sorry, that's not something you've shared with me.
Not sure.
Unknown.
No information available.
Based on the conversation, it is not clear how many siblings you have.
I do not recall you saying how much the bike cost.
The text does not say where the meeting was held.
I don't have a record of a hamster, but you mentioned a cat called Luna.
I don't have that.
I do not see any mention of a hamster.
""".strip().splitlines()

ANSWERING = """
Your dog is called Rex.
25:50
You do not eat meat.
You told me that you don't know how to swim.
You have no siblings.
You never learned to drive.
You forgot your password on Tuesday.
You are not sure whether to take the job in Oslo.
You can't find good coffee near your office, so you bring your own.
Your sister does not remember the accident.
You went to Lisbon, and I remember that you liked the food.
You did not take the train; you drove.
No, you sold the car in May.
You were unable to attend the wedding.
It took you 45 minutes, not counting the break.
You bought the phone without a data plan.
You have not been given a raise since 2021.
You had not known your grandfather.
I remember: your flight was at 6:45 AM.
You included no nuts, because your son is allergic.
You said the shop does not list prices.
Three: Anna, Ben and Carl.
You moved to Berlin and have never shared a flat since.
You aren't able to eat gluten.
You don't have access to a car.
You have no memory of the accident.
You prefer tea, not coffee.
I know that you adopted two cats in March.
Yes, you mentioned that you visited Rome in 2019.
You don't recall the name of the hotel, but the street was Rue Cler.
Your flat has no internet.
Nothing: you sold all of it.
None of your friends came to the party.
You couldn't find your keys, so you were late.
You said that your boss never told you about the merger.
The record you bought was Kind of Blue.
Your keys were in the car, not in your bag.
You are able to work from home on Fridays.
Your doctor found no details of concern.
As an AI language model, I don't have personal best times. However, I can tell you that you ran it in 27:12.
As an AI language model, I don't have hobbies of my own, so: chess.
You did not say yes; you asked for a week to think about the offer.
""".strip().splitlines()


@pytest.mark.parametrize("reply", ABSTAINING)
def test_a_reply_that_abstains(reply: str) -> None:
    assert abstains(reply)


@pytest.mark.parametrize("reply", ANSWERING)
def test_a_reply_that_answers(reply: str) -> None:
    assert not abstains(reply)


def test_both_tables_are_long_enough_to_mean_something() -> None:
    assert len(set(ABSTAINING)) >= 25 and len(set(ANSWERING)) >= 25


def test_an_abstention_record_is_right_exactly_when_the_reply_abstains() -> None:
    question, expected = "What is my hamster's name?", "You never mentioned a hamster."
    told = score_recall(question, expected, "You haven't told me about one.", similarity=0.1, abstention=True)
    made_up = score_recall(question, expected, "Your hamster is Bob.", similarity=0.1, abstention=True)
    assert told.strict and not made_up.strict


def test_no_reply_is_no_abstention() -> None:
    """An agent that collapsed has not said that it does not know."""
    assert not abstains("") and not abstains("   \n")


def test_a_hostile_reply_costs_little() -> None:
    """No pattern runs away on a reply that almost matches everywhere."""
    began = time.perf_counter()
    for piece in (
        "I do not " * 400,
        "no " * 2000,
        "you have not ever " * 300,
        "nothing in our " * 400,
        "a" * 9000,
    ):
        abstains(piece)
    assert time.perf_counter() - began < 2.0

"""The membership audit: can somebody who talks to the agent tell whether a statement is in its memory?"""

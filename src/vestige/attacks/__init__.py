"""Membership attacks on an agent's memory: questions about a candidate, judges of the replies, scores.

Source: "MRMMIA: Membership Inference Attacks on Memory in Chat Agents", arXiv 2605.27825.
"""

"""Counterfactual deletion verification: does anything still depend on what was removed?"""

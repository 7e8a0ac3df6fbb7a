"""The removal packet: sealed evidence of a verification that another evaluator can re-score and contest.

`seal.seal` writes one, `check.check` reads one and trusts nothing in it, `diff.diff` compares two releases;
`keys.keygen`, `sign.sign` and `encrypt.decrypt` deal with keys, `archive.write_zip` makes a ZIP. An unsigned packet
shows damage, not authorship: whoever changes a file can write new sums.
"""

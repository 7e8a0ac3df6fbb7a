"""Storage forensics: what of a value is still on disk, in which form, where, and how near it is."""

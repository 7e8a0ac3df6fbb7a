"""The far side of the bridge: standard library only, run where Vestige is not installed (see `child`)."""

"""`python -m vestige`: the command, where its script is not on the path."""

from vestige.cli.main import main

if __name__ == "__main__":
    main()

"""The command line. Only typer is imported to show help; everything else where a command needs it."""

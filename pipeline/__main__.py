"""`python -m pipeline` is the command `winnable`."""

from pipeline.cli.entry import main

if __name__ == "__main__":
    main()

"""The commands: options and printing over the library, one file per group."""

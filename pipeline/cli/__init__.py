"""The commands: thin Click wrappers over the library, one file a group."""

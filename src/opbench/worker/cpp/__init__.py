"""C++ snippets: compiled against the installed torch, kept on disk, loaded and timed in this process."""

"""Statistics of comparing models on the same tasks, a method a file. scipy and numpy are loaded where they are used."""

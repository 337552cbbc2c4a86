"""Model APIs as bytes and neutral types, without I/O."""

"""A travel desk: small agents in the shapes in which people write them."""

# An empty program, whose time is the cost of starting and ending.

# Nothing: what remains is the cost of starting.

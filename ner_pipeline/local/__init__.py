"""The whole system on one machine: the services of `make up`, and the demo that drives them."""

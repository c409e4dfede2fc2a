"""What the project's figures come from, one command each. Benchmarks print; tests assert."""

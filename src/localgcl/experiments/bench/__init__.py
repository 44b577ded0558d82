"""Speed and memory: what is measured, how, and what is made of the measurements. `localgcl bench` is its surface."""

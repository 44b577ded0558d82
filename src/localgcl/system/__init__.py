"""What the machine gives: files, processes, devices, threads, and a record of what a result was made with."""

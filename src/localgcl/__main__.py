"""`python -m localgcl` runs the command line, as `localgcl` does."""

import sys

from localgcl.commands import main

sys.exit(main())

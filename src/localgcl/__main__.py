"""`python -m localgcl` is `localgcl`."""

import sys

from localgcl.cli import main

sys.exit(main())

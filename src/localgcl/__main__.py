"""`python -m localgcl` is `localgcl`."""

import sys

from localgcl.commands import main

sys.exit(main())

"""`localgcl reproduce`: the paper's tables, figures and theorems, with its printed numbers beside ours."""

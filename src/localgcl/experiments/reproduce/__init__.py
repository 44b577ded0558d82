"""The paper's tables, figures and theorems, one command each; its printed numbers beside ours."""

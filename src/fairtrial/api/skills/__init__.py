"""Test skills: plan runs with variants, compare the variants, and write the results in the layout of agentskills.io."""

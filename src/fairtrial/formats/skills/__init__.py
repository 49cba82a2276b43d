"""Read the eval files of Agent Skills: `evals.json`, trigger queries, and the files of waza and skilljack."""

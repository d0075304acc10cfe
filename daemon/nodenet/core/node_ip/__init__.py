"""Node IP selection: candidates, rules, ranking, explanation, and the files that publish the result."""

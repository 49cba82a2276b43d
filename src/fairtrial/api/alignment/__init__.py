"""Choose a better judge from the labels of people."""

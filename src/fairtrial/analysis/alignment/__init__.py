"""Choose a judge by the labels of people, and test the choice on labels that had no part in it."""

"""Facts in texts: numbers, amounts, quantities, dates, times, codes and polarity, in a form that can be compared."""

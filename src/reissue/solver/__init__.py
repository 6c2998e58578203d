"""Everyone at once: the posterior of all people of a series, by iterative scaling, sharpening and exact small parts."""

"""Commands about Reissue itself: what there is to choose from, what its words mean, and completion."""

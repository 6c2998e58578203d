"""What is learnt beside the counts: who tends to have which value, how values change, what newcomers have."""

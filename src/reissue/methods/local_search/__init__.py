"""Groups that a method made, searched for better ones."""

"""The coalition attack: providers who take their own records out."""

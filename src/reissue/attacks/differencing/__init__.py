"""Differencing: what two published tables of counts isolate, and cells that totals give away."""

"""Checks that share no arithmetic with the methods: what published columns satisfy."""

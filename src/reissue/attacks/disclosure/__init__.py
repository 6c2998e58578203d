"""The disclosure attack: what each release gives away by itself."""

"""`python -m reissue`: the same as the command `reissue`."""

from reissue.cli import main

if __name__ == "__main__":
    main()

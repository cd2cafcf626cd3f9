"""`python -m lasthop`, the same as the command `lasthop`."""

from lasthop._command import main

if __name__ == "__main__":
    main()

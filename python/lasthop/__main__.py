"""`python -m lasthop`, the same as the command `lasthop`."""

from lasthop.cli import main

if __name__ == "__main__":
    main(prog_name="lasthop")

"""The changes in the sources of Linux 6.1 before they are built.

They concern properties for which there is no setting: the rate of the timer tick, the room for the
host's floating-point state, the random numbers that the guest gets from its host, and the advance
of its clock. A source without a line to be changed is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lasthop._errors import mistake

if TYPE_CHECKING:
    from pathlib import Path

#: The environment variable that seeds the guest's random numbers.
SEED = "LASTHOP_SEED"

#: Every congestion control of Linux 6.1, by its name there.
CONTROLS = (
    "bbr",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "reno",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
)

#: Octets of XSAVE area for which User-mode Linux has room as it is.
USUAL_XSAVE = 2696


class Edit(NamedTuple):
    """One place in one file."""

    file: str
    old: str
    new: str


# SplitMix64 (G. Steele, D. Lea and C. Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA
# 2014): its top octet. The guest's kernel mixes what it gets into a generator of its own.
_RANDOM = f"""	static unsigned long long state;
	static int seeded;
	unsigned char *to = buf;
	size_t i;

	if (!seeded) {{
		const char *seed = getenv("{SEED}");

		state = seed ? strtoull(seed, NULL, 10) : 0;
		seeded = 1;
	}}
	for (i = 0; i < len; i++) {{
		unsigned long long z = (state += 0x9e3779b97f4a7c15ULL);

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
		to[i] = (z ^ (z >> 31)) >> 56;
	}}
	return len;
"""

# As it is, the clock moves by 256 ns whenever it is read and by 1 us whenever a system call fails,
# shows multiples of 256 ns, and has timers of 500 ns and more. How often that happens before a run
# depends on the names of the files, and two runs would differ by such steps. Here the clock moves
# only while the guest is idle, to the time of the next timer. For code that reads the clock so
# often that it can only be waiting in a loop it advances all the same.
_BUSY = """static unsigned long times_busy;

/* whether the guest has been busy for so long that it can only be waiting in a loop */
int time_travel_waits(void)
{
	return ++times_busy > 1048576;
}

void time_travel_sleep(void)
{
	times_busy = 0;
"""
_READ = """if (time_travel_waits())
				time_travel_update_time_rel(256);
"""
_FAILED = """extern int time_travel_waits(void);

			if (time_travel_waits())
				um_udelay(1);
"""


def edits(xsave: int) -> list[Edit]:
    """The edits for a host whose XSAVE area has `xsave` octets.

    The host's kernel refuses to set fewer (EFAULT), and the guest's first process ends.
    """
    room = max(xsave, USUAL_XSAVE)
    place, clock = "arch/x86/um/user-offsets.c", "arch/um/kernel/time.c"
    header = "arch/um/include/linux/time-internal.h"
    return [
        Edit("arch/um/Kconfig", "config HZ\n\tint\n\tdefault 100\n", "config HZ\n\tint\n\tdefault 1000\n"),
        Edit(place, f"HOST_FP_SIZE, {USUAL_XSAVE})", f"HOST_FP_SIZE, {room})"),
        Edit(header, "#define TIMER_MULTIPLIER 256\n", "#define TIMER_MULTIPLIER 1\n"),
        Edit(header, "#define TIMER_MIN_DELTA  500\n", "#define TIMER_MIN_DELTA  1\n"),
        Edit(clock, "void time_travel_sleep(void)\n{\n", _BUSY),
        Edit(clock, "time_travel_update_time_rel(TIMER_MULTIPLIER);\n", _READ),
        Edit("arch/um/kernel/skas/syscall.c", "um_udelay(1);\n", _FAILED),
        Edit("arch/um/os-Linux/util.c", "\treturn getrandom(buf, len, flags);\n", _RANDOM),
    ]


def apply(tree: Path, xsave: int) -> None:
    """Edits the sources in `tree`.

    Raises:
        LasthopError: they are not those of Linux 6.1.
    """
    for edit in edits(xsave):
        path = tree / edit.file
        text = path.read_text() if path.is_file() else ""
        if text.count(edit.old) != 1:
            line = edit.old.strip().splitlines()[-1].strip()
            raise mistake(
                f"these sources cannot be built: {edit.file} has no line `{line}`",
                "take Linux 6.1, such as Debian's package linux-source-6.1",
            )
        path.write_text(text.replace(edit.old, edit.new))

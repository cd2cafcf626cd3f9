"""Protection against changes of results: the hash of every table of a fixed choice of runs (`make golden-check`)."""

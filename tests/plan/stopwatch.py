"""How long a text holds its reader up."""

import time

FAST = 0.05  # seconds for any text


def slowest(read, texts):
    """Time of our own, because the machine may be busy; the best of ten tries, because what it does meanwhile slows everybody down."""
    found = 0.0
    for text in texts:
        tries = []
        for _ in range(10):
            start = time.thread_time()
            read(text)
            tries.append(time.thread_time() - start)
            if tries[-1] < FAST:
                break
        found = max(found, min(tries))
    return found

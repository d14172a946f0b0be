# SPDX-License-Identifier: MIT
"""One program at a time does the backup; a store refuses writers that were paused too long."""
import tackle

newest = 0


def store(data, fence):
    """A store that remembers the greatest fence, and refuses smaller ones."""
    global newest
    if fence < newest:
        raise RuntimeError("an older holder")
    newest = fence
    print(data)


with tackle.Client() as client:         # $TACKLE_URL names the server
    with client.lock("backup", wait=5, label="nightly") as lock:
        store("the backup", lock.fence)                     #=> the backup
        try:
            with client.lock("backup", wait=0.1):
                pass
        except tackle.Busy:
            holder = client.lock("backup").show()[0]
            print("held by", holder.label)                  #=> held by nightly

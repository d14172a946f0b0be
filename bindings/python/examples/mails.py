# SPDX-License-Identifier: MIT
"""Jobs for later: a program pushes, a worker works."""
import tackle

with tackle.Client() as client:
    mails = client.queue("mails")
    mails.push({"to": "ann", "text": "hello"}, kind="sendEmail", result_for=60)
    mails.push({"to": "nobody"}, kind="sendEmail", retries=0)
    mails.push({"to": "bob"}, kind="sendEmail", delay=3600)

    worker = client.worker(mails, drain=True)       # without drain: until Ctrl-C or SIGTERM

    @worker.on("sendEmail")
    def send(task):
        mail = task.payload.json()
        if "text" not in mail:
            raise ValueError(f"no text for {mail['to']}")
        print("to", mail["to"])                             #=> to ann
        return "sent"

    worker.run()
    stats = mails.stats()
    print(stats.done, "done,", stats.dead, "dead,", stats.delayed, "later")     #=> 1 done, 1 dead, 1 later
    print(mails.peek("dead")[0].error)                      #=> ValueError: no text for nobody

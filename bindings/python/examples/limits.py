# SPDX-License-Identifier: MIT
"""A web page in one round trip: session, rate limit and counter together."""
import tackle

with tackle.Client() as client:
    api, hits, shop = client.limit("api", 2, 60), client.counter("hits"), client.sessions("shop")
    token = shop.create("alice")

    def serve(token):
        with client.pipeline() as page:
            session = page.session_use(shop, token, "teapot")
            allowed = page.limit_check(api, "alice")
            page.counter_add(hits)
        if isinstance(session.error, tackle.NotFound):
            return 401
        if not allowed.value:
            return 429
        return f"hello {session.value.user}"

    print(serve(token))                                     #=> hello alice
    print(serve(token))                                     #=> hello alice
    print(serve(token))                                     #=> 429
    print(serve("0" * 32))                                  #=> 401

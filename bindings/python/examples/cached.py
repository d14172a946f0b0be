# SPDX-License-Identifier: MIT
"""A decorator that caches results on the server: one program computes, and all others wait."""
import functools
import json

import tackle


def cached(cache):
    """Caches what a function returns, by its arguments; it must be JSON."""
    def decorate(function):
        @functools.wraps(function)
        def call(*arguments):
            key = f"{function.__name__}:{json.dumps(arguments)}"
            return cache.fetch(key, lambda _: json.dumps(function(*arguments))).json()
        return call
    return decorate


with tackle.Client() as client:
    @cached(client.cache(ttl=60))
    def slow_square(number):
        print("computing")                                  #=> computing
        return number * number

    print(slow_square(12))                                  #=> 144
    print(slow_square(12))                                  #=> 144

"""One file for each wire format, and the same four functions in each.

`read(place, streams)` asks whoever is there and says what the SDK makes of the answer.
`play(places, talk)` plays a conversation, one request for each place, and writes nothing by hand that the SDK can write.
`reasons()` are those to stop that the SDK's types know.
`complaints(body)` is what the SDK's own types have against a body of ours.
"""

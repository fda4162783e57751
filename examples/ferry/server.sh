#!/bin/sh
# A server of the Model Context Protocol in a shell: one tool, which says when the ferry leaves.

say() {
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"
}

while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case $line in
    *'"initialize"'*)
        say '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"ferry","version":"1"}}'
        ;;
    *'"tools/list"'*)
        say '{"tools":[{"name":"departures","description":"Says when the ferry leaves a port.","inputSchema":{"type":"object","required":["port"],"properties":{"port":{"type":"string"}}}}]}'
        ;;
    *'"tools/call"'*)
        say '{"content":[{"type":"text","text":"08:05 and 17:40"}]}'
        ;;
    esac
done

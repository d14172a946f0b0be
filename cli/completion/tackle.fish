# SPDX-License-Identifier: MIT
#
# fish completion of tackle. What there is to complete comes from the command itself: `tackle help
# --completion` prints "COMPONENT VERB OPTION...", "-" where there is none.

# Prints the names of what a component has on the server. Starts no private server for that.
function __tackle_names
    test -n "$TACKLE_URL$REDIS_URL"; or tackle server status &>/dev/null; or return
    tackle --timeout 500ms $argv[1] list 2>/dev/null | awk 'NR > 1 { print $1 }'
end

function __tackle_complete
    set -l plain (string match -v -- '--*' (commandline -opc)[2..-1])
    set -l table (tackle help --completion 2>/dev/null)
    if string match -q -- '-*' (commandline -ct)
        set -l verb $plain[2]
        test -n "$verb"; or set verb -
        for line in $table
            set -l part (string split ' ' -- $line)
            if test "$part[1]" = -; or test "$part[1] $part[2]" = "$plain[1] $verb"
                string replace -r '=.*' '' -- $part[3..-1]
            end
        end
    else if test (count $plain) -eq 0
        string match -rv '^-' -- $table | string replace -r ' .*' '' | uniq
    else if test (count $plain) -eq 1
        string match -r "^$plain[1] .*" -- $table | string split -f2 ' '
    else if test (count $plain) -eq 2; and string match -q "$plain[1] list*" -- $table
        __tackle_names $plain[1]
    else
        __fish_complete_path (commandline -ct)
    end
end

complete -c tackle -f -a '(__tackle_complete)'

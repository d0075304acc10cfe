# Made from nodenetctl's parser by tools/make_completions.py, with https://github.com/tqdm/shtab

# Parse current commandline:
# - _shtab_nodenetctl_cmdpath=(sub)command path seen so far
# - _shtab_nodenetctl_npos=number of positional arguments given after it
# - options are skipped based on _shtab_nodenetctl_opts_with_value & _shtab_nodenetctl_commands lists
function _shtab_nodenetctl_scan
  set -g _shtab_nodenetctl_cmdpath ''
  set -g _shtab_nodenetctl_npos 0
  set -l tokens (commandline -opc)
  set -e tokens[1]
  set -l expect_value 0
  for t in $tokens
    if test $expect_value -eq 1
      set expect_value 0
      continue
    end
    switch "$t"
      case '--*=*'
        continue
      case '-*'
        if contains -- $t $_shtab_nodenetctl_opts_with_value
          set expect_value 1
        end
        continue
      case '*'
        if test $_shtab_nodenetctl_npos -eq 0
          set -l candidate $t
          if test -n "$_shtab_nodenetctl_cmdpath"
            set candidate "$_shtab_nodenetctl_cmdpath $t"
          end
          if contains -- $candidate $_shtab_nodenetctl_commands
            set -g _shtab_nodenetctl_cmdpath $candidate
            continue
          end
        end
        set -g _shtab_nodenetctl_npos (math $_shtab_nodenetctl_npos + 1)
    end
  end
end

# Condition helper: true if the current (sub)command path equals the given one.
function _shtab_nodenetctl_using
  _shtab_nodenetctl_scan
  test "$_shtab_nodenetctl_cmdpath" = "$argv"
end

set -g _shtab_nodenetctl_commands status monitor boot-report explain 'explain node-ip' 'explain br-ex' 'explain hostname' check reload reselect bridge 'bridge remove' 'bridge make' wait snapshot settings version
set -g _shtab_nodenetctl_opts_with_value --as --boot --boots --datapath --deny-link --diff --directory --families --file --hint --network-type --platform --snapshot --svg --timeout --vip -b

complete -c nodenetctl -e
complete -c nodenetctl -f

complete -c nodenetctl -n _shtab_nodenetctl_using -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a status -d 'how the node stands: health, node IPs, stages; --wait waits until it is ready'
complete -c nodenetctl -n '_shtab_nodenetctl_using status' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using status' -l json -d 'print the document that /run/nodenet/state.json holds'
complete -c nodenetctl -n '_shtab_nodenetctl_using status' -l wait -d 'wait until the node is ready or has failed'
complete -c nodenetctl -n '_shtab_nodenetctl_using status' -l timeout -x -d 'wait no longer than this'
complete -c nodenetctl -n '_shtab_nodenetctl_using status' -l file -xka "(__fish_complete_path (commandline -ct))" -d 'read this state file (default: /run/nodenet/state.json)'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a monitor -d 'tell what happens as it happens, one line an event'
complete -c nodenetctl -n '_shtab_nodenetctl_using monitor' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using monitor' -l json -d 'one JSON object a line; time in seconds since boot, null for what was so at the start'
complete -c nodenetctl -n '_shtab_nodenetctl_using monitor' -l file -xka "(__fish_complete_path (commandline -ct))" -d 'the state file (default: /run/nodenet/state.json)'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a boot-report -d 'where the time of a boot went: as text, JSON or a picture'
complete -c nodenetctl -n '_shtab_nodenetctl_using boot-report' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using boot-report' -s b -l boot -x -d '0: this boot, -1: the one before, …'
complete -c nodenetctl -n '_shtab_nodenetctl_using boot-report' -l boots -x -d 'the last N boots, oldest first'
complete -c nodenetctl -n '_shtab_nodenetctl_using boot-report' -l json -d 'print a list of boots with their spans of time'
complete -c nodenetctl -n '_shtab_nodenetctl_using boot-report' -l svg -xka "(__fish_complete_path (commandline -ct))" -d 'write a picture instead; - is standard output'
complete -c nodenetctl -n '_shtab_nodenetctl_using boot-report' -l directory -xka "(__fish_complete_directories)" -d 'read the journal in this directory, as of a dead node'"'"'s disk'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a explain -d 'why this node IP (a verdict for each address), why this host name, what goes below br-ex'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain; and test $_shtab_nodenetctl_npos -eq 0' -a node-ip -d 'the choice of the node IPs'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain node-ip' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain node-ip' -l snapshot -xka "(__fish_complete_path (commandline -ct))" -d 'explain this snapshot (`-`: standard input; at most 32 MiB) instead of this host'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain node-ip' -l diff -xka "(__fish_complete_path (commandline -ct))" -d 'show only the verdicts that change from here to this snapshot (`-` as above)'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain node-ip' -l anew -d 'leave out what was published before, as a reselection does'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain node-ip' -l vip -x -d 'a VIP; may be repeated'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain node-ip' -l hint -x -d 'an address, prefix or link'"'"'s name; may be repeated, in order'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain node-ip' -l hint-required -d 'take nothing that the hint does not mean'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain node-ip' -l families -xka "auto ipv4 ipv6 ipv4,ipv6 ipv6,ipv4" -d 'auto, or ipv4 and ipv6 in order: `ipv4,ipv6`'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain node-ip' -l prefer-ipv6 -d 'with families auto: IPv6 first'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain node-ip' -l network-type -xka "OVNKubernetes" -d 'OVNKubernetes, or another pod network'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain node-ip' -l platform -xka "none baremetal openstack vsphere nutanix ovirt kubevirt external aws azure gcp ibmcloud powervs alibabacloud equinixmetal libvirt" -d 'none, baremetal, vsphere …'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain node-ip' -l user-managed-lb -d 'VIPs are on an external load balancer'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain node-ip' -l deny-link -x -d 'no node IP on links with such names; may be repeated'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain node-ip' -l json -d 'print a JSON document instead of a table'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain; and test $_shtab_nodenetctl_npos -eq 0' -a br-ex -d 'the link that goes below br-ex, and what is done with it'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain br-ex' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain br-ex' -l snapshot -xka "(__fish_complete_path (commandline -ct))" -d 'explain these facts (`-`: standard input) instead of this host'"'"'s'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain br-ex' -l facts -d 'print the facts themselves, for --snapshot on another machine'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain br-ex' -l datapath -xka "system netdev" -d 'instead of the setting bridge.datapath'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain br-ex' -l json -d 'print one JSON document instead of YAML'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain; and test $_shtab_nodenetctl_npos -eq 0' -a hostname -d 'the name of this node'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain hostname' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain hostname' -l json -d 'print a JSON document instead of a table'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain hostname' -l no-dns -d 'do not ask DNS for the names of this host'"'"'s addresses'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a check -d 'check node files without touching the network'
complete -c nodenetctl -n '_shtab_nodenetctl_using check' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using check' -l json -d 'print a JSON document with an entry for each file'
complete -c nodenetctl -n '_shtab_nodenetctl_using check; and test $_shtab_nodenetctl_npos -eq 0' -ka "(__fish_complete_path (commandline -ct))" -d 'a node file, or a directory of them'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a reload -d 'read settings and node file again, as `systemctl reload nodenetd`'
complete -c nodenetctl -n '_shtab_nodenetctl_using reload' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using reload' -l wait -d 'return when the reload is over, with its result'
complete -c nodenetctl -n '_shtab_nodenetctl_using reload' -l quiet -d 'leave the reason to the journal, where nodenetd tells it'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a reselect -d 'choose the node IPs anew; --dry-run only says what would change'
complete -c nodenetctl -n '_shtab_nodenetctl_using reselect' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using reselect' -l dry-run -d 'only say what would change'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a bridge -d 'take br-ex away, or make it again'
complete -c nodenetctl -n '_shtab_nodenetctl_using bridge' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using bridge; and test $_shtab_nodenetctl_npos -eq 0' -a remove -d 'put the node back on the plain link'
complete -c nodenetctl -n '_shtab_nodenetctl_using bridge remove' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using bridge; and test $_shtab_nodenetctl_npos -eq 0' -a make -d 'make br-ex now, after it was taken away or could not be made'
complete -c nodenetctl -n '_shtab_nodenetctl_using bridge make' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a wait -d 'wait until one stage is over'
complete -c nodenetctl -n '_shtab_nodenetctl_using wait' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using wait' -l as -x -d 'wait in the name of this unit; exits 78 where the stage in turn waits for that unit'
complete -c nodenetctl -n '_shtab_nodenetctl_using wait' -l timeout -x -d 'wait no longer than this'
complete -c nodenetctl -n '_shtab_nodenetctl_using wait' -l file -xka "(__fish_complete_path (commandline -ct))" -d 'read this state file (default: /run/nodenet/state.json)'
complete -c nodenetctl -n '_shtab_nodenetctl_using wait; and test $_shtab_nodenetctl_npos -eq 0' -ka "hostname nmstate resolv-prepender nodeip configure-ovs hosted-services" -d 'the stage to wait for'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a snapshot -d 'print links, addresses and routes as JSON, for a bug report or for explain'
complete -c nodenetctl -n '_shtab_nodenetctl_using snapshot' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using snapshot' -l all -d 'every route of every table; of a large table that is more than `explain` reads (32 MiB)'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a settings -d 'print every setting with the file it came from'
complete -c nodenetctl -n '_shtab_nodenetctl_using settings' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using settings' -l json -d 'print a JSON document'
complete -c nodenetctl -n '_shtab_nodenetctl_using settings' -l directory -xka "(__fish_complete_directories)" -d 'read nodenet.toml and nodenet.toml.d there (default: /etc/nodenet)'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a version -d 'print the version'
complete -c nodenetctl -n '_shtab_nodenetctl_using version' -s h -l help -d 'show this help message and exit'

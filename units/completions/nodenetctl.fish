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

set -g _shtab_nodenetctl_commands status monitor boot-report explain 'explain node-ip' 'explain br-ex' 'explain hostname' 'explain nmstate' 'explain api-int' 'explain vip' 'explain hosted' hosted claims check diff try confirm rollback history reload reselect bridge 'bridge remove' 'bridge make' adopt hand-back wait snapshot settings day-one 'day-one check' 'day-one show' 'day-one early' 'day-one keyfiles' 'day-one ignition' 'day-one machine-config' 'day-one secret' 'day-one from-host' 'day-one install-config' report version
set -g _shtab_nodenetctl_opts_with_value --as --bmh --boot --boots --datapath --deny-link --diff --digest --directory --extract --families --file --for --hint --host --hosts --install-config --machine-config --map --name --network --network-type --node-files --out --output --platform --role --settings --snapshot --step --svg --timeout --to --vip -b

complete -c nodenetctl -e
complete -c nodenetctl -f

complete -c nodenetctl -n _shtab_nodenetctl_using -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n _shtab_nodenetctl_using -l version -d 'print the version'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a status -d 'show the status of the node: health, node IPs, stages; --wait waits until it is ready'
complete -c nodenetctl -n '_shtab_nodenetctl_using status' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using status' -l json -d 'print the document that /run/nodenet/state.json contains'
complete -c nodenetctl -n '_shtab_nodenetctl_using status' -l wait -d 'wait until the node is ready or has failed, or systemd skips nodenetd'
complete -c nodenetctl -n '_shtab_nodenetctl_using status' -l timeout -x -d 'wait at most so long; 90, 5s and 2min are valid'
complete -c nodenetctl -n '_shtab_nodenetctl_using status' -l file -xka "(__fish_complete_path (commandline -ct))" -d 'read this state file (default: /run/nodenet/state.json)'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a monitor -d 'print each change as it happens, one line for each event'
complete -c nodenetctl -n '_shtab_nodenetctl_using monitor' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using monitor' -l json -d 'print one JSON object in each line; time in seconds since boot, null where it is not known'
complete -c nodenetctl -n '_shtab_nodenetctl_using monitor' -l file -xka "(__fish_complete_path (commandline -ct))" -d 'read this state file (default: /run/nodenet/state.json)'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a boot-report -d 'show where the time of a boot went, as text, JSON or a picture'
complete -c nodenetctl -n '_shtab_nodenetctl_using boot-report' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using boot-report' -s b -l boot -x -d '0: this boot, -1: the previous boot, …'
complete -c nodenetctl -n '_shtab_nodenetctl_using boot-report' -l boots -x -d 'the last N boots, oldest first'
complete -c nodenetctl -n '_shtab_nodenetctl_using boot-report' -l json -d 'print a JSON list of boots with their time spans'
complete -c nodenetctl -n '_shtab_nodenetctl_using boot-report' -l svg -xka "(__fish_complete_path (commandline -ct))" -d 'write an SVG picture instead; - is standard output'
complete -c nodenetctl -n '_shtab_nodenetctl_using boot-report' -l directory -xka "(__fish_complete_directories)" -d 'read the journal files in this directory, for example of a disk'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a explain -d 'show why an address is the node IP, which link br-ex uses, who holds a VIP, and more'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain; and test $_shtab_nodenetctl_npos -eq 0' -a node-ip -d 'why these addresses are the node IPs'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain node-ip' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain node-ip' -l snapshot -xka "(__fish_complete_path (commandline -ct))" -d 'explain this snapshot (`-`: standard input; at most 32 MiB) instead of this host'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain node-ip' -l diff -xka "(__fish_complete_path (commandline -ct))" -d 'show only the verdicts that differ in this snapshot (`-` as above)'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain node-ip' -l ignore-published -d 'ignore published node IPs, as a reselection does'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain node-ip' -l vip -x -d 'a VIP; may be repeated'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain node-ip' -l hint -x -d 'an address, a prefix or the name of a link; may be repeated, in order'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain node-ip' -l hint-required -d 'select only addresses that match the hint'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain node-ip' -l families -xka "auto ipv4 ipv6 ipv4,ipv6 ipv6,ipv4" -d 'auto, or families in order of preference: `ipv4,ipv6`'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain node-ip' -l prefer-ipv6 -d 'with families auto: IPv6 first'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain node-ip' -l network-type -xka "OVNKubernetes" -d 'OVNKubernetes, or another pod network'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain node-ip' -l platform -xka "none baremetal openstack vsphere nutanix ovirt kubevirt external aws azure gcp ibmcloud powervs alibabacloud equinixmetal libvirt" -d 'none, baremetal, vsphere …'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain node-ip' -l user-managed-lb -d 'the VIPs belong to an external load balancer'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain node-ip' -l deny-link -x -d 'select no node IP on links with such names; may be repeated'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain node-ip' -l json -d 'print a JSON document instead of a table'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain; and test $_shtab_nodenetctl_npos -eq 0' -a br-ex -d 'which link is the uplink of br-ex, and what nodenetd would apply'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain br-ex' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain br-ex' -l snapshot -xka "(__fish_complete_path (commandline -ct))" -d 'explain these facts (`-`: standard input) instead of those of this host'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain br-ex' -l facts -d 'print the facts themselves, for --snapshot on another machine'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain br-ex' -l datapath -xka "system netdev" -d 'use this datapath instead of the setting bridge.datapath'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain br-ex' -l json -d 'print one JSON document instead of YAML'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain; and test $_shtab_nodenetctl_npos -eq 0' -a hostname -d 'why the node has this host name'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain hostname' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain hostname' -l json -d 'print a JSON document instead of a table'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain hostname' -l no-dns -d 'do not ask DNS for the names of this host'"'"'s addresses'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain; and test $_shtab_nodenetctl_npos -eq 0' -a nmstate -d 'what answered before and after the last apply of a node file'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain nmstate' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain nmstate' -l json -d 'print the JSON document instead of a table'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain; and test $_shtab_nodenetctl_npos -eq 0' -a api-int -d 'which address api-int has, and why'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain api-int' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain; and test $_shtab_nodenetctl_npos -eq 0' -a vip -d 'who holds each VIP, and whether this node may'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain vip' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain; and test $_shtab_nodenetctl_npos -eq 0' -a hosted -d 'why each hosted service runs on this node or does not'
complete -c nodenetctl -n '_shtab_nodenetctl_using explain hosted' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a hosted -d 'show DNS, VIPs and load balancer of this node and who holds each VIP; drain this node'
complete -c nodenetctl -n '_shtab_nodenetctl_using hosted' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using hosted' -l dry-run -d 'with migrate: only check'
complete -c nodenetctl -n '_shtab_nodenetctl_using hosted' -l to -x -d 'with migrate: check this address; twice for two'
complete -c nodenetctl -n '_shtab_nodenetctl_using hosted' -l json -d 'print the document that the companion reports'
complete -c nodenetctl -n '_shtab_nodenetctl_using hosted' -l watch -d 'print again after each change, until interrupted'
complete -c nodenetctl -n '_shtab_nodenetctl_using hosted' -l file -xka "(__fish_complete_path (commandline -ct))" -d 'read this file (default: /run/nodenet/hosted/status.json)'
complete -c nodenetctl -n '_shtab_nodenetctl_using hosted; and test $_shtab_nodenetctl_npos -eq 0' -ka "drain undrain migrate" -d 'drain, undrain, or migrate --dry-run'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a claims -d 'show which workload has which address, why a claim waits, and whether everything agrees'
complete -c nodenetctl -n '_shtab_nodenetctl_using claims' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using claims' -l network -x -d 'show the addresses of this network only'
complete -c nodenetctl -n '_shtab_nodenetctl_using claims' -l json -d 'print the document that the service returns'
complete -c nodenetctl -n '_shtab_nodenetctl_using claims' -l repair -d 'with check: also repair what can safely be repaired'
complete -c nodenetctl -n '_shtab_nodenetctl_using claims; and test $_shtab_nodenetctl_npos -eq 0' -ka "explain check" -d 'explain or check'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a check -d 'check node files without changing the network'
complete -c nodenetctl -n '_shtab_nodenetctl_using check' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using check' -l json -d 'print a JSON document with an entry for each file'
complete -c nodenetctl -n '_shtab_nodenetctl_using check; and test $_shtab_nodenetctl_npos -ge 0' -ka "(__fish_complete_path (commandline -ct))" -d 'a node file, a directory of them, or - for standard input'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a diff -d 'show what a node file would change on this node, or how two entries of the history differ'
complete -c nodenetctl -n '_shtab_nodenetctl_using diff' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using diff' -l json -d 'print a JSON document'
complete -c nodenetctl -n '_shtab_nodenetctl_using diff; and test $_shtab_nodenetctl_npos -eq 0' -ka "(__fish_complete_path (commandline -ct))" -d 'a node file, @NUMBER, or - for standard input'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a try -d 'apply a node file and roll it back unless it is confirmed in time'
complete -c nodenetctl -n '_shtab_nodenetctl_using try' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using try' -l for -x -d 'roll back after this time, such as 90, 5min (from 5 s to 3600 s, 120 s if not given)'
complete -c nodenetctl -n '_shtab_nodenetctl_using try' -l json -d 'print a JSON document for each event, one a line'
complete -c nodenetctl -n '_shtab_nodenetctl_using try; and test $_shtab_nodenetctl_npos -eq 0' -ka "(__fish_complete_path (commandline -ct))" -d 'a node file, or - for standard input'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a confirm -d 'keep the node file that is on trial, and install it'
complete -c nodenetctl -n '_shtab_nodenetctl_using confirm' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using confirm' -l digest -x -d 'confirm only if the SHA-256 of the file on trial begins with these digits, which `nodenetctl status` prints'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a rollback -d 'end the trial of a node file; --to goes back to an entry of the history'
complete -c nodenetctl -n '_shtab_nodenetctl_using rollback' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using rollback' -l to -x -d 'an entry of `nodenetctl history`'
complete -c nodenetctl -n '_shtab_nodenetctl_using rollback' -l for -x -d 'with --to: undo it after this time, such as 90, 5min, unless it is confirmed'
complete -c nodenetctl -n '_shtab_nodenetctl_using rollback' -l force -d 'with --to: also if the node has lost a NIC since'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a history -d 'show each change of the network: its file, how it ended, and whether the node worked with it'
complete -c nodenetctl -n '_shtab_nodenetctl_using history' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using history' -l json -d 'print a JSON document'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a reload -d 'read settings and node file again, as `systemctl reload nodenetd`'
complete -c nodenetctl -n '_shtab_nodenetctl_using reload' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using reload' -l prune -d 'also remove what earlier node files made and this one does not name, as `nodenetctl status` lists it'
complete -c nodenetctl -n '_shtab_nodenetctl_using reload' -l wait -d 'return when the reload has ended, with its result'
complete -c nodenetctl -n '_shtab_nodenetctl_using reload' -l quiet -d 'do not print the reason; the journal contains it'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a reselect -d 'select the node IPs again; --dry-run only prints what would change'
complete -c nodenetctl -n '_shtab_nodenetctl_using reselect' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using reselect' -l dry-run -d 'only print what would change'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a bridge -d 'remove br-ex, or make it again'
complete -c nodenetctl -n '_shtab_nodenetctl_using bridge' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using bridge; and test $_shtab_nodenetctl_npos -eq 0' -a remove -d 'move the node back to the uplink'
complete -c nodenetctl -n '_shtab_nodenetctl_using bridge remove' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using bridge; and test $_shtab_nodenetctl_npos -eq 0' -a make -d 'make br-ex now, after it was removed or could not be made'
complete -c nodenetctl -n '_shtab_nodenetctl_using bridge make' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a adopt -d 'take a running node over from the former chain of units; --dry-run prints the steps'
complete -c nodenetctl -n '_shtab_nodenetctl_using adopt' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using adopt' -l dry-run -d 'print the steps and change nothing'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a hand-back -d 'give an adopted node back to the former chain of units; --dry-run prints the steps'
complete -c nodenetctl -n '_shtab_nodenetctl_using hand-back' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using hand-back' -l dry-run -d 'print the steps and change nothing'
complete -c nodenetctl -n '_shtab_nodenetctl_using hand-back' -l uninstall -d 'before nodenet is removed: hand the node back if it is adopted; without a former chain, remove what nodenetd published below /etc'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a wait -d 'wait until one stage has ended'
complete -c nodenetctl -n '_shtab_nodenetctl_using wait' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using wait' -l as -x -d 'wait on behalf of this unit; exits 78 if the stage itself waits for that unit'
complete -c nodenetctl -n '_shtab_nodenetctl_using wait' -l timeout -x -d 'wait at most so long; 90, 5s and 2min are valid'
complete -c nodenetctl -n '_shtab_nodenetctl_using wait' -l file -xka "(__fish_complete_path (commandline -ct))" -d 'read this state file (default: /run/nodenet/state.json)'
complete -c nodenetctl -n '_shtab_nodenetctl_using wait; and test $_shtab_nodenetctl_npos -eq 0' -ka "hostname nmstate resolv-prepender nodeip configure-ovs hosted-services" -d 'the stage to wait for'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a snapshot -d 'print links, addresses and routes as JSON, for a bug report or for explain'
complete -c nodenetctl -n '_shtab_nodenetctl_using snapshot' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using snapshot' -l all -d 'print every route of every table; `explain` reads at most 32 MiB, and large tables exceed that'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a settings -d 'print every setting with the file that sets it'
complete -c nodenetctl -n '_shtab_nodenetctl_using settings' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using settings' -l json -d 'print a JSON document'
complete -c nodenetctl -n '_shtab_nodenetctl_using settings' -l directory -xka "(__fish_complete_directories)" -d 'read nodenet.toml and nodenet.toml.d in this directory (default: /etc/nodenet)'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a day-one -d 'make Ignition, MachineConfig, Secret and install-config from a folder of node files'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one; and test $_shtab_nodenetctl_npos -eq 0' -a check -d 'every rule of day one, all findings at once: node files, install-config, hosts'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one check' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one check' -l install-config -xka "(__fish_complete_path (commandline -ct))" -d 'install-config.yaml of the cluster'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one check' -l hosts -xka "(__fish_complete_path (commandline -ct))" -d 'BareMetalHosts and Secrets, one or several YAML documents'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one check' -l machine-config -xka "(__fish_complete_path (commandline -ct))" -d 'a file with MachineConfigs; may be given several times'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one check' -l map -x -d 'the node file of a host that has another name; may be given several times'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one check' -l step -xka "first second both" -d 'what the node files are for: the deployment image (first), the running node (second), or both (default)'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one check' -l strict -d 'exit 1 when there are warnings'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one check' -l json -d 'print a JSON document'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one check' -l sarif -d 'print a SARIF 2.1.0 log, for a code review'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one check; and test $_shtab_nodenetctl_npos -eq 0' -ka "(__fish_complete_directories)" -d 'a folder of node files, or one of them'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one; and test $_shtab_nodenetctl_npos -eq 0' -a show -d 'a table of hosts, files, addresses and gateways; duplicate addresses are marked'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one show' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one show' -l json -d 'print a JSON document'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one show; and test $_shtab_nodenetctl_npos -eq 0' -ka "(__fish_complete_directories)" -d 'a folder of node files'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one; and test $_shtab_nodenetctl_npos -eq 0' -a early -d 'the documents of the first step, without Open vSwitch, from files that make br-ex'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one early' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one early' -l out -xka "(__fish_complete_directories)" -d 'write the documents into this folder'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one early' -l force -d 'overwrite files that have other content'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one early; and test $_shtab_nodenetctl_npos -eq 0' -ka "(__fish_complete_path (commandline -ct))" -d 'a node file, or a folder of them'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one; and test $_shtab_nodenetctl_npos -eq 0' -a keyfiles -d 'NetworkManager keyfiles for the deployment image'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one keyfiles' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one keyfiles' -l out -xka "(__fish_complete_directories)" -d 'write the keyfiles into this folder'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one keyfiles' -l force -d 'overwrite files that have other content'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one keyfiles; and test $_shtab_nodenetctl_npos -eq 0' -ka "(__fish_complete_path (commandline -ct))" -d 'a node file without Open vSwitch'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one; and test $_shtab_nodenetctl_npos -eq 0' -a ignition -d 'an Ignition configuration that carries node files'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one ignition' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one ignition' -l extract -xka "(__fish_complete_path (commandline -ct))" -d 'read this configuration; --out names a folder'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one ignition' -l out -xka "(__fish_complete_path (commandline -ct))" -d 'write the configuration, or the extracted files, there (default: standard output)'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one ignition' -l force -d 'overwrite a file that has other content'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one ignition; and test $_shtab_nodenetctl_npos -eq 0' -ka "(__fish_complete_path (commandline -ct))" -d 'a folder of such files, or a node file'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one; and test $_shtab_nodenetctl_npos -eq 0' -a machine-config -d 'a MachineConfig that carries node files, or back to the files with --extract'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one machine-config' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one machine-config' -l role -x -d 'machine config pool: master, worker or one of your own'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one machine-config' -l name -x -d 'name of the object (default: 10-nodenet-ROLE)'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one machine-config' -l hint -x -d 'where the node IP is: an address, a prefix or the name of a link'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one machine-config' -l settings -xka "(__fish_complete_path (commandline -ct))" -d 'make settings from this install-config'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one machine-config' -l extract -xka "(__fish_complete_path (commandline -ct))" -d 'read this MachineConfig; --out names a folder'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one machine-config' -l out -xka "(__fish_complete_path (commandline -ct))" -d 'write the object, or the extracted files, there (default: standard output)'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one machine-config' -l force -d 'overwrite a file that has other content'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one machine-config; and test $_shtab_nodenetctl_npos -eq 0' -ka "(__fish_complete_directories)" -d 'a folder of node files'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one; and test $_shtab_nodenetctl_npos -eq 0' -a secret -d 'the Secret and the BareMetalHost fields for a host that is added later'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one secret' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one secret' -l host -x -d 'name of the BareMetalHost'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one secret' -l bmh -xka "(__fish_complete_path (commandline -ct))" -d 'the manifest of the BareMetalHost'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one secret' -l extract -xka "(__fish_complete_path (commandline -ct))" -d 'read these Secrets; --out names a folder'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one secret' -l out -xka "(__fish_complete_path (commandline -ct))" -d 'write the documents there (default: standard output)'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one secret' -l force -d 'overwrite a file that has other content'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one secret; and test $_shtab_nodenetctl_npos -eq 0' -ka "(__fish_complete_path (commandline -ct))" -d 'the node file of the host'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one; and test $_shtab_nodenetctl_npos -eq 0' -a from-host -d 'a first node file from a running host, or from its saved state'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one from-host' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one from-host' -l out -xka "(__fish_complete_path (commandline -ct))" -d 'write the node file there (default: standard output)'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one from-host' -l force -d 'overwrite a file that has other content'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one from-host; and test $_shtab_nodenetctl_npos -eq 0' -ka "(__fish_complete_path (commandline -ct))" -d 'what `nmstatectl show` printed, or a NodeNetworkState (default: this host)'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one; and test $_shtab_nodenetctl_npos -eq 0' -a install-config -d 'install-config with the node file of each bare-metal host'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one install-config' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one install-config' -l node-files -xka "(__fish_complete_directories)" -d 'a folder of node files'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one install-config' -l extract -d 'write what is there into files; --out names a folder'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one install-config' -l map -x -d 'the node file of a host that has another name; may be given several times'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one install-config' -l out -xka "(__fish_complete_path (commandline -ct))" -d 'write install-config, or the extracted files, there (default: standard output)'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one install-config' -l force -d 'overwrite a file that has other content'
complete -c nodenetctl -n '_shtab_nodenetctl_using day-one install-config; and test $_shtab_nodenetctl_npos -eq 0' -ka "(__fish_complete_path (commandline -ct))" -d install-config.yaml
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a report -d 'write one archive for a bug report: status, journal, network and versions, without secrets'
complete -c nodenetctl -n '_shtab_nodenetctl_using report' -s h -l help -d 'show this help message and exit'
complete -c nodenetctl -n '_shtab_nodenetctl_using report' -l output -xka "(__fish_complete_path (commandline -ct))" -d 'write to FILE, - for standard output (default: nodenet-report-HOST-TIME.tar.gz in /var/tmp)'
complete -c nodenetctl -n '_shtab_nodenetctl_using report' -l json -d 'print the list of contents as a JSON document'
complete -c nodenetctl -n '_shtab_nodenetctl_using; and test $_shtab_nodenetctl_npos -eq 0' -a version -d 'print the version'
complete -c nodenetctl -n '_shtab_nodenetctl_using version' -s h -l help -d 'show this help message and exit'

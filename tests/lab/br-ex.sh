# br-ex over eth0 with the MAC of eth0, on Open vSwitch's userspace datapath; the lease moves along.
mac=$(cat /sys/class/net/eth0/address)
nmcli connection add type ovs-bridge ifname br-ex con-name br-ex ovs-bridge.datapath-type netdev autoconnect yes
nmcli connection add type ovs-port ifname eth0 con-name br-ex-uplink-port controller br-ex port-type ovs-bridge
nmcli connection add type ethernet ifname eth0 con-name br-ex-uplink controller br-ex-uplink-port port-type ovs-port
nmcli connection add type ovs-port ifname br-ex con-name br-ex-port controller br-ex port-type ovs-bridge
nmcli connection add type ovs-interface ifname br-ex con-name br-ex-if controller br-ex-port port-type ovs-port \
  ipv4.method auto ipv6.method auto 802-3-ethernet.cloned-mac-address "$mac"
nmcli --wait 30 connection up br-ex-uplink
nmcli --wait 30 connection up br-ex-if

#!/bin/busybox sh
# The initrd's init: all disks but the last are layers, the lowest first; the last is what this VM writes.
set -e
busybox=/bin/busybox
$busybox mount -t devtmpfs dev /dev
$busybox mount -t proc proc /proc
while read -r module; do $busybox insmod "/modules/$module"; done </modules/order
read -r cmdline </proc/cmdline
disks=${cmdline##*lab.disks=}
disks=${disks%% *}

lower=
upper=
for letter in a b c d e f g h; do
	[ "$disks" -gt 0 ] || break
	disks=$((disks - 1))
	while [ ! -b "/dev/vd$letter" ]; do $busybox usleep 10000; done
	$busybox mkdir "/disks/$letter"
	if [ "$disks" -gt 0 ]; then
		$busybox mount -t ext4 -o ro,noatime "/dev/vd$letter" "/disks/$letter"
		lower=/disks/$letter${lower:+:$lower}
	else
		$busybox mount -t ext4 -o noatime "/dev/vd$letter" "/disks/$letter"
		upper=/disks/$letter
	fi
done
$busybox mkdir -p "$upper/upper" "$upper/work"
$busybox mount -t overlay -o "lowerdir=$lower,upperdir=$upper/upper,workdir=$upper/work" root /root
$busybox umount /proc
$busybox mount --move /dev /root/dev
exec $busybox switch_root /root /sbin/init

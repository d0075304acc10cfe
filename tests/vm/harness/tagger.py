"""How does a tag get on a frame, on a machine whose kernel has no 802.1Q?

A program, started by `Trunk`: what comes in at the link `trunk` with the tag leaves at `access` without it, and back.
"""

import select
import socket
import struct
import sys

TPID = b"\x81\x00"
ETH_P_ALL = 3
SOL_PACKET, PACKET_AUXDATA = 263, 8
VLAN_VALID = 1 << 4
AUXDATA = struct.Struct("IIIHHHH")
"""struct tpacket_auxdata: status, len, snaplen, mac, net, vlan_tci, vlan_tpid (packet(7))."""
VID_BITS = 0xFFF
PACKET_OUTGOING = 4


def _carry(vid: int) -> None:
    """Forward frames until the process is ended."""
    trunk, access = _raw("trunk"), _raw("access")
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        for ready in select.select([trunk, access], [], [])[0]:
            tag, frame = _receive(ready)
            if ready is trunk and tag is not None and tag & VID_BITS == vid:
                access.send(frame)
            elif ready is access and tag is None and frame:
                trunk.send(frame[:12] + TPID + struct.pack("!H", vid) + frame[12:])


def _raw(link: str) -> socket.socket:
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    made.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    made.bind((link, 0))
    return made


def _receive(link: socket.socket) -> tuple[int | None, bytes]:
    """A frame without its tag, and the tag; the kernel has often taken it out of the frame already."""
    frame, ancillary, _, sender = link.recvmsg(65536, 256)
    if sender[2] == PACKET_OUTGOING:
        return None, b""
    for level, kind, data in ancillary:
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
            status, _, _, _, _, tag, _ = AUXDATA.unpack_from(data)
            if status & VLAN_VALID:
                return tag, frame
    if frame[12:14] == TPID:
        return struct.unpack_from("!H", frame, 14)[0], frame[:12] + frame[16:]
    return None, frame


if __name__ == "__main__":
    _carry(int(sys.argv[1]))

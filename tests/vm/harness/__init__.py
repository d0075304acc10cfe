"""What does a test need to know that wants a kernel of its own?

vm = thaw(lab, frozen(install_product()))
vm.plug("eth0", lab.lan())
vm.run(["ip", "address"])
vm.reboot()
"""

from vm.harness.frozen import Frozen, frozen, thaw
from vm.harness.machine import Vm
from vm.harness.qemu import obstacle
from vm.harness.trunk import Trunk

__all__ = ["Frozen", "Trunk", "Vm", "frozen", "obstacle", "thaw"]

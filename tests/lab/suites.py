"""Which boots must pass on every Debian that the lab has?

The main boots of each topic, except br-ex: NetworkManager of Debian trixie has no plugin for Open vSwitch. The lab's
conftest runs each of them once for each suite. `NODENET_LAB_SUITE=trixie` runs all of the lab there.
"""

MAIN_BOOTS = {
    # file → tests
    "boot/test_installed.py": {"test_a_directory_that_was_removed_is_made_again"},
    "boot/test_ordering.py": {
        "test_units_behind_the_old_names_start_behind_their_stage",
        "test_kdump_makes_no_cycle_and_kubelet_starts",
    },
    "boot/test_reload.py": {
        "test_reload",
        "test_bad_settings_are_refused",
        "test_a_restart_after_ready_changes_nothing",
    },
    "boot/test_waiting.py": {
        "test_network_manager_that_comes_late",
        "test_a_system_bus_that_is_killed_during_the_boot",
        "test_a_boot_without_a_bus_publishes_all_the_same",
        "test_dual_stack_by_dhcp_and_router_advertisement",
    },
    "hostname/test_hostname.py": {"test_a_host_that_is_renamed_keeps_its_node_name"},
    "nmstate/test_applying.py": {
        "test_the_static_document",
        "test_a_reboot_with_nothing_changed",
        "test_a_power_cut_during_an_apply",
        "test_an_apply_that_does_not_hold",
        "test_a_reload_restores_a_network_that_was_changed_by_hand",
    },
    "node_ip/test_node_ip.py": {
        "test_a_hint_names_the_second_link",
        "test_a_dhcpv6_address_without_a_prefix_of_its_own",
        "test_another_lease_after_a_reboot",
    },
    "resolver/test_resolver.py": {
        "test_the_node_is_asked_first_once_it_answers",
        "test_systemd_resolved",
        "test_the_link_of_the_node_ip_forwards_packets_before_kubelet_starts",
    },
}

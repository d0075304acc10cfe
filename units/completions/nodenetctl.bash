# Made from nodenetctl's parser by tools/make_completions.py, with https://github.com/tqdm/shtab

_shtab_nodenetctl_explain_subparsers=(node-ip br-ex hostname nmstate api-int vip hosted)
_shtab_nodenetctl_bridge_subparsers=(remove make)
_shtab_nodenetctl_day_one_subparsers=(check show early keyfiles ignition machine-config secret from-csv from-host install-config)
_shtab_nodenetctl_subparsers=(status doctor monitor boot-report explain hosted claims check diff verify try confirm rollback history reload reselect bridge adopt hand-back wait snapshot settings day-one report fleet what-if version)

_shtab_nodenetctl_status_option_strings=(-h --help --json --wait --timeout --file)
_shtab_nodenetctl_doctor_option_strings=(-h --help --json)
_shtab_nodenetctl_monitor_option_strings=(-h --help --json --file)
_shtab_nodenetctl_boot_report_option_strings=(-h --help -b --boot --boots --json --svg --directory)
_shtab_nodenetctl_explain_node_ip_option_strings=(-h --help --snapshot --diff --ignore-published --vip --hint --hint-required --families --prefer-ipv6 --network-type --platform --user-managed-lb --deny-link --json)
_shtab_nodenetctl_explain_br_ex_option_strings=(-h --help --snapshot --facts --datapath --json)
_shtab_nodenetctl_explain_hostname_option_strings=(-h --help --json --no-dns)
_shtab_nodenetctl_explain_nmstate_option_strings=(-h --help --json)
_shtab_nodenetctl_explain_api_int_option_strings=(-h --help)
_shtab_nodenetctl_explain_vip_option_strings=(-h --help)
_shtab_nodenetctl_explain_hosted_option_strings=(-h --help)
_shtab_nodenetctl_explain_option_strings=(-h --help)
_shtab_nodenetctl_hosted_option_strings=(-h --help --dry-run --to --json --watch --file)
_shtab_nodenetctl_claims_option_strings=(-h --help --network --json --repair --kubeconfig --lease-namespace --settle --dry-run)
_shtab_nodenetctl_check_option_strings=(-h --help --json)
_shtab_nodenetctl_diff_option_strings=(-h --help --json)
_shtab_nodenetctl_verify_option_strings=(-h --help --file)
_shtab_nodenetctl_try_option_strings=(-h --help --for --json)
_shtab_nodenetctl_confirm_option_strings=(-h --help --digest)
_shtab_nodenetctl_rollback_option_strings=(-h --help --to --for --force)
_shtab_nodenetctl_history_option_strings=(-h --help --json)
_shtab_nodenetctl_reload_option_strings=(-h --help --prune --wait --quiet)
_shtab_nodenetctl_reselect_option_strings=(-h --help --dry-run)
_shtab_nodenetctl_bridge_remove_option_strings=(-h --help)
_shtab_nodenetctl_bridge_make_option_strings=(-h --help)
_shtab_nodenetctl_bridge_option_strings=(-h --help)
_shtab_nodenetctl_adopt_option_strings=(-h --help --dry-run)
_shtab_nodenetctl_hand_back_option_strings=(-h --help --dry-run --uninstall)
_shtab_nodenetctl_wait_option_strings=(-h --help --as --timeout --file)
_shtab_nodenetctl_snapshot_option_strings=(-h --help --all --nmstate)
_shtab_nodenetctl_settings_option_strings=(-h --help --json --directory)
_shtab_nodenetctl_day_one_check_option_strings=(-h --help --install-config --hosts --machine-config --map --step --strict --json)
_shtab_nodenetctl_day_one_show_option_strings=(-h --help --json)
_shtab_nodenetctl_day_one_early_option_strings=(-h --help --out --force)
_shtab_nodenetctl_day_one_keyfiles_option_strings=(-h --help --out --force)
_shtab_nodenetctl_day_one_ignition_option_strings=(-h --help --extract --out --force)
_shtab_nodenetctl_day_one_machine_config_option_strings=(-h --help --role --name --hint --settings --extract --out --force)
_shtab_nodenetctl_day_one_secret_option_strings=(-h --help --host --bmh --extract --out --force)
_shtab_nodenetctl_day_one_from_csv_option_strings=(-h --help --file --out --force)
_shtab_nodenetctl_day_one_from_host_option_strings=(-h --help --out --force)
_shtab_nodenetctl_day_one_install_config_option_strings=(-h --help --node-files --extract --map --out --force)
_shtab_nodenetctl_day_one_option_strings=(-h --help)
_shtab_nodenetctl_report_option_strings=(-h --help --output --html --from --json)
_shtab_nodenetctl_fleet_option_strings=(-h --help --control-plane --expect --odd --html --json)
_shtab_nodenetctl_what_if_option_strings=(-h --help --control-plane --files --settings --json)
_shtab_nodenetctl_version_option_strings=(-h --help)
_shtab_nodenetctl_option_strings=(-h --help --version)

_shtab_nodenetctl_status___file_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_monitor___file_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_boot_report___svg_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_boot_report___directory_COMPGEN=_shtab_compgen_dirs
_shtab_nodenetctl_explain_node_ip___snapshot_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_explain_node_ip___diff_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_explain_br_ex___snapshot_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_hosted___file_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_claims___kubeconfig_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_check_pos_0_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_diff_pos_0_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_verify___file_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_try_pos_0_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_wait___file_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_settings___directory_COMPGEN=_shtab_compgen_dirs
_shtab_nodenetctl_day_one_check_pos_0_COMPGEN=_shtab_compgen_dirs
_shtab_nodenetctl_day_one_check___install_config_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_day_one_check___hosts_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_day_one_check___machine_config_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_day_one_show_pos_0_COMPGEN=_shtab_compgen_dirs
_shtab_nodenetctl_day_one_early_pos_0_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_day_one_early___out_COMPGEN=_shtab_compgen_dirs
_shtab_nodenetctl_day_one_keyfiles_pos_0_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_day_one_keyfiles___out_COMPGEN=_shtab_compgen_dirs
_shtab_nodenetctl_day_one_ignition_pos_0_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_day_one_ignition___extract_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_day_one_ignition___out_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_day_one_machine_config_pos_0_COMPGEN=_shtab_compgen_dirs
_shtab_nodenetctl_day_one_machine_config___settings_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_day_one_machine_config___extract_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_day_one_machine_config___out_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_day_one_secret_pos_0_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_day_one_secret___bmh_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_day_one_secret___extract_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_day_one_secret___out_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_day_one_from_csv_pos_0_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_day_one_from_csv___file_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_day_one_from_csv___out_COMPGEN=_shtab_compgen_dirs
_shtab_nodenetctl_day_one_from_host_pos_0_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_day_one_from_host___out_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_day_one_install_config_pos_0_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_day_one_install_config___node_files_COMPGEN=_shtab_compgen_dirs
_shtab_nodenetctl_day_one_install_config___out_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_report___output_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_report___html_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_report___from_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_fleet_pos_0_COMPGEN=_shtab_compgen_dirs
_shtab_nodenetctl_fleet___expect_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_fleet___html_COMPGEN=_shtab_compgen_files
_shtab_nodenetctl_what_if_pos_0_COMPGEN=_shtab_compgen_dirs
_shtab_nodenetctl_what_if___files_COMPGEN=_shtab_compgen_dirs
_shtab_nodenetctl_what_if___settings_COMPGEN=_shtab_compgen_files

_shtab_nodenetctl_explain_node_ip___families_choices=(auto ipv4 ipv6 ipv4,ipv6 ipv6,ipv4)
_shtab_nodenetctl_explain_node_ip___network_type_choices=(OVNKubernetes)
_shtab_nodenetctl_explain_node_ip___platform_choices=(none baremetal openstack vsphere nutanix ovirt kubevirt external aws azure gcp ibmcloud powervs alibabacloud equinixmetal libvirt)
_shtab_nodenetctl_explain_br_ex___datapath_choices=(system netdev)
_shtab_nodenetctl_explain_pos_0_choices=(node-ip br-ex hostname nmstate api-int vip hosted)
_shtab_nodenetctl_hosted_pos_0_choices=(drain undrain migrate)
_shtab_nodenetctl_claims_pos_0_choices=(explain check import)
_shtab_nodenetctl_bridge_pos_0_choices=(remove make)
_shtab_nodenetctl_wait_pos_0_choices=(hostname nmstate resolv-prepender nodeip configure-ovs hosted-services)
_shtab_nodenetctl_day_one_check___step_choices=(first second both)
_shtab_nodenetctl_day_one_pos_0_choices=(check show early keyfiles ignition machine-config secret from-csv from-host install-config)
_shtab_nodenetctl_pos_0_choices=(status doctor monitor boot-report explain hosted claims check diff verify try confirm rollback history reload reselect bridge adopt hand-back wait snapshot settings day-one report fleet what-if version)

_shtab_nodenetctl_status__h_nargs=0
_shtab_nodenetctl_status___help_nargs=0
_shtab_nodenetctl_status___json_nargs=0
_shtab_nodenetctl_status___wait_nargs=0
_shtab_nodenetctl_doctor__h_nargs=0
_shtab_nodenetctl_doctor___help_nargs=0
_shtab_nodenetctl_doctor___json_nargs=0
_shtab_nodenetctl_monitor__h_nargs=0
_shtab_nodenetctl_monitor___help_nargs=0
_shtab_nodenetctl_monitor___json_nargs=0
_shtab_nodenetctl_boot_report__h_nargs=0
_shtab_nodenetctl_boot_report___help_nargs=0
_shtab_nodenetctl_boot_report___json_nargs=0
_shtab_nodenetctl_explain_node_ip__h_nargs=0
_shtab_nodenetctl_explain_node_ip___help_nargs=0
_shtab_nodenetctl_explain_node_ip___ignore_published_nargs=0
_shtab_nodenetctl_explain_node_ip___hint_required_nargs=0
_shtab_nodenetctl_explain_node_ip___prefer_ipv6_nargs=0
_shtab_nodenetctl_explain_node_ip___user_managed_lb_nargs=0
_shtab_nodenetctl_explain_node_ip___json_nargs=0
_shtab_nodenetctl_explain_br_ex__h_nargs=0
_shtab_nodenetctl_explain_br_ex___help_nargs=0
_shtab_nodenetctl_explain_br_ex___facts_nargs=0
_shtab_nodenetctl_explain_br_ex___json_nargs=0
_shtab_nodenetctl_explain_hostname__h_nargs=0
_shtab_nodenetctl_explain_hostname___help_nargs=0
_shtab_nodenetctl_explain_hostname___json_nargs=0
_shtab_nodenetctl_explain_hostname___no_dns_nargs=0
_shtab_nodenetctl_explain_nmstate__h_nargs=0
_shtab_nodenetctl_explain_nmstate___help_nargs=0
_shtab_nodenetctl_explain_nmstate___json_nargs=0
_shtab_nodenetctl_explain_api_int__h_nargs=0
_shtab_nodenetctl_explain_api_int___help_nargs=0
_shtab_nodenetctl_explain_vip__h_nargs=0
_shtab_nodenetctl_explain_vip___help_nargs=0
_shtab_nodenetctl_explain_hosted__h_nargs=0
_shtab_nodenetctl_explain_hosted___help_nargs=0
_shtab_nodenetctl_explain_pos_0_nargs=A...
_shtab_nodenetctl_explain__h_nargs=0
_shtab_nodenetctl_explain___help_nargs=0
_shtab_nodenetctl_hosted__h_nargs=0
_shtab_nodenetctl_hosted___help_nargs=0
_shtab_nodenetctl_hosted___dry_run_nargs=0
_shtab_nodenetctl_hosted___json_nargs=0
_shtab_nodenetctl_hosted___watch_nargs=0
_shtab_nodenetctl_claims__h_nargs=0
_shtab_nodenetctl_claims___help_nargs=0
_shtab_nodenetctl_claims___json_nargs=0
_shtab_nodenetctl_claims___repair_nargs=0
_shtab_nodenetctl_claims___dry_run_nargs=0
_shtab_nodenetctl_check_pos_0_nargs='*'
_shtab_nodenetctl_check__h_nargs=0
_shtab_nodenetctl_check___help_nargs=0
_shtab_nodenetctl_check___json_nargs=0
_shtab_nodenetctl_diff__h_nargs=0
_shtab_nodenetctl_diff___help_nargs=0
_shtab_nodenetctl_diff___json_nargs=0
_shtab_nodenetctl_verify__h_nargs=0
_shtab_nodenetctl_verify___help_nargs=0
_shtab_nodenetctl_try__h_nargs=0
_shtab_nodenetctl_try___help_nargs=0
_shtab_nodenetctl_try___json_nargs=0
_shtab_nodenetctl_confirm__h_nargs=0
_shtab_nodenetctl_confirm___help_nargs=0
_shtab_nodenetctl_rollback__h_nargs=0
_shtab_nodenetctl_rollback___help_nargs=0
_shtab_nodenetctl_rollback___force_nargs=0
_shtab_nodenetctl_history__h_nargs=0
_shtab_nodenetctl_history___help_nargs=0
_shtab_nodenetctl_history___json_nargs=0
_shtab_nodenetctl_reload__h_nargs=0
_shtab_nodenetctl_reload___help_nargs=0
_shtab_nodenetctl_reload___prune_nargs=0
_shtab_nodenetctl_reload___wait_nargs=0
_shtab_nodenetctl_reload___quiet_nargs=0
_shtab_nodenetctl_reselect__h_nargs=0
_shtab_nodenetctl_reselect___help_nargs=0
_shtab_nodenetctl_reselect___dry_run_nargs=0
_shtab_nodenetctl_bridge_remove__h_nargs=0
_shtab_nodenetctl_bridge_remove___help_nargs=0
_shtab_nodenetctl_bridge_make__h_nargs=0
_shtab_nodenetctl_bridge_make___help_nargs=0
_shtab_nodenetctl_bridge_pos_0_nargs=A...
_shtab_nodenetctl_bridge__h_nargs=0
_shtab_nodenetctl_bridge___help_nargs=0
_shtab_nodenetctl_adopt__h_nargs=0
_shtab_nodenetctl_adopt___help_nargs=0
_shtab_nodenetctl_adopt___dry_run_nargs=0
_shtab_nodenetctl_hand_back__h_nargs=0
_shtab_nodenetctl_hand_back___help_nargs=0
_shtab_nodenetctl_hand_back___dry_run_nargs=0
_shtab_nodenetctl_hand_back___uninstall_nargs=0
_shtab_nodenetctl_wait__h_nargs=0
_shtab_nodenetctl_wait___help_nargs=0
_shtab_nodenetctl_snapshot__h_nargs=0
_shtab_nodenetctl_snapshot___help_nargs=0
_shtab_nodenetctl_snapshot___all_nargs=0
_shtab_nodenetctl_snapshot___nmstate_nargs=0
_shtab_nodenetctl_settings__h_nargs=0
_shtab_nodenetctl_settings___help_nargs=0
_shtab_nodenetctl_settings___json_nargs=0
_shtab_nodenetctl_day_one_check__h_nargs=0
_shtab_nodenetctl_day_one_check___help_nargs=0
_shtab_nodenetctl_day_one_check___strict_nargs=0
_shtab_nodenetctl_day_one_check___json_nargs=0
_shtab_nodenetctl_day_one_show__h_nargs=0
_shtab_nodenetctl_day_one_show___help_nargs=0
_shtab_nodenetctl_day_one_show___json_nargs=0
_shtab_nodenetctl_day_one_early__h_nargs=0
_shtab_nodenetctl_day_one_early___help_nargs=0
_shtab_nodenetctl_day_one_early___force_nargs=0
_shtab_nodenetctl_day_one_keyfiles__h_nargs=0
_shtab_nodenetctl_day_one_keyfiles___help_nargs=0
_shtab_nodenetctl_day_one_keyfiles___force_nargs=0
_shtab_nodenetctl_day_one_ignition__h_nargs=0
_shtab_nodenetctl_day_one_ignition___help_nargs=0
_shtab_nodenetctl_day_one_ignition___force_nargs=0
_shtab_nodenetctl_day_one_machine_config__h_nargs=0
_shtab_nodenetctl_day_one_machine_config___help_nargs=0
_shtab_nodenetctl_day_one_machine_config___force_nargs=0
_shtab_nodenetctl_day_one_secret__h_nargs=0
_shtab_nodenetctl_day_one_secret___help_nargs=0
_shtab_nodenetctl_day_one_secret___force_nargs=0
_shtab_nodenetctl_day_one_from_csv__h_nargs=0
_shtab_nodenetctl_day_one_from_csv___help_nargs=0
_shtab_nodenetctl_day_one_from_csv___force_nargs=0
_shtab_nodenetctl_day_one_from_host__h_nargs=0
_shtab_nodenetctl_day_one_from_host___help_nargs=0
_shtab_nodenetctl_day_one_from_host___force_nargs=0
_shtab_nodenetctl_day_one_install_config__h_nargs=0
_shtab_nodenetctl_day_one_install_config___help_nargs=0
_shtab_nodenetctl_day_one_install_config___extract_nargs=0
_shtab_nodenetctl_day_one_install_config___force_nargs=0
_shtab_nodenetctl_day_one_pos_0_nargs=A...
_shtab_nodenetctl_day_one__h_nargs=0
_shtab_nodenetctl_day_one___help_nargs=0
_shtab_nodenetctl_report__h_nargs=0
_shtab_nodenetctl_report___help_nargs=0
_shtab_nodenetctl_report___json_nargs=0
_shtab_nodenetctl_fleet__h_nargs=0
_shtab_nodenetctl_fleet___help_nargs=0
_shtab_nodenetctl_fleet___odd_nargs=0
_shtab_nodenetctl_fleet___json_nargs=0
_shtab_nodenetctl_what_if__h_nargs=0
_shtab_nodenetctl_what_if___help_nargs=0
_shtab_nodenetctl_what_if___json_nargs=0
_shtab_nodenetctl_version__h_nargs=0
_shtab_nodenetctl_version___help_nargs=0
_shtab_nodenetctl_pos_0_nargs=A...
_shtab_nodenetctl__h_nargs=0
_shtab_nodenetctl___help_nargs=0
_shtab_nodenetctl___version_nargs=0

# $1=COMP_WORDS[1]
_shtab_compgen_files() {
  compgen -f -- $1  # files
}

# $1=COMP_WORDS[1]
_shtab_compgen_dirs() {
  compgen -d -- $1  # recurse into subdirs
}

# $1=COMP_WORDS[1]
_shtab_replace_nonword() {
  echo "${1//[^[:word:]]/_}"
}

# set default values (called for the initial parser & any subparsers)
_set_parser_defaults() {
  local subparsers_var="${prefix}_subparsers[@]"
  sub_parsers=${!subparsers_var-}

  local current_option_strings_var="${prefix}_option_strings[@]"
  current_option_strings=${!current_option_strings_var}

  completed_positional_actions=0

  _set_new_action "pos_$completed_positional_actions" true
}

# $1=action identifier
# $2=positional action (bool)
# set all identifiers for an action's parameters
_set_new_action() {
  current_action="${prefix}_$(_shtab_replace_nonword $1)"

  local current_action_compgen_var=${current_action}_COMPGEN
  current_action_compgen="${!current_action_compgen_var-}"

  local current_action_choices_var="${current_action}_choices[@]"
  current_action_choices="${!current_action_choices_var-}"

  local current_action_nargs_var="${current_action}_nargs"
  if [ -n "${!current_action_nargs_var-}" ]; then
    current_action_nargs="${!current_action_nargs_var}"
  else
    current_action_nargs=1
  fi

  current_action_args_start_index=$(( $word_index + 1 - $pos_only ))

  current_action_is_positional=$2
}

# Notes:
# `COMPREPLY`: what will be rendered after completion is triggered
# `completing_word`: currently typed word to generate completions for
# `${!var}`: evaluates the content of `var` and expand its content as a variable
#     hello="world"
#     x="hello"
#     ${!x} -> ${hello} -> "world"
_shtab_nodenetctl() {
  local completing_word="${COMP_WORDS[COMP_CWORD]}"
  local previous_word="${COMP_WORDS[COMP_CWORD-1]}"
  local completed_positional_actions
  local current_action
  local current_action_args_start_index
  local current_action_choices
  local current_action_compgen
  local current_action_is_positional
  local current_action_nargs
  local current_option_strings
  local sub_parsers line
  COMPREPLY=()

  local prefix=_shtab_nodenetctl
  local word_index=0
  local pos_only=0 # "--" delimiter not encountered yet
  _set_parser_defaults
  word_index=1

  # determine what arguments are appropriate for the current state
  # of the arg parser
  while [ $word_index -ne $COMP_CWORD ]; do
    local this_word="${COMP_WORDS[$word_index]}"

    if [[ $pos_only = 1 || " $this_word " != " -- " ]]; then
      if [[ -n $sub_parsers && " ${sub_parsers[@]} " == *" $this_word "* ]]; then
        # valid subcommand: add it to the prefix & reset the current action
        prefix="${prefix}_$(_shtab_replace_nonword $this_word)"
        _set_parser_defaults
      fi

      if [[ " ${current_option_strings[@]} " == *" $this_word "* ]]; then
        # a new action should be acquired (due to recognised option string or
        # no more input expected from current action);
        # the next positional action can fill in here
        _set_new_action $this_word false
      fi

      if [[ "$current_action_nargs" != "*" ]] && \
         [[ "$current_action_nargs" != "+" ]] && \
         [[ "$current_action_nargs" != "?" ]] && \
         [[ "$current_action_nargs" != *"..." ]] && \
         (( $word_index + 1 - $current_action_args_start_index - $pos_only >= \
            $current_action_nargs )); then
        $current_action_is_positional && let "completed_positional_actions += 1"
        _set_new_action "pos_$completed_positional_actions" true
      fi
    else
      pos_only=1 # "--" delimiter encountered
    fi

    let "word_index+=1"
  done

  # Generate the completions

  COMPREPLY=()
  if [[ $pos_only = 0 && "$completing_word" == -* &&
        ( -z "$current_action_compgen" || "$current_action_is_positional" = true ) ]]; then
    # optional argument started: use option strings
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(
      compgen -W "${current_option_strings[*]}" -- "$completing_word")
  elif [[ "$previous_word" =~ ^[0-9\&]*[\<\>]\>?$ ]]; then
    # handle redirection operators
    compopt -o filenames 2>/dev/null || : # bash>=4
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$completing_word")
  else
    # use choices & compgen
    local action_compgen_word="$completing_word"
    # handle tab-completing in the middle of a line (#248 <- #116)
    [[ -n "$current_action_compgen" && "$completing_word" == -* ]] && action_compgen_word=""
    [ -n "$current_action_compgen" ] && {
      [[ "$current_action_compgen" =~ _(file|dir|glob|FILE|DIR|GLOB)|File|Dir|Glob ]] &&
        compopt -o filenames 2>/dev/null || : # bash>=4
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(
        "$current_action_compgen" "$action_compgen_word")
    }
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(
      compgen -W "${current_action_choices[*]}" -- "$completing_word")
  fi

  if [[ ${#COMPREPLY[@]} = 0 ]]; then
    # native fallback matches are not necessarily filenames (e.g. variables)
    compopt +o filenames 2>/dev/null || : # bash>=4
  fi

  return 0
}

complete -o bashdefault -F _shtab_nodenetctl nodenetctl

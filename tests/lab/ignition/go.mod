// Ignition's own validator, pinned: `go` verifies every module against go.sum.
module nodenet/lab/ignition

go 1.24.0

tool github.com/coreos/ignition/v2/validate

require (
	github.com/aws/aws-sdk-go v1.55.6 // indirect
	github.com/coreos/go-json v0.0.0-20230131223807-18775e0fb4fb // indirect
	github.com/coreos/go-semver v0.3.1 // indirect
	github.com/coreos/go-systemd/v22 v22.5.0 // indirect
	github.com/coreos/ignition/v2 v2.21.0 // indirect
	github.com/coreos/vcontext v0.0.0-20230201181013-d72178a18687 // indirect
	github.com/vincent-petithory/dataurl v1.0.0 // indirect
)

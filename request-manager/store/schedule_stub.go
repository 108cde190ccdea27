package store

import (
	"context"
	"errors"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// errNotBuilt is for the methods that follow within the hour.
var errNotBuilt = errors.New("not built")

func (s *Store) PutApp(ctx context.Context, put AppPut) (changed bool, err error) {
	return false, errNotBuilt
}
func (s *Store) PutApps(ctx context.Context, puts []AppPut) (changed int, err error) {
	return 0, errNotBuilt
}
func (s *Store) DeleteApp(ctx context.Context, name, source string) error     { return errNotBuilt }
func (s *Store) PauseApp(ctx context.Context, name string, paused bool) error { return errNotBuilt }
func (s *Store) App(ctx context.Context, name string) (AppRow, error)         { return AppRow{}, errNotBuilt }
func (s *Store) Apps(ctx context.Context, names ...string) ([]AppRow, error)  { return nil, errNotBuilt }
func (s *Store) AppsAfter(ctx context.Context, after string, limit int) ([]AppRow, error) {
	return nil, errNotBuilt
}
func (s *Store) Dependents(ctx context.Context, upstream string) (map[string]string, error) {
	return nil, errNotBuilt
}
func (s *Store) AppsWithoutNext(ctx context.Context, limit int) ([]string, error) {
	return nil, errNotBuilt
}
func (s *Store) DueInstances(ctx context.Context, buckets []BucketRange, ahead time.Duration, limit int) (list []DueInstance, now time.Time, err error) {
	return nil, now, errNotBuilt
}
func (s *Store) OverdueInstances(ctx context.Context, by time.Duration, limit int) ([]DueInstance, error) {
	return nil, errNotBuilt
}
func (s *Store) StaleInstances(ctx context.Context, staleAfter time.Duration, limit int) ([]proto.Instance, error) {
	return nil, errNotBuilt
}
func (s *Store) ClaimInstance(ctx context.Context, c Claim) (proto.Instance, error) {
	return proto.Instance{}, errNotBuilt
}
func (s *Store) ParkInstance(ctx context.Context, spec proto.InstanceSpecifier, p Park) (proto.InstanceSpecifier, error) {
	return spec, errNotBuilt
}
func (s *Store) HoldInstance(ctx context.Context, spec proto.InstanceSpecifier, reason string, checkAfter time.Duration) error {
	return errNotBuilt
}
func (s *Store) MoveInstance(ctx context.Context, spec proto.InstanceSpecifier, to proto.InstanceState, reason string) (proto.Instance, error) {
	return proto.Instance{}, errNotBuilt
}
func (s *Store) RescheduleInstance(ctx context.Context, spec proto.InstanceSpecifier, generation uint64, n NewInstance, skipped []AppEvent) error {
	return errNotBuilt
}
func (s *Store) FinishInstance(ctx context.Context, f Finish) error { return errNotBuilt }
func (s *Store) WakeInstances(ctx context.Context, requestIDs []string) (n int, err error) {
	return 0, errNotBuilt
}
func (s *Store) SettledInstances(ctx context.Context, limit int) ([]proto.Instance, error) {
	return nil, errNotBuilt
}
func (s *Store) WakeHost(ctx context.Context, host string) (int, error)   { return 0, errNotBuilt }
func (s *Store) Signals(ctx context.Context, limit int) ([]Signal, error) { return nil, errNotBuilt }
func (s *Store) SettleSignal(ctx context.Context, sig Signal, n *NewInstance) (made bool, err error) {
	return false, errNotBuilt
}
func (s *Store) AddSignals(ctx context.Context, list []Signal) error { return errNotBuilt }
func (s *Store) ExtraInstances(ctx context.Context, app string, list []NewInstance, again bool) ([]RunResult, error) {
	return nil, errNotBuilt
}
func (s *Store) PeriodInstances(ctx context.Context, app string, from, to time.Time, limit int) ([]proto.Instance, error) {
	return nil, errNotBuilt
}
func (s *Store) SucceededCount(ctx context.Context, app string, from, to time.Time) (int, error) {
	return 0, errNotBuilt
}
func (s *Store) Succeeded(ctx context.Context, app string, start time.Time) (bool, error) {
	return false, errNotBuilt
}
func (s *Store) SucceededInstances(ctx context.Context, app string, from, to time.Time, limit int) ([]proto.Instance, error) {
	return nil, errNotBuilt
}
func (s *Store) Instances(ctx context.Context, f InstanceFilter) ([]proto.Instance, error) {
	return nil, errNotBuilt
}
func (s *Store) LastInstance(ctx context.Context, app string) (proto.Instance, error) {
	return proto.Instance{}, errNotBuilt
}
func (s *Store) DeadlineApps(ctx context.Context, limit int) ([]AppRow, error) {
	return nil, errNotBuilt
}
func (s *Store) MoveDeadline(ctx context.Context, app string, from time.Time, nextStart, nextAt *time.Time, late *AppEvent) error {
	return errNotBuilt
}
func (s *Store) Events(ctx context.Context, app string, sinceID uint64, limit int) ([]AppEvent, error) {
	return nil, errNotBuilt
}
func (s *Store) SkippedIn(ctx context.Context, app string, from, to time.Time) ([]AppEvent, error) {
	return nil, errNotBuilt
}
func (s *Store) AddEvents(ctx context.Context, events []AppEvent) error { return errNotBuilt }
func (s *Store) NodeHeartbeat(ctx context.Context, n proto.Node, staleAfter time.Duration) (live []proto.Node, shards int, now time.Time, err error) {
	return nil, 0, now, errNotBuilt
}
func (s *Store) NodeGone(ctx context.Context, id string) error { return errNotBuilt }
func (s *Store) PurgeNodes(ctx context.Context, olderThan time.Duration) (int, error) {
	return 0, errNotBuilt
}
func (s *Store) Nodes(ctx context.Context) ([]proto.Node, error) { return nil, errNotBuilt }
func (s *Store) SetShards(ctx context.Context, n int) error      { return errNotBuilt }
func (s *Store) PurgeArchive(ctx context.Context, olderThan time.Duration) (int, error) {
	return 0, errNotBuilt
}
func (s *Store) PurgeEvents(ctx context.Context, olderThan time.Duration) (int, error) {
	return 0, errNotBuilt
}

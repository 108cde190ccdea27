// Package galera starts Galera clusters for tests: MariaDB servers on loopback that
// replicate to each other, every one of which may be written to, frozen and killed.
// It knows nothing of Treadle.
//
// Debian's mariadb-server brings Galera and the script for the state transfer, which
// needs rsync. Started by root, the nodes run as the user mysql.
package galera

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/treadle-run/treadle/test/mariadb"
)

const (
	nodes         = 3
	joinTimeout   = 2 * time.Minute
	startTimeout  = 5 * time.Minute // a state transfer is part of a start, and slow on a busy machine
	installGalera = "Galera is not installed: apt-get install mariadb-server galera-4 rsync (Debian, Ubuntu)"
)

// providers are the places where systems put the library.
var providers = []string{
	"/usr/lib/galera/libgalera_smm.so", "/usr/lib/libgalera_smm.so",
	"/usr/lib64/galera-4/libgalera_smm.so", "/usr/lib64/galera/libgalera_smm.so",
}

// Cluster is a running cluster of three nodes.
type Cluster struct {
	dir   string
	nodes []*Node
	count atomic.Int64
}

// Node is one server of a cluster.
type Node struct {
	*mariadb.Server
}

// Start sets up a new cluster and returns when all nodes are in step. The error says
// what to install if something is missing. The caller must Stop it.
func Start(ctx context.Context) (*Cluster, error) {
	provider, err := findProvider()
	if err != nil {
		return nil, err
	}
	c := &Cluster{}
	if c.dir, err = os.MkdirTemp("", "treadle-galera-"); err != nil {
		return nil, err
	}
	if err := c.start(ctx, provider); err != nil {
		c.Stop()
		return nil, fmt.Errorf("galera: %w", err)
	}
	return c, nil
}

func findProvider() (string, error) {
	for _, program := range []string{"rsync", "wsrep_sst_rsync"} {
		if _, err := exec.LookPath(program); err != nil {
			return "", fmt.Errorf("%w: %s", err, installGalera)
		}
	}
	for _, p := range providers {
		if _, err := os.Stat(p); err == nil {
			return p, nil
		}
	}
	return "", errors.New(installGalera)
}

func (c *Cluster) start(ctx context.Context, provider string) error {
	if err := os.Chmod(c.dir, 0o711); err != nil { // the nodes run as another user
		return err
	}
	var groups []int
	for range nodes {
		p, err := mariadb.FreePort()
		if err != nil {
			return err
		}
		groups = append(groups, p)
	}
	for i := range nodes {
		opt, err := c.options(provider, groups, i)
		if err != nil {
			return err
		}
		s, err := mariadb.Start(ctx, opt)
		if err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
		n := &Node{s}
		c.nodes = append(c.nodes, n)
		if err := n.waitSynced(ctx); err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
	}
	return nil
}

// options are those of node i; groups has the ports that the nodes talk to each
// other at.
func (c *Cluster) options(provider string, groups []int, i int) (mariadb.Options, error) {
	dir := filepath.Join(c.dir, fmt.Sprintf("n%d", i))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return mariadb.Options{}, err
	}
	var ports [2]int
	for k := range ports {
		var err error
		if ports[k], err = mariadb.FreePort(); err != nil {
			return mariadb.Options{}, err
		}
	}
	var members []string
	for _, p := range groups {
		members = append(members, fmt.Sprintf("127.0.0.1:%d", p))
	}
	opt := mariadb.Options{Dir: dir, User: "mysql", StartTimeout: startTimeout, Args: []string{
		"--binlog-format=ROW",
		"--innodb-autoinc-lock-mode=2",
		"--wsrep-on=ON",
		"--wsrep-provider=" + provider,
		"--wsrep-cluster-name=" + filepath.Base(c.dir),
		"--wsrep-cluster-address=gcomm://" + strings.Join(members, ","),
		fmt.Sprintf("--wsrep-node-name=n%d", i),
		"--wsrep-node-address=127.0.0.1",
		"--wsrep-sst-method=rsync",
		fmt.Sprintf("--wsrep-sst-receive-address=127.0.0.1:%d", ports[0]),
		"--wsrep-slave-threads=2",
		"--wsrep-provider-options=" + strings.Join([]string{
			"base_host=127.0.0.1",
			fmt.Sprintf("base_port=%d", groups[i]),
			fmt.Sprintf("gmcast.listen_addr=tcp://127.0.0.1:%d", groups[i]),
			fmt.Sprintf("ist.recv_addr=127.0.0.1:%d", ports[1]),
			"gcache.size=64M",
			// A node that is gone is given up sooner than by default.
			"evs.keepalive_period=PT0.5S", "evs.inactive_check_period=PT0.5S",
			"evs.suspect_timeout=PT3S", "evs.inactive_timeout=PT6S", "evs.install_timeout=PT6S",
		}, ";"),
	}}
	if i == 0 {
		opt.FirstArgs = []string{"--wsrep-new-cluster"}
	}
	return opt, nil
}

// Size returns how many nodes the cluster has.
func (c *Cluster) Size() int { return len(c.nodes) }

// Node returns node i, from 0 on.
func (c *Cluster) Node(i int) *Node { return c.nodes[i] }

// NewDatabase creates an empty database on all nodes and returns its name, for
// Node.DSN.
func (c *Cluster) NewDatabase(ctx context.Context) (string, error) {
	name := fmt.Sprintf("g%d", c.count.Add(1))
	var err error
	for _, n := range c.nodes {
		if err = n.exec(ctx, "CREATE DATABASE "+name+" CHARACTER SET utf8mb4"); err == nil {
			break // by the first node that answers
		}
	}
	if err != nil {
		return "", fmt.Errorf("create database: %w", err)
	}
	return name, nil
}

// Stop ends all nodes and removes their data.
func (c *Cluster) Stop() {
	for _, n := range c.nodes {
		_ = n.Signal(syscall.SIGCONT) // the data is thrown away
		n.Kill9()
	}
	_ = os.RemoveAll(c.dir) // a temporary directory: the system cleans up what is left
}

// Restart starts a node again after Kill9 or Shutdown, and returns when it has all
// that the others have. At least two others must be there, or all must be started at
// the same time.
func (n *Node) Restart(ctx context.Context) error {
	if err := n.Server.Restart(ctx); err != nil {
		return err
	}
	return n.waitSynced(ctx)
}

// waitSynced returns when the node is in step with the cluster.
func (n *Node) waitSynced(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	db, err := sql.Open("mysql", n.DSN(""))
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // nothing was written
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		var name, state string
		err := db.QueryRowContext(ctx, "SHOW STATUS LIKE 'wsrep_local_state_comment'").Scan(&name, &state)
		if err == nil && state == "Synced" {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("not in step with the cluster: %s: %w", state, errors.Join(ctx.Err(), err))
		}
	}
}

func (n *Node) exec(ctx context.Context, stmt string) error {
	db, err := sql.Open("mysql", n.DSN(""))
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // the statement has been answered
	_, err = db.ExecContext(ctx, stmt)
	return err
}

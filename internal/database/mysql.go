package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-sql-driver/mysql"
)

const (
	mysqlDialTimeout = 5 * time.Second
	mysqlIOTimeout   = 30 * time.Second // no statement of ours takes that long
	mysqlConnAge     = 10 * time.Minute // so that load comes back to a node that was away
)

func (d *DB) openMySQL() error {
	cfg, err := d.MySQLConfig()
	if err != nil {
		return err
	}
	db, err := openMySQLPool(cfg)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(d.Config.MaxOpenConns)
	db.SetMaxIdleConns(d.Config.MaxOpenConns)
	db.SetConnMaxLifetime(mysqlConnAge)
	d.Dialect, d.Writer, d.Reader = &MySQLDialect, db, db
	return nil
}

// MySQLConfig is the caller's DSN with what the store relies on.
func (d *DB) MySQLConfig() (*mysql.Config, error) {
	cfg, err := mysql.ParseDSN(d.Config.MySQLDSN)
	if err != nil {
		// The driver's error may hold the DSN, and that a password.
		return nil, errors.New("mysql dsn: expected user:password@tcp(host:port)/database")
	}
	if cfg.DBName == "" {
		return nil, errors.New("mysql dsn: no database is named: expected user:password@tcp(host:port)/database")
	}
	if d.Config.TLS != nil {
		cfg.TLS = d.Config.TLS
	}
	cfg.InterpolateParams = true // one round trip for each statement
	cfg.ClientFoundRows = true   // an UPDATE counts the rows it met, changed or not
	cfg.RejectReadOnly = true    // after a failover, leave the server that was the primary
	cfg.MaxAllowedPacket = 0     // ask the server: too large is an error, not a lost connection
	cfg.Logger = driverLogger{d.Config.Logger}
	if cfg.Timeout == 0 {
		cfg.Timeout = mysqlDialTimeout
	}
	if cfg.ReadTimeout == 0 {
		cfg.ReadTimeout = mysqlIOTimeout
	}
	if cfg.WriteTimeout == 0 {
		cfg.WriteTimeout = mysqlIOTimeout
	}
	return cfg, nil
}

func openMySQLPool(cfg *mysql.Config) (*sql.DB, error) {
	c, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("mysql dsn: %w", err)
	}
	return sql.OpenDB(&mysqlConnector{c}), nil
}

// mysqlConnector sets up each new session.
type mysqlConnector struct {
	driver.Connector
}

// mysqlSession is what every session needs: errors instead of silent changes of
// data, an unambiguous clock, waits for locks that are shorter than the timeout of
// the connection, and row locks that neither cover gaps nor last for rows that did
// not match.
var mysqlSession = []string{
	"SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', innodb_lock_wait_timeout = 5",
	"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
}

// galeraSession has a node of a cluster wait, before a transaction, for what other
// nodes have committed: what one Request Manager was told is durable, the next one
// sees. Other servers do not know it, or take no notice.
const galeraSession = "SET SESSION wsrep_sync_wait = 7"

const errUnknownVariable = 1193

func (c *mysqlConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	for _, stmt := range append(mysqlSession, galeraSession) {
		_, err := conn.(driver.ExecerContext).ExecContext(ctx, stmt, nil)
		if e, ok := errors.AsType[*mysql.MySQLError](err); ok && e.Number == errUnknownVariable && stmt == galeraSession {
			continue
		}
		if err != nil {
			_ = conn.Close() // the first error is the one that counts
			return nil, err
		}
	}
	return conn, nil
}

// driverLogger passes on what the driver prints.
type driverLogger struct{ log *slog.Logger }

func (l driverLogger) Print(v ...any) {
	l.log.Debug("mysql driver", "message", fmt.Sprint(v...))
}
